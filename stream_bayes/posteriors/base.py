"""Mixins of posteriors: value semantics, densities, quantile functions, credible intervals and plots."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, cast, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from stream_bayes import notebook_html, plots
from stream_bayes.errors import InputError, NumericalError
from stream_bayes.notebook_html import Html
from stream_bayes.posteriors.expectations import (
    NO_FINITE_RISK,
    LossFunction,
    LossOfValue,
    WeightedCounts,
    candidates,
    exact_sum,
    expectation,
    infinite_where_it_overflows,
    minimise,
)
from stream_bayes.typing import FloatArray, IntArray
from stream_bayes.validation import (
    finite,
    is_array,
    numbers_or_infinities,
    proper_fractions,
    refuse,
    tail_beyond,
    whole,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "CountDistribution",
    "Decidable",
    "LatentProbability",
    "Loss",
    "LossFunction",
    "Quantiles",
    "ScalarPosterior",
    "Value",
    "VectorPosterior",
]

Loss = Literal["squared", "absolute", "zero-one"]
Action = TypeVar("Action")

# Draws over which the expected loss of a vector is averaged.
_DRAWS = 2_048
_ESTIMATES = dict(zip(get_args(Loss), ("mean", "median", "mode"), strict=True))


def _hashable(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return frozenset(value.items())
    return cast("Hashable", value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(float(value))
    if isinstance(value, np.ndarray):
        shown = np.array2string(value, separator=", ", threshold=16, edgeitems=2, formatter={"float_kind": _text})
        return " ".join(shown.split())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_text(item)}" for key, item in value.items()) + "}"
    if type(value) is tuple:
        return "(" + ", ".join(map(_text, value)) + (",)" if len(value) == 1 else ")")
    return repr(value)


class Value:
    """Mixin before a NamedTuple: equal only to its own class, hashable, checked also by `_make`."""

    __slots__ = ()
    _positional: ClassVar[bool] = False

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Any]: ...

    else:  # type checkers read the one of NamedTuple

        @classmethod
        def _make(cls, iterable: Iterable[Any]) -> Self:
            return cls(*iterable)

    def _key(self) -> tuple[Hashable, ...]:
        return tuple(map(_hashable, self))

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the constructor arguments for copy and pickle, which know no read-only mapping."""
        return tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in self)

    def __eq__(self, other: object) -> bool:
        """Compare type and content; False, not NotImplemented, or tuple would compare the bare numbers."""
        return isinstance(other, Value) and type(self) is type(other) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        """Negate `__eq__`; tuple brings a `__ne__` of its own."""
        return not self == other

    def __hash__(self) -> int:
        """Hash type and content."""
        return hash((type(self).__qualname__, self._key()))

    def __repr__(self) -> str:
        """Return the constructor call, without trailing .0 and without named fields at their default."""
        fields = cast("Any", self)
        if self._positional:
            shown = [_text(value) for value in fields]
        else:
            defaults = fields._field_defaults
            pairs = zip(fields._fields, fields, strict=True)
            shown = [f"{name}={_text(v)}" for name, v in pairs if name not in defaults or v != defaults[name]]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _parameters(self) -> dict[str, object]:
        """The fields by name: numbers, and all others as texts."""
        fields = cast("Any", self)
        pairs = zip(fields._fields, fields, strict=True)
        return {name: value if isinstance(value, float) else _text(value) for name, value in pairs}

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the parameters."""
        return notebook_html.card(type(self).__name__, self._parameters())


class Decidable(Value, Generic[Action]):
    """Mixin: a distribution with `mean`, `median` and `mode`, and with a best action under any loss."""

    __slots__ = ()

    def bayes_action(self, loss: Loss | LossFunction) -> Action:
        """Return the action of least expected loss: squared -> mean, absolute -> median, zero-one -> mode.

        A function `loss(action, value)` of the action and the true value is minimised numerically: a number by
        adaptive quadrature, a vector over draws (see `risk`). An action is a number, or a vector, like the value.
        """
        if callable(loss):
            return self._least_risk(infinite_where_it_overflows(loss))
        return cast("Action", getattr(self, _ESTIMATES[_named_loss(loss)]))

    @abstractmethod
    def risk(self, action: Action, loss: Loss | LossFunction) -> float:
        """Return the expected loss of an action."""

    @abstractmethod
    def _least_risk(self, loss: LossFunction) -> Action:
        """The action of least expected loss."""


def _named_loss(loss: Any) -> Loss:
    if loss not in _ESTIMATES:
        raise refuse("loss", f"a function of action and value, or one of {', '.join(_ESTIMATES)}", loss)
    return cast("Loss", loss)


_LOSSES: Mapping[Loss, LossFunction] = {
    "squared": lambda action, value: (value - action) ** 2,
    "absolute": lambda action, value: abs(value - action),
    "zero-one": lambda action, value: float(value != action),
}


def _mean_loss(loss: LossFunction, draws: Sequence[FloatArray], action: FloatArray) -> float:
    return exact_sum(loss(action, draw) for draw in draws) / len(draws)


class Quantiles(Decidable[float]):
    """Mixin: median, equal-tailed intervals, expected losses and plot, from the inverse of both tails."""

    __slots__ = ()

    @abstractmethod
    def _lower(self, tail: FloatArray) -> FloatArray:
        """The number with each of these probabilities below it."""

    @abstractmethod
    def _upper(self, tail: FloatArray) -> FloatArray:
        """The number with each of these probabilities above it."""

    @abstractmethod
    def _cdf(self, x: FloatArray) -> FloatArray:
        """The probability of a number of at most each x, none of which is NaN."""

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: Sequence[float] | FloatArray) -> FloatArray: ...
    def cdf(self, x: float | Sequence[float] | FloatArray) -> float | FloatArray:
        """Return the cumulative distribution function: the probability of a number of at most x, or of each x."""
        points = numbers_or_infinities("x", x, InputError)
        with np.errstate(all="ignore"):
            value = self._cdf(points)
        return value if points.ndim else float(value)

    @property
    def std(self) -> float:
        """The standard deviation, the square root of the variance."""
        return math.sqrt(cast("Any", self).variance)

    @property
    def median(self) -> float:
        """The number with half of the probability on each side."""
        return float(self._lower(np.asarray(0.5)))

    @overload
    def quantile(self, probability: float) -> float: ...
    @overload
    def quantile(self, probability: Sequence[float] | FloatArray) -> FloatArray: ...
    def quantile(self, probability: float | Sequence[float] | FloatArray) -> float | FloatArray:
        """Return the number below which a probability lies, or each of an array: the inverse of `cdf`."""
        below = proper_fractions("probability", probability)
        if below.ndim == 0:
            return float(self._lower(below) if below <= 0.5 else self._upper(1.0 - below))
        return np.where(below <= 0.5, self._lower(np.minimum(below, 0.5)), self._upper(np.minimum(1.0 - below, 0.5)))

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """Return the equal-tailed credible interval: (1 - mass) / 2 of the probability on either side."""
        tail = tail_beyond(mass) / 2.0
        return self._between(tail, tail)

    def _between(self, below: float, above: float) -> tuple[float, float]:
        """The interval with these probabilities below and above it."""
        return float(self._lower(np.asarray(below))), float(self._upper(np.asarray(above)))

    def risk(self, action: float, loss: Loss | LossFunction) -> float:
        """Return the expected loss of an action: of `loss(action, value)` over the distribution of the value.

        By adaptive quadrature, to ten digits where the loss is smooth, but for a kink or jump at the action; infinite
        where the expectation is. Under zero-one loss any action on a continuous value has the risk 1.

        >>> from stream_bayes.posteriors import Normal
        >>> Normal(2, 9).risk(3, "squared"), round(Normal(2, 9).risk(2, lambda a, x: max(x - a, 0)), 4)
        (10.0, 1.1968)
        """
        place = finite("action", action, InputError)
        function = infinite_where_it_overflows(loss if callable(loss) else _LOSSES[_named_loss(loss)])
        return self._expectation(lambda value: function(place, value), place)

    def _expectation(self, function: LossOfValue, kink: float) -> float:
        return expectation(self, function, kink)

    def _least_risk(self, loss: LossFunction) -> float:
        grid = np.unique(candidates(self)).tolist()
        return minimise(grid, lambda action: expectation(self, partial(loss, action), action))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the density (of a count: the probabilities) with the mean and the 90 % interval.

        It is drawn into `ax`, or without one into the current axes, so that a second call draws over the first. Needs
        matplotlib, the extra `plots`.
        """
        return plots.draw_distribution(cast("Any", self), type(self).__name__, ax)

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the density, the parameters, the mean and the 90 % interval."""
        return self._card(cast("Any", self))

    def _card(self, drawn: notebook_html.Distribution) -> Html:
        """Return the card of a notebook with the density of `drawn`, which is this one or a marginal of it."""
        rows = self._parameters()
        rows["mean"] = float(drawn.mean)
        rows["90 % interval"] = notebook_html.interval_text(drawn.interval(notebook_html.MASS))
        return notebook_html.card(type(self).__name__, rows, notebook_html.distribution_figure(drawn))


class CountDistribution(Quantiles):
    """Mixin: a distribution of a count 0, 1, 2, ..., which has probabilities and no density."""

    __slots__ = ()

    def risk(self, action: float, loss: Loss | LossFunction) -> float:
        """Return the expected loss of an action: of `loss(action, count)` over the distribution of the count.

        Named losses are exact, to ten digits. Of a function up to 10,000 counts are summed one by one, as many again in
        each tail; more are summed in bins, to about six digits where the loss is smooth. It is infinite where the sum
        is.

        >>> from stream_bayes.posteriors import Gamma
        >>> Gamma(3, 1).predictive().risk(3, "squared"), round(Gamma(3, 1).predictive().risk(3, lambda a, k: 1.5**k), 4)
        (6.0, 8.0)
        """
        if callable(loss):
            return super().risk(action, loss)
        place = finite("action", action, InputError)
        distance = place - self.mean
        if _named_loss(loss) == "squared":
            return self.variance + distance**2
        count = math.floor(place)
        if loss == "zero-one":
            return -math.expm1(self._log_pmf(place)) if count == place >= 0.0 else 1.0
        # The sum of (m - k) p(k) over k <= n is (n + 1) p(n + 1) variance / mean (Panjer's recursion, summed).
        nearest = max(count + 1.0, 0.0)
        crossed = nearest * math.exp(self._log_pmf(nearest)) * (self.variance / self.mean)
        return distance * (2.0 * self.cdf(place) - 1.0) + 2.0 * crossed

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expected count."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the count."""

    @property
    @abstractmethod
    def epistemic_variance(self) -> float:
        """The part of the variance that is not that of a Poisson count."""

    @property
    @abstractmethod
    def mode(self) -> float:
        """The most probable count."""

    def _expectation(self, function: LossOfValue, kink: float) -> float:
        return WeightedCounts.of(self).expectation(function)

    def _least_risk(self, loss: LossFunction) -> float:
        counts = WeightedCounts.of(self)

        def risk(action: float) -> float:
            return counts.expectation(partial(loss, action))

        best = minimise(np.unique(candidates(self)).tolist(), risk)
        return min(float(round(best)), best, key=risk)

    @abstractmethod
    def _log_pmf(self, k: float) -> float:
        """The natural logarithm of the probability of a count."""

    @overload
    def log_pmf(self, count: int) -> float: ...
    @overload
    def log_pmf(self, count: Sequence[int] | IntArray) -> FloatArray: ...
    def log_pmf(self, count: int | Sequence[int] | IntArray) -> float | FloatArray:
        """Return the natural logarithm of the probability of a count, or of each count of an array.

        By the saddle point (Loader 2000): no difference of large numbers is taken, so that the digits stay at any
        parameters.
        """
        if not is_array(count):
            return self._log_pmf(whole("count", count))
        counts = np.asarray(count, dtype=object)
        values = [self._log_pmf(whole("count", one)) for one in counts.ravel().tolist()]
        return np.array(values, dtype=np.float64).reshape(counts.shape)

    @overload
    def pmf(self, count: int) -> float: ...
    @overload
    def pmf(self, count: Sequence[int] | IntArray) -> FloatArray: ...
    def pmf(self, count: int | Sequence[int] | IntArray) -> float | FloatArray:
        """Return the probability of a count, or of each count of an array."""
        value = self.log_pmf(count)
        return np.exp(value) if isinstance(value, np.ndarray) else math.exp(value)


