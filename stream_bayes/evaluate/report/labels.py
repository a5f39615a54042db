"""The page of strategies side by side: (1-ROCA)% against the number of labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from stream_bayes.evaluate.corpora.mail import counted
from stream_bayes.evaluate.report import sections
from stream_bayes.evaluate.report.axes import Axis
from stream_bayes.evaluate.report.chart import (
    BOTTOM,
    HEIGHT,
    across,
    chart,
    colour,
    curve,
    dot,
    frame,
    rule,
    upwards,
    whisker,
    words,
)
from stream_bayes.evaluate.report.charts import nothing
from stream_bayes.evaluate.report.markup import element, figure, table, text
from stream_bayes.evaluate.report.style import STYLE
from stream_bayes.evaluate.strategies import Found
from stream_bayes.evaluate.sweep import Spread

NAME = "labels.html"
_TITLE = "(1-ROCA)% against labels"
# Strategies stand beside each other at each quota, this many units of the picture apart.
_APART = 3.0
_MARGIN = 1.35
_TALLER = 120.0


def write_labels(folder: Path, found: Found, notes: Sequence[str] = ()) -> Path:
    """Write the page into a folder, which is made where there is none, and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    path.write_text(labels_page(found, notes), encoding="utf-8")
    return path


def labels_page(found: Found, notes: Sequence[str] = ()) -> str:
    """The page as text: HTML that is well-formed XML too."""
    picture = element("section", element("h2", text(_TITLE)), _lead(found), _legend(found), label_chart(found))
    told = element("section", element("h2", "Labels told"), _table(found, _told, "On average, by the quota"))
    areas = element("section", element("h2", "Figures"), _table(found, _area, "(1-ROCA)%: mean, deviation and range"))
    parts = [_header(found), sections.notes(notes), element("div", picture, told, class_="charts"), areas]
    footer = element("footer", "Each message was scored before its label was known.")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", text(f"{found.corpus}: labels and strategies")),
        element("style", STYLE),
    )
    body = element("body", element("main", *parts), footer)
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def label_chart(found: Found) -> str:
    """The mean of each strategy with its range, by the quota, both scales logarithmic; dashed: all labels."""
    cells = {name: list(_cells(found, name)) for name in found.plan.strategies}
    ends = [end for own in cells.values() for _, cell in own for end in (cell.least, cell.greatest)]
    full = found.full
    values = np.array([*ends, *([] if full is None else [full.mean])])
    values = values[values > 0.0]
    if not len(values):
        return nothing("labels", _TITLE, "There is no (1-ROCA)% above 0 to show.")
    x, y = _quota_axis(found.plan.quotas), _area_axis(float(values.min()), float(values.max()))
    line = [] if full is None else _full(x, y, full.mean)
    drawn = [_strategy(x, y, place, name, own) for place, (name, own) in enumerate(cells.items())]
    said = f"{_TITLE}, on logarithmic axes: mean and range over {counted(len(found.plan.seeds), 'seed')}."
    marks = (mark for own in reversed(drawn) for mark in own)
    return chart("labels", _TITLE, said, [*frame(x, y), *line, *marks], height=HEIGHT + _TALLER)


def _quota_axis(quotas: Sequence[int]) -> Axis:
    ends = min(quotas) / _MARGIN, max(quotas) * _MARGIN
    axis = across("labels that may be asked for", *ends, logarithmic=True)
    return replace(axis, marked=tuple(map(float, quotas)))


def _area_axis(least: float, greatest: float) -> Axis:
    low, high = least / _MARGIN, greatest * _MARGIN
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


def _strategy(x: Axis, y: Axis, place: int, name: str, cells: Sequence[tuple[int, Spread]]) -> Iterator[str]:
    if not cells:
        return
    shift = _APART * ((place + 1) // 2) * (1 if place % 2 else -1)
    places = x.at(np.array([float(quota) for quota, _ in cells])) + shift
    yield curve(places, y.at(np.array([cell.mean for _, cell in cells])), place, name)
    for at, (quota, cell) in zip(places.tolist(), cells, strict=True):
        if cell.passes > 1:
            yield whisker(at, y.place(cell.least), y.place(cell.greatest), place)
        yield dot(at, y.place(cell.mean), place, f"{name}, {quota:,} labels: {_words(cell)}")


def _cells(found: Found, strategy: str) -> Iterator[tuple[int, Spread]]:
    for quota in found.plan.quotas:
        cell = found.cell(strategy, quota)
        if cell is not None and not np.isnan(cell.mean):
            yield quota, cell


def _header(found: Found) -> str:
    plan = found.plan
    late = f", labels {plan.delay} late" if plan.delay else ""
    said = f"{found.corpus}: {counted(found.messages, 'message')}, filter {plan.filter_name}{late}"
    return element("header", element("h1", "Labels and strategies"), element("p", text(said)))


def _lead(found: Found) -> str:
    said = f"dots: mean over {counted(len(found.plan.seeds), 'seed')}; whiskers: least and greatest"
    return element("p", text(said), class_="lead")


def _legend(found: Found) -> str:
    items = (
        element("li", element("span", class_=f"swatch {colour(place)}"), text(name))
        for place, name in enumerate(found.plan.strategies)
    )
    return element("ul", *items, class_="legend")


def _table(found: Found, written: Callable[[Spread], str], caption: str) -> str:
    rows = []
    for strategy in found.plan.strategies:
        cells = (found.cell(strategy, quota) for quota in found.plan.quotas)
        rows.append([text(strategy), *("–" if cell is None else written(cell) for cell in cells)])
    return table(["strategy", *(f"{quota:,}" for quota in found.plan.quotas)], rows, caption)


def _told(cell: Spread) -> str:
    return f"{cell.labels:,.0f}"


def _area(cell: Spread) -> str:
    if cell.passes == 1:
        return figure(cell.mean)
    note = f"± {figure(cell.deviation)}, {figure(cell.least)} to {figure(cell.greatest)}"
    return figure(cell.mean) + element("span", note, class_="note")


def _words(cell: Spread) -> str:
    told = f"{cell.labels:,.0f} told"
    if cell.passes == 1:
        return f"{figure(cell.mean)}, {told}"
    return f"{figure(cell.mean)} ({figure(cell.least)} to {figure(cell.greatest)}), {told}"
