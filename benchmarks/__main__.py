"""`make bench`: every figure of the README, measured here and now."""

from __future__ import annotations

import os
import platform
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec

# One thread for everybody, before numpy is loaded: CPU time is compared, and BLAS would otherwise use all cores.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from rich.console import Console

from benchmarks import linear, naive_bayes


def main() -> None:
    """Run all benchmarks and print their tables."""
    console = Console(width=None if os.isatty(1) else 120)
    machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
    versions = ", ".join(f"{name} {version(name)}" for name in ("river", "numba", "numpy"))
    console.print(f"CPU time on {machine}; Python {platform.python_version()}, {versions}")
    naive_bayes.run(console)
    linear.run(console)
    if find_spec("vowpalwabbit") is None:
        console.print("LogisticRegression is not measured: Vowpal Wabbit is not here (pip has it for Linux on x86_64)")
        return
    import_module("benchmarks.logistic").run(console)


if __name__ == "__main__":
    main()
