"""The command line as tests call it: in this process, in one of its own, or on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
COMMAND = (sys.executable, "-m", "stream_bayes.cli")
WITHOUT_PRIVILEGES = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""What to put before a command so that permissions hold for it: root may read everything."""
PATIENCE = 300.0
"""Seconds after which a test gives up; only a process that hangs takes that long."""

Run = Callable[..., tuple[int, str, str]]


def on_a_terminal(
    *arguments: str | Path,
    errors: bool = False,
    stop_at: bytes | None = None,
    variables: Mapping[str, str] | None = None,
) -> tuple[int, bytes, bytes]:
    """Run with a pseudo-terminal as output or, if so asked, as error output: code, what is on it, the other of the two.

    Once it has shown `stop_at`, it gets Ctrl-C.
    """
    screen, terminal = pty.openpty()
    out, err = (subprocess.PIPE, terminal) if errors else (terminal, subprocess.PIPE)
    command = [*COMMAND, *map(str, arguments)]
    with subprocess.Popen(command, stdout=out, stderr=err, env={**ENVIRONMENT, **(variables or {})}) as process:
        os.close(terminal)
        shown = b""
        while part := read_some(screen):
            shown += part
            if stop_at is not None and stop_at in shown:
                process.send_signal(signal.SIGINT)
                stop_at = None
        pipe = process.stdout if errors else process.stderr
        assert pipe is not None
        other = pipe.read()
    os.close(screen)
    return process.returncode, shown, other


def read_some(screen: int) -> bytes:
    """What a pseudo-terminal shows next; nothing once the program has ended."""
    ready, _, _ = select.select([screen], [], [], PATIENCE)
    assert ready, "the program has fallen silent"
    try:
        return os.read(screen, 65536)
    except OSError:  # Linux's way of saying that the other end is closed
        return b""
