"""Layout of the live screen: 80 columns and 24 rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stream_bayes.demo.accuracy import WINDOW, ProbabilityBin
from stream_bayes.demo.figures import BudgetFigures, DemoFigures
from stream_bayes.demo.output_follower import WorkerProgress
from stream_bayes.demo.simulated_labeller import SHOWN

WIDTH = 79
HEIGHT = 23
"""Size of the screen; the terminal must be larger."""
_INSIDE = WIDTH - 4
_SUBJECT = 41
STARTING = "The worker process starts ..."
COMPILING = "The worker compiles its kernels for this machine: up to a minute, the first time only ..."
WAITING = {"starting": STARTING, "compiling": COMPILING}
"""Messages before the first prediction, by phase."""


def page(figures: DemoFigures) -> RenderableType:
    """Render the figures."""
    progress = figures.progress
    budget = figures.budget
    body = Group(
        _flow(figures),
        Text(),
        _accuracy(progress),
        _budget(budget),
        Text(),
        _calibration(progress.calibration),
        Text(),
        _label_requests(budget),
        Text(stages(progress), "dim", no_wrap=True),
        _event(figures),
    )
    return Panel(body, title=Text(f"{figures.source}, filtered live", "bold"), width=WIDTH)


def _event(figures: DemoFigures) -> RenderableType:
    """Render the phase or the kill of the worker, in two rows."""
    crash = "" if figures.crash is None else f"The worker was {figures.crash.sentence}."
    text = f"{WAITING[figures.phase]} {figures.seconds:.0f} s" if figures.phase in WAITING else crash
    lines = wrap(text, _INSIDE)[:2]
    return Text("\n".join([*lines, *[""] * (2 - len(lines))]), "bold yellow", no_wrap=True)


def _flow(figures: DemoFigures) -> RenderableType:
    share = figures.sent / figures.mails
    first = f"mails in {figures.sent:>7,} of {figures.mails:,}   {bar(share, 20)}   {figures.flow_seconds:4.0f} s"
    second = f"predicted {figures.progress.predicted:>6,}   {figures.progress.rate:,.0f} a second   lag {figures.lag:,}"
    return Text(f"{first}\n{second}", no_wrap=True)


def _accuracy(progress: WorkerProgress) -> RenderableType:
    recent = [value for value in progress.history if not math.isnan(value)]
    text = Text("(1-ROCA)%  ", no_wrap=True)
    text.append(f"all {percent(progress.area):>6}   last {WINDOW:,} ", "default")
    text.append(f"{percent(progress.recent_area):>6}", "bold cyan")
    text.append(f"   {sparkline(recent, 28)}", "cyan")
    return text


def _budget(budget: BudgetFigures) -> RenderableType:
    left = budget.total - budget.requested
    text = f"labels   requested {budget.requested:>4,}   answered {budget.answered:>4,}   left {left:>4,}   "
    return Text(f"{text}{bar(budget.requested / max(budget.total, 1), 20)}", no_wrap=True)


def _calibration(bins: tuple[ProbabilityBin, ...]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    rows = [
        ["calibration %    predicted", *(f"{100 * each.predicted:.1f}" for each in bins)],
        ["                  observed", *(f"{100 * each.observed:.1f}" for each in bins)],
        ["                     mails", *(f"{each.mails:,}" for each in bins)],
    ]
    table.add_column()
    for _ in bins:
        table.add_column(justify="right", min_width=5)
    for row in rows:
        table.add_row(*row)
    return table


def _label_requests(budget: BudgetFigures) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=_SUBJECT, no_wrap=True)
    for _ in range(2):
        table.add_column(justify="right", width=8)
    table.add_column(width=8)
    table.add_row(*(Text(head, "dim") for head in ("newest label requests", "P(spam)", "variance", "answer")))
    for request in budget.newest:
        answer = Text(request.answer or "...", {"spam": "red", "ham": "green"}.get(request.answer, "dim"))
        table.add_row(Text(request.subject), f"{request.probability:.3f}", f"{request.variance:.3f}", answer)
    for _ in range(SHOWN - len(budget.newest)):
        table.add_row("", "", "", "")
    return table


def stages(progress: WorkerProgress) -> str:
    """Format the seconds of each stage since the start of the worker."""
    spent = "  ".join(f"{name} {seconds:.1f}" for name, seconds in progress.stage_seconds.items())
    return f"{spent} s" if spent else ""


def percent(value: float) -> str:
    """Format (1-ROCA)%; a dash for NaN.

    >>> percent(12.345), percent(0.12345), percent(math.nan)
    ('12.35', '0.123', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value >= 1.0 else f"{value:.3f}"


_EIGHTHS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw numbers as a row of bars scaled to their range, at most one bar per number.

    >>> sparkline([3, 2, 1, 0], width=4)
    '█▆▃▁'
    """
    width = min(width, len(values))
    chosen = [values[(position + 1) * len(values) // width - 1] for position in range(width)]
    low = min(chosen, default=0.0)
    high = max(chosen, default=0.0)
    span = high - low
    return "".join(_EIGHTHS[round(7 * (value - low) / span) if span > 0.0 else 7] for value in chosen)


def bar(share: float, width: int) -> str:
    """Draw a bar for a fraction.

    >>> bar(0.5, 4)
    '━━╌╌'
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    return "━" * full + "╌" * (width - full)
