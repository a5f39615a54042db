"""Expected losses: integrals over a distribution by adaptive quadrature, and the action that makes one least."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from stream_bayes.errors import NumericalError
from stream_bayes.typing import BoolArray, FloatArray

LossOfValue = Callable[[float], float]
LossFunction = Callable[[Any, Any], float]

NO_FINITE_RISK = "no action has a finite expected loss: the loss outgrows the tails, or is not a number"

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
# Counts between these tails are the middle of a distribution. Beyond these other tails nothing is summed.
_CENTRAL_TAIL = 1e-18
_LEAST_TAIL = 1e-300
# How many counts are summed one by one, in the middle and in each tail, and how many bins a longer tail has.
_MAX_COUNTS = 10_000
_TAIL_BINS = 1_000


class Tails(Protocol):
    """A distribution of one number, by the inverse of both tails."""

    def _lower(self, tail: FloatArray) -> FloatArray:
        """The number with each of these probabilities below it."""

    def _upper(self, tail: FloatArray) -> FloatArray:
        """The number with each of these probabilities above it."""

    def _cdf(self, x: FloatArray) -> FloatArray:
        """The probability of a number of at most each x."""


class CountTails(Tails, Protocol):
    """A Poisson or negative binomial distribution of a count: p(k + 1) / p(k) = (m^2 / v + k e / v) / (k + 1).

    With m the mean, v the variance, and e the part of it that is not that of a Poisson count, m.
    """

    @property
    def mean(self) -> float:
        """The expected count."""

    @property
    def variance(self) -> float:
        """The variance of the count."""

    @property
    def epistemic_variance(self) -> float:
        """The part of it by which it exceeds the mean."""

    @property
    def mode(self) -> float:
        """The most probable count."""

    def _log_pmf(self, k: float) -> float:
        """The natural logarithm of the probability of a count."""


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
        if not (np.isfinite(many).all() and np.isfinite(few).all()):
            return total + exact_sum(many.tolist())
        size = max(size, float(np.abs(many).sum()))
        rough = np.abs(many - few) > _TOLERANCE * size
        total += float(many[~rough].sum())
        if not rough.any():
            break
        panels = _halved(panels, rough)
    else:
        total += float(many[rough].sum())
    return total + _beyond(distribution, function, size)


def _first_panels(below: float) -> _Panels:
    """The panels of both tails, with a border at the place that has this probability below it."""
    begins = []
    ends = []
    sides = []
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
    with np.errstate(all="ignore"):  # losses may be infinite
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


class WeightedCounts(NamedTuple):
    """Counts, or the middles of bins of counts, with their probabilities."""

    distribution: CountTails
    counts: list[float]
    weights: list[float]

    @classmethod
    def of(cls, distribution: CountTails) -> WeightedCounts:
        """All counts with tails of 1e-300 or more: one by one up to 10,000 in the middle and in each tail, or bins."""
        low, high = _ends(distribution, _CENTRAL_TAIL)
        lowest, highest = _ends(distribution, _LEAST_TAIL)
        parts = [_tail(distribution, low - 1.0, lowest, -1.0), _middle(distribution, low, high)]
        parts.append(_tail(distribution, high + 1.0, highest, 1.0))
        counts = np.concatenate([part[0] for part in parts])
        weights = np.concatenate([part[1] for part in parts])
        kept = weights > 0.0
        return cls(distribution, counts[kept].tolist(), (weights[kept] / weights.sum()).tolist())

    def expectation(self, function: LossOfValue) -> float:
        """Return the sum of a function over the counts; infinite where the function outgrows the upper tail."""
        terms = [weight * function(count) for count, weight in zip(self.counts, self.weights, strict=True)]
        whole = exact_sum(terms)
        count = self.counts[-1]
        last = self._term(function, count)
        negligible = abs(last) <= _TOLERANCE * abs(whole) or abs(last) <= _TOLERANCE * exact_sum(map(abs, terms))
        return whole if negligible or count < 2.0 or not math.isfinite(whole) else whole + self._beyond(function, last)

    def _beyond(self, function: LossOfValue, last: float) -> float:
        """What is left beyond the last count, where the terms fall, or grow, as a power of the count."""
        count = self.counts[-1]
        share = last / self._term(function, count - 1.0)
        power = -count * math.log(share) if share > 0.0 else 0.0
        return last * count / (power - 1.0) if power > 1.0 + _SLOWEST_DECAY else math.copysign(math.inf, last)

    def _term(self, function: LossOfValue, count: float) -> float:
        return math.exp(self.distribution._log_pmf(count)) * function(count)


def _ends(distribution: CountTails, tail: float) -> tuple[float, float]:
    return float(distribution._lower(np.asarray(tail))), float(distribution._upper(np.asarray(tail)))


def _middle(distribution: CountTails, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    width = high - low
    if width < _MAX_COUNTS:
        return _successive(distribution, low, high, min(max(distribution.mode, low), high))
    ends = np.unique(np.rint(np.append(np.linspace(0, width, _MAX_COUNTS), np.geomspace(1, width, _MAX_COUNTS))))
    shares = np.diff(distribution._cdf(low + ends), prepend=distribution._cdf(np.asarray(low - 1.0)))
    return low + ends - 0.5 * np.diff(ends, prepend=-1.0) + 0.5, shares


def _tail(distribution: CountTails, near: float, far: float, direction: float) -> tuple[FloatArray, FloatArray]:
    """The counts from the end of the middle, outwards in this direction; none where `far` is not that way."""
    size = (far - near) * direction + 1.0
    if size < 1.0:
        return np.empty(0), np.empty(0)
    if size <= _MAX_COUNTS:
        return _successive(distribution, min(near, far), max(near, far), near)
    ends = np.unique(np.rint(np.geomspace(1.0, size, _TAIL_BINS)))
    widths = np.diff(ends, prepend=0.0)
    middles = near + direction * np.floor(ends - 0.5 * widths - 0.5)
    order = np.argsort(middles)
    weights = widths * [math.exp(distribution._log_pmf(count)) for count in middles.tolist()]
    return middles[order], weights[order]


def _successive(distribution: CountTails, low: float, high: float, start: float) -> tuple[FloatArray, FloatArray]:
    """The probabilities of all counts from low to high, by the ratio of each to the one before."""
    counts = low + np.arange(high - low + 1.0)
    variance = distribution.variance
    excess = distribution.epistemic_variance / variance
    # Of each count to the one before it.
    ratios = (distribution.mean * (distribution.mean / variance) + counts * excess - excess) / np.maximum(counts, 1.0)
    logs = np.cumsum(np.append(0.0, np.log(ratios[1:])))
    return counts, np.exp(logs - logs[int(start - low)] + distribution._log_pmf(start))


def infinite_where_it_overflows(loss: LossFunction) -> LossFunction:
    """Return the loss as a float, infinite where no float can hold it."""

    def bounded(action: Any, value: Any) -> float:
        try:
            return float(loss(action, value))
        except OverflowError:
            return math.inf

    return bounded


def exact_sum(terms: Iterable[float]) -> float:
    """Return the exact sum; where there is none, infinity or NaN."""
    parts = list(terms)
    try:
        return math.fsum(parts)
    except (OverflowError, ValueError):
        return sum(parts)


def _worst_if_nan(risk: float) -> float:
    return math.inf if math.isnan(risk) else risk


def _bracket(grid: list[float], risk: LossOfValue) -> tuple[float, float, float]:
    """The best number of the grid between its neighbours; the grid is extended for as long as an end is better."""
    risks = [_worst_if_nan(risk(action)) for action in grid]
    if not any(map(math.isfinite, risks)):
        raise NumericalError(NO_FINITE_RISK)
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
