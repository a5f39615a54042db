"""Signals between processes: which ones a process handles, and commands that inherit SIGINT as ignored."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

LIMIT = 300.0
"""Seconds after which a test gives up; only a process that hangs takes that long."""
SIGINT_IGNORED = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""What a command line is put behind to be started as a script's background job is: with SIGINT ignored."""


def handles(pid: int, number: signal.Signals) -> bool:
    """Whether a process has installed a handler for a signal, which Linux says in /proc."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def wait_until_handled(process: subprocess.Popen[Any], number: signal.Signals = signal.SIGTERM) -> None:
    """Until a process handles a signal, or has ended.

    Before that the kernel's default action applies: no program can handle a signal before its first instruction.
    """
    deadline = time.monotonic() + LIMIT
    while process.poll() is None and not handles(process.pid, number):
        assert time.monotonic() < deadline, f"process {process.pid} does not handle {number.name}"
        time.sleep(0.002)
