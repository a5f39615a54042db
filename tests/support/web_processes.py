"""Pages in processes of their own, for tests of how they start and end."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx

from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE

READY = re.compile(r"The page is at (http://\S+/) \(Ctrl-C ends it\)\n")
TOKEN = "a-token-of-16-or-more"


Started = subprocess.Popen[str]


@contextmanager
def started(folder: Path, *command: str, **variables: str) -> Iterator[Started]:
    """A process while the context lasts."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**ENVIRONMENT, **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def command(folder: Path, *arguments: str, **variables: str) -> Iterator[Started]:
    """`stream-bayes web` on a port of its own, while the context lasts."""
    log = ("web", "--log", "sqlite:///mail.db", "--port", "0")
    with started(folder, *COMMAND, *log, *arguments, **variables) as process:
        yield process


@contextmanager
def script(folder: Path, text: str) -> Iterator[Started]:
    """The server with another application, while the context lasts."""
    beginning = """
        import asyncio
        from contextlib import asynccontextmanager, suppress
        from starlette.applications import Starlette
        from starlette.responses import PlainTextResponse
        from starlette.routing import Route
        from stream_bayes.config import WebSettings
        from stream_bayes.errors import LogError
        from stream_bayes.web.server import serve
    """
    with started(folder, sys.executable, "-c", dedent(beginning) + dedent(text)) as process:
        yield process


def address(process: Started) -> str:
    """Where it says it is, once it does."""
    line = read_line(process)
    found = READY.fullmatch(line)
    assert found, f"{line!r} {process.communicate()}"
    return found[1]


def read_event(process: Started, event: str) -> dict[str, Any]:
    """What it says of an event as JSON."""
    assert process.stderr is not None
    for line in process.stderr:
        content: dict[str, Any] = json.loads(line)
        if content["event"] == event:
            return content
    message = f"it has ended: {process.communicate()}"
    raise AssertionError(message)


def read_line(process: Started) -> str:
    """The next line of its output."""
    assert process.stdout is not None
    return process.stdout.readline()


def wait_for_exit(process: Started, *signals: signal.Signals) -> tuple[int, str, str]:
    """Code, output and errors that were not read yet, once it has ended, if need be by a signal."""
    for number in signals:
        process.send_signal(number)
    output, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, output, errors


def open_request(process: Started, path: str) -> socket.socket:
    """A connection with a pending request, of a process that has printed that it was requested."""
    url = httpx.URL(address(process))
    assert url.port is not None
    connection = socket.create_connection((url.host, url.port), PATIENCE)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert read_line(process) == "requested\n"
    return connection
