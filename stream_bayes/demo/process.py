"""The worker and the web page of a demo as child processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from stream_bayes.config import ENV_PREFIX
from stream_bayes.errors import StreamBayesError
from stream_bayes.kernels.common.jit_stats import NOTICE_BEGINNING

SHUTDOWN_SECONDS = 120.0
"""Time limit of a graceful shutdown."""
_MAX_ERROR_LINES = 3


class RecoveryReport(NamedTuple):
    """The recovery that a worker reports at startup."""

    events: int
    """Events replayed from the journal."""
    seconds: float


class CommandProcess:
    """A `stream-bayes` command with the settings of the demo only; its JSON log goes to a file."""

    def __init__(self, command: str, settings: Path, reports: Path, *options: str) -> None:
        self._name = "worker" if command == "run" else "page"
        self._command = [
            sys.executable,
            "-m",
            "stream_bayes.cli",
            command,
            "--json",
            "--config",
            str(settings),
            *options,
        ]
        self._reports = reports
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0

    def start(self) -> None:
        """Start or restart the process."""
        # Settings in the environment belong to other workers.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
        with self._reports.open("ab") as reports:
            # In its own process group: Ctrl-C goes to the demo, which then stops it.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=reports,
                stderr=reports,
                process_group=0,
                env=environment,
            )

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def finish(self) -> None:
        """Shut the process down gracefully with SIGTERM; raise if its exit code is not 0."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(SHUTDOWN_SECONDS)
        finally:
            self.kill()
        # Until Python handles signals, SIGTERM kills it; by then nothing has started.
        if code not in (0, -signal.SIGTERM):
            raise self._failure(code)

    def poll(self) -> None:
        """Handle new log messages; raise if the process has ended."""
        for line in self._new_lines():
            message = _parse_object(line)
            self.handle_message(str(message.get("event", "")), message)
        code = None if self._process is None else self._process.poll()
        if code is not None:
            raise self._failure(code)

    def handle_message(self, event: str, message: dict[str, Any]) -> None:
        """Handle a log message of the process."""

    def _new_lines(self) -> list[bytes]:
        if not self._reports.exists():
            return []
        with self._reports.open("rb") as reports:
            reports.seek(self._read)
            whole, end, _ = reports.read().rpartition(b"\n")
        self._read += len(whole) + len(end)
        return whole.split(b"\n") if end else []

    def stalled_error(self, seconds: float) -> StreamBayesError:
        """Return the error of a process without progress."""
        return StreamBayesError(
            f"the {self._name} has made no progress for {seconds:.0f} s; {self._last_output(_MAX_ERROR_LINES)}"
        )

    def _failure(self, code: int) -> StreamBayesError:
        return StreamBayesError(f"the {self._name} ended with code {code}; {self._last_output(1)}")

    def _last_output(self, most: int) -> str:
        lines = self._reports.read_text("utf-8", "replace").strip().splitlines()[-most:]
        output = f"its last output: {' / '.join(lines)}" if lines else "it has no output"
        return f"{output} (see {self._reports})"


class WorkerProcess(CommandProcess):
    """`stream-bayes run`."""

    def __init__(self, settings: Path, reports: Path) -> None:
        super().__init__("run", settings, reports)
        self.recovered: list[RecoveryReport] = []
        """One report for each start."""
        self.compiling = False
        """Whether it compiles kernels since its start."""

    def start(self) -> None:
        """Start or restart the process."""
        self.compiling = False
        super().start()

    def handle_message(self, event: str, message: dict[str, Any]) -> None:
        """Handle a log message of the process."""
        self.compiling = self.compiling or event.startswith(NOTICE_BEGINNING)
        if event == "recovered":
            self.recovered.append(RecoveryReport(int(message["events"]), float(message["seconds"])))


class PageProcess(CommandProcess):
    """`stream-bayes web`."""

    def __init__(self, settings: Path, reports: Path, port: int) -> None:
        super().__init__("web", settings, reports, "--port", str(port))
        self.address: str | None = None
        """Address of the page, once it is listening."""

    def handle_message(self, event: str, message: dict[str, Any]) -> None:
        """Handle a log message of the process."""
        if event == "listening":
            self.address = str(message["url"])


def _parse_object(line: bytes) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
