"""Checks of what constructors are given."""

from __future__ import annotations

from typing import Any, TypeVar

from stream_bayes.errors import ParameterError, shown

SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100

Kind = TypeVar("Kind")


def check_scale(name: str, *values: float, smallest: float = SMALLEST_SCALE, largest: float = LARGEST_SCALE) -> None:
    """Refuse parameters so large or so small that sums with them leave the finite numbers."""
    for value in values:
        if value != 0.0 and not smallest <= abs(value) <= largest:
            message = f"{name} must be 0 or between {smallest:g} and {largest:g} in size; got {shown(value)}"
            raise ParameterError(message)


def of_kind(value: Any, name: str, kind: type[Kind]) -> Kind:
    """The parameter, if it is an instance of the kind."""
    if isinstance(value, kind):
        return value
    message = f"{name} must be a {kind.__name__}; got {shown(value)}"
    raise ParameterError(message)


def one_of(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """The parameter, if it is one of the choices."""
    if value in choices:
        return str(value)
    message = f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}"
    raise ParameterError(message)
