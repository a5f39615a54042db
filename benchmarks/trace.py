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
from stream_bayes.eventlog.memory import EOF, MemoryLog, MemoryStore
from stream_bayes.events import Label, Observation, encode
from stream_bayes.records import Offsets, Record
from stream_bayes.runtime import Worker

_PACKAGE = str(Path(stream_bayes.__file__).parent)
_MAILS = 130
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
    traces: dict[str, Trace]
    """The trace of each commit of a single record, by the id in it."""
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
            self.traces[json.loads(self._polled.value)["id"] + self._polled.topic] = trace
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
    """The traces of a mail, of a label that comes for it later, and of a recovery by the journal.

    Mail and label come in the middle of a stream, each in a commit of its own: neither is at a point of the learning
    curve, where a worker stages a status event too.
    """
    with TemporaryDirectory() as folder:
        checkpoint = CheckpointSettings(folder=Path(folder), events=10**9, seconds=3600.0)
        settings = Settings(checkpoint=checkpoint, commit=CommitSettings(events=1))
        store = MemoryStore()
        for number in range(_MAILS):
            _append_mail(store, settings, number)
        for number in range(0, _MAILS, _MAILS_A_LABEL):
            _append_label(store, settings, number)
        store.put(settings.topics.labels, EOF)
        traces = _work(settings, store)
        mail = traces[f"mail-{_MAILS - 5}{settings.topics.observations}"]
        label = traces[f"mail-{_MAILS - 5}{settings.topics.labels}"]
        return {"a mail": mail, "a late label": label, "recovery": _recover(folder)}


def _work(settings: Settings, store: MemoryStore) -> dict[str, Trace]:
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
    for number in range(2):
        _append_mail(store, settings, number)
        _append_label(store, settings, number)
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


def _append_mail(store: MemoryStore, settings: Settings, number: int) -> None:
    store.put(settings.topics.observations, encode(Observation(id=f"mail-{number}", raw=_mail(number))))


def _mail(number: int) -> bytes:
    """A mail that is no near-duplicate of any other: those would be compared with each other."""
    words = " ".join(f"word{(number * 7919 + place * place) % 9973}" for place in range(60))
    return f"From: ann{number}@office.example\nTo: bob@office.example\nSubject: lunch {number}\n\n{words}\n".encode()


def _append_label(store: MemoryStore, settings: Settings, number: int) -> None:
    store.put(settings.topics.labels, encode(Label(id=f"mail-{number}", label="ham")))


if __name__ == "__main__":
    run(Console())
