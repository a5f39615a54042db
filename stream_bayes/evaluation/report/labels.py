"""The page of strategies side by side, and its picture as a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from stream_bayes.evaluation.report import sections
from stream_bayes.evaluation.report.chart import colour
from stream_bayes.evaluation.report.label_picture import TITLE, label_chart, label_picture, lead, subject
from stream_bayes.evaluation.report.markup import element, figure, table, text
from stream_bayes.evaluation.report.page import page
from stream_bayes.evaluation.strategy_comparison import ComparisonResult
from stream_bayes.evaluation.sweep import AreaSpread

NAME = "labels.html"
PICTURE = "labels.svg"


def write_labels(folder: Path, found: ComparisonResult, notes: Sequence[str] = ()) -> None:
    """Write the page and the picture into a folder, which is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text(labels_page(found, notes), encoding="utf-8")
    (folder / PICTURE).write_text(label_picture(found), encoding="utf-8")


def labels_page(found: ComparisonResult, notes: Sequence[str] = ()) -> str:
    """The page as text: HTML that is well-formed XML too."""
    header = element("header", element("h1", "Labels and strategies"), element("p", text(subject(found))))
    marks = element("p", text(lead(found)), class_="lead")
    picture = element("section", element("h2", text(TITLE)), marks, _legend(found), label_chart(found))
    told = element("section", element("h2", "Labels told"), _table(found, _told, "On average, by the budget"))
    areas = element("section", element("h2", "Figures"), _table(found, _area, "(1-ROCA)%: mean, deviation and range"))
    parts = [header, sections.notes(notes), element("div", picture, told, class_="charts"), areas]
    return page(f"{found.corpus}: labels and strategies", parts, "Each message was scored before its label was known.")


def _legend(found: ComparisonResult) -> str:
    items = (
        element("li", element("span", class_=f"swatch {colour(place)}"), text(name))
        for place, name in enumerate(found.plan.strategies)
    )
    return element("ul", *items, class_="legend")


def _table(found: ComparisonResult, written: Callable[[AreaSpread], str], caption: str) -> str:
    rows = []
    for strategy in found.plan.strategies:
        cells = (found.cell(strategy, budget) for budget in found.plan.budgets)
        rows.append([text(strategy), *("–" if cell is None else written(cell) for cell in cells)])
    return table(["strategy", *(f"{budget:,}" for budget in found.plan.budgets)], rows, caption)


def _told(cell: AreaSpread) -> str:
    return f"{cell.labels:,.0f}"


def _area(cell: AreaSpread) -> str:
    if cell.passes == 1:
        return figure(cell.mean)
    note = f"± {figure(cell.deviation)}, {figure(cell.least)} to {figure(cell.greatest)}"
    return figure(cell.mean) + element("span", note, class_="note")
