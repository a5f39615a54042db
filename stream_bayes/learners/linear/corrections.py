"""Merging, scaling and unlearning in a Gaussian posterior with full covariance, whose evidence is a sum over events.

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
from stream_bayes.learners.linear.full import FullGaussian
from stream_bayes.typing import BoolArray, FloatArray

ROUNDING = float(np.finfo(np.float64).eps)
# What rounding may have moved of a sum of squares.
SLACK = 1e-9
# How many times the rounding of one operation a sum of many may have.
SAFETY = 100.0
# What must be left of 1 - w x'P^-1 x, in units of rounding.
FEWEST_DIGITS = 1e3


def merge(posterior: FullGaussian, other: FullGaussian, columns: IntArray) -> None:
    """Add the other's evidence, whose weights stand in these columns here: its rows in, and one prior out again.

    Where rounding has left too little of the prior that is a `NumericalError`, and the posterior must not be used.
    """
    count, added = (posterior.numbers[place] + other.numbers[place] for place in (COUNT, ADDED))
    present = posterior.vectors[PRESENT].copy()
    present[columns] += other.vectors[PRESENT, : other.width]
    for row, target in zip(other.upper, other.vectors[Z].tolist(), strict=False):
        posterior.rotate(columns, row, target, 1.0)
    for part in posterior.prior_rows(columns):
        posterior.rotate(part.columns, part.row, part.target, -part.weight)
    squares = max(float(posterior.numbers[SQUARES] + other.numbers[SQUARES]), 0.0)
    posterior.numbers[[COUNT, ADDED, SQUARES]] = (count, added, squares)
    posterior.vectors[PRESENT] = present
    _check_digits(posterior)


def scale(posterior: FullGaussian, factor: float) -> None:
    """Multiply the evidence, and not the prior: everything, and then the rest of the prior in again."""
    if factor == 0.0:
        empty(posterior)
        return
    posterior.factor *= math.sqrt(factor)
    posterior.vectors[Z] *= math.sqrt(factor)
    posterior.vectors[PRESENT] *= factor
    posterior.numbers[[COUNT, SQUARES, ADDED]] *= factor
    count = posterior.numbers[COUNT]
    added = posterior.numbers[ADDED]
    present = posterior.vectors[PRESENT].copy()
    for part in posterior.prior_rows(np.arange(posterior.width)):
        posterior.rotate(part.columns, part.row, part.target, (1.0 - factor) * part.weight)
    posterior.numbers[[COUNT, ADDED]] = (count, added)
    posterior.vectors[PRESENT] = present


def empty(posterior: FullGaussian) -> None:
    """Back to the prior, for the weights that there are."""
    fresh = FullGaussian(posterior.setting, posterior.first)
    fresh.fill(posterior.width)
    posterior.take(fresh)


def take_back(posterior: FullGaussian, columns: IntArray, values: FloatArray, target: float, weight: float) -> None:
    """Rotate the event out of the posterior; refused, with nothing changed, when it cannot have been learned.

    What remains must be the prior and a sum over events: no count below zero, no diagonal of P below the prior, and
    x'P^-1 x at most what it would be if this event were the only one.
    """
    count = float(posterior.numbers[COUNT])
    left = count - weight
    least = min(residue(count), 0.5 * weight)
    if left < -least or int(columns.max(initial=-1)) >= posterior.width:
        message = f"the events learned weigh {count:g} in all, and {weight:g} is to be taken back: was it learned?"
        raise UnlearnError(message)
    x = np.zeros(posterior.width)
    x[columns] = values
    present = posterior.vectors[PRESENT, : posterior.width] - weight * (x != 0.0)
    _check_squares(posterior, x, present, weight, nothing_left=left <= least)
    rest = posterior.copy()
    if left <= least:
        empty(posterior)
        return
    _take_out(rest, x, target, weight, (x != 0.0) & (present <= least))
    rest.numbers[[COUNT, ADDED]] = (left, posterior.numbers[ADDED])
    rest.vectors[PRESENT, : posterior.width] = present
    posterior.take(rest)


def _check_squares(
    posterior: FullGaussian, x: FloatArray, present: FloatArray, weight: float, *, nothing_left: bool
) -> None:
    diagonal = (posterior.upper**2).sum(axis=0)
    rest = diagonal - weight * x * x - posterior.prior_diagonal()
    least = SLACK * (diagonal + weight * x * x) + _moved(posterior)
    short = (rest < -least) | (present < -residue(float(posterior.numbers[COUNT])))
    if short.any() or (nothing_left and (rest > least).any()):
        message = "its features, or their squares, are not in what was learned: was this event learned?"
        raise UnlearnError(message)


def _moved(posterior: FullGaussian) -> float:
    """How far rounding may have moved an entry of P: it goes by all that was ever added, taken back since or not."""
    return SAFETY * ROUNDING * float(posterior.numbers[ADDED])


def _take_out(posterior: FullGaussian, x: FloatArray, target: float, weight: float, alone: BoolArray) -> None:
    """Features that only this event has go back to their prior; then it is an event without them."""
    # One whose prior depends on other weights cannot be left out.
    alone[: posterior.own_priors] = False
    if alone.any():
        posterior.drop(alone)
        x = np.where(alone, 0.0, x)
    share, squares = _left(posterior, x, target, weight)
    posterior.rotate(np.arange(posterior.width), x, target, -weight * share)
    posterior.numbers[SQUARES] = squares
    _check_digits(posterior)


def _check_digits(posterior: FullGaussian) -> None:
    """Refuse a posterior in which rounding has left no digits."""
    if not posterior.is_sound():
        message = "no digit of the evidence of the other events would be left; nothing was changed"
        raise NumericalError(message)


def _left(posterior: FullGaussian, x: FloatArray, target: float, weight: float) -> tuple[float, float]:
    """How much of the event can be rotated out, and what then remains of the squares that no line explains.

    All but rounding: 1 - w x'P^-1 x is at least what it would be if there were no other event, and where rounding has
    it below that, so much less is taken. Refused when the event contradicts the rest by more.
    """
    solved = solve_triangular(posterior.upper, x, trans="T")
    spread = weight * float(solved @ solved)
    bound = 1.0 / (1.0 + weight * posterior.prior_spread(x))
    rounding = SAFETY * ROUNDING * (len(x) + 1) + spread * _moved(posterior) / posterior.least_prior
    remaining = max(1.0 - spread, bound)
    if 1.0 - spread < (1.0 - SLACK) * bound - rounding:
        message = "without it the precision would not be positive definite: was this event learned?"
        raise UnlearnError(message)
    z = posterior.vectors[Z, : posterior.width]
    squares = float(posterior.numbers[SQUARES])
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
