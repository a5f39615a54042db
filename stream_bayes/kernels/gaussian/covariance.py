"""Covariance matrices from the moments of pairs: of the data alone, or of the posterior."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.cholesky import (
    SMALLEST_PIVOT,
    add_square,
    factor,
    floor_eigenvalues,
    least_unexplained,
)
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.gaussian.pair_moments import PairMoments
from stream_bayes.kernels.naive_bayes.gaussian import SMALLEST_SPREAD, NormalPrior, data_variance, posterior_scale
from stream_bayes.typing import BoolArray, FloatArray, IntArray

# Up to SHARED there are correlations. With SHARED and SHARED_SPHERICAL all classes have one covariance.
FULL = 0
SHARED = 1
DIAGONAL = 2
SPHERICAL = 3
SHARED_SPHERICAL = 4
# A variance of this share of mean^2 has a standard deviation of some hundred roundings of the mean: less is constant.
SMALLEST_SHARE = 1e-26
# Of a variance below this, quotients leave the finite numbers.
SMALLEST_VARIANCE = 1e-290
# When others leave less than this share of a feature unexplained, a covariance of the data alone is singular: squared
# distances would keep fewer than eight digits. LinearDiscriminantAnalysis has (1e-4)^2 as the bound of an eigenvalue.
SMALLEST_UNEXPLAINED = 1e-8
# Without a prior singular correlations get eigenvalues of this size: log densities then keep eight digits.
SMALLEST_EIGENVALUE = 1e-6


class Assumptions(NamedTuple):
    """The parameters of the prior, which the constructor fixes."""

    form: int
    plug_in: bool
    unbiased: bool
    prior: NormalPrior


class VarianceSums(NamedTuple):
    """Evidence of one variance, summed over the classes and features that have it in common."""

    weight: float
    """Values."""
    means: float
    """Means fitted to them."""
    scatter: float
    scale: float
    """The sum of squares that they add to the posterior scale."""
    level: float
    """The largest mean^2."""


class GroupCovariance(NamedTuple):
    """Covariance of the present features, for each group of classes that has its own; scratch of one fold."""

    ready: BoolArray
    """ready[group]: the rest stands for the evidence and the columns of now."""
    weight: FloatArray
    """weight[group, place]: values of the feature."""
    squares: FloatArray
    """Sum of squares behind the variance, without the pulls to the prior mean."""
    variance: FloatArray
    degrees: FloatArray
    """2 x shape: how well the variance is known."""
    plain: BoolArray
    """Whether mean and variance are those of the data alone; else the prior takes part."""
    matrix: FloatArray
    """matrix[group]: correlations above the diagonal, their Cholesky factor on it and below."""


@kernel
def new_spread(groups: int, width: int) -> GroupCovariance:
    """Room for rows of up to `width` features."""
    tables = np.empty((4, groups, width))
    plain = np.empty((groups, width), np.bool_)
    matrix = np.empty((groups, width, width))
    return GroupCovariance(np.zeros(groups, np.bool_), tables[0], tables[1], tables[2], tables[3], plain, matrix)


@kernel
def has_one_group(form: int) -> bool:
    """Whether all classes have their covariance in common."""
    return form in (SHARED, SHARED_SPHERICAL)


@kernel
def is_spherical(form: int) -> bool:
    """Whether all features have their variance in common."""
    return form in (SPHERICAL, SHARED_SPHERICAL)


@kernel
def members(group: int, model: Assumptions, evidence: PairMoments) -> tuple[int, int]:
    """First and last (exclusive) of the classes that have their covariance in common."""
    return (0, len(evidence.class_weight)) if has_one_group(model.form) else (group, group + 1)


@kernel
def sums_over(begin: int, end: int, first: int, last: int, prior: NormalPrior, evidence: PairMoments) -> VarianceSums:
    """Sums over a range of columns and a range of classes."""
    weight = 0.0
    means = 0.0
    scatter = 0.0
    scale = 0.0
    level = 0.0
    for i in range(begin, end):
        for c in range(first, last):
            n = evidence.weight[c, i, i]
            mean = evidence.mean[c, i, i]
            own = evidence.scatter[c, i, i]
            if n > 0.0:
                weight += n
                means += 1.0
                scatter += own
                scale += posterior_scale(prior, n, mean, own)
                level = max(level, mean * mean)
    return VarianceSums(weight, means, scatter, scale, level)


@kernel
def measure_variances(
    group: int, columns: IntArray, plug_in: bool, model: Assumptions, evidence: PairMoments, spread: GroupCovariance
) -> bool:
    """Write the variance of each feature: of the data alone, S / n, or the posterior's if they have no spread.

    Without a prior one that has no spread gets the smallest. Returns whether the data alone gave all, and are events
    enough for a matrix of that size.
    """
    prior = model.prior
    enough = plug_in
    size = evidence.weight.shape[1]
    first, last = members(group, model, evidence)
    sums = sums_over(0, size if is_spherical(model.form) else 0, first, last, prior, evidence)
    for place, i in enumerate(columns):
        if not is_spherical(model.form):
            sums = sums_over(i, i + 1, first, last, prior, evidence)
        plain = plug_in and sums.scatter > max(SMALLEST_SHARE * sums.level, SMALLEST_VARIANCE) * sums.weight
        degrees = 2.0 * prior.shape + sums.weight
        if plain:
            variance = data_variance(sums.scatter, sums.weight, sums.means, model.unbiased)
        elif prior.strength == 0.0:
            variance = SMALLEST_SPREAD * (1.0 + sums.level)
        else:
            variance = 2.0 * (prior.scale + sums.scale) / degrees
        spread.weight[group, place] = sums.weight
        spread.variance[group, place] = variance
        spread.squares[group, place] = sums.scatter + (0.0 if plain else 2.0 * prior.scale)
        spread.degrees[group, place] = degrees
        spread.plain[group, place] = plain
        enough = enough and plain and sums.weight - sums.means >= len(columns)
    return enough


@kernel
def pull(label: int, column: int, prior: NormalPrior, evidence: PairMoments) -> float:
    """Distance of a class from the prior mean; its square is what it adds to the squares."""
    n = evidence.weight[label, column, column]
    offset = float(evidence.mean[label, column, column]) - prior.mean
    return math.sqrt(prior.strength * n / (prior.strength + n)) * offset


@kernel
def measure_correlations(
    group: int, columns: IntArray, model: Assumptions, evidence: PairMoments, spread: GroupCovariance
) -> None:
    """Write correlations above the diagonal: co-scatters, scaled from the events that had both to all that had one."""
    matrix = spread.matrix[group]
    squares = spread.squares[group]
    total = spread.weight[group]
    first, last = members(group, model, evidence)
    for a, i in enumerate(columns):
        for b, j in enumerate(columns[:a]):
            n = 0.0
            scatter = 0.0
            for c in range(first, last):
                n += evidence.weight[c, i, j]
                scatter += evidence.scatter[c, i, j]
            if n > 0.0:
                scatter *= math.sqrt(total[a] / n) * math.sqrt(total[b] / n)
            root = math.sqrt(squares[a]) * math.sqrt(squares[b])
            matrix[b, a] = min(max(scatter / root, -1.0), 1.0) if root > 0.0 else 0.0


@kernel
def add_pulls(
    group: int, columns: IntArray, model: Assumptions, evidence: PairMoments, spread: GroupCovariance
) -> None:
    """Turn the factored correlations without the pulls into those with them.

    Far from the prior mean the pulls are nearly all of the squares and bring every correlation to 1: to factor their
    sum would leave no digits of what tells the features apart.
    """
    matrix = spread.matrix[group]
    width = len(columns)
    pulls = np.empty(len(columns))
    roots = np.sqrt(spread.variance[group, :width]) * np.sqrt(spread.degrees[group, :width])
    for a in range(width):
        matrix[a, : a + 1] *= math.sqrt(spread.squares[group, a]) / roots[a]
    first, last = members(group, model, evidence)
    for c in range(first, last):
        for a, i in enumerate(columns):
            pulls[a] = pull(c, i, model.prior, evidence) / roots[a]
        add_square(matrix, width, pulls)


@kernel
def measure(group: int, columns: IntArray, model: Assumptions, evidence: PairMoments, spread: GroupCovariance) -> None:
    """Write the covariance of the columns, factored: of the data alone, or the posterior's if they do not suffice.

    A matrix of pairs may be indefinite, and then is floored; the pulls only add to it. Without a prior so is one that
    the data alone leave singular.
    """
    spread.ready[group] = True
    enough = measure_variances(group, columns, model.plug_in, model, evidence, spread)
    if model.form > SHARED:
        return
    matrix = spread.matrix[group]
    width = len(columns)
    if enough or model.prior.strength == 0.0:
        measure_correlations(group, columns, model, evidence, spread)
        if factor(matrix, width, SMALLEST_PIVOT) and least_unexplained(matrix, width) > SMALLEST_UNEXPLAINED:
            return
    if model.prior.strength == 0.0:
        floor_eigenvalues(matrix, width, SMALLEST_EIGENVALUE)
        return
    measure_variances(group, columns, False, model, evidence, spread)
    measure_correlations(group, columns, model, evidence, spread)
    if not factor(matrix, width, SMALLEST_PIVOT):
        floor_eigenvalues(matrix, width)
    add_pulls(group, columns, model, evidence, spread)
