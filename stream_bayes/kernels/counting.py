"""Whether kernels are being compiled in this process, which takes seconds and is worth a word."""

from __future__ import annotations

import sys
from typing import Any


def compiled_kernels() -> int:
    """How many kernels had to be compiled in this process because no machine code of them was on disk."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("stream_bayes.kernels.")]
    kernels = {id(value): value for module in modules for value in list(vars(module).values())}
    return sum(map(_cache_misses, kernels.values()))


def _cache_misses(value: Any) -> int:
    # numba counts a miss before it compiles. Other values, and kernels with numba switched off, have no count.
    misses = getattr(getattr(value, "stats", None), "cache_misses", None)
    return sum(misses.values()) if isinstance(misses, dict) else 0
