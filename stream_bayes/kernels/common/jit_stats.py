"""Whether kernels are being compiled in this process, which takes seconds and is worth a word; no numba is imported."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock, Timer
from typing import Any

logger = logging.getLogger("stream_bayes.kernels")

SECONDS_BEFORE_NOTICE = 2.0
NOTICE_BEGINNING = "compiling kernels for their first use"
"""How the message of `CompilationNotice` begins."""


class CompilationNotice:
    """One message per process, as soon as compiling kernels has taken more than two seconds in all.

    The message says which kernels are compiled and where they are kept. By default it is a line of the logger
    `stream_bayes.kernels`, level INFO; the command line shows it on the error output (`announce`).
    """

    def __init__(self, seconds: float = SECONDS_BEFORE_NOTICE) -> None:
        self.announce: Callable[[str], None] = logger.info
        """Gets the message, in a thread of its own."""
        self.folder: Callable[[], Path | None] = lambda: None
        """The folder of compiled kernels; None if they are not kept."""
        self._lock = Lock()
        self._seconds_left = seconds
        self._depth = 0
        self._began_at = 0.0
        self._modules: dict[str, None] = {}
        self._timer: Timer | None = None
        self._announced = False

    def start(self, module: str) -> None:
        """Note that a kernel of a module begins to be compiled, perhaps for another that calls it."""
        with self._lock:
            self._depth += 1
            self._modules[module] = None
            if self._depth > 1 or self._announced:
                return
            self._began_at = time.monotonic()
            self._timer = Timer(max(self._seconds_left, 0.0), self._announce)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """Note that the compilation begun last is over."""
        with self._lock:
            self._depth -= 1
            if self._depth > 0 or self._timer is None:
                return
            self._timer.cancel()
            self._timer = None
            self._seconds_left -= time.monotonic() - self._began_at

    def _announce(self) -> None:
        with self._lock:
            if self._announced or self._depth == 0:
                return
            self._announced = True
            modules = ", ".join(self._modules)
        folder = self.folder()
        kept = "they are not kept" if folder is None else f"they are kept in {folder}"
        self.announce(f"{NOTICE_BEGINNING} ({modules}, ...), which can take a minute; {kept}")


NOTICE = CompilationNotice()
"""The notice of this process."""


def compiled_kernels() -> int:
    """How many kernels had to be compiled in this process because no machine code of them was on disk."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("stream_bayes.kernels.")]
    kernels = {id(value): value for module in modules for value in list(vars(module).values())}
    return sum(map(_cache_misses, kernels.values()))


def _cache_misses(value: Any) -> int:
    # numba counts a miss before it compiles. Other values, and kernels with numba switched off, have no count.
    misses = getattr(getattr(value, "stats", None), "cache_misses", None)
    return sum(misses.values()) if isinstance(misses, dict) else 0
