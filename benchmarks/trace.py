"""How much code one event runs through: functions, files and changes of file, counted with `sys.setprofile`.

Counted are the functions of the package itself that are called between the moment at which a worker has polled a record
and the end of its commit, on a log in memory with the default learner; and those of a recovery by the journal alone.
Everything has run once before, so that nothing is counted that only compiles or imports.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import stream_bayes
from stream_bayes.config import CheckpointSettings, CommitSettings, Settings
from stream_bayes.demo.mailbox import mailbox
from stream_bayes.eventlog.memory import EOF, MemoryLog, MemoryStore
from stream_bayes.events import Label, Observation, encode
from stream_bayes.records import Offsets, Record
from stream_bayes.runtime import Worker

_PACKAGE = str(Path(stream_bayes.__file__).parent)
_MAILS = 300
_MAILS_A_LABEL = 5


class Trace(NamedTuple):
    """The calls of functions of the package, in order."""

    calls: list[CodeType]

    @property
    def functions(self) -> int:
        """How many different functions were called."""
        return len(set(self.calls))

    @property
    def files(self) -> int:
        """How many different files they stand in."""
        return len({code.co_filename for code in self.calls})

    @property
    def changes(self) -> int:
        """How many times a call went to another file than the call before it."""
        return sum(one.co_filename != other.co_filename for one, other in zip(self.calls, self.calls[1:], strict=False))


class Profiler:
    """Records calls into the package between `start` and `stop`."""

    def __init__(self) -> None:
        self._calls: list[CodeType] = []

    def start(self) -> None:
        """Begin a new trace."""
        self._calls = []
        sys.setprofile(self._profile)

    def stop(self) -> Trace:
        """End the trace."""
        sys.setprofile(None)
        return Trace(self._calls)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(_PACKAGE):
            self._calls.append(frame.f_code)


class TracedLog(MemoryLog):
    """A log whose profiler runs from a poll that gave records to the end of the commit after it."""

    profiler = Profiler()
    traces: dict[tuple[str, str], Trace]
    """The trace of each commit of a single record, by its topic and the id in it."""
    _polled: Record | None = None

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """The next records; the trace begins after the last poll before a commit."""
        sys.setprofile(None)
        records = super().poll(max_records, timeout)
        self._polled = records[0] if records else self._polled
        if self._polled is not None:
            self.profiler.start()
        return records

    def commit(self, offsets: Offsets) -> Offsets:
        """Commit; the trace ends with it."""
        written = super().commit(offsets)
        trace = self.profiler.stop()
        if self._polled is not None:
            self.traces[self._polled.topic, json.loads(self._polled.value)["id"]] = trace
            self._polled = None
        return written


def run(console: Console) -> None:
    """Print the table."""
    table = Table(title="from a worker's poll to its commit, on a log in memory")
    for name in ("trace", "functions", "files", "changes of file"):
        table.add_column(name, justify="left" if name == "trace" else "right")
    for name, trace in measure().items():
        table.add_row(name, str(trace.functions), str(trace.files), str(trace.changes))
    console.print(table)


def measure() -> dict[str, Trace]:
    """The traces of a mail, of a mail whose label is requested, of a late label, and of a recovery by the journal.

    Each event comes in a commit of its own. Of mails and labels the median is shown, by the number of functions.
    """
    with TemporaryDirectory() as folder:
        checkpoint = CheckpointSettings(folder=Path(folder), events=10**9, seconds=3600.0)
        settings = Settings(checkpoint=checkpoint, commit=CommitSettings(events=1))
        store = MemoryStore()
        mails = list(mailbox(1, _MAILS))
        for mail in mails:
            _append(store, settings.topics.observations, Observation(id=mail.id, raw=mail.raw))
        for mail in mails[::_MAILS_A_LABEL]:
            _append(store, settings.topics.labels, Label(id=mail.id, label=mail.label))
        store.put(settings.topics.labels, EOF)
        traces = _work(settings, store)
        topics = settings.topics
        requested = {json.loads(record.value)["id"] for record in store.records(topics.label_requests)}
        return {
            "a mail": _median([trace for (topic, _), trace in traces.items() if topic == topics.observations]),
            "a mail whose label is requested": _median([traces[topics.observations, name] for name in requested]),
            "a late label": _median([trace for (topic, _), trace in traces.items() if topic == topics.labels]),
            "recovery": _recover(folder),
        }


def _median(traces: list[Trace]) -> Trace:
    return sorted(traces, key=lambda trace: trace.functions)[len(traces) // 2]


def _work(settings: Settings, store: MemoryStore) -> dict[tuple[str, str], Trace]:
    """The trace of each commit of a worker that reads everything there is."""
    topics = settings.topics
    with TracedLog(settings.group, (topics.observations, topics.labels), store=store) as log:
        log.traces = {}
        Worker(settings, log).run()
        return log.traces


def _recover(folder: str) -> Trace:
    """The recovery of a worker that finds two mails and their labels in its journal, and no checkpoint."""
    settings = Settings(checkpoint=CheckpointSettings(folder=Path(folder) / "recovery"))
    store = MemoryStore()
    topics = settings.topics
    for mail in mailbox(1, 2):
        _append(store, topics.observations, Observation(id=mail.id, raw=mail.raw))
        _append(store, topics.labels, Label(id=mail.id, label=mail.label))
    with MemoryLog(settings.group, (topics.observations, topics.labels), store=store) as log:
        Worker(settings, log).run(drain=True)
    for path in Path(settings.checkpoint_folder).rglob("*.safetensors"):
        path.unlink()
    with MemoryLog(settings.group, (topics.observations, topics.labels), store=store) as log:
        worker = Worker(settings, log)
        profiler = Profiler()
        profiler.start()
        worker.recover()
        return profiler.stop()


def _append(store: MemoryStore, topic: str, event: Observation | Label) -> None:
    store.put(topic, encode(event))


if __name__ == "__main__":
    run(Console())
