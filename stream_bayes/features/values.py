"""Names and values of features, and how a dict of them becomes numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.errors import InputError, ParameterError, shown
from stream_bayes.typing import FloatArray, IntArray

__all__ = [
    "Category",
    "FeatureName",
    "Features",
    "FloatArray",
    "IntArray",
    "Row",
    "category_row",
    "numeric_row",
    "plain_values",
]

Features = Mapping[Any, Any]
FeatureName = Hashable

LARGEST_FLOAT = sys.float_info.max
LARGEST_NAME = 2**63
DEEPEST_NAME = 16
# Names have hashes of 32 bits: more buckets could not be distinguished.
MAX_BUCKETS = 2**32

_PLAIN_KINDS = "biufU"
_FLOAT = np.dtype(np.float64)
# Below this many values reading them one by one is faster than packing them.
FEW = 16
_NUMBERS = frozenset((float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_))


class Category(NamedTuple):
    """A feature together with the value it had: one cell of a categorical table."""

    feature: FeatureName
    kind: str
    """"text", "boolean" or "number": `True` and `1` are different values, though Python calls them equal."""
    value: str | bool | float


class Row(NamedTuple):
    """One event as names and numbers."""

    names: list[FeatureName]
    values: FloatArray
    texts: frozenset[FeatureName]
    """Features that came as texts: {"sender": "bob"} stands in `names` as ("sender", "bob")."""


def require_mapping(x: object) -> Features:
    """Return `x` when it is a dict of features, else say what came instead."""
    if isinstance(x, Mapping):
        return x
    message = (
        f"an event is a dict of features (name -> value); got {type(x).__name__} "
        "(dict(x) makes one of a pandas series; a data frame or a matrix holds many: learn_many, predict_many)"
    )
    raise InputError(message)


def plain(value: Any) -> Any:
    """Turn numpy's numbers, booleans and strings into the Python values they stand for; leave all else alone."""
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in _PLAIN_KINDS else value


def check_name(name: FeatureName, depth: int = 0) -> FeatureName:
    """The name as it is kept: 1 for 1, 1.0 and True, which are one key to a dict; refuses what cannot be saved."""
    name = plain(name)
    if isinstance(name, Category):
        return Category(check_name(name.feature), name.kind, name.value)
    if isinstance(name, tuple) and name and depth < DEEPEST_NAME:
        return tuple(check_name(part, depth + 1) for part in name)
    if isinstance(name, (int, float)) and abs(name) < LARGEST_NAME:
        return _whole(name)
    if isinstance(name, str) or name is None:
        return name
    message = (
        f"a feature cannot be named {shown(name)} (of type {type(name).__name__}): use a string, a number, or a tuple "
        "of them"
    )
    raise InputError(message)


def check_on(on: Any) -> FeatureName:
    """The feature given to a constructor, or None."""
    try:
        return check_name(on)
    except InputError as problem:
        message = f"on must be the name of a feature, or None: {problem}"
        raise ParameterError(message) from problem


def numeric_row(x: Features) -> Row:
    """Names and finite values of one event; a text value becomes the indicator of (name, text).

    >>> numeric_row({"free": 2, "sender": "bob"})
    Row(names=['free', ('sender', 'bob')], values=array([2., 1.]), texts=frozenset({'sender'}))
    """
    values = plain_values(list(require_mapping(x).values()))
    if values is not None:
        return Row(list(x), values, frozenset())
    row = _mixed_row(x)
    if not np.isfinite(row.values).all():
        place = int(np.flatnonzero(~np.isfinite(row.values))[0])
        message = (
            f"feature {shown(row.names[place])} is {row.values[place]}: values must be finite; leave a missing one out"
        )
        raise InputError(message)
    return row


def plain_values(numbers: list[Any]) -> FloatArray | None:
    """The values of an event as floats, if they are all finite numbers, Python's own or numpy's; else None.

    Adding them up tells their type, and whether they are finite, in a third of the time of looking at each.
    """
    try:
        total = sum(numbers, 0.0)  # begun with a float, numpy's small integers do not overflow
        if (type(total) is float or _NUMBERS.issuperset(map(type, numbers))) and math.isfinite(total):
            if len(numbers) < FEW:
                return np.fromiter(numbers, _FLOAT, len(numbers))
            values: FloatArray = np.empty(len(numbers))
            buffer: Any = values
            _packer(len(numbers))(buffer, 0, *numbers)  # measured: half the time of array.array
            return values
    except (TypeError, ValueError, OverflowError):
        return None
    return None


@lru_cache(maxsize=4096)
def _packer(count: int) -> Callable[..., None]:
    return Struct(f"{count}d").pack_into


def category_row(x: Features) -> Row:
    """The cells of one event, each with value 1; None stands for a missing value.

    >>> category_row({"windy": True}).names
    [Category(feature='windy', kind='boolean', value=True)]
    """
    cells: list[FeatureName] = []
    for name, value in require_mapping(x).items():
        known = plain(value)
        if known is not None:
            cells.append(Category(check_name(name), *_kind_and_value(name, known)))
    return Row(cells, np.ones(len(cells)), frozenset())


def _whole(number: float) -> float:
    """A whole number as an int, whatever type it came in."""
    return int(number) if number == int(number) else number


def _as_float(name: FeatureName, value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        message = f"feature {shown(name)} is too large to be a float"
        raise InputError(message) from None


def _mixed_row(x: Features) -> Row:
    names: list[Any] = []
    texts: list[FeatureName] = []
    numbers: list[float] = []
    for name, raw in x.items():
        value = plain(raw)
        if isinstance(value, str):
            texts.append(check_name(name))
            names.append((texts[-1], value))
            numbers.append(1.0)
        elif isinstance(value, (int, float)):
            names.append(name)
            numbers.append(_as_float(name, value))
        else:
            kind = type(value).__name__
            message = f"feature {shown(name)} has a value of type {kind}: use a number, a boolean or a text"
            raise InputError(message)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        message = f"feature {shown(twice)} comes twice in one event: by that name, and as the text of {shown(twice[0])}"
        raise InputError(message)
    return Row(names, np.array(numbers, dtype=np.float64), frozenset(texts))


def _kind_and_value(name: FeatureName, value: Any) -> tuple[str, str | bool | float]:
    if isinstance(value, str):
        return "text", value
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, (int, float)) and abs(value) <= LARGEST_FLOAT:
        return "number", _whole(value)
    message = f"feature {shown(name)} is {shown(value)}: a category is a text, a boolean or a finite number"
    raise InputError(message)
