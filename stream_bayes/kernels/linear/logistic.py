"""Folds of Bayesian logistic regression: each label is an observation of its log-odds (see `kernels.common.sigmoid`).

It is learned exactly as in linear regression with noise of variance 1.
"""

from __future__ import annotations

import math

from stream_bayes.kernels.common.class_scores import pair_probabilities
from stream_bayes.kernels.common.csr import Joint, Rows, all_between
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import log_sigmoid, moderated, observation, repeated
from stream_bayes.kernels.linear.diagonal import discount_cells, grow_cells, learn_cells, score_cells
from stream_bayes.kernels.linear.full import (
    INTERCEPT,
    LARGEST,
    LOG_EVIDENCE,
    absorb,
    discount,
    grow,
    has_room,
    scatter,
    spread_of,
)
from stream_bayes.typing import FloatArray, IntArray


@kernel
def write_joint(joint: Joint, row: int, mean: float, variance: float) -> None:
    """The score of both labels: that of the second is its log-odds."""
    joint.log[row, 0] = 0.0
    joint.mean[row, 0] = 0.0
    joint.variance[row, 0] = 0.0
    joint.log[row, 1] = moderated(mean, variance)
    joint.mean[row, 1] = mean
    joint.variance[row, 1] = variance
    joint.known[row] = 2


@kernel
def pseudo_observation(
    label: int, weight: float, mean: float, variance: float, numbers: FloatArray
) -> tuple[float, float]:
    """Add the evidence of a label; gives the precision and the offset of the normal observation that stands for it."""
    log_odds = moderated(mean, variance)
    numbers[LOG_EVIDENCE] += weight * log_sigmoid(log_odds if label == 1 else -log_odds)
    if weight > 1.0:
        return repeated(label, weight, mean, variance)
    precision, offset = observation(label, log_odds, variance)
    return weight * precision, offset


@kernel
def absorb_label(
    columns: IntArray,
    values: FloatArray,
    label: int,
    weight: float,
    mean: float,
    variance: float,
    factor: FloatArray,
    vectors: FloatArray,
    numbers: FloatArray,
) -> None:
    """Learn the label of an event whose log-odds were N(mean, variance)."""
    precision, offset = pseudo_observation(label, weight, mean, variance, numbers)
    grow(columns, factor, vectors, numbers)
    discount(factor, vectors, numbers)
    scatter(columns, values, int(numbers[INTERCEPT]), vectors, numbers)
    # As large as a target of linear regression may be: beyond it rounding would leave no digits.
    target = min(max(mean + offset, -numbers[LARGEST]), numbers[LARGEST])
    absorb(target, precision, factor, vectors, numbers)


@kernel
def fold_logistic_full(
    rows: Rows, score: bool, factor: FloatArray, vectors: FloatArray, numbers: FloatArray, joint: Joint
) -> None:
    """Score each row, then learn it where its label is known."""
    intercept = int(numbers[INTERCEPT])
    for row in range(len(rows.labels)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        label = rows.labels[row]
        _, new = scatter(columns, values, intercept, vectors, numbers)
        mean, variance = spread_of(new, factor, vectors, numbers)
        if score:
            write_joint(joint, row, mean, variance)
        if label >= 0:
            absorb_label(columns, values, label, rows.weights[row], mean, variance, factor, vectors, numbers)


@kernel
def predict_logistic(
    columns: IntArray, values: FloatArray, factor: FloatArray, vectors: FloatArray, numbers: FloatArray
) -> tuple[float, float]:
    """The probabilities of both labels of one event; negative ones when a value is too large."""
    if not all_between(values, -numbers[LARGEST], numbers[LARGEST]):
        return -1.0, -1.0
    _, new = scatter(columns, values, int(numbers[INTERCEPT]), vectors, numbers)
    mean, variance = spread_of(new, factor, vectors, numbers)
    return pair_probabilities(moderated(mean, variance))


@kernel
def learn_logistic(
    columns: IntArray,
    values: FloatArray,
    label: int,
    weight: float,
    factor: FloatArray,
    vectors: FloatArray,
    numbers: FloatArray,
) -> bool:
    """Learn the label of one event; False, and nothing done, when a column has no room or a value is too large."""
    if not (has_room(columns, factor, numbers) and all_between(values, -numbers[LARGEST], numbers[LARGEST])):
        return False
    _, new = scatter(columns, values, int(numbers[INTERCEPT]), vectors, numbers)
    mean, variance = spread_of(new, factor, vectors, numbers)
    absorb_label(columns, values, label, weight, mean, variance, factor, vectors, numbers)
    return True


@kernel
def fold_logistic_diagonal(rows: Rows, score: bool, cells: FloatArray, numbers: FloatArray, joint: Joint) -> bool:
    """Score each row, then learn it, with independent weights; False when arithmetic would leave the finite numbers."""
    for row in range(len(rows.labels)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        label = rows.labels[row]
        mean, variance = score_cells(columns, values, cells, numbers)
        if not math.isfinite(mean):
            return False
        if score:
            write_joint(joint, row, mean, variance)
        if label >= 0:
            precision, offset = pseudo_observation(label, rows.weights[row], mean, variance, numbers)
            grow_cells(columns, cells, numbers)
            discount_cells(cells, numbers)
            _, spread = score_cells(columns, values, cells, numbers)
            learn_cells(columns, values, mean + offset, precision, cells, numbers, mean, spread)
    return True
