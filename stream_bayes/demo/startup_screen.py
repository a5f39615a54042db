"""Spinner while learners are loaded and compiled; imports none of them."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import NoReturn, Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

from stream_bayes.kernels.common.jit_stats import NOTICE
from stream_bayes.signals import handle_signals

LOADING = "Loading the learners ..."


class StartupScreen:
    """Context with a spinner on a terminal, which also shows the notice that kernels are compiled.

    Ctrl-C calls `stop`, which must exit at once. An exception would be lost while LLVM calls back into Python, and
    leave numba with half a kernel.
    """

    def __init__(self, console: Console, stop: Callable[[], NoReturn]) -> None:
        self._stop = stop
        self._status: Status | None = console.status(LOADING) if console.is_terminal else None

    @property
    def text(self) -> str:
        """Text of the spinner; empty without a terminal."""
        return "" if self._status is None else str(self._status.status)

    def __enter__(self) -> Self:
        self._previous_handler = signal.getsignal(signal.SIGINT)
        handle_signals(self._interrupted, signal.SIGINT)
        self._announce = NOTICE.announce
        if self._status is not None:
            self._status.start()
            NOTICE.announce = self._show
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        signal.signal(signal.SIGINT, self._previous_handler)

    def _interrupted(self, *_: object) -> None:
        self._end()
        self._stop()

    def _end(self) -> None:
        NOTICE.announce = self._announce
        if self._status is not None:
            self._status.stop()

    def _show(self, text: str) -> None:
        assert self._status is not None
        self._status.update(Text(f"{text} ..."))
