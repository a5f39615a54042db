"""Durations written with a unit, such as `15m`."""

from __future__ import annotations

import math
import re
from typing import Any

from stream_bayes.errors import ParameterError, shown

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PATTERN = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(_UNITS)})")
_MAX_MILLISECONDS = 2**53


def milliseconds(name: str, duration: Any) -> int:
    """Return a duration in whole milliseconds, at least one. A number without a unit is in seconds.

    >>> milliseconds("period", "1d"), milliseconds("period", "1.5h"), milliseconds("period", 30)
    (86400000, 5400000, 30000)
    """
    match = _PATTERN.fullmatch(duration.strip()) if isinstance(duration, str) else None
    span = math.nan
    if match is not None:
        span = float(match[1]) * _UNITS[match[2]]
    elif isinstance(duration, (int, float)) and not isinstance(duration, bool):
        span = duration * 1000.0
    if not 1.0 <= span <= _MAX_MILLISECONDS:
        known = "a duration such as 250ms, 30s, 15m, 12h, 1d or 2w, or a number of seconds"
        message = f"{name} must be {known}; got {shown(duration)}"
        raise ParameterError(message)
    return round(span)
