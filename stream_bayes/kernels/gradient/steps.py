"""Steps along the gradient of one event, with penalties that cost nothing for the features that are absent.

A cell is (pull, sum of squared gradients) of one feature and one output, with (mark, threshold) after them where there
is a penalty. The weight is the pull moved towards zero by the threshold: sign(z) max(|z| - u, 0). Each event, with h
the size of its step, makes z <- (z - h g) / (1 + h l2) and u <- (u + h l1) / (1 + h l2), where g is zero for an absent
feature. So a run of events multiplies z, and u - l1 / l2 as well, by the product of 1 / (1 + h l2), and needs only the
sum of log(1 + h l2), or without l2 the sum of h: the *dues*. A mark says up to where a cell has paid: a sum of dues
where all cells share the size of the step, else the number of the event, since with AdaGrad the size of a cell's step
does not change while its feature is absent. A mark of zero is that of a cell never learned, which owes nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.class_scores import pair_probabilities
from stream_bayes.kernels.common.csr import Joint, Rows, TargetRows, all_between, are_known
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import sigmoid
from stream_bayes.typing import FloatArray, IntArray

CONSTANT = 0
INVERSE_ROOT = 1
ADAGRAD = 2

# The place in the numbers of a setting, behind those of the rule, of the largest value there may be.
LARGEST = 5

# Beneath the root of AdaGrad, so that a gradient of almost nothing makes a step of almost nothing, the first one too.
SMALL_SQUARE = 0.01

# exp(60) is 1e26: no count is as large, and its square, times any value and weight, is finite.
LARGEST_LOG_RATE = 60.0


class Rule(NamedTuple):
    """How steps are taken."""

    step: int
    """CONSTANT, INVERSE_ROOT or ADAGRAD."""
    rate: float
    l1: float
    l2: float
    intercept: bool


class GradientState(NamedTuple):
    """The state of a gradient learner, in arrays."""

    cells: FloatArray
    """cells[column]: the cells of all outputs, one after the other."""
    offsets: FloatArray
    """offsets[output]: the intercept and its sum of squared gradients; never penalised."""
    clock: FloatArray
    """How many events were learned, and the sum of dues."""


@kernel
def rule_of(setting: FloatArray) -> Rule:
    """The rule from an array of its numbers and `LARGEST`: with one array for it, a call takes 0.4 us less."""
    return Rule(int(setting[0]), setting[1], setting[2], setting[3], setting[4] != 0.0)


@kernel
def are_allowed(values: FloatArray, setting: FloatArray) -> bool:
    """Whether no value is larger than any may be."""
    return all_between(values, -setting[LARGEST], setting[LARGEST])


@kernel
def width_of(rule: Rule) -> int:
    """How many numbers a cell has."""
    return 4 if rule.l1 > 0.0 or rule.l2 > 0.0 else 2


@kernel
def step_size(rule: Rule, events: float) -> float:
    """The step size at the event with this number, for steps that all cells share."""
    return rule.rate / math.sqrt(events) if rule.step == INVERSE_ROOT else rule.rate


@kernel
def scaled(rule: Rule, squares: float) -> float:
    """The size of AdaGrad's step in a cell with this sum of squared gradients."""
    return rule.rate / math.sqrt(SMALL_SQUARE + squares)


@kernel
def dues(size: float, l2: float) -> float:
    """The decay by the penalty that a step of this size adds to the dues."""
    return math.log1p(size * l2) if l2 > 0.0 else size


@kernel
def shrunk(pull: float, threshold: float, owed: float, rule: Rule) -> tuple[float, float]:
    """Pull and threshold of a cell after it has paid its dues."""
    if rule.l2 > 0.0:
        kept = math.exp(-owed)
        return pull * kept, threshold * kept - rule.l1 / rule.l2 * math.expm1(-owed)
    return pull, threshold + rule.l1 * owed


@kernel
def settled(cells: FloatArray, j: int, k: int, rule: Rule, clock: FloatArray) -> tuple[float, float]:
    """Pull and threshold of the cell at place k of column j now, the events it has not paid for yet included."""
    pull = cells[j, k]
    squares = cells[j, k + 1]
    mark = cells[j, k + 2]
    threshold = cells[j, k + 3]
    if mark == 0.0:
        return pull, threshold
    owed = (clock[0] - mark) * dues(scaled(rule, squares), rule.l2) if rule.step == ADAGRAD else clock[1] - mark
    return shrunk(pull, threshold, owed, rule)


