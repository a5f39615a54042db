"""The HTML report that compares strategies of active learning, and its chart as an SVG file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.report.rendering import render, render_svg
from stream_bayes.evaluation.report.strategy_chart import TITLE, standalone_chart, strategy_chart
from stream_bayes.evaluation.strategy_comparison import ComparisonResult

PAGE_FILE = "labels.html"
PICTURE_FILE = "labels.svg"


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
