"""The HTML report that compares strategies of active learning, and its chart: (1-ROCA)% against the label budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.feedback import PACED
from stream_bayes.evaluation.formatting import format_number
from stream_bayes.evaluation.report.rendering import render, render_svg
from stream_bayes.evaluation.report.svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    WIDTH,
    Axis,
    Chart,
    SvgMark,
    axis_marks,
    guide_line,
    horizontal_axis,
    interval_mark,
    line_marks,
    mark,
    point_mark,
    stacked,
    text_mark,
    vertical_axis,
)
from stream_bayes.evaluation.strategy_comparison import ComparisonResult, comparison_legend
from stream_bayes.evaluation.sweep import AreaSpread

PAGE_FILE = "labels.html"
PICTURE_FILE = "labels.svg"
TITLE = "(1-ROCA)% against labels"
_NO_DATA = "There is no (1-ROCA)% above 0 to show."
# At each budget the strategies stand beside each other, this many units apart.
_SERIES_DISTANCE = 3.0
_MARGIN = 1.35
_CHART_HEIGHT = HEIGHT + 120.0
# A picture in a file of its own has a heading above the chart and a legend below it.
_HEADING_HEIGHT = 62.0
_LEGEND_COLUMNS = 3
_LEGEND_COLUMN_WIDTH = 150.0
_LEGEND_ROW_HEIGHT = 20.0
_MAX_HEADING_CHARACTERS = 70
_PICTURE_SCALE = 1.5


def write_strategies(folder: Path, result: ComparisonResult, notes: Sequence[str] = ()) -> None:
    """Write the page and the picture into a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE_FILE).write_text(strategies_page(result, notes), encoding="utf-8")
    (folder / PICTURE_FILE).write_text(strategies_picture(result), encoding="utf-8")


def strategies_page(result: ComparisonResult, notes: Sequence[str] = ()) -> str:
    """The page as HTML that is well-formed XML too."""
    plan = result.plan
    return render(
        "strategies.html.jinja",
        corpus=result.corpus,
        heading=_heading(result),
        lead=_lead(result),
        notes=notes,
        chart_title=TITLE,
        chart=strategy_chart(result),
        budgets=[f"{budget:,}" for budget in plan.budgets],
        rows={name: [result.cell(name, budget) for budget in plan.budgets] for name in plan.strategies},
        chance=PACED,
        compared=[cell for budget in plan.budgets for cell in result.compared(budget)],
        legend_lines=comparison_legend(result),
    )


def strategies_picture(result: ComparisonResult) -> str:
    """The chart as an SVG file that needs nothing else."""
    return render_svg(standalone_chart(result, [_heading(result), _lead(result)]), render("picture.css.jinja"))


def _heading(result: ComparisonResult) -> str:
    plan = result.plan
    late = f", labels {plan.delay} late" if plan.delay else ""
    return f"{result.corpus}: {counted(result.messages, 'message')}, filter {plan.filter_name}{late}"


def _lead(result: ComparisonResult) -> str:
    return f"dots: mean over {counted(len(result.plan.seeds), 'seed')}; whiskers: least and greatest"


def strategy_chart(result: ComparisonResult) -> Chart:
    """The mean and the range of each strategy by the budget, both scales logarithmic; dashed: all labels."""
    return Chart("labels", TITLE, _description(result), _marks(result), _CHART_HEIGHT)


