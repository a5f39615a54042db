"""Gaussian discriminant analysis: score each row, then learn it, in one pass."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.compiled import BoolArray, FloatArray, IntArray, kernel
from stream_bayes.kernels.gaussian import SCATTER_RESIDUE, NormalPrior
from stream_bayes.kernels.rows import Joint, Rows, added, start_row
from stream_bayes.kernels.special import log_rising

# Up to SHARED there are correlations.
FULL, SHARED, DIAGONAL, SPHERICAL = range(4)
# The share of a feature's variance that others leave unexplained; less is rounding.
SMALLEST_PIVOT = 1e-13
# A variance of this share of mean^2 has a standard deviation of some hundred roundings of the mean: less is constant.
SMALLEST_SHARE = 1e-26
# Squared distances up to here keep the variance of a log density, which has their squares, finite.
LARGEST_SQUARES = 1e140


class PairMoments(NamedTuple):
    """Evidence in centred form, for each class and pair of features over the events that had both.

    When no value is ever missing, all weights of a class are equal, mean[c, i, j] is the mean of feature i whatever j
    is, and scatter[c] is the ordinary scatter matrix.
    """

    class_weight: FloatArray
    """Events of each class."""
    weight: FloatArray
    """weight[class, i, j]: events that had both features."""
    mean: FloatArray
    """mean[class, i, j]: mean of feature i over them."""
    scatter: FloatArray
    """Sum of (x_i - mean_ij) (x_j - mean_ji)."""


class Assumptions(NamedTuple):
    """What the constructor fixes."""

    form: int
    plug_in: bool
    prior: NormalPrior


class Spread(NamedTuple):
    """Covariance of the present features, for each group of classes that has its own; scratch of one fold."""

    ready: BoolArray
    """ready[group]: the rest stands for the evidence and the columns of now."""
    weight: FloatArray
    """weight[group, place]: values of the feature."""
    scale: FloatArray
    """Sum of squares behind the variance."""
    variance: FloatArray
    degrees: FloatArray
    """2 x shape: how well the variance is known."""
    plain: BoolArray
    """Whether mean and variance are those of the data alone; else the prior takes part."""
    matrix: FloatArray
    """matrix[group]: correlations above the diagonal, their Cholesky factor on it and below."""


@kernel
def new_spread(groups: int, width: int) -> Spread:
    """Room for rows of up to `width` features."""
    tables = np.empty((4, groups, width))
    plain = np.empty((groups, width), np.bool_)
    matrix = np.empty((groups, width, width))
    return Spread(np.zeros(groups, np.bool_), tables[0], tables[1], tables[2], tables[3], plain, matrix)


@kernel
def pull(label: int, column: int, prior: NormalPrior, evidence: PairMoments) -> float:
    """Distance of a class from the prior mean; its square is what it adds to the scale."""
    n = evidence.weight[label, column, column]
    offset = float(evidence.mean[label, column, column]) - prior.mean
    return math.sqrt(prior.strength * n / (prior.strength + n)) * offset


@kernel
def feature_sums(
    begin: int, end: int, first: int, last: int, prior: NormalPrior, evidence: PairMoments
) -> tuple[float, float, float, float, float]:
    """Over columns and classes: values, values less means fitted, scatter, squared pulls, and the largest mean^2."""
    n, free, scatter, pulls, level = 0.0, 0.0, 0.0, 0.0, 0.0
    for column in range(begin, end):
        for c in range(first, last):
            own = evidence.weight[c, column, column]
            if own > 0.0:
                n += own
                free += own - 1.0
                scatter += evidence.scatter[c, column, column]
                pulls += pull(c, column, prior, evidence) ** 2
                level = max(level, evidence.mean[c, column, column] ** 2)
    return n, free, scatter, pulls, level


@kernel
def is_regular(sums: tuple[float, float, float, float, float], rank: int) -> bool:
    """Whether the data alone may give a covariance of that rank: events enough, and more spread than rounding."""
    _, free, scatter, _, level = sums
    return free >= rank and scatter > SMALLEST_SHARE * level * free


@kernel
def members(group: int, model: Assumptions, evidence: PairMoments) -> tuple[int, int]:
    """First and last (exclusive) of the classes that have their covariance in common."""
    return (0, len(evidence.class_weight)) if model.form == SHARED else (group, group + 1)


@kernel
def measure_variances(
    group: int, columns: IntArray, plug_in: bool, model: Assumptions, evidence: PairMoments, spread: Spread
) -> None:
    """Write the variance of each feature: of the data alone, or the posterior's if they do not suffice."""
    prior, regular = model.prior, True
    first, last = members(group, model, evidence)
    for i in columns:
        regular = regular and is_regular(feature_sums(i, i + 1, first, last, prior, evidence), len(columns))
    sums = feature_sums(0, evidence.weight.shape[1] if model.form == SPHERICAL else 0, first, last, prior, evidence)
    for place, i in enumerate(columns):
        if model.form != SPHERICAL:
            sums = feature_sums(i, i + 1, first, last, prior, evidence)
        n, free, scatter, pulls, _ = sums
        plain = plug_in and (regular if model.form <= SHARED else is_regular(sums, 1))
        degrees = 2.0 * prior.shape + n
        scale = scatter if plain else 2.0 * prior.scale + scatter + pulls
        spread.weight[group, place], spread.scale[group, place] = n, scale
        spread.variance[group, place], spread.degrees[group, place] = scale / (free if plain else degrees), degrees
        spread.plain[group, place] = plain


