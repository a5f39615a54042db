"""Where the demo is shown: a live screen, plain lines, or nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from rich.console import Console
from rich.live import Live

from stream_bayes.demo import screen
from stream_bayes.demo.accuracy import WINDOW
from stream_bayes.demo.figures import DemoFigures

_LINE_EVERY = 5.0


class Display(AbstractContextManager["Display"], Protocol):
    """Shows the figures of the moment."""

    def show(self, figures: DemoFigures) -> None:
        """Called several times a second."""


def open_display(console: Console, *, quiet: bool) -> Display:
    """A live screen where the terminal can do it, else lines; if quiet, only what one must wait for is said."""
    able = console.is_terminal and not console.is_dumb_terminal
    if quiet or not able:
        return LineDisplay(console, quiet=quiet)
    if console.width > screen.WIDTH and console.height > screen.HEIGHT:
        return LiveDisplay(console)
    size = f"{screen.WIDTH + 1} x {screen.HEIGHT + 1}"
    console.print(f"Plain lines: the live screen needs a terminal of {size}.", highlight=False)
    return LineDisplay(console)


class LiveDisplay(Display):
    """Draws the whole state in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> LiveDisplay:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, figures: DemoFigures) -> None:
        """Draw."""
        self._live.update(screen.page(figures), refresh=True)


class LineDisplay(Display):
    """Prints a line every few seconds, and one for each thing that happens."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._due = 0.0
        self._said: set[str] = set()

    def __exit__(self, *_: object) -> None:
        """There is nothing to put away."""

    def show(self, figures: DemoFigures) -> None:
        """Print what is new."""
        if figures.phase in screen.WAITING:
            self._once(screen.WAITING[figures.phase], must=figures.phase == "compiling")
            return
        if figures.crash is not None:
            self._once(f"worker {figures.crash.sentence}", must=False)
        if figures.flow_seconds >= self._due and not self._quiet:
            self._due = figures.flow_seconds + _LINE_EVERY
            self._print(line(figures))

    def _once(self, text: str, *, must: bool) -> None:
        if text not in self._said and (must or not self._quiet):
            self._said.add(text)
            self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def line(figures: DemoFigures) -> str:
    """The moment in one line."""
    seen = figures.seen
    asking = figures.asking
    accuracy = f"(1-ROCA)% {screen.percent(seen.area)}, last {WINDOW:,} {screen.percent(seen.recent_area)}"
    labels = f"labels {asking.answered:,}, left {asking.budget - asking.asked:,}"
    speed = f"{seen.rate:,.0f}/s, lag {figures.lag:,}"
    return f"{figures.flow_seconds:4.0f} s  {seen.predicted:>6,} mails  {speed}  {accuracy}  {labels}"
