"""Gaussian naive Bayes: score each row, then learn it, in one pass."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.csr import Joint, Rows, added, row_total, start_row
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_gamma_slopes, log_rising
from stream_bayes.typing import FloatArray

# A constant feature has no spread; a plug-in density needs some, well above the rounding of its mean.
SMALLEST_SPREAD = 1e-20
# What rounding leaves of a scatter that unlearning has taken away, as a share of what it was.
SCATTER_RESIDUE = 1e-14


# Beyond this a value is impossible anyway, and the square of its square would overflow.
MAX_SQUARES = 1e140


class Moments(NamedTuple):
    """Evidence in centred form: (n, mean, scatter) stands for the sums (n, n mean, scatter + n mean^2).

    The sums are what adds up; centred, they keep their digits when the mean is far from zero.
    """

    class_weight: FloatArray
    """Events of each class."""
    weight: FloatArray
    """weight[column, class]: events of the class that had the feature."""
    mean: FloatArray
    scatter: FloatArray
    """Sum of (x - mean)^2."""


class NormalPrior(NamedTuple):
    """Normal-inverse-gamma prior of one feature in one class; all zero where there is none."""

    mean: float
    strength: float
    shape: float
    scale: float


@kernel
def posterior_scale(prior: NormalPrior, n: float, mean: float, scatter: float) -> float:
    """Term of one class in the posterior scale: (scatter + strength n / (strength + n) (mean - prior mean)^2) / 2."""
    if n == 0.0:
        return 0.0
    offset = mean - prior.mean
    return 0.5 * (scatter + prior.strength * n / (prior.strength + n) * offset * offset)


@kernel
def data_variance(scatter: float, n: float, means: float, unbiased: bool) -> float:
    """Variance of n values around as many fitted means: S / n, or S / (n - means) if unbiased and there are more."""
    return scatter / (n - means if unbiased and n > means else n)


@kernel
def log_student(x: float, location: float, squared_scale: float, shape: float) -> float:
    """Log density of Student's t with 2 x shape degrees of freedom, less log(pi) / 2."""
    degrees = 2.0 * shape
    squares = (x - location) * (x - location) / (squared_scale * degrees)
    return log_rising(shape, 0.5) - 0.5 * math.log(degrees * squared_scale) - (shape + 0.5) * math.log1p(squares)


@kernel
def score_value(
    x: float,
    column: int,
    plug_in: bool,
    shared: bool,
    unbiased: bool,
    prior: NormalPrior,
    evidence: Moments,
    joint: Joint,
    row: int,
) -> None:
    """Add the log density of one value, and its mean and variance under the posterior, to each class."""
    classes = len(evidence.class_weight)
    pooled_n = 0.0
    pooled_means = 0.0
    pooled_scatter = 0.0
    pooled_scale = 0.0
    for c in range(classes):
        n = evidence.weight[column, c]
        scatter = evidence.scatter[column, c]
        pooled_n += n
        pooled_means += 1.0 if n > 0.0 else 0.0
        pooled_scatter += scatter
        pooled_scale += posterior_scale(prior, n, evidence.mean[column, c], scatter)
    for c in range(classes):
        n = evidence.weight[column, c]
        mean = evidence.mean[column, c]
        scatter = evidence.scatter[column, c]
        strength = prior.strength + n
        if strength == 0.0:  # neither prior nor value: no density
            joint.log[row, c] += -np.inf
            joint.mean[row, c] += -np.inf
            continue
        location = (prior.strength * prior.mean + n * mean) / strength
        shape = prior.shape + 0.5 * (pooled_n if shared else n)
        scale = prior.scale + (pooled_scale if shared else posterior_scale(prior, n, mean, scatter))
        spread = scale / shape
        if plug_in and n > 0.0:
            location = mean
            spread = data_variance(scatter, n, 1.0, unbiased)
            if shared:
                spread = data_variance(pooled_scatter, pooled_n, pooled_means, unbiased)
            spread = max(spread, SMALLEST_SPREAD * (1.0 + mean * mean))
        squares = min((x - location) * (x - location) / spread, MAX_SQUARES)
        if plug_in:
            joint.log[row, c] -= 0.5 * (math.log(2.0 * spread) + squares)
        else:
            joint.log[row, c] += log_student(x, location, spread * (strength + 1.0) / strength, shape)
        # The precision is Gamma(shape, scale), the mean normal given it: mean and variance of the log density.
        _, mean_log, variance_log = log_gamma_slopes(shape)
        joint.mean[row, c] += 0.5 * (mean_log - math.log(2.0 * shape * spread) - squares - 1.0 / strength)
        joint.variance[row, c] += 0.25 * (variance_log + squares * (squares - 2.0) / shape)
        joint.variance[row, c] += squares / strength + 0.5 / (strength * strength)


@kernel
def learn_value(x: float, column: int, label: int, weight: float, evidence: Moments) -> None:
    """Move the mean and the scatter by one value (Welford); a negative weight takes it back."""
    n = added(evidence.weight[column, label], weight)
    evidence.weight[column, label] = n
    if n == 0.0:
        evidence.mean[column, label] = 0.0
        evidence.scatter[column, label] = 0.0
        return
    before = x - evidence.mean[column, label]
    evidence.mean[column, label] += weight * before / n
    after = x - evidence.mean[column, label]
    scatter = evidence.scatter[column, label]
    updated = scatter + weight * before * after
    smallest = SCATTER_RESIDUE * scatter if weight < 0.0 else 0.0
    evidence.scatter[column, label] = updated if updated > smallest else 0.0


@kernel
def fold_gaussian(
    rows: Rows,
    score: bool,
    plug_in: bool,
    shared: bool,
    unbiased: bool,
    class_prior_count: float,
    declared: int,
    prior: NormalPrior,
    evidence: Moments,
    joint: Joint,
) -> None:
    """Normal features with unknown mean and variance; a missing one is marginalised out, one never seen says nothing.

    Posterior predictive: Student's t. Plug-in: the normal with the mean and the variance of the data.
    """
    for row in range(len(rows.labels)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        if score:
            start_row(class_prior_count, declared, evidence.class_weight, joint, row)
            for place in range(begin, end):
                column = rows.columns[place]
                if column >= 0 and row_total(evidence.weight, column) > 0.0:
                    score_value(rows.values[place], column, plug_in, shared, unbiased, prior, evidence, joint, row)
        label = rows.labels[row]
        weight = rows.weights[row]
        if label >= 0 and weight != 0.0:
            for place in range(begin, end):
                learn_value(rows.values[place], rows.columns[place], label, weight, evidence)
            evidence.class_weight[label] = added(evidence.class_weight[label], weight)
