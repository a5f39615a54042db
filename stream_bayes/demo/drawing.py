"""Pictures made of characters. Numbers in, text out."""

from __future__ import annotations

from collections.abc import Sequence

_EIGHTHS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """The last of every few numbers as one row of bars, lowest to highest; no wider than there are numbers.

    >>> sparkline([3, 2, 1, 0], width=4)
    '█▆▃▁'
    """
    width = min(width, len(values))
    chosen = [values[(place + 1) * len(values) // width - 1] for place in range(width)]
    low, high = min(chosen, default=0.0), max(chosen, default=0.0)
    span = high - low
    return "".join(_EIGHTHS[round(7 * (value - low) / span) if span > 0.0 else 7] for value in chosen)


def bar(share: float, width: int) -> str:
    """How much of a whole is done.

    >>> bar(0.5, 4)
    '━━╌╌'
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    return "━" * full + "╌" * (width - full)
