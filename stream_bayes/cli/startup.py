"""The entry point: handles signals from the first moment on, then imports and runs the commands."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from stream_bayes.signals import handle_signals

STOPPED = 130
"""The exit code of a command that was stopped before it had done its work."""
# They end with code 0 when they are stopped; other commands are interrupted by Ctrl-C alone.
_SERVICES = ("run", "web")


def main() -> None:
    """Run the command line; a signal that comes while it is being imported ends it in good order."""
    command = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), None)
    usual = signal.getsignal(signal.SIGINT)
    if command in _SERVICES:
        handle_signals(_end_service, signal.SIGTERM, signal.SIGINT)
    else:
        handle_signals(_end_command, signal.SIGINT)
    from stream_bayes.cli.commands import main as run_command

    # A service keeps them until it installs its own.
    if command not in _SERVICES:
        signal.signal(signal.SIGINT, usual)
    run_command()


def _end_service(*_: object) -> NoReturn:
    _end("stopped before it had begun", 0)


def _end_command(*_: object) -> NoReturn:
    _end("stopped", STOPPED)


def _end(text: str, code: int) -> NoReturn:
    """End at once: nothing was begun, and an exception in the middle of an import may be lost."""
    with suppress(OSError):
        os.write(2, f"stream-bayes: {text}\n".encode())
    os._exit(code)
