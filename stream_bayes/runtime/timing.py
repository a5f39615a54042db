"""Where the time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STAGES = ("read", "decode", "fold", "encode", "commit", "checkpoint")


class StageTimer:
    """Seconds spent in each stage since the worker started; waiting for records is none of them."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.longest = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def measured(self, stage: str) -> Iterator[None]:
        """Add the time of what is done within."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - begin)

    def add(self, stage: str, spent: float) -> None:
        """Add so many seconds."""
        self.seconds[stage] += spent
        self.longest[stage] = max(self.longest[stage], spent)
