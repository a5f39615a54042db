"""`make bench`: every figure of docs/benchmarks.md, measured here; `python -m benchmarks mail` measures only that."""

from __future__ import annotations

import argparse
import os
import platform
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec

# One thread for everybody, before numpy is loaded: CPU time is compared, and BLAS would otherwise use all cores.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from rich.console import Console

BENCHMARKS = (
    "naive_bayes",
    "linear",
    "logistic",
    "neighbours",
    "data_frames",
    "river_datasets",
    "mail",
    "active",
    "few_labels",
    "coverage",
    "worker",
    "kafka_clients",
    "kafka_worker",
    "web",
    "trace",
)


def main() -> None:
    """Run the benchmarks that are named, by default all, and print their tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(BENCHMARKS)}")
    names = parser.parse_args().names
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    console = Console(width=None if os.isatty(1) else 120)
    machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
    versions = ", ".join(f"{name} {version(name)}" for name in ("river", "numba", "numpy"))
    console.print(f"CPU time on {machine}; Python {platform.python_version()}, {versions}")
    for name in names or BENCHMARKS:
        if name == "logistic" and find_spec("vowpalwabbit") is None:
            missing = "Vowpal Wabbit is not here (pip has it for Linux on x86_64)"
            console.print(f"LogisticRegression is not measured: {missing}")
        else:
            import_module(f"benchmarks.{name}").run(console)


if __name__ == "__main__":
    main()
