"""The compiled kernels of the learners."""

from __future__ import annotations

import sys
from typing import Any


def entries() -> dict[str, Any]:
    """The kernels that Python calls; those inlined into them may see constants, each a type of its own to numba."""
    users = [module for name, module in sys.modules.items() if name.startswith("stream_bayes.learners")]
    return {name: value for user in users for name, value in vars(user).items() if hasattr(value, "py_func")}
