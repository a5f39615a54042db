"""Ctrl-C, for commands that end what they are at before they stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from stream_bayes.cli.app import leave_the_screen
from stream_bayes.signals import handle_signals


@contextmanager
def interruption() -> Iterator[Sequence[int]]:
    """Ctrl-C noted in the list that is given, to be looked at between pieces of work; the second one ends at once.

    No exception: one raised while compiled code calls back into Python is lost.
    """
    pressed: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        if pressed:
            leave_the_screen()
        pressed.append(number)

    usual = signal.getsignal(signal.SIGINT)
    handle_signals(note, signal.SIGINT)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, usual)
