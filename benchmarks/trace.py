"""How much code one event runs through: functions, files and changes of file, counted with `sys.setprofile`.

Counted are the functions of the package itself that are called between the moment at which a worker has polled a record
and the end of its commit, on a log in memory with the default learner; and those of a recovery by the journal alone.
Everything has run once before, so that nothing is counted that only compiles or imports.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import stream_bayes
from stream_bayes.config import CheckpointSettings, Settings
from stream_bayes.eventlog.memory import MemoryLog, MemoryStore
from stream_bayes.events import Label, Observation, encode
from stream_bayes.records import Offsets, Record
from stream_bayes.runtime import Worker

_PACKAGE = str(Path(stream_bayes.__file__).parent)
_MAIL = b"From: ann@office.example\nTo: bob@office.example\nSubject: lunch %d\n\nLunch at noon, or tomorrow at one?\n"
_WARM_UP = 2


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

    profiler: Profiler | None = None
    traces: list[Trace]
    _is_traced = False

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """The next records; the trace begins after the last poll before a commit."""
        sys.setprofile(None)
        records = super().poll(max_records, timeout)
        self._is_traced = self._is_traced or bool(records)
        if self._is_traced and self.profiler is not None:
            self.profiler.start()
        return records

    def commit(self, offsets: Offsets) -> Offsets:
        """Commit; the trace ends with it."""
        written = super().commit(offsets)
        if self.profiler is not None and self._is_traced:
            self.traces.append(self.profiler.stop())
            self._is_traced = False
        return written


def run(console: Console) -> None:
    """Print the table."""
    table = Table(title="from a worker's take to its commit, on a log in memory")
    for name in ("trace", "functions", "files", "changes of file"):
        table.add_column(name, justify="left" if name == "trace" else "right")
    for name, trace in measure().items():
        table.add_row(name, str(trace.functions), str(trace.files), str(trace.changes))
    console.print(table)


def measure() -> dict[str, Trace]:
    """The traces of a mail, of a label that comes for it later, and of a recovery by the journal."""
    with TemporaryDirectory() as folder:
        settings = Settings(checkpoint=CheckpointSettings(folder=Path(folder), events=10**9, seconds=3600.0))
        store = MemoryStore()
        for number in range(_WARM_UP):
            _feed(store, partial(_append_mail, settings=settings, number=number))
        _work(settings, store)
        _feed(store, partial(_append_label, settings=settings, number=0))
        _work(settings, store)
        _feed(store, partial(_append_mail, settings=settings, number=_WARM_UP))
        mail = _work(settings, store)
        _feed(store, partial(_append_label, settings=settings, number=_WARM_UP))
        label = _work(settings, store)
        return {"a mail": mail, "a late label": label, "recovery": _recover(settings, store)}


def _work(settings: Settings, store: MemoryStore) -> Trace:
    """The first commit of a worker that reads everything there is."""
    topics = settings.topics
    with TracedLog(settings.group, (topics.observations, topics.labels), store=store) as log:
        log.traces = []
        log.profiler = Profiler()
        Worker(settings, log).run(drain=True)
        return log.traces[0]


def _recover(settings: Settings, store: MemoryStore) -> Trace:
    for path in Path(settings.checkpoint_folder).rglob("*.safetensors"):
        path.unlink()
    topics = settings.topics
    with MemoryLog(settings.group, (topics.observations, topics.labels), store=store) as log:
        worker = Worker(settings, log)
        profiler = Profiler()
        profiler.start()
        worker.recover()
        return profiler.stop()


def _feed(store: MemoryStore, append: Callable[[MemoryLog], object]) -> None:
    with MemoryLog(store=store) as log:
        append(log)
        log.commit({})


def _append_mail(log: MemoryLog, settings: Settings, number: int) -> None:
    log.append(settings.topics.observations, encode(Observation(id=f"mail-{number}", raw=_MAIL % number)))


def _append_label(log: MemoryLog, settings: Settings, number: int) -> None:
    log.append(settings.topics.labels, encode(Label(id=f"mail-{number}", label="ham")))


if __name__ == "__main__":
    run(Console())
