"""Choosing events by predictive variance under a diagonal covariance."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.compiled import FloatArray, IntArray, kernel


@kernel
def spread_of(columns: IntArray, values: FloatArray, intercept: int, precision: FloatArray) -> float:
    """The variance of x'w over that of the noise."""
    spread = 1.0 / precision[0] if intercept == 1 else 0.0
    for place in range(len(columns)):
        spread += values[place] * values[place] / precision[columns[place]]
    return spread


@kernel
def rank_diagonal(
    row_starts: IntArray, columns: IntArray, values: FloatArray, intercept: int, precision: FloatArray, chosen: IntArray
) -> None:
    """Fill `chosen` with rows, each of the largest variance given the answers of those before it.

    The precisions move as learning the row would move them, which takes no target.
    """
    taken = np.zeros(len(row_starts) - 1, dtype=np.bool_)
    for turn in range(len(chosen)):
        best, most = -1, -1.0
        for row in range(len(row_starts) - 1):
            begin, end = row_starts[row], row_starts[row + 1]
            spread = -2.0 if taken[row] else spread_of(columns[begin:end], values[begin:end], intercept, precision)
            if spread > most:
                best, most = row, spread
        chosen[turn], taken[best] = best, True
        if intercept == 1:
            precision[0] += 1.0 / (1.0 + most - 1.0 / precision[0])
        for place in range(row_starts[best], row_starts[best + 1]):
            j, square = columns[place], values[place] * values[place]
            precision[j] += square / max(1.0 + most - square / precision[j], 1e-15 * (1.0 + most))
