"""Entry point: installs signal handlers, then imports and runs the commands."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from stream_bayes.signals import handle_signals

STOPPED = 130
"""Exit code of a command that was interrupted."""
# Services exit with code 0 when they are stopped; other commands are interrupted by Ctrl-C only.
_SERVICES = ("run", "web")


def main() -> None:
    """Run the command line; a signal during the imports exits cleanly."""
    command = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), None)
    previous = signal.getsignal(signal.SIGINT)
    if command in _SERVICES:
        handle_signals(_exit_service, signal.SIGTERM, signal.SIGINT)
    else:
        handle_signals(_exit_command, signal.SIGINT)
    from stream_bayes.cli.commands import main as run_command

    # A service keeps these handlers until it installs its own.
    if command not in _SERVICES:
        signal.signal(signal.SIGINT, previous)
    run_command()


def _exit_service(*_: object) -> NoReturn:
    _exit_now("stopped before it had begun", 0)


def _exit_command(*_: object) -> NoReturn:
    _exit_now("stopped", STOPPED)


def _exit_now(text: str, code: int) -> NoReturn:
    """Exit at once: nothing has started, and an exception during an import may be lost."""
    with suppress(OSError):
        os.write(2, f"stream-bayes: {text}\n".encode())
    os._exit(code)
