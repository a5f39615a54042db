"""What the screen says before the learners are ready; nothing here imports them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import NoReturn

from rich.console import Console
from rich.status import Status

from stream_bayes.kernels.counting import compiled_kernels
from stream_bayes.signals import handle_signals

LOADING = "Loading the learners ..."
COMPILING = "Compiling the learners for this machine: some seconds, the first time only ..."
_LOOKS_A_SECOND = 20


class Waiting:
    """Context of loading and compiling: a spinner on a terminal; elsewhere a line, if anything is compiled.

    Ctrl-C calls `stop`, which must end the process at once. An exception would not do: raised while LLVM calls back
    into Python it is lost, and leaves numba with half a kernel.
    """

    def __init__(self, console: Console, stop: Callable[[], NoReturn]) -> None:
        self._console = console
        self._stop = stop
        self._status: Status | None = console.status(LOADING) if console.is_terminal else None
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="waiting", daemon=True)

    def __enter__(self) -> None:
        self._usual = signal.getsignal(signal.SIGINT)
        handle_signals(self._interrupted, signal.SIGINT)
        if self._status is not None:
            self._status.start()
        self._watcher.start()

    def __exit__(self, *_: object) -> None:
        self._end()
        signal.signal(signal.SIGINT, self._usual)

    def _interrupted(self, *_: object) -> None:
        self._end()
        self._stop()

    def _end(self) -> None:
        self._over.set()
        self._watcher.join()
        if self._status is not None:
            self._status.stop()

    def _watch(self) -> None:
        while not self._over.wait(1.0 / _LOOKS_A_SECOND):
            if compiled_kernels():
                self._say_compiling()
                return

    def _say_compiling(self) -> None:
        if self._status is not None:
            self._status.update(COMPILING)
        else:
            self._console.print(COMPILING, markup=False, highlight=False)
