"""Deferred Ctrl-C, for commands that finish their unit of work before they stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from stream_bayes.cli.app import exit_from_screen
from stream_bayes.signals import handle_signals


@contextmanager
def defer_interrupt() -> Iterator[Sequence[int]]:
    """Record Ctrl-C in the list that is yielded, to be checked between units of work; a second one exits at once.

    No exception is raised: it would be lost while compiled code calls back into Python.
    """
    interrupts: list[int] = []

    def record(number: int, _: FrameType | None) -> None:
        if interrupts:
            exit_from_screen()
        interrupts.append(number)

    previous = signal.getsignal(signal.SIGINT)
    handle_signals(record, signal.SIGINT)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous)
