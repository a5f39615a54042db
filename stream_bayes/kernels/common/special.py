"""Special functions the folds share."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import FloatArray

# The square of the reciprocal of a smaller number, summed over some columns, is not finite.
SMALLEST_COUNT = 1e-140


@kernel
def log_rising(start: float, steps: float) -> float:
    """log Gamma(start + steps) - log Gamma(start), without the cancellation of two large log-gammas.

    From 32 on, the difference of two Stirling series (next term below 1e-16); under it the log-gammas are small.
    """
    if steps == 1.0:
        return math.log(start)
    if start < 32.0:
        return math.lgamma(start + steps) - math.lgamma(start)
    end = start + steps
    leading = steps * math.log(start) + (end - 0.5) * math.log1p(steps / start) - steps
    return leading + (stirling_tail(end) - stirling_tail(start))


@kernel
def stirling_tail(x: float) -> float:
    """log Gamma(x) - [(x - 1/2) log x - x + log(2 pi) / 2] = 1/(12 x) - 1/(360 x^3) + ..."""
    square = 1.0 / (x * x)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x


@kernel
def log_gamma_slopes(x: float) -> tuple[float, float, float]:
    """log x, digamma(x) and trigamma(x), for x > 0: the logarithm of x, and mean and variance of that of a Gamma(x).

    Stirling's series from 10 on (error below 1e-13); smaller x step up: psi(x) = psi(x + 1) - 1/x. Below SMALLEST_COUNT
    the last two are those of SMALLEST_COUNT.
    """
    below = 0.0
    squares = 0.0
    y = max(x, SMALLEST_COUNT)
    while y < 10.0:
        below += 1.0 / y
        squares += 1.0 / (y * y)
        y += 1.0
    inverse = 1.0 / y
    square = inverse * inverse
    tail = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    curve = square * inverse * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square * (1 / 30 - square * 5 / 66))))
    digamma = math.log(y) - 0.5 * inverse - tail - below
    return math.log(x), digamma, inverse + 0.5 * square + curve + squares


@kernel
def slopes_of(count: float, prior: float, table: FloatArray) -> tuple[float, float, float]:
    """The three of prior + count; small whole counts come from a table of the same numbers."""
    if count < len(table):
        whole = int(count)
        if whole == count:
            return table[whole, 0], table[whole, 1], table[whole, 2]
    return log_gamma_slopes(prior + count)


@kernel
def fill_slopes(prior: float, table: FloatArray) -> None:
    """Fill `table` with what `slopes_of` falls back to; nothing is known of a count of 0 without a prior."""
    for count in range(len(table)):
        if prior + count > 0.0:
            table[count, 0], table[count, 1], table[count, 2] = log_gamma_slopes(prior + count)
        else:
            table[count, 0] = -np.inf
            table[count, 1] = -np.inf
            table[count, 2] = 0.0
