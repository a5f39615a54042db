"""SVG charts: axes, and the marks that a chart is made of.

A chart is a value. The templates turn it into SVG, and the style sheet gives it its colours: see `rendering`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stream_bayes.typing import FloatArray

WIDTH = 540.0
HEIGHT = 380.0
LEFT = 70.0
RIGHT = 512.0
TOP = 18.0
BOTTOM = 320.0
SERIES_COLOURS = 10
_TICK_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic scale from values to positions in the chart.

    >>> axis = Axis("error %", 0.1, 100.0, 0.0, 300.0, logarithmic=True)
    >>> axis.positions(np.array([0.0, 0.1, 1.0, 100.0]))
    array([  0.,   0., 100., 300.])
    >>> [text for _, text in axis.ticks()]
    ['0.1', '1', '10', '100']
    """

    label: str
    low: float
    high: float
    begin: float
    """The position of `low`."""
    end: float
    """The position of `high`."""
    logarithmic: bool = False
    tick_values: tuple[float, ...] = ()
    """Values that get a tick; round numbers if it is empty."""

    def positions(self, values: FloatArray) -> FloatArray:
        """The positions of values; those outside of the scale are put on its nearer end."""
        inside = np.clip(values, self.low, self.high)
        low = self._transform(np.array(self.low))
        high = self._transform(np.array(self.high))
        return self.begin + (self.end - self.begin) * (self._transform(inside) - low) / (high - low)

    def position(self, value: float) -> float:
        """The position of one value."""
        return float(self.positions(np.array([value]))[0])

    def ticks(self) -> list[tuple[float, str]]:
        """The position and the text of each tick."""
        values = self.tick_values or (_decades if self.logarithmic else _even_steps)(self.low, self.high)
        return [(self.position(value), f"{value:,.10g}") for value in values]

    def _transform(self, values: FloatArray) -> FloatArray:
        return np.log10(values) if self.logarithmic else values


def horizontal_axis(label: str, low: float, high: float, *, logarithmic: bool = False) -> Axis:
    """The horizontal axis of a chart of the usual size."""
    return Axis(label, low, high, LEFT, RIGHT, logarithmic)


def vertical_axis(label: str, low: float, high: float, *, logarithmic: bool = False, bottom: float = BOTTOM) -> Axis:
    """The vertical axis of a chart of the usual size."""
    return Axis(label, low, high, bottom, TOP, logarithmic)


def decade_below(value: float) -> float:
    """The largest power of ten that is not above the value.

    >>> decade_below(0.02), decade_below(0.1)
    (0.01, 0.1)
    """
    return float(10.0 ** math.floor(math.log10(value) + 1e-9))


def decade_above(value: float) -> float:
    """The smallest power of ten that is not below the value.

    >>> decade_above(0.02), decade_above(10.0)
    (0.1, 10.0)
    """
    return float(10.0 ** math.ceil(math.log10(value) - 1e-9))


def _decades(low: float, high: float) -> tuple[float, ...]:
    return tuple(10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1))


def _even_steps(low: float, high: float) -> tuple[float, ...]:
    rough = (high - low) / 5.0
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(step * size for step in _TICK_STEPS if step * size >= rough * (1.0 - 1e-9))
    return tuple(step * index for index in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1))


@dataclass(frozen=True)
class SvgMark:
    """One SVG element: a line, a text, a point, a bar or a group."""

    tag: str
    attributes: Mapping[str, str]
    text: str = ""
    title: str = ""
    """The tooltip of the mark."""
    children: Sequence[SvgMark] = ()


