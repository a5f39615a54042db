"""A linear support vector machine over a memory of mails, by coordinate descent in the dual.

A mail is x = sqrt(share of the view) / sqrt(k + 1) in each of the k features that a view has, and BIAS for the bias.
With labels y = 1 or -1 the weights are w = sum of a x over the memory, where a y lies between 0 and C. They minimise
w'w / 2 + C sum of max(0, 1 - y w'x). The dual is a sum over pairs of mails, so the products x'x are kept.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.mail.features import VIEWS
from stream_bayes.kernels.mail.tokens import Buckets
from stream_bayes.typing import BoolArray, FloatArray, IntArray

# Of grams, words and structure in the squared length of a mail.
SHARES = (0.5, 0.35, 0.15)
MARGIN_VIEWS = len(SHARES)
BIAS = 0.1
# Mails are nearly always separable, and a small C is worse (5 to 10 times on mail with headers).
LARGEST_COEFFICIENT = 10.0
# The descent ends when no step would move a score by more, or after this number of sweeps.
TOLERANCE = 0.02
MAX_SWEEPS = 30

Weights = NDArray[np.float32]


@kernel
def view_value(view: int, count: int) -> float:
    """The value of each of the features that a mail has in a view."""
    return math.sqrt(SHARES[view] / (count + 1.0))


@kernel
def margin_scores(
    view_starts: IntArray,
    features: Buckets,
    rows: IntArray,
    bias: float,
    scores: FloatArray,
    grams: Weights,
    words: Weights,
    structure: Weights,
) -> None:
    """Write w'x of each mail."""
    for at in range(len(rows)):
        total = BIAS * bias
        for view in range(MARGIN_VIEWS):
            place = rows[at] * VIEWS + view
            table = grams if view == 0 else (words if view == 1 else structure)
            found = 0.0
            for i in range(view_starts[place], view_starts[place + 1]):
                found += float(table[np.uint64(features[i])])
            total += view_value(view, view_starts[place + 1] - view_starts[place]) * found
        scores[at] = total


@kernel
def products(starts: IntArray, features: Buckets, mail: int, mark: BoolArray, gram: FloatArray) -> None:
    """Write x'x of a mail with itself and those before it; `mark` is all False, and is so again."""
    for other in range(mail + 1):
        gram[mail, other] = BIAS * BIAS
    for view in range(MARGIN_VIEWS):
        begin = starts[mail * MARGIN_VIEWS + view]
        end = starts[mail * MARGIN_VIEWS + view + 1]
        for i in range(begin, end):
            mark[np.uint64(features[i])] = True
        own = view_value(view, end - begin)
        for other in range(mail + 1):
            first = starts[other * MARGIN_VIEWS + view]
            until = starts[other * MARGIN_VIEWS + view + 1]
            common = 0
            for i in range(first, until):
                common += mark[np.uint64(features[i])]
            gram[mail, other] += own * view_value(view, until - first) * common
        for i in range(begin, end):
            mark[np.uint64(features[i])] = False
    for other in range(mail):
        gram[other, mail] = gram[mail, other]


@kernel
def optimise(gram: FloatArray, count: int, signs: FloatArray, coefficients: FloatArray, scores: FloatArray) -> None:
    """Move the coefficients a to the optimum, from the newest mail to the oldest, sweep by sweep."""
    scores[:count] = 0.0
    for i in range(count):
        if coefficients[i] != 0.0:
            for j in range(count):
                scores[j] += coefficients[i] * gram[i, j]
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for i in range(count - 1, -1, -1):
            old = signs[i] * coefficients[i]
            new = min(max(old + (1.0 - signs[i] * scores[i]) / gram[i, i], 0.0), LARGEST_COEFFICIENT)
            if new == old:
                continue
            coefficients[i] = signs[i] * new
            for j in range(count):
                scores[j] += signs[i] * (new - old) * gram[i, j]
            largest = max(largest, abs(new - old) * gram[i, i])
        if largest < TOLERANCE:
            return


@kernel
def add_to_weights(
    starts: IntArray,
    features: Buckets,
    count: int,
    changes: FloatArray,
    grams: Weights,
    words: Weights,
    structure: Weights,
) -> None:
    """Add each mail to the weights, times the change of its coefficient."""
    for mail in range(count):
        if changes[mail] == 0.0:
            continue
        for view in range(MARGIN_VIEWS):
            begin = starts[mail * MARGIN_VIEWS + view]
            end = starts[mail * MARGIN_VIEWS + view + 1]
            table = grams if view == 0 else (words if view == 1 else structure)
            step = np.float32(changes[mail] * view_value(view, end - begin))
            for i in range(begin, end):
                table[np.uint64(features[i])] += step
