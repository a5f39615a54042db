"""The distinct counts of each class: sums over all its words, one term for each distinct count.

Wanted, for one class with mass M = b + N: the sum over its words of f(M - n_j), for f the logarithm, the digamma and
the trigamma function (mean and variance of the logarithm of a Gamma variable). While counts are whole, words with the
same count have the same term. All integers, so the sums do not depend on the order of events, not even in the last bit.
There are at most sqrt(2 T) distinct counts among T uses, however many words there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.csr import RESIDUE, residue
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import slopes_of
from stream_bayes.typing import FloatArray, IntArray


class Levels(NamedTuple):
    """Distinct counts of each class; row c holds `size[c]` of them, ascending."""

    counts: FloatArray
    words: IntArray
    """How many words have each count; 0 marks a gap."""
    size: IntArray


@kernel
def find_level(counts: FloatArray, size: int, count: float) -> int:
    """The first place whose count is not below `count`."""
    guess = int(count) - 1  # small counts stand without gaps from 1 on
    if 0 <= guess < size and counts[guess] == count:
        return guess
    low = 0
    high = size
    while low < high:
        middle = (low + high) // 2
        if counts[middle] < count:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def change_level(levels: Levels, c: int, before: float, after: float) -> None:
    """Move one word of class c from the count `before` to `after`; zero counts are not held.

    A count that no word has any more stays as a gap, and the next new count near it moves in: inserting shifts a
    few entries instead of half of them (measured: a third of the time of learning).
    """
    if levels.size[c] == levels.counts.shape[1]:
        close_gaps(levels, c)
    counts = levels.counts[c]
    words = levels.words[c]
    size = levels.size[c]
    place = 0
    if before > 0.0:
        place = find_level(counts, size, before)
        words[place] -= 1
    if after == 0.0:
        return
    if after == before + 1.0:
        place += 1 if before > 0.0 else 0
    else:
        place = find_level(counts, size, after)
    if place < size and counts[place] == after:
        words[place] += 1
        return
    if place > 0 and words[place - 1] == 0:
        place -= 1
    gap = place
    while gap < size and words[gap] != 0:
        gap += 1
    for later in range(gap, place, -1):
        counts[later] = counts[later - 1]
        words[later] = words[later - 1]
    counts[place] = after
    words[place] = 1
    if gap == size:
        levels.size[c] += 1


@kernel
def close_gaps(levels: Levels, c: int) -> None:
    """Drop the counts that no word has."""
    kept = 0
    for place in range(levels.size[c]):
        if levels.words[c, place] != 0:
            levels.counts[c, kept] = levels.counts[c, place]
            levels.words[c, kept] = levels.words[c, place]
            kept += 1
    levels.size[c] = kept


@kernel
def knows_nothing(class_weight: float, prior_b: float) -> bool:
    """Whether a class has neither a prior nor events, or none but what rounding leaves of a sum."""
    return prior_b == 0.0 and class_weight <= RESIDUE


@kernel
def absences(class_weight: float, count: float, prior_b: float) -> float:
    """Messages of a class without a word, 0 where rounding of large sums leaves less.

    Without a prior it must be 0 for a word of every message, since what rounding leaves there is a possibility.
    """
    rest = class_weight - count
    return 0.0 if prior_b == 0.0 and rest < residue(class_weight) else max(rest, 0.0)


@kernel
def sum_levels(
    levels: Levels, c: int, prior_b: float, class_weight: float, table_b: FloatArray
) -> tuple[float, float, float, int]:
    """The three sums, from the distinct counts, and the number of words without a term: b + N - n is 0."""
    certain = 0
    log_sum = 0.0
    mean_sum = 0.0
    variance_sum = 0.0
    for place in range(levels.size[c]):
        words = levels.words[c, place]
        if words != 0:
            absent = absences(class_weight, levels.counts[c, place], prior_b)
            if prior_b + absent == 0.0:
                certain += words
                continue
            log, mean, variance = slopes_of(absent, prior_b, table_b)
            log_sum += words * log
            mean_sum += words * mean
            variance_sum += words * variance
    return log_sum, mean_sum, variance_sum, certain


def empty_levels(classes: int, capacity: int) -> Levels:
    """No counts yet."""
    return Levels(
        np.zeros((classes, capacity)),
        np.zeros((classes, capacity), dtype=np.int64),
        np.zeros(classes, dtype=np.int64),
    )


def level_counts(cells: FloatArray) -> Levels:
    """The levels of counts that are all whole."""
    distinct = [np.unique(cells[:, c][cells[:, c] > 0.0], return_counts=True) for c in range(cells.shape[1])]
    levels = empty_levels(len(distinct), max((len(counts) for counts, _ in distinct), default=0))
    for c, (counts, words) in enumerate(distinct):
        levels.counts[c, : len(counts)] = counts
        levels.words[c, : len(words)] = words
        levels.size[c] = len(counts)
    return levels
