"""Displays of the demo: a live screen, plain lines, or nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from rich.console import Console
from rich.live import Live

from stream_bayes.demo import screen
from stream_bayes.demo.accuracy import WINDOW
from stream_bayes.demo.figures import DemoFigures

_LINE_SECONDS = 5.0


class Display(AbstractContextManager["Display"], Protocol):
    """Shows the current figures."""

    def show(self, figures: DemoFigures) -> None:
        """Show the figures; called several times per second."""


def open_display(console: Console, *, quiet: bool) -> Display:
    """Return a live screen if the terminal supports it, else lines; if quiet, only long waits are announced."""
    is_capable = console.is_terminal and not console.is_dumb_terminal
    if quiet or not is_capable:
        return LineDisplay(console, quiet=quiet)
    if console.width > screen.WIDTH and console.height > screen.HEIGHT:
        return LiveDisplay(console)
    size = f"{screen.WIDTH + 1} x {screen.HEIGHT + 1}"
    console.print(f"Plain lines: the live screen needs a terminal of {size}.", highlight=False)
    return LineDisplay(console)


class LiveDisplay(Display):
    """Redraws the whole state in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> LiveDisplay:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, figures: DemoFigures) -> None:
        """Redraw the screen."""
        self._live.update(screen.page(figures), refresh=True)


class LineDisplay(Display):
    """Prints a line every few seconds, and one for each event."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._due = 0.0
        self._printed: set[str] = set()

    def __exit__(self, *_: object) -> None:
        """Nothing to release."""

    def show(self, figures: DemoFigures) -> None:
        """Print new events, and a line if one is due."""
        if figures.phase in screen.WAITING:
            self._once(screen.WAITING[figures.phase], must=figures.phase == "compiling")
            return
        if figures.crash is not None:
            self._once(f"worker {figures.crash.sentence}", must=False)
        if figures.flow_seconds >= self._due and not self._quiet:
            self._due = figures.flow_seconds + _LINE_SECONDS
            self._print(line(figures))

    def _once(self, text: str, *, must: bool) -> None:
        if text not in self._printed and (must or not self._quiet):
            self._printed.add(text)
            self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def line(figures: DemoFigures) -> str:
    """Format the figures as one line."""
    progress = figures.progress
    budget = figures.budget
    accuracy = f"(1-ROCA)% {screen.percent(progress.area)}, last {WINDOW:,} {screen.percent(progress.recent_area)}"
    labels = f"labels {budget.answered:,}, left {budget.total - budget.requested:,}"
    speed = f"{progress.rate:,.0f}/s, lag {figures.lag:,}"
    return f"{figures.flow_seconds:4.0f} s  {progress.predicted:>6,} mails  {speed}  {accuracy}  {labels}"
