"""The worker of a demo, and its page, in processes of their own that can be killed."""

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

PATIENCE = 120.0
"""Seconds that each has to end when it is told to."""
_LAST_LINES = 3


class RecoveryReport(NamedTuple):
    """What a worker says of its start."""

    events: int
    """Events it has learned again from the journal."""
    seconds: float


class CommandProcess:
    """`stream-bayes` with the settings of a demo and no others; what it says goes to a file, as JSON."""

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
        """Start it, again if need be."""
        # Settings in the environment are of other workers, with other logs.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
        with self._reports.open("ab") as reports:
            # In a process group of its own: Ctrl-C is for the demo, which then ends it.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=reports,
                stderr=reports,
                process_group=0,
                env=environment,
            )

    def kill(self) -> None:
        """SIGKILL: nothing is finished, nothing is said."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def finish(self) -> None:
        """SIGTERM, as an operator ends it: it finishes what it does and ends with code 0."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(PATIENCE)
        finally:
            self.kill()
        # Python needs a moment before it can handle a signal: until then nothing was begun that must be finished.
        if code not in (0, -signal.SIGTERM):
            raise self._failure(code)

    def look(self) -> None:
        """Read what it has said since; raise if it has ended."""
        for line in self._new_lines():
            said = _as_object(line)
            self.hear(str(said.get("event", "")), said)
        code = None if self._process is None else self._process.poll()
        if code is not None:
            raise self._failure(code)

    def hear(self, event: str, said: dict[str, Any]) -> None:
        """It has said something."""

    def _new_lines(self) -> list[bytes]:
        if not self._reports.exists():
            return []
        with self._reports.open("rb") as reports:
            reports.seek(self._read)
            whole, end, _ = reports.read().rpartition(b"\n")
        self._read += len(whole) + len(end)
        return whole.split(b"\n") if end else []

    def stuck(self, seconds: float) -> StreamBayesError:
        """The error of one that does nothing."""
        return StreamBayesError(
            f"the {self._name} has done nothing for {seconds:.0f} s; {self._last_words(_LAST_LINES)}"
        )

    def _failure(self, code: int) -> StreamBayesError:
        return StreamBayesError(f"the {self._name} ended with code {code}; {self._last_words(1)}")

    def _last_words(self, most: int) -> str:
        lines = self._reports.read_text("utf-8", "replace").strip().splitlines()[-most:]
        said = f"it said last: {' / '.join(lines)}" if lines else "it said nothing"
        return f"{said} (see {self._reports})"


class WorkerProcess(CommandProcess):
    """`stream-bayes run`."""

    def __init__(self, settings: Path, reports: Path) -> None:
        super().__init__("run", settings, reports)
        self.recovered: list[RecoveryReport] = []
        """Of each start, in order."""
        self.compiling = False
        """Whether it has said since its start that it compiles."""

    def start(self) -> None:
        """Start it, again if need be."""
        self.compiling = False
        super().start()

    def hear(self, event: str, said: dict[str, Any]) -> None:
        """It has said something."""
        self.compiling = self.compiling or event.startswith(NOTICE_BEGINNING)
        if event == "recovered":
            self.recovered.append(RecoveryReport(int(said["events"]), float(said["seconds"])))


class PageProcess(CommandProcess):
    """`stream-bayes web`."""

    def __init__(self, settings: Path, reports: Path, port: int) -> None:
        super().__init__("web", settings, reports, "--port", str(port))
        self.address: str | None = None
        """Where the page is, once it has said so."""

    def hear(self, event: str, said: dict[str, Any]) -> None:
        """It has said something."""
        if event == "listening":
            self.address = str(said["url"])


def _as_object(line: bytes) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
