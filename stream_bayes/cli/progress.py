"""How far a pass is, or how many are done, on the error output of a terminal; elsewhere nothing."""

from __future__ import annotations

import math
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.evaluation.protocol import PassProgress

_PAUSE = 0.2
# Ranking all messages again takes longer the more there are; the bar may take this share of the time.
_SHARE = 0.05


class Bar:
    """A bar with the metrics so far; drawn between chunks only, so that no thread of it is counted as the filter's."""

    def __init__(self, console: Console, name: str, total: int | None) -> None:
        self._shown = console.is_terminal and not console.is_dumb_terminal
        columns = (
            TextColumn("{task.description}"),
            BarColumn(20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[now]}"),
        )
        self._rich = RichProgress(
            *columns, console=console, auto_refresh=False, transient=True, disable=not self._shown
        )
        self._task = self._rich.add_task(name, total=total, now="")
        self._started = self._due = time.monotonic()

    def __enter__(self) -> Self:
        self._rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._rich.stop()

    def show(self, progress: PassProgress) -> None:
        """Draw how far the pass is, if it is time."""
        began = time.monotonic()
        if not self._shown or began < self._due:
            return
        area = one_minus_roca_percent(*progress.so_far)
        speed = len(progress) / (began - self._started)
        now = f"(1-ROCA)% {'-' if math.isnan(area) else f'{area:.4f}'}   {speed:,.0f} messages/s"
        self._rich.update(self._task, completed=len(progress), now=now, refresh=True)
        ended = time.monotonic()
        self._due = ended + pause(ended - began)


class CountBar:
    """How many passes are done."""

    def __init__(self, console: Console, total: int) -> None:
        shown = console.is_terminal and not console.is_dumb_terminal
        columns = TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn()
        self._rich = RichProgress(*columns, console=console, auto_refresh=False, transient=True, disable=not shown)
        self._task = self._rich.add_task("passes", total=total)

    def __enter__(self) -> Self:
        self._rich.start()
        self._rich.refresh()
        return self

    def __exit__(self, *_: object) -> None:
        self._rich.stop()

    def add(self) -> None:
        """One more is done."""
        self._rich.update(self._task, advance=1, refresh=True)


def pause(took: float) -> float:
    """Seconds until the bar may be drawn again after it took so long.

    >>> pause(0.001), pause(0.5)
    (0.2, 10.0)
    """
    return max(_PAUSE, took / _SHARE)
