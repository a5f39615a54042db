"""Pictures made of characters: columns, intervals on a scale, a line with its band. Numbers in, text out."""

from __future__ import annotations

import math
from collections.abc import Sequence

_EIGHTHS = " ▁▂▃▄▅▆▇█"

OUTSIDE, INSIDE, LOW, HIGH, MEAN, TRUTH, BOTH = "·", "─", "├", "┤", "●", "▲", "◆"
BAND, LINE, POINT = "░", "━", "o"


def columns(values: Sequence[float], height: int) -> list[str]:
    """A chart of bars, the tallest `height` rows high, first row on top.

    >>> columns([0, 1, 4, 2], height=1)
    [' ▂█▄']
    """
    top = max(values, default=0.0)
    eighths = [math.ceil(8 * height * value / top - 1e-9) if top > 0.0 else 0 for value in values]
    rows = range(height - 1, -1, -1)
    return ["".join(_EIGHTHS[min(max(level - 8 * row, 0), 8)] for level in eighths) for row in rows]


def cell(value: float, start: float, end: float, width: int) -> int:
    """The cell of a scale a number falls into; numbers beyond the scale fall into its ends.

    >>> cell(0.5, 0, 1, 10), cell(7, 0, 1, 10)
    (5, 9)
    """
    return min(max(math.floor((value - start) / (end - start) * width), 0), width - 1)


def interval_on(
    scale: tuple[float, float], width: int, interval: tuple[float, float], mean: float, truth: float | None = None
) -> str:
    """An interval with its mean, and the truth where it is known, on a scale of so many cells.

    >>> interval_on((0, 1), 20, (0.3, 0.8), 0.5, truth=0.65)
    '······├───●──▲──┤···'
    """
    places = [OUTSIDE] * width
    low, high = (cell(end, *scale, width) for end in interval)
    places[low : high + 1] = [INSIDE] * (high + 1 - low)
    places[low], places[high] = LOW, HIGH
    places[cell(mean, *scale, width)] = MEAN
    if truth is not None:
        place = cell(truth, *scale, width)
        places[place] = BOTH if places[place] == MEAN else TRUTH
    return "".join(places)


def scatter(
    band: Sequence[tuple[float, float, float]],
    points: Sequence[tuple[float, float]],
    heights: tuple[float, float],
    rows: int,
) -> list[str]:
    """Points (x from -1 to 1) over a line with its band, a column for each (low, mean, high) of the band.

    >>> scatter([(-1, -0.4, 0), (-0.5, 0.1, 0.5), (0, 0.6, 1)], [(0.0, -0.9)], (-1, 1), rows=4)
    ['  ━', ' ━░', '━░ ', '░o ']
    """
    width = len(band)
    grid = [[" "] * width for _ in range(rows)]
    for column, (low, mean, high) in enumerate(band):
        for row in range(rows):
            if low < _height_of(row, heights, rows) < high:
                grid[row][column] = BAND
        if heights[0] <= mean <= heights[1]:
            grid[_row_of(mean, heights, rows)][column] = LINE
    for x, y in points:
        if heights[0] <= y <= heights[1]:
            grid[_row_of(y, heights, rows)][cell(x, -1.0, 1.0, width)] = POINT
    return ["".join(row) for row in grid]


def sparkline(values: Sequence[float], width: int) -> str:
    """The last of every few numbers as one row of bars, lowest to highest; no wider than there are numbers.

    >>> sparkline([3, 2, 1, 0], width=4)
    '█▆▃▁'
    """
    width = min(width, len(values))
    chosen = [values[(place + 1) * len(values) // width - 1] for place in range(width)]
    low, span = min(chosen), max(chosen) - min(chosen)
    return "".join(_EIGHTHS[1 + round(7 * (value - low) / span) if span > 0.0 else 8] for value in chosen)


def _row_of(value: float, heights: tuple[float, float], rows: int) -> int:
    return rows - 1 - cell(value, *heights, rows)


def _height_of(row: int, heights: tuple[float, float], rows: int) -> float:
    low, high = heights
    return high - (row + 0.5) / rows * (high - low)
