"""Special functions the folds share."""

from __future__ import annotations

import math

from stream_bayes.kernels.compiled import FloatArray, kernel


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
def log_of(count: float, prior: float, table: FloatArray) -> float:
    """log(prior + count); small whole counts come from a table of the same logarithms."""
    if count < len(table):
        whole = int(count)
        if whole == count:
            return float(table[whole])
    return math.log(prior + count)


@kernel
def log_table(prior: float, table: FloatArray) -> None:
    """Fill `table` with log(prior + k), by the very function `log_of` falls back to."""
    for count in range(len(table)):
        table[count] = math.log(prior + count)
