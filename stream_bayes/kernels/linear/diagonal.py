"""Bayesian linear regression with a diagonal covariance: O(features present) an event, whatever the number of weights.

`cells` has a row (precision, mean) for each weight; the precision is over that of the noise, and over `discount`. An
event is learned exactly under the diagonal Gaussian before it, and the posterior is replaced by the diagonal Gaussian
with the same marginals (assumed density filtering): with v = 1 / precision and q = sum of v x^2,

    mean += v x e / (1 / w + q),    precision += x^2 / (1 / w + q - v x^2)

so that what is not known of the other weights counts as noise for each.
"""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.common.csr import TargetRows
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.linear.full import (
    COUNT,
    DISCOUNT,
    INTERCEPT,
    LARGEST,
    LOG_EVIDENCE,
    PRIOR,
    SMALLEST_DISCOUNT,
    SQUARES,
    WIDTH,
    age,
)
from stream_bayes.kernels.linear.noise import RegressionScores, log_density, squared_scale
from stream_bayes.typing import FloatArray, IntArray


@kernel
def score_cells(columns: IntArray, values: FloatArray, cells: FloatArray, numbers: FloatArray) -> tuple[float, float]:
    """Mean x'm and the variance of x'w over that of the noise."""
    width = int(numbers[WIDTH])
    intercept = int(numbers[INTERCEPT])
    mean = 0.0
    squares = 0.0
    new = 0.0
    if intercept == 1:
        if width > 0:
            mean += cells[0, 1]
            squares += 1.0 / cells[0, 0]
        else:
            new += 1.0
    for place in range(len(columns)):
        value = values[place]
        column = columns[place] + intercept
        if columns[place] < 0 or column >= width:
            new += value * value
        else:
            mean += value * cells[column, 1]
            squares += value * value / cells[column, 0]
    return mean, squares / numbers[DISCOUNT] + new / numbers[PRIOR]


@kernel
def predict_diagonal(
    columns: IntArray, values: FloatArray, cells: FloatArray, numbers: FloatArray
) -> tuple[float, float, float, float]:
    """Mean, the two parts of the squared scale, and degrees of freedom; the first part -1 when a value is too large."""
    scale, worth = squared_scale(numbers)
    for value in values:
        if not abs(value) <= numbers[LARGEST]:
            return 0.0, -1.0, scale, worth
    mean, spread = score_cells(columns, values, cells, numbers)
    return mean, spread * scale, scale, worth


@kernel
def learn_cell(cells: FloatArray, j: int, value: float, pull: float, noise: float, share: float) -> None:
    """Move one weight: `pull` is e / (1/w + q), `noise` is 1/w + q."""
    variance = 1.0 / (cells[j, 0] * share)
    cells[j, 1] += variance * value * pull
    # The others leave noise of at least 1/w > 0; rounding may leave less when this feature has all of q.
    others = max(noise - variance * value * value, noise * 1e-15)
    cells[j, 0] += value * value / (others * share)


@kernel
def learn_cells(
    columns: IntArray,
    values: FloatArray,
    target: float,
    weight: float,
    cells: FloatArray,
    numbers: FloatArray,
    mean: float,
    spread: float,
) -> None:
    """Add an event whose mean and spread are those the cells give, after its columns have joined."""
    noise = 1.0 / weight + spread
    share = numbers[DISCOUNT]
    intercept = int(numbers[INTERCEPT])
    pull = (target - mean) / noise
    if intercept == 1:
        learn_cell(cells, 0, 1.0, pull, noise, share)
    for place in range(len(columns)):
        learn_cell(cells, columns[place] + intercept, values[place], pull, noise, share)
    numbers[COUNT] += weight
    numbers[SQUARES] += (target - mean) * pull


@kernel
def grow_cells(columns: IntArray, cells: FloatArray, numbers: FloatArray) -> None:
    """Weights for the columns of an event that are new, each with its prior."""
    width = int(numbers[WIDTH])
    intercept = int(numbers[INTERCEPT])
    wanted = max(width, intercept)
    for column in columns:
        wanted = max(wanted, column + 1 + intercept)
    for j in range(width, wanted):
        cells[j, 0] = numbers[PRIOR] / numbers[DISCOUNT]
        cells[j, 1] = 0.0
    numbers[WIDTH] = wanted


@kernel
def discount_cells(cells: FloatArray, numbers: FloatArray) -> None:
    """Let everything known so far, the prior too, count for less."""
    if age(numbers):
        for j in range(int(numbers[WIDTH])):
            kept = cells[j, 0] * numbers[DISCOUNT]
            cells[j, 0] = kept + SMALLEST_DISCOUNT * numbers[PRIOR]
            cells[j, 1] *= kept / cells[j, 0]
        numbers[DISCOUNT] = 1.0


@kernel
def fold_diagonal(
    rows: TargetRows, score: bool, cells: FloatArray, numbers: FloatArray, scores: RegressionScores
) -> bool:
    """Score each row, then learn it where its target is known; False when arithmetic would leave the finite numbers."""
    for row in range(len(rows.targets)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        target = rows.targets[row]
        weight = rows.weights[row]
        mean, spread = score_cells(columns, values, cells, numbers)
        if score:
            scale, worth = squared_scale(numbers)
            scores.mean[row] = mean
            scores.ignorance[row] = spread * scale
            scores.noise[row] = scale
            scores.degrees[row] = worth
        if not np.isnan(target):
            gain = log_density(target, weight, mean, spread, numbers)
            if not (math.isfinite(gain) and math.isfinite(mean)):
                return False
            numbers[LOG_EVIDENCE] += gain
            grow_cells(columns, cells, numbers)
            discount_cells(cells, numbers)
            before = score_cells(columns, values, cells, numbers)
            learn_cells(columns, values, target, weight, cells, numbers, before[0], before[1])
    return True


@kernel
def squares_over(columns: IntArray, values: FloatArray, intercept: int, precision: FloatArray) -> float:
    """The sum of x^2 / precision."""
    total = 1.0 / precision[0] if intercept == 1 else 0.0
    for place in range(len(columns)):
        total += values[place] * values[place] / precision[columns[place]]
    return total


@kernel
def add_event(square: float, spread: float, share: float, precision: FloatArray, j: int) -> None:
    """Move one precision as learning the event would (see `linear_diagonal`); all are over the share."""
    others = max(1.0 + spread - square / (precision[j] * share), 1e-15 * (1.0 + spread))
    precision[j] += square / (others * share)


@kernel
def rank_diagonal(
    row_starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    intercept: int,
    forgetting: float,
    precision: FloatArray,
    chosen: IntArray,
) -> None:
    """Fill `chosen` with rows, each of the largest variance given the answers of those before it.

    The precisions move as learning the row would move them, which takes no target.
    """
    taken = np.zeros(len(row_starts) - 1, dtype=np.bool_)
    share = 1.0
    for turn in range(len(chosen)):
        best = -1
        most = -1.0
        for row in range(len(row_starts) - 1):
            begin = row_starts[row]
            end = row_starts[row + 1]
            squares = -2.0 if taken[row] else squares_over(columns[begin:end], values[begin:end], intercept, precision)
            if squares > most:
                best = row
                most = squares
        chosen[turn] = best
        taken[best] = True
        share *= forgetting
        if intercept == 1:
            add_event(1.0, most / share, share, precision, 0)
        for place in range(row_starts[best], row_starts[best + 1]):
            add_event(values[place] * values[place], most / share, share, precision, columns[place])
