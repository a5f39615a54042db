"""Softmax regression: score each row, then step along its gradient, any number of classes at once."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.common.class_scores import best, normalise
from stream_bayes.kernels.common.csr import Joint, Rows, are_known
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.gradient.steps import (
    GradientState,
    Rule,
    are_allowed,
    learn_offset,
    learn_output,
    rule_of,
    step_size,
    tick,
    weight_of,
    width_of,
)
from stream_bayes.typing import FloatArray, IntArray


@kernel
def margins_of(columns: IntArray, values: FloatArray, rule: Rule, model: GradientState, margins: FloatArray) -> None:
    """Write the linear predictor of each class for a row."""
    width = width_of(rule)
    cells = model.cells
    clock = model.clock
    for c in range(len(margins)):
        margins[c] = model.offsets[c, 0]
    for i in range(len(columns)):
        j = columns[i]
        if j >= 0:
            for c in range(len(margins)):
                weight = cells[j, width * c] if width == 2 else weight_of(cells, j, width * c, rule, clock)
                margins[c] += values[i] * weight


@kernel
def is_known(c: int, declared: int, seen: FloatArray) -> bool:
    """Whether a class was declared to the constructor or has been learned."""
    return c < declared or seen[c] > 0.0


@kernel
def score_classes(row: int, declared: int, seen: FloatArray, margins: FloatArray, joint: Joint) -> None:
    """Write the linear predictor of each known class; NaN for the others."""
    joint.known[row] = 0
    for c in range(len(margins)):
        known = is_known(c, declared, seen)
        joint.known[row] += 1 if known else 0
        joint.log[row, c] = joint.mean[row, c] = margins[c] if known else np.nan
        joint.variance[row, c] = 0.0


@kernel
def to_residuals(label: int, weight: float, declared: int, seen: FloatArray, margins: FloatArray) -> None:
    """Replace the linear predictor of each known class by w (p - [it is the label]), of the others by 0."""
    highest = margins[label]
    for c in range(len(margins)):
        if is_known(c, declared, seen):
            highest = max(highest, margins[c])
    total = 0.0
    for c in range(len(margins)):
        margins[c] = math.exp(margins[c] - highest) if is_known(c, declared, seen) else 0.0
        total += margins[c]
    for c in range(len(margins)):
        margins[c] = weight * (margins[c] / total - (1.0 if c == label else 0.0))


@kernel
def learn_classes(
    columns: IntArray,
    values: FloatArray,
    residuals: FloatArray,
    rule: Rule,
    declared: int,
    seen: FloatArray,
    model: GradientState,
) -> None:
    """One step of a row, whose gradient is residual times the values in each known class."""
    width = width_of(rule)
    size = step_size(rule, model.clock[0] + 1.0)
    for c in range(len(residuals)):
        if is_known(c, declared, seen):
            learn_output(columns, values, residuals[c], width * c, rule, model)
            if rule.intercept:
                learn_offset(residuals[c], rule, size, model.offsets, c)
    tick(rule, size, model.clock)


@kernel
def learn_label(
    columns: IntArray,
    values: FloatArray,
    label: int,
    weight: float,
    rule: Rule,
    declared: int,
    seen: FloatArray,
    model: GradientState,
    margins: FloatArray,
) -> None:
    """Learn the label of a row whose linear predictors are `margins`, which are overwritten."""
    seen[label] += 1.0
    to_residuals(label, weight, declared, seen, margins)
    learn_classes(columns, values, margins, rule, declared, seen, model)


@kernel
def fold_softmax(
    rows: Rows, score: bool, rule: Rule, declared: int, seen: FloatArray, model: GradientState, joint: Joint
) -> None:
    """Score each row, then step along the gradient w (p_c - [c is the label]) x where its label is known.

    A label that was never declared takes part from the first event of it on, that event included.
    """
    margins = np.empty(len(seen))
    for row in range(len(rows.labels)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        margins_of(columns, values, rule, model, margins)
        if score:
            score_classes(row, declared, seen, margins, joint)
        label = rows.labels[row]
        if label >= 0:
            learn_label(columns, values, label, rows.weights[row], rule, declared, seen, model, margins)


@kernel
def predict_softmax(
    columns: IntArray,
    values: FloatArray,
    declared: int,
    seen: FloatArray,
    cells: FloatArray,
    offsets: FloatArray,
    clock: FloatArray,
    setting: FloatArray,
    probabilities: FloatArray,
) -> bool:
    """Write the probability of each class for one event, NaN where unknown; False where a value is too large."""
    if not are_allowed(values, setting):
        return False
    margins = np.empty(len(seen))
    margins_of(columns, values, rule_of(setting), GradientState(cells, offsets, clock), margins)
    for c in range(len(margins)):
        margins[c] = margins[c] if is_known(c, declared, seen) else np.nan
    probabilities[:] = np.nan
    top = best(margins, -1)
    if top >= 0:
        normalise(margins, margins[top], probabilities)
    return True


@kernel
def learn_softmax(
    columns: IntArray,
    values: FloatArray,
    label: int,
    weight: float,
    declared: int,
    seen: FloatArray,
    cells: FloatArray,
    offsets: FloatArray,
    clock: FloatArray,
    setting: FloatArray,
) -> bool:
    """Learn one event; False, and nothing done, where a column is unknown or a value too large."""
    if not (are_known(columns) and are_allowed(values, setting)):
        return False
    rule = rule_of(setting)
    model = GradientState(cells, offsets, clock)
    margins = np.empty(len(seen))
    margins_of(columns, values, rule, model, margins)
    learn_label(columns, values, label, weight, rule, declared, seen, model, margins)
    return True
