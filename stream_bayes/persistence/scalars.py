"""Checks of scalars read from a file: each has the type and the range it was written with, or the file is damaged."""

from __future__ import annotations

import math
from typing import Any

from stream_bayes.errors import SnapshotDamaged, shown

LARGEST_INT = 2**63 - 1

Label = str | bool | int | float


def stored_int(value: Any, name: str, least: int = 0, most: int = LARGEST_INT) -> int:
    """A whole number within these bounds."""
    if type(value) is int and least <= value <= most:
        return value
    raise _damaged(name, f"a whole number from {least} to {most}", value)


def stored_float(value: Any, name: str, least: float = -math.inf, most: float = math.inf) -> float:
    """A finite number within these bounds."""
    if type(value) in (int, float) and least <= value <= most and abs(value) < math.inf:
        return float(value)
    raise _damaged(name, f"a finite number from {least:g} to {most:g}", value)


def stored_bool(value: Any, name: str) -> bool:
    """True or False."""
    if type(value) is bool:
        return value
    raise _damaged(name, "true or false", value)


def stored_text(value: Any, name: str) -> str:
    """A text."""
    if type(value) is str:
        return value
    raise _damaged(name, "a text", value)


def stored_key(value: Any, name: str) -> int | str:
    """An offset or an id."""
    return value if type(value) is str else stored_int(value, name, -LARGEST_INT)


def stored_label(value: Any, name: str) -> Label:
    """A label, or a number where numbers are predicted."""
    if type(value) in (str, bool) or (type(value) is int and abs(value) <= LARGEST_INT):
        return value  # type: ignore[no-any-return]
    if type(value) is float and math.isfinite(value):
        return value
    raise _damaged(name, "a label or a finite number", value)


def stored_list(value: Any, name: str, length: int | None = None) -> list[Any]:
    """A list, of this length if one is given; a tuple is a list in JSON."""
    if isinstance(value, (list, tuple)) and (length is None or len(value) == length):
        return list(value)
    raise _damaged(name, "a list" if length is None else f"a list of {length}", value)


def stored_dict(value: Any, name: str) -> dict[str, Any]:
    """An object of JSON."""
    if type(value) is dict:
        return value
    raise _damaged(name, "an object", value)


def stored_counts(value: Any, name: str) -> dict[str, int]:
    """An object of counts."""
    return {key: stored_int(count, f"{name}.{key}") for key, count in stored_dict(value, name).items()}


def _damaged(name: str, expected: str, value: Any) -> SnapshotDamaged:
    message = f"{name} must be {expected}; the file has {shown(value)}"
    return SnapshotDamaged(message)
