"""The live screen of a demo: one page of 80 columns and 24 rows out of the figures of a moment."""

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
from stream_bayes.demo.log_follower import WorkerProgress
from stream_bayes.demo.simulated_labeller import SHOWN

WIDTH = 79
HEIGHT = 23
"""What a page takes; the terminal must be larger."""
_INSIDE = WIDTH - 4
_SUBJECT = 41
STARTING = "The worker starts in a process of its own ..."
COMPILING = "The worker compiles its kernels for this machine: up to a minute, the first time only ..."
WAITING = {"starting": STARTING, "compiling": COMPILING}
"""What is said before mails flow, by the phase."""


def page(figures: DemoFigures) -> RenderableType:
    """The screen of this moment."""
    seen = figures.seen
    asking = figures.asking
    body = Group(
        _flow(figures),
        Text(),
        _accuracy(seen),
        _budget(asking),
        Text(),
        _calibration(seen.calibration),
        Text(),
        _questions(asking),
        Text(stages(seen), "dim", no_wrap=True),
        _event(figures),
    )
    return Panel(body, title=Text(f"{figures.source}, filtered live", "bold"), width=WIDTH)


def _event(figures: DemoFigures) -> RenderableType:
    """What is happening apart from mails, in two rows."""
    crash = "" if figures.crash is None else f"The worker was {figures.crash.sentence}."
    said = f"{WAITING[figures.phase]} {figures.seconds:.0f} s" if figures.phase in WAITING else crash
    lines = wrap(said, _INSIDE)[:2]
    return Text("\n".join([*lines, *[""] * (2 - len(lines))]), "bold yellow", no_wrap=True)


def _flow(figures: DemoFigures) -> RenderableType:
    share = figures.sent / figures.mails
    first = f"mails in {figures.sent:>7,} of {figures.mails:,}   {bar(share, 20)}   {figures.flow_seconds:4.0f} s"
    second = f"predicted {figures.seen.predicted:>6,}   {figures.seen.rate:,.0f} a second   lag {figures.lag:,}"
    return Text(f"{first}\n{second}", no_wrap=True)


def _accuracy(seen: WorkerProgress) -> RenderableType:
    recent = [value for value in seen.history if not math.isnan(value)]
    text = Text("(1-ROCA)%  ", no_wrap=True)
    text.append(f"all {percent(seen.area):>6}   last {WINDOW:,} ", "default")
    text.append(f"{percent(seen.recent_area):>6}", "bold cyan")
    text.append(f"   {sparkline(recent, 28)}", "cyan")
    return text


def _budget(asking: BudgetFigures) -> RenderableType:
    left = asking.budget - asking.asked
    text = f"labels     asked {asking.asked:>4,}   answered {asking.answered:>4,}   left {left:>4,}   "
    return Text(f"{text}{bar(asking.asked / max(asking.budget, 1), 20)}", no_wrap=True)


def _calibration(bins: tuple[ProbabilityBin, ...]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    rows = [
        ["calibration, P(spam)  said", *(f"{100 * each.said:.1f}" for each in bins)],
        ["                  observed", *(f"{100 * each.observed:.1f}" for each in bins)],
        ["                     mails", *(f"{each.mails:,}" for each in bins)],
    ]
    table.add_column()
    for _ in bins:
        table.add_column(justify="right", min_width=5)
    for row in rows:
        table.add_row(*row)
    return table


def _questions(asking: BudgetFigures) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=_SUBJECT, no_wrap=True)
    for _ in range(2):
        table.add_column(justify="right", width=8)
    table.add_column(width=8)
    table.add_row(*(Text(head, "dim") for head in ("newest label requests", "P(spam)", "variance", "answer")))
    for question in asking.newest:
        answer = Text(question.answer or "...", {"spam": "red", "ham": "green"}.get(question.answer, "dim"))
        table.add_row(Text(question.subject), f"{question.probability:.3f}", f"{question.variance:.3f}", answer)
    for _ in range(SHOWN - len(asking.newest)):
        table.add_row("", "", "", "")
    return table


def stages(seen: WorkerProgress) -> str:
    """Seconds of each stage of the worker since it started."""
    spent = "  ".join(f"{name} {seconds:.1f}" for name, seconds in seen.stage_seconds.items())
    return f"{spent} s" if spent else ""


def percent(value: float) -> str:
    """A figure of (1-ROCA)%; a dash where there is none.

    >>> percent(12.345), percent(0.12345), percent(math.nan)
    ('12.35', '0.123', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value >= 1.0 else f"{value:.3f}"


_EIGHTHS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """The last of every few numbers as one row of bars, lowest to highest; no wider than there are numbers.

    >>> sparkline([3, 2, 1, 0], width=4)
    '█▆▃▁'
    """
    width = min(width, len(values))
    chosen = [values[(place + 1) * len(values) // width - 1] for place in range(width)]
    low = min(chosen, default=0.0)
    high = max(chosen, default=0.0)
    span = high - low
    return "".join(_EIGHTHS[round(7 * (value - low) / span) if span > 0.0 else 7] for value in chosen)


def bar(share: float, width: int) -> str:
    """How much of a whole is done.

    >>> bar(0.5, 4)
    '━━╌╌'
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    return "━" * full + "╌" * (width - full)
