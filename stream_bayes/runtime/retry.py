"""Trying again while somebody else holds a log, or its broker does not answer."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import TypeVar

from stream_bayes.errors import LogError

logger = logging.getLogger("stream_bayes.runtime")
Result = TypeVar("Result")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between two tries: the second is waited for twice as long, and so on."""
_LOOK_EVERY = 0.1


class RetryPolicy:
    """Calls something until it works, as long as the error may pass by itself and nobody has said stop."""

    def __init__(self, timeout: float | None = None) -> None:
        self.timeout = timeout
        """Seconds after which the error is raised. None: retry until stopped."""
        self.stopping = False
        """Whether somebody has; may be set by a signal's handler."""

    def __call__(self, work: Callable[[], Result]) -> Result:
        """What `work` returns; nothing is lost meanwhile."""
        pause = FIRST_PAUSE
        deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
        while True:
            try:
                return work()
            except LogError as problem:
                if self.stopping or not problem.retriable or time.monotonic() >= deadline:
                    raise
                logger.warning("waiting for the log", extra={"fields": {"reason": str(problem)}})
                self._wait(min(pause, deadline - time.monotonic()))
                pause = min(2.0 * pause, LONGEST_PAUSE)

    def _wait(self, pause: float) -> None:
        """A stop ends it."""
        until = time.monotonic() + pause
        while not self.stopping and (left := until - time.monotonic()) > 0.0:
            time.sleep(min(left, _LOOK_EVERY))
