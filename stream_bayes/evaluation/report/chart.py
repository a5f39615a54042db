"""One chart as an SVG picture: axes, lines, points, bars. Colours come from the page's style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stream_bayes.evaluation.report.axes import Axis
from stream_bayes.evaluation.report.markup import element, text
from stream_bayes.typing import FloatArray

WIDTH = 540.0
HEIGHT = 380.0
LEFT = 70.0
RIGHT = 512.0
TOP = 18.0
BOTTOM = 320.0
COLOURS = 10


def across(label: str, low: float, high: float, *, logarithmic: bool = False) -> Axis:
    """The horizontal axis of a chart."""
    return Axis(label, low, high, LEFT, RIGHT, logarithmic)


def upwards(label: str, low: float, high: float, *, logarithmic: bool = False, bottom: float = BOTTOM) -> Axis:
    """The vertical axis of a chart."""
    return Axis(label, low, high, bottom, TOP, logarithmic)


def chart(
    name: str, title: str, description: str, marks: Iterable[str], height: float = HEIGHT, **attributes: str | float
) -> str:
    """A picture that says what it shows to those who cannot see it; `name` is unique on the page."""
    return element(
        "svg",
        element("title", text(title), id=f"{name}-title"),
        element("desc", text(description), id=f"{name}-desc"),
        *marks,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        **attributes,
    )


def frame(x: Axis, y: Axis) -> list[str]:
    """Grid, ticks and the names of both axes."""
    marks = []
    for place, written in x.ticks():
        marks.append(_line(place, y.begin, place, y.end, "grid"))
        marks.append(words(place, y.begin + 22.0, written, anchor="middle"))
    for place, written in y.ticks():
        marks.append(_line(x.begin, place, x.end, place, "grid"))
        marks.append(words(x.begin - 8.0, place + 4.5, written, anchor="end"))
    middle_x = (x.begin + x.end) / 2.0
    middle_y = (y.begin + y.end) / 2.0
    turned = element(
        "text", text(y.label), class_="axis", text_anchor="middle", transform=f"translate(16 {middle_y:g}) rotate(-90)"
    )
    return [*marks, words(middle_x, y.begin + 48.0, x.label, anchor="middle", kind="axis"), turned]


def words(x: float, y: float, written: str, *, anchor: str = "start", kind: str = "tick") -> str:
    """A word in the picture."""
    return element("text", text(written), x=_round(x), y=_round(y), text_anchor=anchor, class_=kind)


def curve(xs: FloatArray, ys: FloatArray, series: int, name: str, *, steps: bool = False) -> str:
    """A line through places of the picture, or a staircase; the first series is drawn stronger than the others."""
    points = thinned(xs, ys)
    if not len(points):
        return ""
    begin = f"M{points[0][0]:g} {points[0][1]:g}"
    parts = [f"H{x:g}V{y:g}" if steps else f"L{x:g} {y:g}" for x, y in points[1:]]
    return element("path", element("title", text(name)), d=begin + "".join(parts), class_=f"line {colour(series)}")


def thinned(xs: FloatArray, ys: FloatArray) -> Sequence[tuple[float, float]]:
    """Places to half a unit of the picture, each run of equal ones once."""
    points = np.column_stack([xs, ys])
    points = np.round(points * 2.0) / 2.0
    changed = np.append(True, (points[1:] != points[:-1]).any(axis=1))[: len(points)]
    return [(float(x), float(y)) for x, y in points[changed]]


def dot(x: float, y: float, series: int, name: str) -> str:
    """A point that says what it is when one rests on it."""
    return element("circle", element("title", text(name)), cx=_round(x), cy=_round(y), r=4, class_=colour(series))


def bar(corner: tuple[float, float], size: tuple[float, float], series: int, name: str) -> str:
    """A filled box from its upper left corner."""
    place = dict(zip(("x", "y", "width", "height"), map(_round, (*corner, *size)), strict=True))
    return element("rect", element("title", text(name)), **place, class_=f"bar {colour(series)}")


def rule(x: Axis, y: Axis, begin: tuple[float, float], end: tuple[float, float]) -> str:
    """A thin dashed line from one pair of values to another, to compare with."""
    return _line(x.place(begin[0]), y.place(begin[1]), x.place(end[0]), y.place(end[1]), "rule")


def whisker(x: float, low: float, high: float, series: int) -> str:
    """An interval at a point."""
    return _line(x, low, x, high, f"whisker {colour(series)}")


def colour(series: int) -> str:
    """The class of a series: its colour, and a dash for the second time round."""
    return f"s{series % COLOURS}{' again' if series >= COLOURS else ''}{' first' if series == 0 else ''}"


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return element("line", x1=_round(x1), y1=_round(y1), x2=_round(x2), y2=_round(y2), class_=kind)


def _round(place: float) -> float:
    return round(place, 1)