def standalone_chart(result: ComparisonResult, headings: Sequence[str]) -> Chart:
    """The chart as a picture of its own, with title, two lines of headings and a legend."""
    rows = -(-len(result.plan.strategies) // _LEGEND_COLUMNS)
    height = _HEADING_HEIGHT + _CHART_HEIGHT + _LEGEND_ROW_HEIGHT * (rows + 0.5)
    lines = [
        mark("text", text=_shortened(heading), x=LEFT, y=48.0 + 18.0 * row) for row, heading in enumerate(headings)
    ]
    body = [*_marks(result), *_legend(result.plan.strategies)]
    marks = [
        mark("rect", class_="back", width=WIDTH, height=height, rx=10),
        text_mark(LEFT, 28.0, TITLE, kind="axis heading"),
        *lines,
        mark("g", children=body, transform=f"translate(0 {_HEADING_HEIGHT:g})"),
    ]
    attributes = {"xmlns": "http://www.w3.org/2000/svg", "width": f"{_PICTURE_SCALE * WIDTH:g}"}
    return Chart("labels", TITLE, _description(result), marks, height, attributes=attributes)


def _description(result: ComparisonResult) -> str:
    return f"{TITLE}, on logarithmic axes: mean and range over {counted(len(result.plan.seeds), 'seed')}."


def _shortened(heading: str) -> str:
    if len(heading) <= _MAX_HEADING_CHARACTERS:
        return heading
    return f"{heading[: _MAX_HEADING_CHARACTERS - 1]}…"


def _legend(strategies: Sequence[str]) -> list[SvgMark]:
    marks = []
    for series, name in enumerate(strategies):
        row, column = divmod(series, _LEGEND_COLUMNS)
        x = LEFT + _LEGEND_COLUMN_WIDTH * column
        y = _CHART_HEIGHT + 12.0 + _LEGEND_ROW_HEIGHT * row
        marks += line_marks(np.array([x, x + 22.0]), np.array([y, y]), series, name)
        marks.append(text_mark(x + 30.0, y + 4.5, name, kind="axis"))
    return marks


def _marks(result: ComparisonResult) -> list[SvgMark]:
    cells = {name: _known_cells(result, name) for name in result.plan.strategies}
    ends = [end for own in cells.values() for cell in own.values() for end in (cell.least, cell.greatest)]
    full = result.full
    values = np.array([*ends, *([] if full is None else [full.mean])])
    values = values[values > 0.0]
    if not len(values):
        return [text_mark(WIDTH / 2.0, HEIGHT / 2.0, _NO_DATA, anchor="middle")]
    x = _budget_axis(result.plan.budgets)
    y = _area_axis(float(values.min()), float(values.max()))
    guide = [] if full is None else _all_labels(x, y, full.mean)
    series = [_strategy_marks(x, y, number, name, own) for number, (name, own) in enumerate(cells.items())]
    return [*axis_marks(x, y), *guide, *stacked(series)]


def _known_cells(result: ComparisonResult, strategy: str) -> dict[int, AreaSpread]:
    """The results of a strategy by the budget, where there are any."""
    cells = {budget: result.cell(strategy, budget) for budget in result.plan.budgets}
    return {budget: cell for budget, cell in cells.items() if cell is not None and not np.isnan(cell.mean)}


def _budget_axis(budgets: Sequence[int]) -> Axis:
    low = min(budgets) / _MARGIN
    high = max(budgets) * _MARGIN
    axis = horizontal_axis("labels that may be requested", low, high, logarithmic=True)
    return replace(axis, tick_values=tuple(map(float, budgets)))


def _area_axis(least: float, greatest: float) -> Axis:
    low = least / _MARGIN
    high = greatest * _MARGIN
    axis = vertical_axis("(1-ROCA)%", low, high, logarithmic=True, bottom=BOTTOM + _CHART_HEIGHT - HEIGHT)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (step * 10.0**power for power in powers for step in (1.0, 2.0, 5.0))
    return replace(axis, tick_values=tuple(value for value in steps if low <= value <= high))


def _all_labels(x: Axis, y: Axis, mean: float) -> list[SvgMark]:
    return [
        guide_line(x, y, (x.low, mean), (x.high, mean)),
        text_mark(x.begin + 6.0, y.position(mean) - 5.0, f"all labels: {format_number(mean)}"),
    ]


def _strategy_marks(x: Axis, y: Axis, series: int, name: str, cells: dict[int, AreaSpread]) -> list[SvgMark]:
    shift = _SERIES_DISTANCE * ((series + 1) // 2) * (1 if series % 2 else -1)
    xs = x.positions(np.array([float(budget) for budget in cells])) + shift
    means = np.array([cell.mean for cell in cells.values()])
    marks = line_marks(xs, y.positions(means), series, name)
    for left, (budget, cell) in zip(xs.tolist(), cells.items(), strict=True):
        if cell.passes > 1:
            marks.append(interval_mark(left, y.position(cell.least), y.position(cell.greatest), series))
        title = f"{name}, {budget:,} labels: {_format_cell(cell)}"
        marks.append(point_mark(left, y.position(cell.mean), series, title))
    return marks


def _format_cell(cell: AreaSpread) -> str:
    learned = f"{cell.labels:,.0f} learned"
    if cell.passes == 1:
        return f"{format_number(cell.mean)}, {learned}"
    return f"{format_number(cell.mean)} ({format_number(cell.least)} to {format_number(cell.greatest)}), {learned}"