@dataclass(frozen=True)
class Chart:
    """An SVG picture with a title and a description for people who cannot see it."""

    name: str
    """Unique within a page."""
    title: str
    description: str
    marks: Sequence[SvgMark]
    height: float = HEIGHT
    width: float = WIDTH
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Further attributes of the svg element."""


def mark(
    tag: str, *, text: str = "", title: str = "", children: Sequence[SvgMark] = (), **attributes: str | float
) -> SvgMark:
    """Make a mark; `class_` and `text_anchor` are written as the attributes class and text-anchor."""
    written = {
        name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else f"{round(value, 1):g}"
        for name, value in attributes.items()
    }
    return SvgMark(tag, written, text, title, children)


def axis_marks(x: Axis, y: Axis) -> list[SvgMark]:
    """The grid, the ticks and the labels of both axes."""
    marks = []
    for position, text in x.ticks():
        marks.append(_line(position, y.begin, position, y.end, "grid"))
        marks.append(text_mark(position, y.begin + 22.0, text, anchor="middle"))
    for position, text in y.ticks():
        marks.append(_line(x.begin, position, x.end, position, "grid"))
        marks.append(text_mark(x.begin - 8.0, position + 4.5, text, anchor="end"))
    middle_x = (x.begin + x.end) / 2.0
    middle_y = (y.begin + y.end) / 2.0
    rotation = f"translate(16 {middle_y:g}) rotate(-90)"
    return [
        *marks,
        text_mark(middle_x, y.begin + 48.0, x.label, anchor="middle", kind="axis"),
        mark("text", text=y.label, class_="axis", text_anchor="middle", transform=rotation),
    ]


def text_mark(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "tick") -> SvgMark:
    """A text; `kind` is its CSS class."""
    return mark("text", text=text, x=x, y=y, text_anchor=anchor, class_=kind)


def line_marks(xs: FloatArray, ys: FloatArray, series: int, title: str, *, steps: bool = False) -> list[SvgMark]:
    """A line through these positions, or a staircase; nothing without positions."""
    points = _thinned(xs, ys)
    if not points:
        return []
    begin = f"M{points[0][0]:g} {points[0][1]:g}"
    parts = [f"H{x:g}V{y:g}" if steps else f"L{x:g} {y:g}" for x, y in points[1:]]
    return [mark("path", title=title, d=begin + "".join(parts), class_=f"line {series_class(series)}")]


def _thinned(xs: FloatArray, ys: FloatArray) -> list[tuple[float, float]]:
    """Positions rounded to half a unit, without repetitions of the one before."""
    points = np.column_stack([xs, ys])
    points = np.round(points * 2.0) / 2.0
    changed = np.append(True, (points[1:] != points[:-1]).any(axis=1))[: len(points)]
    return [(float(x), float(y)) for x, y in points[changed]]


def point_mark(x: float, y: float, series: int, title: str) -> SvgMark:
    """A point."""
    return mark("circle", title=title, cx=x, cy=y, r=4, class_=series_class(series))


def bar_mark(corner: tuple[float, float], size: tuple[float, float], series: int, title: str) -> SvgMark:
    """A filled box, from its upper left corner."""
    x, y = corner
    width, height = size
    return mark("rect", title=title, x=x, y=y, width=width, height=height, class_=f"bar {series_class(series)}")


def guide_line(x: Axis, y: Axis, begin: tuple[float, float], end: tuple[float, float]) -> SvgMark:
    """A thin dashed line between two pairs of values, for comparison."""
    return _line(x.position(begin[0]), y.position(begin[1]), x.position(end[0]), y.position(end[1]), "rule")


def interval_mark(x: float, low: float, high: float, series: int) -> SvgMark:
    """A vertical line from one end of an interval to the other."""
    return _line(x, low, x, high, f"whisker {series_class(series)}")


def series_class(series: int) -> str:
    """The CSS classes of a series: its colour, a dash after all colours are used, and `first` for the first series."""
    again = " again" if series >= SERIES_COLOURS else ""
    first = " first" if series == 0 else ""
    return f"s{series % SERIES_COLOURS}{again}{first}"


def stacked(series_marks: Iterable[Sequence[SvgMark]]) -> list[SvgMark]:
    """The marks of all series, the first series on top of the others."""
    return [each for marks in reversed(list(series_marks)) for each in marks]


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> SvgMark:
    return mark("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)
