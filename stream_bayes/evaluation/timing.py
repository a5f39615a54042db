"""Time and memory that the stages of a pass take."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAKE = "make"
READ = "read"
FEATURES = "features"
LEARN = "predict and learn"
_STATUS = Path("/proc/self/statm")
_MEGABYTE = 1e6
# Kilobytes on Linux, bytes on macOS.
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


class Stopwatch:
    """CPU and wall seconds of each stage; only what runs inside `stage` counts.

    CPU is that of all threads, and of the processes that were started and have ended.
    """

    def __init__(self) -> None:
        self.stages: dict[str, tuple[float, float]] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add what happens inside to the stage."""
        cpu = _cpu_seconds()
        wall = time.perf_counter()
        try:
            yield
        finally:
            old_cpu, old_wall = self.stages.get(name, (0.0, 0.0))
            self.stages[name] = old_cpu + _cpu_seconds() - cpu, old_wall + time.perf_counter() - wall


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def memory_mb() -> float:
    """The memory this process has now, in millions of bytes; where the system does not say, the most it has had."""
    try:
        pages = int(_STATUS.read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT / _MEGABYTE
    return pages * resource.getpagesize() / _MEGABYTE
