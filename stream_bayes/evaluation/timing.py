"""The time of the stages of a pass, and the memory of the process."""

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
    """The CPU and wall time of each stage, in seconds; only time within `stage` counts.

    The CPU time includes all threads, and child processes that have ended.
    """

    def __init__(self) -> None:
        self.stages: dict[str, tuple[float, float]] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
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
    """The resident memory of this process in millions of bytes; the peak if the current size is not available."""
    try:
        pages = int(_STATUS.read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT / _MEGABYTE
    return pages * resource.getpagesize() / _MEGABYTE
