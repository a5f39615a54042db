"""Choosing events by predictive variance under a diagonal covariance."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.compiled import FloatArray, IntArray, kernel


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
    taken, share = np.zeros(len(row_starts) - 1, dtype=np.bool_), 1.0
    for turn in range(len(chosen)):
        best, most = -1, -1.0
        for row in range(len(row_starts) - 1):
            begin, end = row_starts[row], row_starts[row + 1]
            squares = -2.0 if taken[row] else squares_over(columns[begin:end], values[begin:end], intercept, precision)
            if squares > most:
                best, most = row, squares
        chosen[turn], taken[best] = best, True
        share *= forgetting
        if intercept == 1:
            add_event(1.0, most / share, share, precision, 0)
        for place in range(row_starts[best], row_starts[best + 1]):
            add_event(values[place] * values[place], most / share, share, precision, columns[place])
