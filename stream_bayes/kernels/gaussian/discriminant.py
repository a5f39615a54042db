"""Gaussian discriminant analysis: score each row, then learn it, in one pass."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.common.csr import Joint, Rows, start_row
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_rising
from stream_bayes.kernels.gaussian.covariance import (
    DIAGONAL,
    SHARED,
    Assumptions,
    GroupCovariance,
    has_one_group,
    is_spherical,
    measure,
    new_spread,
)
from stream_bayes.kernels.gaussian.pair_moments import PairMoments, learn_row, seen_places
from stream_bayes.kernels.naive_bayes.gaussian import MAX_SQUARES, NormalPrior
from stream_bayes.typing import FloatArray, IntArray

# Of the log density: beyond, nothing is known about a class, and sums over classes and features stay finite.
MAX_VARIANCE = 1e280


@kernel
def centre(column: int, label: int, plain: bool, prior: NormalPrior, evidence: PairMoments) -> tuple[float, float]:
    """Mean of a feature's values in a class, and how far the prior moves it; apart, each has its own digits."""
    n = float(evidence.weight[label, column, column])
    mean = float(evidence.mean[label, column, column])
    return mean, 0.0 if plain and n > 0.0 else prior.strength / (prior.strength + n) * (prior.mean - mean)


@kernel
def log_density(squares: float, width: int, degrees: float, strength: float, model: Assumptions) -> tuple[float, float]:
    """Log density at a squared distance, less its log scale and width log(pi) / 2; and its delta-method variance.

    The location gives distance / strength. The precision, in coordinates u where it is about the identity, varies by
    1 / degrees off the diagonal and 2 / degrees on it, which gives |u u' - I|^2 / (2 degrees).
    """
    squares = squares if squares < MAX_SQUARES else MAX_SQUARES
    if model.plug_in:
        log = -0.5 * (width * math.log(2.0) + squares)
        distance = squares
    else:
        log = log_rising(0.5 * degrees, 0.5 * width) - 0.5 * width * math.log(degrees)
        log -= 0.5 * (degrees + width) * math.log1p(squares / degrees)
        distance = min(squares * ((strength + 1.0) / strength), MAX_SQUARES)
    misfit = (distance - width) ** 2 if is_spherical(model.form) else (distance - 1.0) ** 2 + width - 1.0
    return log, min(distance / strength + 0.5 * misfit / degrees, MAX_VARIANCE)


@kernel
def score_class(
    label: int,
    group: int,
    columns: IntArray,
    values: FloatArray,
    model: Assumptions,
    evidence: PairMoments,
    spread: GroupCovariance,
) -> tuple[float, float]:
    """Log density of the values in a class, and its variance; diagonal means one density a feature."""
    matrix = spread.matrix[group]
    residual = np.empty(len(columns))
    log = 0.0
    variance = 0.0
    squares = 0.0
    weakest = np.inf
    fewest = np.inf
    for a, i in enumerate(columns):
        strength = model.prior.strength + evidence.weight[label, i, i]
        if strength == 0.0:  # neither prior nor value: no density
            return -np.inf, 0.0
        scale = math.sqrt(spread.variance[group, a])
        scale *= 1.0 if model.plug_in else math.sqrt((strength + 1.0) / strength)
        mean, shift = centre(i, label, spread.plain[group, a], model.prior, evidence)
        residual[a] = (values[a] - mean - shift) / scale
        log -= math.log(scale)
        if model.form <= SHARED:
            for b in range(a):
                residual[a] -= matrix[a, b] * residual[b]
            residual[a] /= matrix[a, a]
            log -= math.log(matrix[a, a])
        squares += residual[a] ** 2
        weakest = min(weakest, strength)
        fewest = min(fewest, spread.degrees[group, a])
        if model.form == DIAGONAL:
            own = log_density(residual[a] ** 2, 1, spread.degrees[group, a], strength, model)
            log = log + own[0]
            variance = variance + own[1]
    if model.form == DIAGONAL or len(columns) == 0:
        return log, variance
    together = log_density(squares, len(columns), fewest, weakest, model)
    return log + together[0], together[1]


@kernel
def score_row(
    columns: IntArray,
    values: FloatArray,
    model: Assumptions,
    evidence: PairMoments,
    spread: GroupCovariance,
    log: FloatArray,
    variance: FloatArray,
) -> None:
    """Add the log density of the values, and its variance, to each known class."""
    for c in range(len(log)):
        if np.isnan(log[c]):
            continue
        group = 0 if has_one_group(model.form) else c
        if not spread.ready[group]:
            measure(group, columns, model, evidence, spread)
        own = score_class(c, group, columns, values, model, evidence, spread)
        log[c] += own[0]
        variance[c] += own[1]


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
    shared = has_one_group(model.form)
    widest = int(np.diff(rows.row_starts).max()) if score and len(rows.labels) else 0
    spread = new_spread(1 if shared else len(evidence.class_weight), widest)
    measured = np.empty(0, np.int64)
    for row in range(len(rows.labels)):
        columns = rows.columns[rows.row_starts[row] : rows.row_starts[row + 1]]
        values = rows.values[rows.row_starts[row] : rows.row_starts[row + 1]]
        if score:
            log = joint.log[row]
            variance = joint.variance[row]
            start_row(class_prior_count, declared, evidence.class_weight, joint, row)
            places = seen_places(columns, evidence.weight)
            if not np.array_equal(columns[places], measured):
                measured = columns[places]
                spread.ready[:] = False
            score_row(measured, values[places], model, evidence, spread, log, variance)
            # By the delta method the log density varies around its value at the posterior's own parameters.
            joint.mean[row] = log
        label = rows.labels[row]
        weight = rows.weights[row]
        if label >= 0 and weight != 0.0:
            learn_row(columns, values, label, weight, evidence)
            spread.ready[0 if shared else label] = False