class ScalarPosterior(Quantiles):
    """Mixin: a distribution of one number that has a density."""

    __slots__ = ()

    @abstractmethod
    def _log_density(self, x: FloatArray) -> FloatArray:
        """The logarithm of the density at each number."""

    @overload
    def log_density(self, x: float) -> float: ...
    @overload
    def log_density(self, x: Sequence[float] | FloatArray) -> FloatArray: ...
    def log_density(self, x: float | Sequence[float] | FloatArray) -> float | FloatArray:
        """Return the natural logarithm of the density at a number, or at each number of an array."""
        points = numbers_or_infinities("x", x, InputError)
        with np.errstate(all="ignore"):
            value = self._log_density(points)
        return value if points.ndim else float(value)

    @overload
    def density(self, x: float) -> float: ...
    @overload
    def density(self, x: Sequence[float] | FloatArray) -> FloatArray: ...
    def density(self, x: float | Sequence[float] | FloatArray) -> float | FloatArray:
        """Return the density at a number, or at each number of an array."""
        value = self.log_density(x)
        with np.errstate(all="ignore"):
            height: FloatArray = np.exp(value)
        return height if isinstance(value, np.ndarray) else float(height)

    def _shortest(self, outside: float) -> tuple[float, float]:
        """Return the interval of a unimodal density with `outside` beyond it whose ends are equally dense.

        As the lower tail grows from 0 to `outside` the denser end changes once, so bisection finds it.
        """
        low = 0.0
        high = outside
        for _ in range(50):
            tail = 0.5 * (low + high)
            ends = self._between(tail, outside - tail)
            at_left, at_right = self.log_density(ends)
            low, high = (tail, high) if at_right > at_left else (low, tail)
        return ends


