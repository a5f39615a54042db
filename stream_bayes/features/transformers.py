"""Transformers for river pipelines: polynomial features, and lags of a target or a feature."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any, Never

import numpy as np
from river import base

from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.features.frames import EventTable, FrameTable
from stream_bayes.features.values import FeatureName, Features, check_on, plain, require_mapping
from stream_bayes.typing import FloatArray
from stream_bayes.validation import finite, truth, whole

MAX_DEGREE = 100
MAX_ORDER = 10_000
MAX_TERMS = 100_000
"""The largest number of features, powers and products of an event: for n features C(n + degree, degree) - 1."""
TARGET = "target"


class PolynomialFeatures(base.MiniBatchTransformer):
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
    Powers of large numbers differ by many orders of magnitude: scale features to about -1 to 1 first. After one pass
    `GramRegression.order_evidence` finds the degree that fits best, with `names` for each degree. Of n features there
    are n degree terms, with products C(n + degree, degree) - 1; more than 100,000 are refused.

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
        terms = self._terms(known, list(numbers))
        return known | {term: _product(numbers, factors) for term, factors in terms.items()}

    def transform_many(self, X: Any) -> Any:
        """The same of each row: a data frame of the same library, with the index of `X`.

        A power or a product of a missing value is missing.
        """
        table = EventTable.of(X)
        if not isinstance(table, FrameTable):
            message = f"transform_many takes a data frame, whose columns have names; got {type(X).__name__}"
            raise InputError(message)
        columns = {name: table.numbers(place) for place, name in enumerate(table.names)}
        numbers = {name: column for name, column in columns.items() if column is not None}
        terms = self._terms(table.names, list(numbers))
        return table.with_columns({term: _products(numbers, factors) for term, factors in terms.items()})

    def names(self, feature: FeatureName, degree: int) -> list[FeatureName]:
        """The names of the powers of one feature up to a degree."""
        return [feature, *(_term_name((feature,) * power) for power in range(2, degree + 1))][:degree]

    def _terms(self, known: Collection[FeatureName], numbers: list[FeatureName]) -> dict[str, Sequence[FeatureName]]:
        """The names of the powers and products of these numbers, and the factors of each."""
        width = len(numbers)
        count = math.comb(width + self.degree, self.degree) - 1 if self.interactions else width * self.degree
        if count > MAX_TERMS:
            message = f"{width} features of degree {self.degree} make {count:,} terms; at most {MAX_TERMS:,}"
            raise InputError(message)
        # In the order of their texts: the name of a product must not depend on the order of an event's features.
        ordered = sorted(numbers, key=str) if self.interactions else numbers
        terms: dict[str, Sequence[FeatureName]] = {}
        for power in range(2, self.degree + 1):
            products = combinations_with_replacement(ordered, power)
            for factors in products if self.interactions else ((name,) * power for name in ordered):
                terms[_term_name(factors)] = factors
        if len(terms) < count - width or not terms.keys().isdisjoint(known):
            message = f"a power or a product has the name of a feature; rename one of {shown(list(known))}"
            raise InputError(message)
        return terms


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
        The feature whose past values they are; None for the target. An event without it adds no lag.

    Notes
    -----
    After one pass `GramRegression.order_evidence` finds the order that fits best, with `names` for each order. Let the
    model learn once `is_filled`: then all orders are compared on the same events.

    It takes one event at a time: the lags of a row are those of the rows before it in the same mini-batch, and river's
    pipelines transform a mini-batch before they learn it.

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
        self.on = check_on(on)
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

    def transform_many(self, X: Any) -> Never:
        """Refuse a mini-batch: the lags of its rows are not known before it is learned."""
        message = "LagFeatures takes one event at a time, by learn_one and predict_one; got a mini-batch"
        raise InputError(message)

    def transform_one(self, x: Features) -> dict[FeatureName, Any]:
        """The features, and the lags that are known."""
        made = dict(require_mapping(x))
        if not made.keys().isdisjoint(self._names):
            message = f"a feature has the name of a lag, such as {self._names[0]!r}: rename it"
            raise InputError(message)
        made.update(zip(self._names, self._past, strict=False))
        return made


def _term_name(factors: Sequence[FeatureName]) -> str:
    return "*".join(f"{name}^{power}" if power > 1 else f"{name}" for name, power in Counter(factors).items())


def _product(numbers: Mapping[FeatureName, float], factors: Sequence[FeatureName]) -> float:
    """The product of the factors from the left, as `_products` multiplies them: a frame has the bits of its rows."""
    try:
        product = math.prod([float(numbers[name]) for name in factors])
    except OverflowError:
        product = math.inf
    if math.isinf(product):
        _refuse_size(factors)
    return product


def _products(numbers: Mapping[FeatureName, FloatArray], factors: Sequence[FeatureName]) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        products: FloatArray = reduce(np.multiply, [numbers[name] for name in factors])
    if np.isinf(products).any():
        _refuse_size(factors)
    return products


def _refuse_size(factors: Sequence[FeatureName]) -> Never:
    message = f"{_term_name(factors)} is too large a number: scale the features first"
    raise InputError(message)
