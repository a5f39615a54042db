"""The end of a demo: what came of it, and what to do next."""

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


def summary(figures: DemoFigures, place: Workspace) -> RenderableType:
    """A table, and the sentence on exactly once."""
    return Group(_table(figures, place), Text(), Text(sentence(figures), "bold"), Text())


def sentence(figures: DemoFigures) -> str:
    """What became of the mails when the worker was killed."""
    crash = "" if figures.crash is None else f"The worker was {figures.crash.sentence}; "
    return f"{crash}{figures.verdict}."


def _table(figures: DemoFigures, place: Workspace) -> Table:
    table = Table(
        title=f"{figures.source}: what came of it",
        title_justify="left",
        title_style="bold",
        show_header=False,
        width=79,
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in (*_rows(figures), ("picture", str(place.picture))):
        table.add_row(name, Text(value))
    return table


def _rows(figures: DemoFigures) -> list[tuple[str, str]]:
    seen = figures.seen
    asking = figures.asking
    mails = f"{figures.mails:,} in {figures.flow_seconds:.0f} s, {seen.predicted:,} predictions"
    dead = f", {counted(seen.dead, 'dead letter')}" if seen.dead else ""
    labels = f"{asking.answered:,} of {figures.mails:,} mails were labelled"
    said, observed = ("  ".join(f"{100 * value:5.1f}" for value in column) for column in _columns(figures))
    return [
        ("mails", f"{mails}{dead}"),
        ("(1-ROCA)%", f"{percent(seen.area)} of all, {percent(seen.recent_area)} of the last {WINDOW:,}"),
        ("labels", f"{labels}; {asking.budget - asking.asked:,} of {asking.budget:,} left"),
        ("calibration", f"P(spam) said, %  {said}\nobserved, %      {observed}"),
        ("worker", f"{stages(seen)} (since its restart)"),
    ]


def _columns(figures: DemoFigures) -> tuple[list[float], list[float]]:
    bins = figures.seen.calibration
    return [each.said for each in bins], [each.observed for each in bins]


def commands(figures: DemoFigures, place: Workspace, program: str) -> str:
    """What to do next, with the command line called like this."""
    settings = f"--config {shlex.quote(str(place.settings))}"
    chosen = [
        ("answer its questions yourself, on a page", f"web {settings}"),
        ("what the worker knows", f"inspect {shlex.quote(str(place.checkpoints))}"),
        *([("what it could not use", f"dead-letters list {settings}")] if figures.seen.dead else []),
        ("let it run on", f"run {settings}"),
        ("and send it your own mail", f"produce your.mbox --labels none {settings}"),
        ("or, if it is labelled, only measure it on that", "evaluate your.mbox"),
    ]
    lines = [f"  {what}:\n    {program} {command}" for what, command in chosen]
    return "\n".join([f"Everything is in {place.folder}. To go on:", *lines])
