"""The picture of strategies side by side: (1-ROCA)% against labels, for a page or as a file of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.report.axes import Axis
from stream_bayes.evaluation.report.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    WIDTH,
    across,
    chart,
    curve,
    dot,
    frame,
    rule,
    upwards,
    whisker,
    words,
)
from stream_bayes.evaluation.report.markup import element, figure, text
from stream_bayes.evaluation.report.style import PICTURE_STYLE
from stream_bayes.evaluation.strategy_comparison import ComparisonResult
from stream_bayes.evaluation.sweep import AreaSpread

TITLE = "(1-ROCA)% against labels"
_NOTHING = "There is no (1-ROCA)% above 0 to show."
# Strategies stand beside each other at each budget, this many units of the picture apart.
_APART = 3.0
_MARGIN = 1.35
_TALLER = 120.0
# A picture by itself has lines above the chart and names below it.
_ABOVE = 62.0
_COLUMNS = 3
_COLUMN = 150.0
_ROW = 20.0
_LONGEST = 70
_SCALE = 1.5


def label_chart(found: ComparisonResult) -> str:
    """The mean of each strategy with its range, by the budget, both scales logarithmic; dashed: all labels."""
    return chart("labels", TITLE, _said(found), _marks(found), height=HEIGHT + _TALLER)


def label_picture(found: ComparisonResult) -> str:
    """The same as an SVG file that needs nothing else, with its title and the names of the strategies in it."""
    rows = -(-len(found.plan.strategies) // _COLUMNS)
    height = _ABOVE + HEIGHT + _TALLER + _ROW * (rows + 0.5)
    marks = [
        element("style", PICTURE_STYLE),
        element("rect", class_="back", width=WIDTH, height=height, rx=10),
        words(LEFT, 28.0, TITLE, kind="axis heading"),
        *(_line(48.0 + 18.0 * place, said) for place, said in enumerate((subject(found), lead(found)))),
        element("g", *_marks(found), *_names(found), transform=f"translate(0 {_ABOVE:g})"),
    ]
    outside = {"xmlns": "http://www.w3.org/2000/svg", "width": f"{_SCALE * WIDTH:g}"}
    return f"{chart('labels', TITLE, _said(found), marks, height, **outside)}\n"


def subject(found: ComparisonResult) -> str:
    """What the passes were over."""
    plan = found.plan
    late = f", labels {plan.delay} late" if plan.delay else ""
    return f"{found.corpus}: {counted(found.messages, 'message')}, filter {plan.filter_name}{late}"


def lead(found: ComparisonResult) -> str:
    """What the marks are."""
    return f"dots: mean over {counted(len(found.plan.seeds), 'seed')}; whiskers: least and greatest"


def _said(found: ComparisonResult) -> str:
    return f"{TITLE}, on logarithmic axes: mean and range over {counted(len(found.plan.seeds), 'seed')}."


def _line(y: float, said: str) -> str:
    return element("text", text(said, _LONGEST), x=LEFT, y=y)


def _names(found: ComparisonResult) -> Iterator[str]:
    for place, name in enumerate(found.plan.strategies):
        row, column = divmod(place, _COLUMNS)
        x = LEFT + _COLUMN * column
        y = HEIGHT + _TALLER + 12.0 + _ROW * row
        yield curve(np.array([x, x + 22.0]), np.array([y, y]), place, name)
        yield words(x + 30.0, y + 4.5, name, kind="axis")


def _marks(found: ComparisonResult) -> list[str]:
    cells = {name: list(_cells(found, name)) for name in found.plan.strategies}
    ends = [end for own in cells.values() for _, cell in own for end in (cell.least, cell.greatest)]
    full = found.full
    values = np.array([*ends, *([] if full is None else [full.mean])])
    values = values[values > 0.0]
    if not len(values):
        return [words(WIDTH / 2.0, HEIGHT / 2.0, _NOTHING, anchor="middle")]
    x = _budget_axis(found.plan.budgets)
    y = _area_axis(float(values.min()), float(values.max()))
    line = [] if full is None else _full(x, y, full.mean)
    drawn = [_strategy(x, y, place, name, own) for place, (name, own) in enumerate(cells.items())]
    return [*frame(x, y), *line, *(mark for own in reversed(drawn) for mark in own)]


def _budget_axis(budgets: Sequence[int]) -> Axis:
    ends = min(budgets) / _MARGIN, max(budgets) * _MARGIN
    axis = across("labels that may be asked for", *ends, logarithmic=True)
    return replace(axis, marked=tuple(map(float, budgets)))


def _area_axis(least: float, greatest: float) -> Axis:
    low = least / _MARGIN
    high = greatest * _MARGIN
    axis = upwards("(1-ROCA)%", low, high, logarithmic=True, bottom=BOTTOM + _TALLER)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (step * 10.0**power for power in powers for step in (1.0, 2.0, 5.0))
    return replace(axis, marked=tuple(value for value in steps if low <= value <= high))


def _full(x: Axis, y: Axis, mean: float) -> list[str]:
    place = y.place(mean)
    return [
        rule(x, y, (x.low, mean), (x.high, mean)),
        words(x.begin + 6.0, place - 5.0, f"all labels: {figure(mean)}"),
    ]


def _strategy(x: Axis, y: Axis, place: int, name: str, cells: Sequence[tuple[int, AreaSpread]]) -> Iterator[str]:
    if not cells:
        return
    shift = _APART * ((place + 1) // 2) * (1 if place % 2 else -1)
    places = x.at(np.array([float(budget) for budget, _ in cells])) + shift
    yield curve(places, y.at(np.array([cell.mean for _, cell in cells])), place, name)
    for at, (budget, cell) in zip(places.tolist(), cells, strict=True):
        if cell.passes > 1:
            yield whisker(at, y.place(cell.least), y.place(cell.greatest), place)
        yield dot(at, y.place(cell.mean), place, f"{name}, {budget:,} labels: {_words(cell)}")


def _cells(found: ComparisonResult, strategy: str) -> Iterator[tuple[int, AreaSpread]]:
    for budget in found.plan.budgets:
        cell = found.cell(strategy, budget)
        if cell is not None and not np.isnan(cell.mean):
            yield budget, cell


def _words(cell: AreaSpread) -> str:
    told = f"{cell.labels:,.0f} told"
    if cell.passes == 1:
        return f"{figure(cell.mean)}, {told}"
    return f"{figure(cell.mean)} ({figure(cell.least)} to {figure(cell.greatest)}), {told}"
