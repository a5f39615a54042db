"""Checks of what constructors are given."""

from __future__ import annotations

from typing import Any, TypeVar

from stream_bayes.errors import ParameterError

SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100

Kind = TypeVar("Kind")


def check_scale(name: str, *values: float) -> None:
    """Refuse a prior whose parameters are so large or so small that sums with them leave the finite numbers."""
    for value in values:
        if value != 0.0 and not SMALLEST_SCALE <= abs(value) <= LARGEST_SCALE:
            message = f"{name} must be 0 or between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g} in size; got {value!r}"
            raise ParameterError(message)


def of_kind(value: Any, name: str, kind: type[Kind]) -> Kind:
    """The parameter, if it is an instance of the kind."""
    if isinstance(value, kind):
        return value
    message = f"{name} must be a {kind.__name__}; got {value!r}"
    raise ParameterError(message)


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """The parameter, if it is one of the choices."""
    if value in choices:
        return str(value)
    message = f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}"
    raise ParameterError(message)
