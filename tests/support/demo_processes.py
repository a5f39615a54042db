"""Demos as tests run them, and their workers."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from stream_bayes.demo.accuracy import ProbabilityBin
from stream_bayes.demo.figures import BudgetFigures, Crash, DemoFigures
from stream_bayes.demo.output_follower import WorkerProgress
from stream_bayes.demo.simulated_labeller import RequestLine
from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE

BINS = tuple(ProbabilityBin(said, said, 1234) for said in (0.01, 0.1, 0.3, 0.6, 0.9, 0.999))
SEEN = WorkerProgress(2990, 2990, 0, 101.5, 4.321, 0.9876, (9.0, 3.0, 1.0), BINS, {"read": 0.1, "fold": 12.34}, 99)
ASKING = BudgetFigures(500, 120, 118, tuple(RequestLine("Re: " * 30, 0.5, 0.25, "ham") for _ in range(6)))
FIGURES = DemoFigures("running", 35.2, 31.0, "mailbox", 6000, 3000, SEEN, ASKING, Crash(2400, 512, 0.3), "/tmp/demo")


def start_demo(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The demo in a process of its own, in this folder."""
    command = [*COMMAND, "demo", "--folder", str(folder), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)


def workers_of(folder: Path) -> list[int]:
    """The ids of the processes that work for the demo in this folder."""
    wanted = str(folder / "stream_bayes.toml").encode()
    return [
        int(process.name) for process in Path("/proc").iterdir() if process.name.isdigit() and _has(process, wanted)
    ]


def _has(process: Path, wanted: bytes) -> bool:
    try:
        return wanted in (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def wait_for_a_worker(folder: Path) -> int:
    """The id of the first worker, once there is one."""
    deadline = time.monotonic() + PATIENCE
    while not (found := workers_of(folder)):
        assert time.monotonic() < deadline, "the demo has started no worker"
        time.sleep(0.05)
    return found[0]
