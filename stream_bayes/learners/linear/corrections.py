"""Evidence of a full belief as a sum: added to, scaled, and one event taken out of it.

All of it is rotation of rows in and out of the factor, so that each column keeps the digits of its own scale.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular

from stream_bayes.errors import NumericalError, UnlearnError
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.common.csr import residue
from stream_bayes.kernels.linear.full import ADDED, COUNT, PRESENT, SQUARES, Z
from stream_bayes.learners.linear.full import FullBelief
from stream_bayes.typing import BoolArray, FloatArray

ROUNDING = float(np.finfo(np.float64).eps)
# What rounding may have moved of a sum of squares.
SLACK = 1e-9
# How many times the rounding of one operation a sum of many may have.
SAFETY = 100.0
# What must be left of 1 - w x'P^-1 x, in units of rounding.
FEWEST_DIGITS = 1e3


def merge(belief: FullBelief, other: FullBelief, columns: IntArray) -> None:
    """Add the other's evidence, whose weights stand in these columns here: its rows in, and one prior out again.

    Where rounding has left too little of the prior that is a `NumericalError`, and the belief is of no use.
    """
    count, added = (belief.numbers[place] + other.numbers[place] for place in (COUNT, ADDED))
    present = belief.vectors[PRESENT].copy()
    present[columns] += other.vectors[PRESENT, : other.width]
    for row, target in zip(other.upper, other.vectors[Z].tolist(), strict=False):
        belief.rotate(columns, row, target, 1.0)
    for column in columns:
        belief.rotate(np.array((column,)), np.ones(1), 0.0, -belief.setting.prior)
    squares = max(float(belief.numbers[SQUARES] + other.numbers[SQUARES]), 0.0)
    belief.numbers[[COUNT, ADDED, SQUARES]] = (count, added, squares)
    belief.vectors[PRESENT] = present
    _check_digits(belief)


def scale(belief: FullBelief, factor: float) -> None:
    """Multiply the evidence, and not the prior: everything, and then the rest of the prior in again."""
    if factor == 0.0:
        empty(belief)
        return
    belief.factor *= math.sqrt(factor)
    belief.vectors[Z] *= math.sqrt(factor)
    belief.vectors[PRESENT] *= factor
    belief.numbers[[COUNT, SQUARES, ADDED]] *= factor
    count = belief.numbers[COUNT]
    added = belief.numbers[ADDED]
    present = belief.vectors[PRESENT].copy()
    for column in range(belief.width):
        belief.rotate(np.array((column,)), np.ones(1), 0.0, (1.0 - factor) * belief.setting.prior)
    belief.numbers[[COUNT, ADDED]] = (count, added)
    belief.vectors[PRESENT] = present


def empty(belief: FullBelief) -> None:
    """Back to the prior, for the weights that there are."""
    fresh = FullBelief(belief.setting)
    fresh.fill(belief.width)
    belief.take(fresh)


def take_back(belief: FullBelief, columns: IntArray, values: FloatArray, target: float, weight: float) -> None:
    """Rotate the event out of the belief; refused, with nothing changed, when it cannot have been learned.

    What remains must be the prior and a sum over events: no count below zero, no diagonal of P below the prior, and
    x'P^-1 x at most what it would be if this event were the only one.
    """
    count = float(belief.numbers[COUNT])
    left = count - weight
    least = min(residue(count), 0.5 * weight)
    if left < -least or int(columns.max(initial=-1)) >= belief.width:
        message = f"the events learned weigh {count:g} in all, and {weight:g} is to be taken back: was it learned?"
        raise UnlearnError(message)
    x = np.zeros(belief.width)
    x[columns] = values
    present = belief.vectors[PRESENT, : belief.width] - weight * (x != 0.0)
    _check_squares(belief, x, present, weight, nothing_left=left <= least)
    rest = belief.copy()
    if left <= least:
        empty(belief)
        return
    _take_out(rest, x, target, weight, (x != 0.0) & (present <= least))
    rest.numbers[[COUNT, ADDED]] = (left, belief.numbers[ADDED])
    rest.vectors[PRESENT, : belief.width] = present
    belief.take(rest)


def _check_squares(
    belief: FullBelief, x: FloatArray, present: FloatArray, weight: float, *, nothing_left: bool
) -> None:
    diagonal = (belief.upper**2).sum(axis=0)
    rest = diagonal - weight * x * x - belief.setting.prior
    least = SLACK * (diagonal + weight * x * x) + _moved(belief)
    short = (rest < -least) | (present < -residue(float(belief.numbers[COUNT])))
    if short.any() or (nothing_left and (rest > least).any()):
        message = "its features, or their squares, are not in what was learned: was this event learned?"
        raise UnlearnError(message)


def _moved(belief: FullBelief) -> float:
    """How far rounding may have moved an entry of P: it goes by all that was ever added, taken back since or not."""
    return SAFETY * ROUNDING * float(belief.numbers[ADDED])


def _take_out(belief: FullBelief, x: FloatArray, target: float, weight: float, alone: BoolArray) -> None:
    """Features that only this event has go back to their prior; then it is an event without them."""
    if alone.any():
        belief.drop(alone)
        x = np.where(alone, 0.0, x)
    share, squares = _left(belief, x, target, weight)
    belief.rotate(np.arange(belief.width), x, target, -weight * share)
    belief.numbers[SQUARES] = squares
    _check_digits(belief)


def _check_digits(belief: FullBelief) -> None:
    """Refuse a belief of which a rotation has left no digits."""
    if not belief.is_sound():
        message = "no digit of the evidence of the other events would be left; nothing was changed"
        raise NumericalError(message)


def _left(belief: FullBelief, x: FloatArray, target: float, weight: float) -> tuple[float, float]:
    """How much of the event can be rotated out, and what then remains of the squares that no line explains.

    All but rounding: 1 - w x'P^-1 x is at least what it would be if there were no other event, and where rounding has
    it below that, so much less is taken. Refused when the event contradicts the rest by more.
    """
    solved = solve_triangular(belief.upper, x, trans="T")
    prior = belief.setting.prior
    spread = weight * float(solved @ solved)
    bound = prior / (prior + weight * float(x @ x))
    rounding = SAFETY * ROUNDING * (len(x) + 1) + spread * _moved(belief) / prior
    remaining = max(1.0 - spread, bound)
    if 1.0 - spread < (1.0 - SLACK) * bound - rounding:
        message = "without it the precision would not be positive definite: was this event learned?"
        raise UnlearnError(message)
    z = belief.vectors[Z, : belief.width]
    squares = float(belief.numbers[SQUARES])
    taken = weight * (target - float(solved @ z)) ** 2 / remaining
    least = SLACK * (squares + float(z @ z) + weight * target**2) + taken * rounding / remaining
    if squares - taken < -least:
        message = f"no line through what was learned has a target of {target:g} here: was this event learned?"
        raise UnlearnError(message)
    if remaining < FEWEST_DIGITS * ROUNDING * (len(x) + 1):
        message = "this event outweighs the others so far that no digits of them would be left; nothing was changed"
        raise NumericalError(message)
    share = 1.0 if spread <= 1.0 - remaining else (1.0 - remaining) / spread
    return share, max(squares - taken, 0.0)
