"""Folds of Bayesian logistic regression: each label is an observation of its log-odds (see `kernels.sigmoid`).

It is learned exactly as in linear regression with noise of variance 1.
"""

from __future__ import annotations

import math

from stream_bayes.kernels.compiled import FloatArray, kernel
from stream_bayes.kernels.linear import (
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
from stream_bayes.kernels.sigmoid import log_sigmoid, moderated, observation


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
            precision, offset = observation(label, log_odds, variance)
            numbers[LOG_EVIDENCE] += rows.weights[row] * log_sigmoid(log_odds if label == 1 else -log_odds)
            grow(columns, factor, vectors, numbers)
            discount(factor, vectors, numbers)
            scatter(columns, values, intercept, vectors, numbers)
            absorb(mean + offset, rows.weights[row] * precision, factor, vectors, numbers)
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
            precision, offset = observation(label, log_odds, variance)
            numbers[LOG_EVIDENCE] += rows.weights[row] * log_sigmoid(log_odds if label == 1 else -log_odds)
            grow_cells(columns, cells, numbers)
            discount_cells(cells, numbers)
            _, spread = score_cells(columns, values, cells, numbers)
            learn_cells(columns, values, mean + offset, rows.weights[row] * precision, cells, numbers, mean, spread)
    return True
