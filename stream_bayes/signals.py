"""Signal handlers that respect the signals which the parent process ignores.

A shell without job control starts background jobs with SIGINT ignored, and `nohup` ignores SIGHUP: Ctrl-C in that
terminal, or its end, is not for them. Such a signal stays ignored. SIGTERM is always handled: it is how a service is
stopped.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

Handler = Callable[[int, FrameType | None], object]


def is_ignored(number: int) -> bool:
    """Whether a signal was inherited as ignored and must stay so; never true of SIGTERM."""
    return number != signal.SIGTERM and signal.getsignal(number) is signal.SIG_IGN


def handle_signals(handler: Handler, *numbers: int) -> None:
    """Install one handler for several signals, except for those that were inherited as ignored."""
    for number in numbers:
        if not is_ignored(number):
            signal.signal(number, handler)
