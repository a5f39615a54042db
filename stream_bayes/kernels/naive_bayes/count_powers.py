"""Power sums of the counts of each class: sums over all its words when counts are not whole.

Wanted are the sums of `count_levels`. With fractional weights or forgetting hardly two words have the same count.
`Powers` holds P_k, the sum of n_j^k for k = 0..12, over the light words (n_j below a tenth of M), for which

    sum log(M - n_j) = P_0 log M - sum over k of P_k / (k M^k)        (truncation: 0.1^13 / 13 a word)

and likewise for the inverse powers that the other two functions are series of; and the heavy words, of which there
are at most ten times as many as a message has, one by one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_gamma_slopes
from stream_bayes.kernels.naive_bayes.count_levels import absences
from stream_bayes.typing import FloatArray, IntArray

ORDERS = 13
HEAVY = 0.1
# A heavy word becomes light only well under the limit, so that a word near it does not go to and fro.
LIGHT_AGAIN = 0.08
# Unlearning shrinks M under words already found light; below this share of the largest M they are sorted again.
SHRUNK = 0.8


class Powers(NamedTuple):
    """Power sums over the light words of each class, and the list of its heavy ones."""

    sums: FloatArray
    """sums[c, k] is the sum of n_j^k."""
    heavy: IntArray
    """Columns of the heavy words, `heavy_count[c]` of them."""
    heavy_count: IntArray
    place: IntArray
    """place[column, class]: where the column stands in `heavy`, -1 if it does not."""
    largest_mass: FloatArray
    """The largest M since the words were last sorted into light and heavy."""


@kernel
def add_powers(sums: FloatArray, count: float, sign: float) -> None:
    """Add or take away one light word."""
    power = sign
    for k in range(ORDERS):
        sums[k] += power
        power *= count


@kernel
def make_heavy(powers: Powers, c: int, column: int) -> None:
    """Append a column to the heavy list."""
    powers.heavy[c, powers.heavy_count[c]] = column
    powers.place[column, c] = powers.heavy_count[c]
    powers.heavy_count[c] += 1


@kernel
def drop_heavy(powers: Powers, c: int, column: int) -> None:
    """Take a column from the heavy list; the last one takes its place."""
    place = powers.place[column, c]
    powers.heavy_count[c] -= 1
    last = powers.heavy[c, powers.heavy_count[c]]
    powers.heavy[c, place] = last
    powers.place[last, c] = place
    powers.place[column, c] = -1


@kernel
def change_power(powers: Powers, c: int, column: int, before: float, after: float, mass: float) -> None:
    """Move one word of class c from the count `before` to `after`."""
    if powers.place[column, c] >= 0:
        if after == 0.0:
            drop_heavy(powers, c, column)
        return
    if before > 0.0:
        add_powers(powers.sums[c], before, -1.0)
    if after > HEAVY * mass:
        make_heavy(powers, c, column)
    elif after > 0.0:
        add_powers(powers.sums[c], after, 1.0)


@kernel
def settle_powers(powers: Powers, c: int, cells: FloatArray, mass: float) -> None:
    """After a change of M: heavy words that have become light move over; after much unlearning all are sorted again."""
    powers.largest_mass[c] = max(powers.largest_mass[c], mass)
    if mass < SHRUNK * powers.largest_mass[c]:
        sort_powers(powers, c, cells, mass)
        return
    for place in range(powers.heavy_count[c] - 1, -1, -1):
        column = powers.heavy[c, place]
        if cells[column, c] < LIGHT_AGAIN * mass:
            drop_heavy(powers, c, column)
            add_powers(powers.sums[c], cells[column, c], 1.0)


@kernel
def sort_powers(powers: Powers, c: int, cells: FloatArray, mass: float) -> None:
    """Sort every word of class c into light and heavy from the counts alone."""
    powers.sums[c] = 0.0
    powers.heavy_count[c] = 0
    powers.largest_mass[c] = mass
    for column in range(len(cells)):
        powers.place[column, c] = -1
        if cells[column, c] > HEAVY * mass:
            make_heavy(powers, c, column)
        elif cells[column, c] > 0.0:
            add_powers(powers.sums[c], cells[column, c], 1.0)


@kernel
def sum_powers(
    powers: Powers, c: int, cells: FloatArray, prior_b: float, class_weight: float
) -> tuple[float, float, float, int]:
    """The three sums, from the power sums and the heavy words, and the number of words without a term."""
    certain = 0
    mass = prior_b + class_weight
    log_sum = light_logs(powers.sums[c], mass)
    mean_sum, variance_sum = light_slopes(powers.sums[c], mass)
    for place in range(powers.heavy_count[c]):
        absent = absences(class_weight, cells[powers.heavy[c, place], c], prior_b)
        if prior_b + absent == 0.0:
            certain += 1
            continue
        log, mean, variance = log_gamma_slopes(prior_b + absent)  # added last, a small prior is not lost
        log_sum += log
        mean_sum += mean
        variance_sum += variance
    return log_sum, mean_sum, variance_sum, certain


@kernel
def light_logs(sums: FloatArray, mass: float) -> float:
    """Sum of log(mass - n) over the light words."""
    total = float(sums[0]) * math.log(mass)
    scale = 1.0
    for k in range(1, ORDERS):
        scale /= mass
        total -= sums[k] * scale / k
    return total


@kernel
def light_inverses(sums: FloatArray, mass: float, power: int) -> float:
    """Sum of (mass - n)^-power over the light words: the negative binomial series."""
    total = 0.0
    factor = mass**-power
    for k in range(ORDERS):
        total += factor * sums[k]
        factor *= (k + power) / ((k + 1.0) * mass)
    return total


@kernel
def light_slopes(sums: FloatArray, mass: float) -> tuple[float, float]:
    """Sums of digamma(mass - n) and trigamma(mass - n) over the light words.

    Stirling's series from 20 on (error 1e-12 a word); a smaller mass steps up: psi(x) = psi(x + 1) - 1/x.
    """
    below = 0.0
    squares = 0.0
    while mass < 20.0:
        below += light_inverses(sums, mass, 1)
        squares += light_inverses(sums, mass, 2)
        mass += 1.0
    first = light_inverses(sums, mass, 1)
    second = light_inverses(sums, mass, 2)
    mean = light_logs(sums, mass) - first / 2 - second / 12 - below
    mean += light_inverses(sums, mass, 4) / 120 - light_inverses(sums, mass, 6) / 252
    variance = first + second / 2 + light_inverses(sums, mass, 3) / 6 + squares
    variance -= light_inverses(sums, mass, 5) / 30 - light_inverses(sums, mass, 7) / 42
    return mean, variance


def empty_powers(classes: int, columns: int) -> Powers:
    """No words yet."""
    return Powers(
        np.zeros((classes, ORDERS)),
        np.zeros((classes, columns), dtype=np.int64),
        np.zeros(classes, dtype=np.int64),
        np.full((columns, classes), -1, dtype=np.int64),
        np.zeros(classes),
    )