@kernel
def weight_of(cells: FloatArray, j: int, k: int, rule: Rule, clock: FloatArray) -> float:
    """The weight of a penalised cell; exactly zero where the threshold exceeds the pull."""
    pull, threshold = settled(cells, j, k, rule, clock)
    size = abs(pull) - threshold
    return math.copysign(size, pull) if size > 0.0 else 0.0


@kernel
def margin_of(
    columns: IntArray, values: FloatArray, rule: Rule, start: float, cells: FloatArray, clock: FloatArray
) -> float:
    """The linear predictor of a row with one output."""
    margin = start
    if width_of(rule) == 2:
        for i in range(len(columns)):
            if columns[i] >= 0:
                margin += values[i] * cells[columns[i], 0]
        return margin
    for i in range(len(columns)):
        j = columns[i]
        if j >= 0:
            margin += values[i] * weight_of(cells, j, 0, rule, clock)
    return margin


@kernel
def learn_offset(gradient: float, rule: Rule, size: float, offsets: FloatArray, output: int) -> None:
    """One step of an intercept."""
    if rule.step == ADAGRAD:
        offsets[output, 1] += gradient * gradient
        size = scaled(rule, offsets[output, 1])
    offsets[output, 0] -= size * gradient


@kernel
def learn_cell(cells: FloatArray, j: int, k: int, gradient: float, rule: Rule, size: float, clock: FloatArray) -> None:
    """One step of a penalised cell, at place k of column j; the clock has not counted this event yet."""
    pull, threshold = settled(cells, j, k, rule, clock)
    if rule.step == ADAGRAD:
        cells[j, k + 1] += gradient * gradient
        size = scaled(rule, cells[j, k + 1])
    owed = dues(size, rule.l2)
    cells[j, k], cells[j, k + 3] = shrunk(pull - size * gradient, threshold, owed, rule)
    cells[j, k + 2] = clock[0] + 1.0 if rule.step == ADAGRAD else clock[1] + owed


@kernel
def learn_free(columns: IntArray, values: FloatArray, residual: float, k: int, rate: float, cells: FloatArray) -> None:
    """AdaGrad steps of the cells at place k of a row's columns, without penalties.

    In three loops, so that the roots are taken several at a time (measured: a quarter less).
    """
    steps = np.empty(len(columns))
    for i in range(len(columns)):
        gradient = residual * values[i]
        cells[columns[i], k + 1] += gradient * gradient
        steps[i] = cells[columns[i], k + 1]
    for i in range(len(columns)):
        steps[i] = rate / math.sqrt(SMALL_SQUARE + steps[i]) * (residual * values[i])
    for i in range(len(columns)):
        cells[columns[i], k] -= steps[i]


@kernel
def learn_output(
    columns: IntArray, values: FloatArray, residual: float, k: int, rule: Rule, model: GradientState
) -> None:
    """One step of the cells at place k of a row's columns, whose gradient is residual times the values."""
    cells = model.cells
    clock = model.clock
    size = step_size(rule, clock[0] + 1.0)
    if width_of(rule) == 4:
        for i in range(len(columns)):
            if values[i] != 0.0:  # else it is as good as absent, and begins to pay when it first matters
                learn_cell(cells, columns[i], k, residual * values[i], rule, size, clock)
    elif rule.step == ADAGRAD:
        learn_free(columns, values, residual, k, rule.rate, cells)
    else:
        for i in range(len(columns)):
            cells[columns[i], k] -= size * (residual * values[i])


@kernel
def learn_row(columns: IntArray, values: FloatArray, residual: float, rule: Rule, model: GradientState) -> None:
    """One step of a row with one output."""
    size = step_size(rule, model.clock[0] + 1.0)
    learn_output(columns, values, residual, 0, rule, model)
    if rule.intercept:
        learn_offset(residual, rule, size, model.offsets, 0)
    tick(rule, size, model.clock)


@kernel
def tick(rule: Rule, size: float, clock: FloatArray) -> None:
    """Count one event, and its dues."""
    clock[0] += 1.0
    if rule.step != ADAGRAD and width_of(rule) == 4:
        clock[1] += dues(size, rule.l2)


