"""Mixins of posteriors: value semantics, quantile functions, credible intervals, densities and Bayes actions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, cast, get_args, overload

import numpy as np

from stream_bayes import notebook_html
from stream_bayes.errors import InputError
from stream_bayes.notebook_html import Html
from stream_bayes.typing import FloatArray
from stream_bayes.validation import finite, non_negative, number_or_infinity, positive, refuse, tail_beyond

__all__ = [
    "Decidable",
    "FloatArray",
    "LatentProbability",
    "Loss",
    "Quantiles",
    "ScalarPosterior",
    "Value",
    "finite",
    "non_negative",
    "positive",
]

Loss = Literal["squared", "absolute", "zero-one"]
Estimate = TypeVar("Estimate")

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


class Decidable(Value, Generic[Estimate]):
    """Mixin: a distribution with `mean`, `median` and `mode`, hence with a best guess under each loss."""

    __slots__ = ()

    def bayes_action(self, loss: Loss) -> Estimate:
        """Return the guess of least expected loss: squared -> mean, absolute -> median, zero-one -> mode."""
        if loss not in _ESTIMATES:
            raise refuse("loss", f"one of {', '.join(_ESTIMATES)}", loss)
        return cast("Estimate", getattr(self, _ESTIMATES[loss]))


class Quantiles(Value):
    """Mixin: median and equal-tailed intervals from the inverse of both tails."""

    __slots__ = ()

    @abstractmethod
    def _lower(self, tail: float) -> float:
        """The number with this probability below it."""

    @abstractmethod
    def _upper(self, tail: float) -> float:
        """The number with this probability above it."""

    @abstractmethod
    def _cdf(self, x: float) -> float:
        """The probability of a number of at most x, for x that is not NaN."""

    def cdf(self, x: float) -> float:
        """Return the cumulative distribution function: the probability of a number of at most x."""
        return self._cdf(number_or_infinity("x", x, InputError))

    @property
    def std(self) -> float:
        """The standard deviation, the square root of the variance."""
        return math.sqrt(cast("Any", self).variance)

    @property
    def median(self) -> float:
        """The number with half of the probability on each side."""
        return self._lower(0.5)

    def quantile(self, probability: float) -> float:
        """Return the number below which the given probability lies."""
        above = tail_beyond(probability)
        return self._lower(float(probability)) if probability <= 0.5 else self._upper(above)

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """Return the equal-tailed credible interval: (1 - mass) / 2 of the probability on either side."""
        tail = tail_beyond(mass) / 2.0
        return self._lower(tail), self._upper(tail)

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the density, the parameters, the mean and the 90 % interval."""
        return self._card(cast("Any", self))

    def _card(self, drawn: notebook_html.Distribution) -> Html:
        """Return the card of a notebook with the density of `drawn`, which is this one or a marginal of it."""
        rows = self._parameters()
        rows["mean"] = float(drawn.mean)
        rows["90 % interval"] = notebook_html.interval_text(drawn.interval(notebook_html.MASS))
        return notebook_html.card(type(self).__name__, rows, notebook_html.distribution_figure(drawn))


class ScalarPosterior(Quantiles, Decidable[float]):
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
        points = np.asarray(x, dtype=np.float64)
        with np.errstate(all="ignore"):
            value = self._log_density(points)
        return value if points.ndim else float(value)

    @overload
    def density(self, x: float) -> float: ...
    @overload
    def density(self, x: Sequence[float] | FloatArray) -> FloatArray: ...
    def density(self, x: float | Sequence[float] | FloatArray) -> float | FloatArray:
        """Return the density at a number, or at each number of an array."""
        points = np.asarray(x, dtype=np.float64)
        with np.errstate(all="ignore"):
            value: FloatArray = np.exp(self._log_density(points))
        return value if points.ndim else float(value)

    def _shortest(self, outside: float) -> tuple[float, float]:
        """Return the interval of a unimodal density with `outside` beyond it whose ends are equally dense.

        As the lower tail grows from 0 to `outside` the denser end changes once, so bisection finds it.
        """
        low = 0.0
        high = outside
        for _ in range(50):
            tail = 0.5 * (low + high)
            ends = self._lower(tail), self._upper(outside - tail)
            at_left, at_right = self.log_density(ends)
            low, high = (tail, high) if at_right > at_left else (low, tail)
        return ends


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
