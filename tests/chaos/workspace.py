"""The folder of a chaos run: its log, its settings, and the processes that work on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from stream_bayes.config import Settings, load_settings
from stream_bayes.eventlog.base import Log
from tests.chaos.log_locations import SESSION_SECONDS, LogLocation
from tests.chaos.messages import (
    DEDUP_WINDOW,
    DEPTH,
    EMAILS,
    ID_BYTES,
    LABELS,
    RECORD_BYTES,
    Script,
    label_history,
)
from tests.chaos.producer import Writing, write_script

BUDGET = 300
_ROOT = Path(__file__).resolve().parents[2]
# With several workers the end would come too soon for all that is to happen.
_BEFOREHAND = 0.7
_BEFOREHAND_FOR_MANY = 0.3


class ChaosWorkspace(NamedTuple):
    """Where everything is."""

    folder: Path
    place: LogLocation
    messages: int
    seed: int

    @property
    def config(self) -> Path:
        """The settings of the worker."""
        return self.folder / "stream_bayes.toml"

    @property
    def script(self) -> Path:
        """What the producer has to write."""
        return self.folder / "script.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The folder of the group's checkpoints."""
        return self.folder / "checkpoints" / "stream-bayes"

    @property
    def beforehand(self) -> int:
        """Messages that are there before anybody reads."""
        return int((_BEFOREHAND if self.place.workers == 1 else _BEFOREHAND_FOR_MANY) * self.messages)

    def script_of(self) -> Script:
        """All messages, from the first."""
        return Script(self.seed, self.messages, self.place.partitions, self.place.lead)

    def settings(self, checkpoints: Path | None = None) -> Settings:
        """The settings of the worker, with another folder of checkpoints if wanted."""
        folder = None if checkpoints is None else str(checkpoints)
        return load_settings(self.config, {}, {"checkpoint.folder": folder}).settings

    def prepare(self) -> None:
        """Write the settings, most of the messages, and the producer's script."""
        messages = iter(self.script_of())
        sizes = {"commit": max(self.messages // 1500, 25), "save": max(self.messages // 60, 500)}
        remembered = label_history(self.messages, self.place.partitions)
        content = _TOML.format(url=self.place.url, folder=self.folder, remembered=remembered, **sizes)
        self.config.write_text(content)
        with self.place.open() as log:
            writing = Writing(log, self.place)
            while some := list(islice(messages, min(self.place.most_a_commit, self.beforehand - writing.count))):
                writing.write(some)
        write_script(self.script, messages)

    def start_worker(self, number: int, *more: str) -> subprocess.Popen[bytes]:
        """A worker as anybody would start it, its messages in a file."""
        arguments = ["-m", "stream_bayes.cli", "run", "--config", str(self.config), "--json", *more]
        with self.said(number).open("wb") as output:
            return self._start(arguments, output)

    def start_producer(self, number: int, pause: float) -> subprocess.Popen[bytes]:
        """A producer that goes on where the last one was killed."""
        arguments = ["-m", "tests.chaos.producer", json.dumps(self.place), str(self.script), str(self.beforehand)]
        with self.producer_said(number).open("wb") as output:
            return self._start([*arguments, str(pause), str(number)], output)

    def _start(self, arguments: list[str], output: Any) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(_ROOT), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen([sys.executable, *arguments], env=environment, stdout=output, stderr=output)

    def producer_said(self, number: int) -> Path:
        """What a producer said: nothing, unless it failed."""
        return self.folder / f"producer-{number}.txt"

    def said(self, number: int) -> Path:
        """What a worker said."""
        return self.folder / f"worker-{number}.jsonl"

    def events_said(self, number: int) -> list[dict[str, Any]]:
        """What a worker said, without a line that was cut, and without the error that it ended with."""
        lines = self.said(number).read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]

    def progress(self, log: Log) -> int:
        """E-mails with a prediction so far; somewhat more where offsets have gaps."""
        return sum(log.end_offsets("predictions").values())


_TOML = f"""\
log = "{{url}}"

[topics]
observations = "{EMAILS}"
labels = "{LABELS}"
predictions = "predictions"

[learner]
name = "SpamFilter"
parameters = {{{{ buckets = 16384 }}}}

[events]
record_bytes = {RECORD_BYTES}
depth = {DEPTH}
id_bytes = {ID_BYTES}

[engine]
label_history = {{remembered}}
dedup_window = {DEDUP_WINDOW}
observation_cache_bytes = 200_000

[labels]
budget = {BUDGET}
max_open_requests = 60
audit_fraction = 0.2
request_ttl = "5s"

[commit]
events = {{commit}}
milliseconds = 50

[checkpoint]
folder = "{{folder}}/checkpoints"
events = {{save}}
seconds = 1.0
keep = 3

[status]
seconds = 1.0

[kafka]
session_seconds = {SESSION_SECONDS}
"""