@kernel
def fold_logistic(rows: Rows, score: bool, rule: Rule, model: GradientState, joint: Joint) -> None:
    """Score each row, then step along the gradient w (sigmoid(margin) - y) x where its label is known."""
    for row in range(len(rows.labels)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        margin = margin_of(columns, values, rule, model.offsets[0, 0], model.cells, model.clock)
        if score:
            joint.log[row, 0] = 0.0
            joint.mean[row, 0] = 0.0
            joint.variance[row, 0] = 0.0
            joint.log[row, 1] = margin
            joint.mean[row, 1] = margin
            joint.variance[row, 1] = 0.0
            joint.known[row] = 2
        if rows.labels[row] >= 0:
            residual = rows.weights[row] * (sigmoid(margin) - rows.labels[row])
            learn_row(columns, values, residual, rule, model)


@kernel
def predict_logistic(
    columns: IntArray,
    values: FloatArray,
    cells: FloatArray,
    offsets: FloatArray,
    clock: FloatArray,
    setting: FloatArray,
) -> tuple[float, float]:
    """The probabilities of both labels of one event; negative ones where a value is too large."""
    if not are_allowed(values, setting):
        return -1.0, -1.0
    return pair_probabilities(margin_of(columns, values, rule_of(setting), offsets[0, 0], cells, clock))


@kernel
def learn_logistic(
    columns: IntArray,
    values: FloatArray,
    label: int,
    weight: float,
    cells: FloatArray,
    offsets: FloatArray,
    clock: FloatArray,
    setting: FloatArray,
) -> bool:
    """Learn one event; False, and nothing done, where a column is unknown or a value too large."""
    if not (are_known(columns) and are_allowed(values, setting)):
        return False
    rule = rule_of(setting)
    residual = weight * (sigmoid(margin_of(columns, values, rule, offsets[0, 0], cells, clock)) - label)
    learn_row(columns, values, residual, rule, GradientState(cells, offsets, clock))
    return True


@kernel
def rate_of(margin: float) -> float:
    """The rate of a count by its logarithm."""
    return math.exp(min(max(margin, -LARGEST_LOG_RATE), LARGEST_LOG_RATE))


@kernel
def predict_poisson(
    columns: IntArray,
    values: FloatArray,
    cells: FloatArray,
    offsets: FloatArray,
    clock: FloatArray,
    setting: FloatArray,
) -> float:
    """The rate of one event; a negative one where a value is too large."""
    if not are_allowed(values, setting):
        return -1.0
    return rate_of(margin_of(columns, values, rule_of(setting), offsets[0, 0], cells, clock))


@kernel
def learn_poisson(
    columns: IntArray,
    values: FloatArray,
    target: float,
    weight: float,
    cells: FloatArray,
    offsets: FloatArray,
    clock: FloatArray,
    setting: FloatArray,
) -> bool:
    """Learn one event; False, and nothing done, where a column is unknown or a value too large."""
    if not (are_known(columns) and are_allowed(values, setting)):
        return False
    rule = rule_of(setting)
    residual = weight * (rate_of(margin_of(columns, values, rule, offsets[0, 0], cells, clock)) - target)
    learn_row(columns, values, residual, rule, GradientState(cells, offsets, clock))
    return True


@kernel
def fold_poisson(rows: TargetRows, score: bool, rule: Rule, model: GradientState, means: FloatArray) -> None:
    """Score each row, then step along the gradient w (exp(margin) - y) x where its target is known."""
    for row in range(len(rows.targets)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        margin = margin_of(columns, values, rule, model.offsets[0, 0], model.cells, model.clock)
        mean = rate_of(margin)
        if score:
            means[row] = mean
        if not np.isnan(rows.targets[row]):
            learn_row(columns, values, rows.weights[row] * (mean - rows.targets[row]), rule, model)


@kernel
def all_weights(rule: Rule, cells: FloatArray, clock: FloatArray, output: int, weights: FloatArray) -> None:
    """The weight of each column for one output, penalties paid up to now."""
    width = width_of(rule)
    for j in range(len(weights)):
        weights[j] = cells[j, width * output] if width == 2 else weight_of(cells, j, width * output, rule, clock)
