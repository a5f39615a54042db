"""Transformers for river pipelines: polynomial features, and lags of a target or a feature."""

from __future__ import annotations

import math
from collections import Counter, deque
from itertools import combinations_with_replacement
from typing import Any

from river import base

from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.features.values import FeatureName, Features, plain, require_mapping
from stream_bayes.validation import finite, truth, whole

# The number of products grows with the power of the degree; lags are kept one by one.
MAX_DEGREE = 100
MAX_ORDER = 10_000
TARGET = "target"


class PolynomialFeatures(base.Transformer):
    """Powers of each feature up to a degree, and products of features, for a linear model behind it in a pipeline.

    The power of x is called "x^2", a product "x*y" or "x^2*y". Features that are texts pass as they are.

    Parameters
    ----------
    degree
        The largest power, of a product the sum of its powers.
    interactions
        Whether products of different features are made too.

    Notes
    -----
    Powers of large numbers differ by many orders of magnitude: scale features to about -1 to 1 first. Which degree
    fits best is told by `GramRegression.order_evidence` after one pass, with `names` for each degree.

    Examples
    --------
    >>> PolynomialFeatures(3).transform_one({"x": 2.0})
    {'x': 2.0, 'x^2': 4.0, 'x^3': 8.0}
    >>> PolynomialFeatures(2, interactions=True).transform_one({"x": 2.0, "y": 3.0})
    {'x': 2.0, 'y': 3.0, 'x^2': 4.0, 'x*y': 6.0, 'y^2': 9.0}
    """

    def __init__(self, degree: int = 2, interactions: bool = False) -> None:
        self.degree = int(whole("degree", degree, ParameterError))
        if not 1 <= self.degree <= MAX_DEGREE:
            message = f"degree must be between 1 and {MAX_DEGREE}; got {shown(degree)}"
            raise ParameterError(message)
        self.interactions = truth("interactions", interactions, ParameterError)

    def transform_one(self, x: Features) -> dict[FeatureName, Any]:
        """The features and their powers and products."""
        known = {name: plain(value) for name, value in require_mapping(x).items()}
        numbers = {name: value for name, value in known.items() if isinstance(value, (int, float))}
        made = dict(known)
        terms = len(made)
        for power in range(2, self.degree + 1):
            for factors in self._terms(list(numbers), power):
                made[_term_name(factors)] = _product(numbers, factors)
                terms += 1
        if len(made) < terms:
            message = f"a power or a product has the name of a feature; rename one of {shown(list(known))}"
            raise InputError(message)
        return made

    def names(self, feature: FeatureName, degree: int) -> list[FeatureName]:
        """The names of the powers of one feature up to a degree."""
        return [feature, *(_term_name({feature: power}) for power in range(2, degree + 1))][:degree]

    def _terms(self, names: list[FeatureName], power: int) -> list[dict[FeatureName, int]]:
        """The powers of the factors of each term whose powers add up to that."""
        if not self.interactions:
            return [{name: power} for name in names]
        # In the order of their texts: the name of a product must not depend on the order of an event's features.
        ordered = sorted(names, key=str)
        return [dict(Counter(factors)) for factors in combinations_with_replacement(ordered, power)]


# river's pipelines take only subclasses of Transformer for steps before the last one.
class LagFeatures(base.SupervisedTransformer, base.Transformer):
    """The last values of the target, or of a feature, as features: with a linear model behind it an autoregression.

    AR(q): y_t = c + w_1 y_(t-1) + ... + w_q y_(t-q) + noise. The lags are called "target[t-1]", "target[t-2]", and so
    on, or by the name of the feature. An event gets the lags of the events learned before it; while fewer than q were
    learned those beyond are absent, which is 0 to a linear model.

    Parameters
    ----------
    order
        How many lags there are.
    on
        The feature whose past values they are; None for the target. Events without it are passed over.

    Notes
    -----
    Which order fits best is told by `GramRegression.order_evidence` after one pass, with `names` for each order. Let
    the model learn once `is_filled`: then all orders are compared on the same events.

    Examples
    --------
    >>> lags = LagFeatures(2)
    >>> for target in (5.0, 7.0, 4.0):
    ...     lags.learn_one({}, target)
    >>> lags.transform_one({"x": 1.0})
    {'x': 1.0, 'target[t-1]': 4.0, 'target[t-2]': 7.0}
    """

    def __init__(self, order: int = 1, on: FeatureName | None = None) -> None:
        self.order = int(whole("order", order, ParameterError))
        if not 1 <= self.order <= MAX_ORDER:
            message = f"order must be between 1 and {MAX_ORDER}; got {shown(order)}"
            raise ParameterError(message)
        self.on = on
        self._past: deque[float] = deque(maxlen=self.order)
        self._names = self.names(self.order)

    @property
    def is_filled(self) -> bool:
        """Whether all lags are known."""
        return len(self._past) == self.order

    def names(self, order: int) -> list[FeatureName]:
        """The names of the lags up to an order, the latest first."""
        name = TARGET if self.on is None else self.on
        return [f"{name}[t-{lag}]" for lag in range(1, order + 1)]

    def learn_one(self, x: Features, y: Any = None) -> None:
        """Add the target, or the value of the feature, to the past."""
        if self.on is None:
            self._past.appendleft(finite("target", plain(y), InputError))
        elif self.on in require_mapping(x):
            self._past.appendleft(finite(f"feature {shown(self.on)}", plain(x[self.on]), InputError))

    def transform_one(self, x: Features) -> dict[FeatureName, Any]:
        """The features, and the lags that are known."""
        made = dict(require_mapping(x))
        if not made.keys().isdisjoint(self._names):
            message = f"a feature has the name of a lag, such as {self._names[0]!r}: rename it"
            raise InputError(message)
        made.update(zip(self._names, self._past, strict=False))
        return made


def _term_name(factors: dict[FeatureName, int]) -> str:
    return "*".join(f"{name}^{power}" if power > 1 else f"{name}" for name, power in factors.items())


def _product(numbers: dict[FeatureName, float], factors: dict[FeatureName, int]) -> float:
    try:
        return math.prod(float(numbers[name]) ** power for name, power in factors.items())
    except OverflowError:
        message = f"{_term_name(factors)} is too large a number: scale the features first"
        raise InputError(message) from None
