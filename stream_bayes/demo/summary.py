"""The final summary of a demo, and commands to go on."""

from __future__ import annotations

import shlex

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stream_bayes.demo.accuracy import WINDOW
from stream_bayes.demo.figures import DemoFigures
from stream_bayes.demo.screen import percent, stages
from stream_bayes.demo.workspace import Workspace
from stream_bayes.evaluation.corpora.mail import counted


def summary(figures: DemoFigures, workspace: Workspace) -> RenderableType:
    """Render the table, and the sentence about exactly-once processing."""
    return Group(_table(figures, workspace), Text(), Text(sentence(figures), "bold"), Text())


def sentence(figures: DemoFigures) -> str:
    """Describe the kill, and whether each mail has exactly one prediction."""
    crash = "" if figures.crash is None else f"The worker was {figures.crash.sentence}; "
    return f"{crash}{figures.verdict}."


def _table(figures: DemoFigures, workspace: Workspace) -> Table:
    table = Table(
        title=f"{figures.source}: results",
        title_justify="left",
        title_style="bold",
        show_header=False,
        width=79,
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in (*_rows(figures), ("picture", str(workspace.picture))):
        table.add_row(name, Text(value))
    return table


def _rows(figures: DemoFigures) -> list[tuple[str, str]]:
    progress = figures.progress
    budget = figures.budget
    mails = f"{figures.mails:,} in {figures.flow_seconds:.0f} s, {progress.predicted:,} predictions"
    dead_letters = f", {counted(progress.dead_letters, 'dead letter')}" if progress.dead_letters else ""
    labels = f"{budget.answered:,} of {figures.mails:,} mails were labelled"
    predicted, observed = ("  ".join(f"{100 * value:5.1f}" for value in column) for column in _columns(figures))
    return [
        ("mails", f"{mails}{dead_letters}"),
        ("(1-ROCA)%", f"{percent(progress.area)} of all, {percent(progress.recent_area)} of the last {WINDOW:,}"),
        ("labels", f"{labels}; {budget.total - budget.requested:,} of {budget.total:,} left"),
        ("calibration", f"P(spam), %   {predicted}\nobserved, %  {observed}"),
        ("worker", f"{stages(progress)} (since its restart)"),
    ]


def _columns(figures: DemoFigures) -> tuple[list[float], list[float]]:
    bins = figures.progress.calibration
    return [each.predicted for each in bins], [each.observed for each in bins]


def commands(figures: DemoFigures, workspace: Workspace, program: str) -> str:
    """List commands to go on, for this program name."""
    settings = f"--config {shlex.quote(str(workspace.settings))}"
    chosen = [
        ("answer its label requests yourself, on a web page", f"web {settings}"),
        ("inspect the model", f"inspect {shlex.quote(str(workspace.checkpoints))}"),
        *(
            [("list the records that could not be processed", f"dead-letters list {settings}")]
            if figures.progress.dead_letters
            else []
        ),
        ("let the worker run on", f"run {settings}"),
        ("send it your own mail", f"produce your.mbox --labels none {settings}"),
        ("evaluate the filter on your own labelled mail", "evaluate your.mbox"),
    ]
    lines = [f"  {what}:\n    {program} {command}" for what, command in chosen]
    return "\n".join([f"Everything is in {workspace.folder}. To go on:", *lines])
