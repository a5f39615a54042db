"""Expected losses: integrals over a distribution by adaptive quadrature, and the action that makes one least."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from stream_bayes.errors import NumericalError
from stream_bayes.typing import BoolArray, FloatArray

LossOfValue = Callable[[float], float]
LossFunction = Callable[[Any, Any], float]

# The panels of a tail, in v = ln(0.5 / tail probability): until 1e-100, to which the inverse of Student's t is right.
_FARTHEST = math.log(0.5e100)
_PANELS = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, _FARTHEST])


def _lobatto(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss-Lobatto quadrature: both ends are nodes, so that no jump near them is missed."""
    polynomial = np.polynomial.Legendre.basis(count - 1)
    nodes = np.concatenate(([-1.0], np.sort(polynomial.deriv().roots().real), [1.0]))
    return nodes, 2.0 / (count * (count - 1) * polynomial(nodes) ** 2)


# Even and odd: a jump in the middle of a panel is half of it to any rule without a node there.
_FEW_NODES, _FEW_WEIGHTS = _lobatto(8)
_MANY_NODES, _MANY_WEIGHTS = _lobatto(15)
_NODES = np.concatenate((_FEW_NODES, _MANY_NODES))
_TOLERANCE = 1e-13
_MAX_ROUNDS = 60
# A tail whose losses outgrow its probability by more has no expectation.
_SLOWEST_DECAY = 1e-3
_CANDIDATES = np.concatenate(([1e-6, 1e-4, 1e-3], np.linspace(0.01, 0.99, 33), [1.0 - 1e-3, 1.0 - 1e-4, 1.0 - 1e-6]))
_MAX_EXPANSIONS = 60


class Tails(Protocol):
    """A distribution of one number, by the inverse of both tails."""

    def _lower(self, tail: FloatArray) -> FloatArray:
        """The number with each of these probabilities below it."""

    def _upper(self, tail: FloatArray) -> FloatArray:
        """The number with each of these probabilities above it."""

    def _cdf(self, x: FloatArray) -> FloatArray:
        """The probability of a number of at most each x."""


class _Panels(NamedTuple):
    """Intervals of integration, each in one of the two tails."""

    begin: FloatArray
    end: FloatArray
    is_upper: BoolArray


def expectation(distribution: Tails, function: LossOfValue, kink: float) -> float:
    """Return the expectation of a function that is smooth but at a few places, one of which is `kink`.

    In each tail the integral is over v = ln(0.5 / tail probability), by Gauss-Lobatto panels that are halved where
    the rules with 8 and 15 nodes differ. It is infinite where the function outgrows the tail.
    """
    panels = _first_panels(float(distribution._cdf(np.asarray(kink))))
    total = 0.0
    size = 0.0
    for _ in range(_MAX_ROUNDS):
        few, many = _integrals(distribution, function, panels)
        size = max(size, float(np.abs(many).sum()))
        rough = np.abs(many - few) > _TOLERANCE * size
        total += float(many[~rough].sum())
        if not rough.any() or not math.isfinite(size):
            break
        panels = _halved(panels, rough)
    else:
        total += float(many[rough].sum())
    if not math.isfinite(size):
        return math.nan if math.isnan(size) else math.inf
    return total + _beyond(distribution, function, size)


def _first_panels(below: float) -> _Panels:
    """The panels of both tails, with a border at the place that has this probability below it."""
    begins, ends, sides = [], [], []
    for is_upper, tail in ((False, below), (True, 1.0 - below)):
        borders = _PANELS
        if math.exp(-_FARTHEST) < 2.0 * tail < 1.0:
            borders = np.unique(np.append(borders, math.log(0.5 / tail)))
        begins.append(borders[:-1])
        ends.append(borders[1:])
        sides.append(np.full(len(borders) - 1, is_upper))
    return _Panels(np.concatenate(begins), np.concatenate(ends), np.concatenate(sides))


def _halved(panels: _Panels, rough: BoolArray) -> _Panels:
    begin = panels.begin[rough]
    end = panels.end[rough]
    middle = 0.5 * (begin + end)
    sides = panels.is_upper[rough]
    return _Panels(np.concatenate((begin, middle)), np.concatenate((middle, end)), np.concatenate((sides, sides)))


