"""The demo from its first frame to its last: pace, live display or plain lines, and the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from rich.console import Console, RenderableType
from rich.live import Live

from stream_bayes.demo import lines, screens
from stream_bayes.demo.coin import CoinFrame, coin_frames
from stream_bayes.demo.findings import Last, findings, generators
from stream_bayes.demo.line import LineFrame, line_frames
from stream_bayes.demo.weather import WeatherFrame, weather_frames

SHORTEST_VIEW = 1.0 / 30.0
"""Seconds between two drawings; a frame that comes sooner is learned but not drawn."""
HOLD = 0.8
"""Seconds a part's last frame stays before the next part."""


class Frame(Protocol):
    """What the pace depends on."""

    @property
    def step(self) -> int:
        """Events so far."""

    @property
    def total(self) -> int:
        """Events there will be."""


Kind = TypeVar("Kind", bound=Frame)


class Part(NamedTuple, Generic[Kind]):
    """One learner with its data and its drawings."""

    title: str
    notice: str
    events: str
    """What the events are called."""
    seconds: float
    """How long it takes at normal pace."""
    frames: Iterator[Kind]
    screen: Callable[[Kind], RenderableType]
    line: Callable[[Kind], str]
    milestones: tuple[int, ...]
    """Steps that get a plain line."""


def show(console: Console, seed: int, *, fast: bool) -> None:
    """Play the three parts and say what was learned; live where the terminal can do it."""
    able = console.is_terminal and not console.is_dumb_terminal
    live = able and console.width > screens.WIDTH and console.height > screens.HEIGHT
    if able and not live:
        console.print(f"Plain lines: the live display needs a terminal of {screens.WIDTH + 1} x {screens.HEIGHT + 1}.")
    stage = _LiveStage(console, pace=0.0 if fast else 1.0) if live else _PlainStage(console)
    started = time.monotonic()
    coin, weather, line = parts(seed)
    last = Last(stage.play(coin), stage.play(weather), stage.play(line))
    events = last.coin.step + last.weather.step + last.line.step
    console.print(lines.closing(findings(last), events, time.monotonic() - started))


def parts(seed: int) -> tuple[Part[CoinFrame], Part[WeatherFrame], Part[LineFrame]]:
    """The three parts, with the data of the seed."""
    coin, line = generators(seed)
    return _coin_part(coin), _weather_part(), _line_part(line)


def _coin_part(generator: np.random.Generator) -> Part[CoinFrame]:
    return Part(
        "1 of 3: a coin (Beta-Bernoulli)",
        "the mean settles by the truth, and four times the tosses halve the interval. Ignorance goes; "
        "the noise of a toss stays.",
        "tosses",
        5.0,
        coin_frames(generator),
        screens.coin_screen,
        lines.coin_line,
        (0, 1, 10, 50, 200),
    )


def _weather_part() -> Part[WeatherFrame]:
    return Part(
        "2 of 3: out to play? (categorical naive Bayes)",
        "each day's P(yes) is said before the day is learned. Fourteen days are few: the intervals stay "
        "wide, as they should.",
        "days",
        6.0,
        weather_frames(),
        screens.weather_screen,
        lines.weather_line,
        (0, 1, 4, 9, 14),
    )


def _line_part(generator: np.random.Generator) -> Part[LineFrame]:
    return Part(
        "3 of 3: a line under noise (Bayesian regression)",
        "every point lowers the entropy and closes the band in which the line may run (95 %). Ignorance "
        "goes to 0; noise stays at 0.04.",
        "points",
        5.0,
        line_frames(generator),
        screens.line_screen,
        lines.line_line,
        (0, 1, 5, 20, 60),
    )


class _PlainStage:
    """Prints a line at each milestone, as fast as learning goes."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def play(self, part: Part[Kind]) -> Kind:
        self._say(part.title)
        for frame in part.frames:
            if frame.step in part.milestones:
                self._say(f"  {part.line(frame)}")
        self._say(lines.paragraph(f"Notice: {part.notice}") + "\n")
        return frame

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class _LiveStage:
    """Draws every event in place, slowly enough to be read."""

    def __init__(self, console: Console, pace: float) -> None:
        self._console = console
        self._pace = pace

    def play(self, part: Part[Kind]) -> Kind:
        started, drawn, due = time.monotonic(), 0.0, time.monotonic()
        with Live(console=self._console, auto_refresh=False) as display:
            for frame in part.frames:
                now = time.monotonic()
                if now - drawn >= SHORTEST_VIEW or frame.step == frame.total:
                    pace = screens.Pace(frame.step, frame.total, part.events, now - started)
                    display.update(screens.page(part.title, part.screen(frame), part.notice, pace), refresh=True)
                    drawn = now
                due += self._pace * _pause(part.seconds, frame)
                time.sleep(max(due - time.monotonic(), 0.0))
        return frame


def _pause(seconds: float, frame: Frame) -> float:
    """How long a frame stays: the first ones longest, since they change the most; all together `seconds`."""
    shares = [8.0 / (8.0 + step) for step in range(frame.total)]
    return HOLD if frame.step == frame.total else seconds * shares[frame.step] / sum(shares)
