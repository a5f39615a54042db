"""Folds of Bayesian logistic regression: a Gaussian belief about the weights, one closed-form step an event.

Under the belief the log-odds of an event are N(m, v); the probability of the second label, averaged over them, is
p = sigmoid(m / sqrt(1 + pi v / 8)). The log-likelihood is replaced by the parabola with its slope y - p and curvature
-p (1 - p): an observation m + (y - p) / (p (1 - p)) of the log-odds with precision p (1 - p), learned exactly as in
linear regression with noise of variance 1.
"""

from __future__ import annotations

import math

from stream_bayes.kernels.compiled import FloatArray, kernel
from stream_bayes.kernels.linear import (
    FORGETTING,
    INTERCEPT,
    LOG_EVIDENCE,
    absorb,
    discount,
    grow,
    scatter,
    spread_of,
)
from stream_bayes.kernels.linear_diagonal import discount_cells, grow_cells, learn_cells, score_cells
from stream_bayes.kernels.rows import Joint, Rows

# Of the parabola: a label that was as good as certain tells that much at least. Without it the precision of a label
# that proves a belief wrong would be nothing, and its observation infinite.
LEAST_CURVATURE = 1e-10


@kernel
def moderated(mean: float, variance: float) -> float:
    """The log-odds of the probability averaged over normal log-odds (MacKay's approximation)."""
    return mean / math.sqrt(1.0 + math.pi * variance / 8.0)


@kernel
def log_sigmoid(log_odds: float) -> float:
    """The logarithm of the probability with these log-odds."""
    return -math.log1p(math.exp(-log_odds)) if log_odds > 0.0 else log_odds - math.log1p(math.exp(log_odds))


@kernel
def parabola(label: int, log_odds: float) -> tuple[float, float]:
    """Curvature at the averaged probability, and how far from the mean of the log-odds the observation is."""
    p, q = math.exp(log_sigmoid(log_odds)), math.exp(log_sigmoid(-log_odds))
    curvature = max(p * q, LEAST_CURVATURE)
    return curvature, (q if label == 1 else -p) / curvature


@kernel
def write_joint(joint: Joint, row: int, mean: float, variance: float, log_odds: float) -> None:
    """The score of both labels: that of the second is its log-odds."""
    joint.log[row, 0], joint.mean[row, 0], joint.variance[row, 0] = 0.0, 0.0, 0.0
    joint.log[row, 1], joint.mean[row, 1], joint.variance[row, 1] = log_odds, mean, variance
    joint.known[row] = 2


@kernel
def fold_logistic_full(
    rows: Rows, score: bool, factor: FloatArray, vectors: FloatArray, numbers: FloatArray, joint: Joint
) -> bool:
    """Score each row, then learn it where its label is known; False when arithmetic left the finite numbers."""
    intercept = int(numbers[INTERCEPT])
    for row in range(len(rows.labels)):
        begin, end = rows.row_starts[row], rows.row_starts[row + 1]
        columns, values, label = rows.columns[begin:end], rows.values[begin:end], rows.labels[row]
        _, new = scatter(columns, values, intercept, vectors, numbers)
        mean, variance = spread_of(new, factor, vectors, numbers)
        log_odds = moderated(mean, variance)
        if not math.isfinite(log_odds) or not math.isfinite(variance):
            return False
        if score:
            write_joint(joint, row, mean, variance, log_odds)
        if label >= 0:
            curvature, offset = parabola(label, log_odds)
            numbers[LOG_EVIDENCE] += rows.weights[row] * log_sigmoid(log_odds if label == 1 else -log_odds)
            if numbers[FORGETTING] < 1.0:
                discount(factor, vectors, numbers)
            grow(columns, factor, vectors, numbers)
            scatter(columns, values, intercept, vectors, numbers)
            absorb(mean + offset, rows.weights[row] * curvature, factor, vectors, numbers)
    return True


@kernel
def fold_logistic_diagonal(rows: Rows, score: bool, cells: FloatArray, numbers: FloatArray, joint: Joint) -> bool:
    """The same for independent weights."""
    for row in range(len(rows.labels)):
        begin, end = rows.row_starts[row], rows.row_starts[row + 1]
        columns, values, label = rows.columns[begin:end], rows.values[begin:end], rows.labels[row]
        mean, variance = score_cells(columns, values, cells, numbers)
        log_odds = moderated(mean, variance)
        if not math.isfinite(log_odds) or not math.isfinite(variance):
            return False
        if score:
            write_joint(joint, row, mean, variance, log_odds)
        if label >= 0:
            curvature, offset = parabola(label, log_odds)
            numbers[LOG_EVIDENCE] += rows.weights[row] * log_sigmoid(log_odds if label == 1 else -log_odds)
            if numbers[FORGETTING] < 1.0:
                discount_cells(cells, numbers)
            grow_cells(columns, cells, numbers)
            _, spread = score_cells(columns, values, cells, numbers)
            learn_cells(columns, values, mean + offset, rows.weights[row] * curvature, cells, numbers, mean, spread)
    return True