@kernel
def measure_correlations(
    group: int, columns: IntArray, model: Assumptions, evidence: PairMoments, spread: Spread
) -> None:
    """Write correlations above the diagonal: co-scatters, scaled from the events that had both to all that had one."""
    matrix, scale, total = spread.matrix[group], spread.scale[group], spread.weight[group]
    first, last = members(group, model, evidence)
    for a, i in enumerate(columns):
        for b, j in enumerate(columns[:a]):
            n, scatter, pulls = 0.0, 0.0, 0.0
            for c in range(first, last):
                n += evidence.weight[c, i, j]
                scatter += evidence.scatter[c, i, j]
                if not spread.plain[group, a]:
                    pulls += pull(c, i, model.prior, evidence) * pull(c, j, model.prior, evidence)
            if n > 0.0:
                pulls += scatter * (math.sqrt(total[a] / n) * math.sqrt(total[b] / n))
            root = math.sqrt(scale[a]) * math.sqrt(scale[b])
            matrix[b, a] = min(max(pulls / root, -1.0), 1.0)


@kernel
def factor(matrix: FloatArray, width: int, smallest: float) -> bool:
    """Write L, with L L' the correlations above the diagonal, on it and below; False when a pivot is too small."""
    for a in range(width):
        for b in range(a + 1):
            rest = 1.0 if a == b else matrix[b, a]
            for k in range(b):
                rest -= matrix[a, k] * matrix[b, k]
            if b < a:
                matrix[a, b] = rest / matrix[b, b]
            elif rest > smallest:
                matrix[a, a] = math.sqrt(rest)
            else:
                return False
    return True


@kernel
def floor_eigenvalues(matrix: FloatArray, width: int) -> None:
    """Make correlations that contradict each other positive definite, and factor them; variances stay as they are.

    No eigenvalue is left below the size of the most negative one, which says how large the contradiction is.
    """
    whole = np.eye(width)
    for a in range(width):
        for b in range(a):
            whole[a, b] = whole[b, a] = matrix[b, a]
    values, vectors = np.linalg.eigh(whole)
    values = np.maximum(values, max(4.0 * width * SMALLEST_PIVOT, -values[0]))
    for a in range(width):
        for b in range(a + 1):
            whole[a, b] = (vectors[a] * values * vectors[b]).sum()
            matrix[b, a] = whole[a, b]
    for a in range(width):
        for b in range(a):
            matrix[b, a] /= math.sqrt(whole[a, a] * whole[b, b])
    if not factor(matrix, width, 0.0):
        matrix[:width, :width] = np.eye(width)


@kernel
def measure(group: int, columns: IntArray, model: Assumptions, evidence: PairMoments, spread: Spread) -> None:
    """Write the covariance of the columns, factored: of the data alone, or the posterior's if they do not suffice.

    A matrix of pairs may be indefinite, and then is floored.
    """
    for plug_in in (model.plug_in, False):
        measure_variances(group, columns, plug_in, model, evidence, spread)
        if model.form > SHARED:
            break
        measure_correlations(group, columns, model, evidence, spread)
        if factor(spread.matrix[group], len(columns), SMALLEST_PIVOT):
            break
    else:
        floor_eigenvalues(spread.matrix[group], len(columns))
    spread.ready[group] = True


@kernel
def centre(column: int, label: int, plain: bool, prior: NormalPrior, evidence: PairMoments) -> float:
    """Mean of a feature in a class: of its values alone, or with the prior's."""
    n, mean = float(evidence.weight[label, column, column]), float(evidence.mean[label, column, column])
    return mean if plain and n > 0.0 else (prior.strength * prior.mean + n * mean) / (prior.strength + n)


@kernel
def log_density(squares: float, width: int, degrees: float, strength: float, model: Assumptions) -> tuple[float, float]:
    """Log density at a squared distance, less its log scale and width log(pi) / 2; and its delta-method variance.

    The location gives distance / strength. The precision, in coordinates u where it is about the identity, varies by
    1 / degrees off the diagonal and 2 / degrees on it, which gives |u u' - I|^2 / (2 degrees).
    """
    squares = squares if squares < LARGEST_SQUARES else LARGEST_SQUARES
    if model.plug_in:
        log, distance = -0.5 * (width * math.log(2.0) + squares), squares
    else:
        log = log_rising(0.5 * degrees, 0.5 * width) - 0.5 * width * math.log(degrees)
        log -= 0.5 * (degrees + width) * math.log1p(squares / degrees)
        distance = squares * ((strength + 1.0) / strength)
    misfit = (distance - width) ** 2 if model.form == SPHERICAL else (distance - 1.0) ** 2 + width - 1.0
    return log, distance / strength + 0.5 * misfit / degrees


