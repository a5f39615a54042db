"""Folds of Bayesian linear regression over the rows of a batch: score each, then learn it where its target is known."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.common.csr import TargetRows, all_between
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.linear.full import (
    FORGETTING,
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
from stream_bayes.kernels.linear.noise import RegressionScores, log_density, squared_scale
from stream_bayes.typing import FloatArray, IntArray


@kernel
def predict_linear(
    columns: IntArray, values: FloatArray, factor: FloatArray, vectors: FloatArray, numbers: FloatArray
) -> tuple[float, float, float, float]:
    """Mean, the two parts of the squared scale, and degrees of freedom; the first part -1 when a value is too large."""
    scale, worth = squared_scale(numbers)
    if not all_between(values, -numbers[LARGEST], numbers[LARGEST]):
        return 0.0, -1.0, scale, worth
    _, new = scatter(columns, values, int(numbers[INTERCEPT]), vectors, numbers)
    mean, spread = spread_of(new, factor, vectors, numbers)
    return mean, spread * scale, scale, worth


@kernel
def learn_linear(
    columns: IntArray,
    values: FloatArray,
    target: float,
    weight: float,
    factor: FloatArray,
    vectors: FloatArray,
    numbers: FloatArray,
) -> bool:
    """Add one event; False, and nothing done, when a column has no room or a value is too large."""
    if not (has_room(columns, factor, numbers) and all_between(values, -numbers[LARGEST], numbers[LARGEST])):
        return False
    grow(columns, factor, vectors, numbers)
    scatter(columns, values, int(numbers[INTERCEPT]), vectors, numbers)
    absorb(target, weight, factor, vectors, numbers)
    return True


@kernel
def fold_linear(
    rows: TargetRows,
    score: bool,
    factor: FloatArray,
    vectors: FloatArray,
    numbers: FloatArray,
    scores: RegressionScores,
) -> None:
    """Score each row, then learn it where its target is known.

    An event whose columns are all known is scored by the pass that learns it; others are scored before they are.
    """
    intercept = int(numbers[INTERCEPT])
    ageing = numbers[FORGETTING] < 1.0
    for row in range(len(rows.targets)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        target = rows.targets[row]
        weight = rows.weights[row]
        known, new = scatter(columns, values, intercept, vectors, numbers)
        scale, worth = squared_scale(numbers)
        learned = not np.isnan(target)
        at_once = learned and known and not ageing
        if at_once:
            mean, spread = absorb(target, weight, factor, vectors, numbers)
        else:
            mean, spread = spread_of(new, factor, vectors, numbers)
        if learned and ageing:
            numbers[LOG_EVIDENCE] += log_density(target, weight, mean, spread, numbers)
        if learned and not at_once:
            grow(columns, factor, vectors, numbers)
            discount(factor, vectors, numbers)
            scatter(columns, values, intercept, vectors, numbers)
            absorb(target, weight, factor, vectors, numbers)
        if score:
            scores.mean[row] = mean
            scores.ignorance[row] = spread * scale
            scores.noise[row] = scale
            scores.degrees[row] = worth
