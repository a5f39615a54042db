"""Progress bars of `evaluate` on standard error (rich.progress); nothing is shown without a terminal."""

from __future__ import annotations

import math
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.evaluation.protocol import PassProgress

_MIN_INTERVAL = 0.2
# The metrics take longer the more messages there are; the bar may use this fraction of the time.
_MAX_TIME_FRACTION = 0.05


class PassProgressBar:
    """Bar with the metrics so far; drawn between chunks, so that no refresh thread adds to the time of the filter."""

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
        """Redraw the bar, if it is due."""
        began = time.monotonic()
        if not self._shown or began < self._due:
            return
        area = one_minus_roca_percent(*progress.so_far)
        speed = len(progress) / (began - self._started)
        now = f"(1-ROCA)% {'-' if math.isnan(area) else f'{area:.4f}'}   {speed:,.0f} messages/s"
        self._rich.update(self._task, completed=len(progress), now=now, refresh=True)
        ended = time.monotonic()
        self._due = ended + redraw_interval(ended - began)


class SweepProgressBar:
    """Bar with the number of finished passes."""

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

    def advance(self) -> None:
        """Count one more pass."""
        self._rich.update(self._task, advance=1, refresh=True)


def redraw_interval(took: float) -> float:
    """Return the seconds until the next redraw, given how long the last one took.

    >>> redraw_interval(0.001), redraw_interval(0.5)
    (0.2, 10.0)
    """
    return max(_MIN_INTERVAL, took / _MAX_TIME_FRACTION)
