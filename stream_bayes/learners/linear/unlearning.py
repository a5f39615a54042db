"""Taking an event out of a full belief, when it can have been in it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from stream_bayes.errors import UnlearnError
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.linear import ADDED, COUNT, SQUARES, Z
from stream_bayes.kernels.rows import residue
from stream_bayes.learners.linear.full import ROUNDING, FullBelief

# What rounding may have moved of a sum of squares.
SLACK = 1e-9
# How many times the rounding of one operation a sum of many may have.
SAFETY = 100.0


def taken_back(belief: FullBelief, columns: IntArray, values: FloatArray, target: float, weight: float) -> None:
    """Rotate the event out of the belief; refused, with nothing changed, when it cannot have been learned.

    What remains must be the prior and a sum over events: no count below zero, no diagonal of P below the prior, and
    x'P^-1 x at most what it would be if this event were the only one.
    """
    if int(columns.max(initial=-1)) >= belief.width:
        message = "the event has a feature that was never learned"
        raise UnlearnError(message)
    count = float(belief.numbers[COUNT])
    left, least = count - weight, residue(count)
    if left < -least:
        message = f"the events learned weigh {count:g} in all, less than the {weight:g} to take back"
        raise UnlearnError(message)
    x = np.zeros(belief.width)
    x[columns] = values
    _check_squares(belief, x, weight, nothing_left=left <= least)
    share, squares = _left(belief, x, target, weight)
    if left <= least:
        _empty(belief)
        return
    belief.rotate(columns, values, target, -weight * share)
    belief.numbers[COUNT], belief.numbers[SQUARES] = left, squares


def _moved(belief: FullBelief) -> float:
    """How far rounding may have moved an entry of P: it goes by all that was ever added, taken back since or not."""
    return SAFETY * ROUNDING * float(belief.numbers[ADDED])


def _check_squares(belief: FullBelief, x: FloatArray, weight: float, *, nothing_left: bool) -> None:
    diagonal = (belief.upper**2).sum(axis=0)
    rest = diagonal - weight * x * x - belief.setting.prior
    least = SLACK * (diagonal + weight * x * x) + _moved(belief)
    if (rest < -least).any() or (nothing_left and (rest > least).any()):
        message = "the squares of its features are not in what was learned: was this event learned?"
        raise UnlearnError(message)


def _left(belief: FullBelief, x: FloatArray, target: float, weight: float) -> tuple[float, float]:
    """How much of the event can be rotated out, and what then remains of the squares that no line explains.

    All but rounding: 1 - w x'P^-1 x is at least what it would be if there were no other event, and where rounding has
    it below that, so much less is taken. Refused when the event contradicts the rest by more.
    """
    solved = solve_triangular(belief.upper, x, trans="T")
    prior, spread = belief.setting.prior, weight * float(solved @ solved)
    bound = prior / (prior + weight * float(x @ x))
    rounding = SAFETY * ROUNDING * (len(x) + 1) + spread * _moved(belief) / prior
    remaining = max(1.0 - spread, bound)
    if 1.0 - spread < (1.0 - SLACK) * bound - rounding:
        message = "without it the precision would not be positive definite: was this event learned?"
        raise UnlearnError(message)
    z, squares = belief.vectors[Z, : belief.width], float(belief.numbers[SQUARES])
    taken = weight * (target - float(solved @ z)) ** 2 / remaining
    least = SLACK * (squares + float(z @ z) + weight * target**2) + taken * rounding / remaining
    if squares - taken < -least:
        message = f"no line through what was learned has a target of {target:g} here: was this event learned?"
        raise UnlearnError(message)
    share = 1.0 if spread <= 1.0 - remaining else (1.0 - remaining) / spread
    return share, max(squares - taken, 0.0)


def _empty(belief: FullBelief) -> None:
    """Back to the prior, for the weights that there are."""
    fresh = FullBelief(belief.setting)
    fresh.fill(belief.width)
    belief.factor, belief.vectors, belief.numbers = fresh.factor, fresh.vectors, fresh.numbers
