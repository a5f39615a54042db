"""Parameters of tests by tier: `make test` runs a few of many alike, `make test-long` the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def short_first(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Parameters of a test, of which all but the first `count` are long; a tuple is several parameters."""
    return [_parameters(value, is_long=place >= count) for place, value in enumerate(values)]


def short_each(values: Iterable[Any], every: int) -> list[Any]:
    """Parameters of a test, of which all but the first of each `every` are long."""
    return [_parameters(value, is_long=place % every > 0) for place, value in enumerate(values)]


def _parameters(value: Any, *, is_long: bool) -> Any:
    marks = [pytest.mark.long] if is_long else []
    parameters = value if isinstance(value, tuple) else (value,)
    return pytest.param(*parameters, marks=marks)
