"""The demo from its first frame to its last: pace, live display or plain lines, and the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live

from stream_bayes.demo import lines, screens
from stream_bayes.demo.coin import CoinFrame, coin_frames
from stream_bayes.demo.findings import Last, findings, generators
from stream_bayes.demo.line import LineFrame, line_frames
from stream_bayes.demo.weather import WeatherFrame, weather_frames

LONGEST_SILENCE = 1.0 / 30.0
"""Seconds after which the display is drawn again; frames in between are learned but not drawn."""


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
    live = console.is_terminal and not console.is_dumb_terminal
    if live and console.width > screens.WIDTH and console.height > screens.HEIGHT:
        play = _play_live_fast if fast else _play_live
    else:
        play = _play_plain
    started = time.monotonic()
    coin, weather, line = _parts(seed)
    last = Last(play(console, coin), play(console, weather), play(console, line))
    events = last.coin.step + last.weather.step + last.line.step
    console.print(lines.closing(findings(last), events, time.monotonic() - started))