@kernel
def score_class(
    label: int,
    group: int,
    columns: IntArray,
    values: FloatArray,
    model: Assumptions,
    evidence: PairMoments,
    spread: Spread,
) -> tuple[float, float]:
    """Log density of the values in a class, and its variance; diagonal means one density a feature."""
    matrix, residual = spread.matrix[group], np.empty(len(columns))
    log, variance, squares, weakest, fewest = 0.0, 0.0, 0.0, np.inf, np.inf
    for a, i in enumerate(columns):
        strength = model.prior.strength + evidence.weight[label, i, i]
        squared_scale = spread.variance[group, a] * (1.0 if model.plug_in else (strength + 1.0) / strength)
        rest = values[a] - centre(i, label, spread.plain[group, a], model.prior, evidence)
        residual[a] = rest / math.sqrt(squared_scale)
        log -= 0.5 * math.log(squared_scale)
        if model.form <= SHARED:
            for b in range(a):
                residual[a] -= matrix[a, b] * residual[b]
            residual[a] /= matrix[a, a]
            log -= math.log(matrix[a, a])
        squares += residual[a] ** 2
        weakest, fewest = min(weakest, strength), min(fewest, spread.degrees[group, a])
        if model.form == DIAGONAL:
            own = log_density(residual[a] ** 2, 1, spread.degrees[group, a], strength, model)
            log, variance = log + own[0], variance + own[1]
    if model.form == DIAGONAL or len(columns) == 0:
        return log, variance
    together = log_density(squares, len(columns), fewest, weakest, model)
    return log + together[0], together[1]


@kernel
def learn_row(columns: IntArray, values: FloatArray, label: int, weight: float, evidence: PairMoments) -> None:
    """Move the moments of every pair by one event (Welford); a negative weight takes it back."""
    total, mean, scatter = evidence.weight[label], evidence.mean[label], evidence.scatter[label]
    for a, i in enumerate(columns):
        for b, j in enumerate(columns[: a + 1]):
            n = added(total[i, j], weight)
            total[i, j] = total[j, i] = n
            if n == 0.0:
                mean[i, j] = mean[j, i] = scatter[i, j] = scatter[j, i] = 0.0
                continue
            before_i, before_j = values[a] - mean[i, j], values[b] - mean[j, i]
            mean[i, j] += weight * before_i / n
            if i != j:
                mean[j, i] += weight * before_j / n
            moved = scatter[i, j] + weight * before_i * (values[b] - mean[j, i])
            if i == j and (moved < 0.0 or (weight < 0.0 and moved < SCATTER_RESIDUE * scatter[i, i])):
                moved = 0.0
            scatter[i, j] = scatter[j, i] = moved


@kernel
def seen_places(columns: IntArray, weight: FloatArray) -> IntArray:
    """Places of the columns that have evidence in any class: one never seen says nothing."""
    seen = np.zeros(len(columns), np.bool_)
    for place, i in enumerate(columns):
        for c in range(len(weight) if i >= 0 else 0):
            seen[place] |= weight[c, i, i] > 0.0
    return np.flatnonzero(seen)


@kernel
def fold_discriminant(
    rows: Rows,
    score: bool,
    class_prior_count: float,
    declared: int,
    model: Assumptions,
    evidence: PairMoments,
    joint: Joint,
) -> None:
    """Jointly normal features with unknown mean and covariance; a missing one is marginalised out.

    A covariance is factored again when its evidence or the set of present features has changed.
    """
    classes, shared = len(evidence.class_weight), model.form == SHARED
    widest = int(np.diff(rows.row_starts).max()) if score and len(rows.labels) else 0
    spread = new_spread(1 if shared else classes, widest)
    measured = np.empty(0, np.int64)
    for row in range(len(rows.labels)):
        columns = rows.columns[rows.row_starts[row] : rows.row_starts[row + 1]]
        values = rows.values[rows.row_starts[row] : rows.row_starts[row + 1]]
        if score:
            start_row(class_prior_count, declared, evidence.class_weight, joint.log[row], joint.variance[row])
            places = seen_places(columns, evidence.weight)
            if not np.array_equal(columns[places], measured):
                measured = columns[places]
                spread.ready[:] = False
            for c in range(classes):
                if np.isnan(joint.log[row, c]):
                    continue
                group = 0 if shared else c
                if not spread.ready[group]:
                    measure(group, measured, model, evidence, spread)
                log, variance = score_class(c, group, measured, values[places], model, evidence, spread)
                joint.log[row, c] += log
                joint.variance[row, c] += variance
        label, weight = rows.labels[row], rows.weights[row]
        if label >= 0 and weight != 0.0:
            learn_row(columns, values, label, weight, evidence)
            evidence.class_weight[label] = added(evidence.class_weight[label], weight)
            spread.ready[0 if shared else label] = False