def _numbers(distribution: Tails, tail: FloatArray, is_upper: BoolArray) -> FloatArray:
    with np.errstate(all="ignore"):
        return np.where(is_upper, distribution._upper(tail), distribution._lower(tail))


def _integrals(distribution: Tails, function: LossOfValue, panels: _Panels) -> tuple[FloatArray, FloatArray]:
    """The integral over each panel, by 8 and by 15 nodes."""
    half = 0.5 * (panels.end - panels.begin)[:, None]
    tail = 0.5 * np.exp(-(panels.begin[:, None] + half * (1.0 + _NODES)))
    numbers = _numbers(distribution, tail, panels.is_upper[:, None])
    values = np.array([function(number) for number in numbers.ravel().tolist()], dtype=np.float64)
    weighted = half * tail * values.reshape(tail.shape)
    few: FloatArray = weighted[:, : len(_FEW_NODES)] @ _FEW_WEIGHTS
    many: FloatArray = weighted[:, len(_FEW_NODES) :] @ _MANY_WEIGHTS
    return few, many


def _beyond(distribution: Tails, function: LossOfValue, size: float) -> float:
    """What is left beyond the panels, where the product of tail and function falls, or grows, exponentially in v."""
    places = np.array([0.9 * _FARTHEST, _FARTHEST])
    tail = 0.5 * np.exp(-places)
    total = 0.0
    for is_upper in (False, True):
        numbers = _numbers(distribution, tail, np.full(2, is_upper)).tolist()
        before, last = (share * function(number) for share, number in zip(tail.tolist(), numbers, strict=True))
        if abs(last) <= _TOLERANCE * size:
            continue
        decay = math.log(before / last) / float(np.diff(places)[0]) if before / last > 0.0 else 0.0
        total += last / decay if decay > _SLOWEST_DECAY else math.copysign(math.inf, last)
    return total


def candidates(distribution: Tails) -> FloatArray:
    """Return quantiles among which to look for the best action first."""
    with np.errstate(all="ignore"):
        lower = distribution._lower(np.minimum(_CANDIDATES, 0.5))
        upper = distribution._upper(np.minimum(1.0 - _CANDIDATES, 0.5))
    return np.where(_CANDIDATES <= 0.5, lower, upper)


def minimise(grid: list[float], risk: LossOfValue) -> float:
    """Return the number of least risk: the best of a grid, refined between its neighbours.

    Beyond the ends of the grid steps are doubled until the risk rises.
    """
    from scipy.optimize import minimize_scalar  # noqa: PLC0415

    left, middle, right = _bracket(grid, risk)
    width = right - left
    bounds = ((left - middle) / width, (right - middle) / width)
    found = minimize_scalar(lambda step: risk(middle + step * width), bounds=bounds, options={"xatol": 1e-9})
    # Of equals the number of the grid, which is whole where values are.
    best = middle + float(found.x) * width
    return best if risk(best) < risk(middle) * (1.0 - _TOLERANCE) else middle


def weighted_loss(loss: LossFunction, action: float, numbers: list[float], weights: list[float]) -> float:
    """Return the sum of weighted losses."""
    return math.fsum(weight * loss(action, number) for number, weight in zip(numbers, weights, strict=True))


def _worst_if_nan(risk: float) -> float:
    return math.inf if math.isnan(risk) else risk


def _bracket(grid: list[float], risk: LossOfValue) -> tuple[float, float, float]:
    """The best number of the grid between its neighbours; the grid is extended for as long as an end is better."""
    risks = [_worst_if_nan(risk(action)) for action in grid]
    if not any(map(math.isfinite, risks)):
        message = "no action has a finite expected loss: the loss outgrows the tails, or is not a number"
        raise NumericalError(message)
    width = grid[-1] - grid[0] or 1.0
    for _ in range(_MAX_EXPANSIONS):
        best = min(range(len(grid)), key=risks.__getitem__)
        grid = [grid[0] - width, *grid, grid[-1] + width]
        risks = [_worst_if_nan(risk(grid[0])), *risks, _worst_if_nan(risk(grid[-1]))]
        least = risks[best + 1]
        if min(risks[0], risks[-1]) >= least - _TOLERANCE * abs(least):
            break
        width *= 2.0
    best = min(max(min(range(len(grid)), key=risks.__getitem__), 1), len(grid) - 2)
    return grid[best - 1], grid[best], grid[best + 1]