class VectorPosterior(Decidable[Action]):
    """Mixin: a distribution of several numbers, with a joint density and the distribution of each number on its own."""

    __slots__ = ()

    @abstractmethod
    def _marginals(self) -> Sequence[Any]:
        """The distribution of each number on its own."""

    @abstractmethod
    def _log_density(self, rows: FloatArray) -> FloatArray:
        """The logarithm of the joint density at each row of a matrix."""

    def _rows(self, x: ArrayLike) -> FloatArray:
        """Vectors along the last axis, of as many numbers as the distribution has."""
        size = len(self._marginals())
        rows = numbers_or_infinities("x", x, InputError)
        if rows.ndim == 0 or rows.shape[-1] != size:
            raise refuse("x", f"a vector of {size} numbers, or an array of such rows", x, InputError)
        return rows

    def _finite_rows(self, x: ArrayLike) -> FloatArray:
        rows = self._rows(x)
        if not np.isfinite(rows).all():
            raise refuse("x", "finite numbers", x, InputError)
        return rows

    @overload
    def log_density(self, x: Sequence[float]) -> float: ...
    @overload
    def log_density(self, x: ArrayLike) -> Any: ...
    def log_density(self, x: ArrayLike) -> Any:
        """Return the natural logarithm of the joint density at a vector, or at each row of an array."""
        rows = self._finite_rows(x)
        with np.errstate(all="ignore"):
            values = self._log_density(rows.reshape(-1, rows.shape[-1])).reshape(rows.shape[:-1])
        return values if values.ndim else float(values)

    @overload
    def density(self, x: Sequence[float]) -> float: ...
    @overload
    def density(self, x: ArrayLike) -> Any: ...
    def density(self, x: ArrayLike) -> Any:
        """Return the joint density at a vector, or at each row of an array."""
        values = self.log_density(x)
        with np.errstate(all="ignore"):
            return np.exp(values) if isinstance(values, np.ndarray) else float(np.exp(values))

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return for each number on its own the probability of at most x; along the last axis as in `x`."""
        rows = self._rows(x)
        parts = [marginal.cdf(rows[..., place]) for place, marginal in enumerate(self._marginals())]
        return np.stack(parts, axis=-1)

    def quantile(self, probability: float | Sequence[float] | FloatArray) -> FloatArray:
        """Return for each number on its own that below which a probability lies; along the last axis."""
        below = proper_fractions("probability", probability)
        return np.stack([marginal.quantile(below) for marginal in self._marginals()], axis=-1)

    def risk(self, action: Any, loss: Loss | LossFunction) -> float:
        """Return the expected loss of a vector; squared and absolute losses are sums over its numbers, and exact.

        The loss of a function `loss(action, value)` of two vectors is averaged over 2,048 draws, always the same.
        """
        place = np.asarray(self._finite_rows(action))
        if callable(loss):
            return _mean_loss(infinite_where_it_overflows(loss), self._draws(), place)
        if _named_loss(loss) == "zero-one":
            return 1.0
        return math.fsum(one.risk(number, loss) for one, number in zip(self._marginals(), place.tolist(), strict=True))

    def _draws(self) -> list[FloatArray]:
        return list(self.sample(_DRAWS, np.random.default_rng(0)))

    def _least_risk(self, loss: LossFunction) -> Any:
        from scipy.optimize import minimize  # noqa: PLC0415

        draws = self._draws()
        start = self.quantile(0.5)
        steps = self.quantile(0.84) - start
        # It ends by the distance of its corners, not by the difference of their losses.
        ends = {"xatol": 1e-4 * float(steps.min()), "fatol": math.inf}
        simplex = {"initial_simplex": np.vstack((start, start + np.diag(steps)))}
        with np.errstate(invalid="ignore"):  # losses may be infinite
            found = minimize(lambda a: _mean_loss(loss, draws, a), start, method="Nelder-Mead", options=ends | simplex)
        if not math.isfinite(found.fun):
            raise NumericalError(NO_FINITE_RISK)
        if not found.success:
            message = f"the action of least expected loss was not found: {found.message}"
            raise NumericalError(message)
        best = found.x
        return tuple(best.tolist()) if isinstance(cast("Any", self).mean, tuple) else best

    @abstractmethod
    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return draws, one per row."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean and the 90 % interval of each number on its own.

        It is drawn into `ax`, or without one into the current axes. Needs matplotlib, the extra `plots`.
        """
        estimates = {f"[{place}]": marginal for place, marginal in enumerate(self._marginals())}
        return plots.draw_intervals(estimates, type(self).__name__, ax)

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the parameters, and the mean and 90 % interval of each coordinate."""
        rows = self._parameters()
        rows["mean, 90 % interval"] = ""
        marginals = self._marginals()
        means = [marginal.mean for marginal in marginals]
        intervals = [marginal.interval(notebook_html.MASS) for marginal in marginals]
        rows.update(notebook_html.coordinates(means, intervals))
        return notebook_html.card(type(self).__name__, rows)


class LatentProbability(Quantiles):
    """Mixin: a distribution of a probability, fit to stand behind the labels of a `LabelPredictive`."""

    __slots__ = ()

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expected probability."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the probability."""
