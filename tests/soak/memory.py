"""Memory of a process."""

from __future__ import annotations

import os
from pathlib import Path

MAX_GROWTH = 1.05
"""The largest ratio of memory at the end to memory after the first tenth."""


def resident_bytes() -> int:
    """Memory of this process that is in use right now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
