"""Kinds of log for the suites that run over each of them: how to open one, as often as a test likes.

What these suites expect holds for a broker too: offsets have gaps, an end may lie behind the last record, a poll finds
what was committed a moment ago only after a while, and a group is joined before anything is committed for it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.memory import MemoryLog, MemoryStore
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.records import Offsets, Partition, Record

PATIENCE = 300.0
"""Seconds until something that is expected must be there."""
_LOOK_EVERY = 0.1


class Logs(ABC):
    """One place where records are kept, and any number of logs opened on it."""

    def __init__(self) -> None:
        self._opened: list[Log] = []

    def topic(self, name: str) -> str:
        """A topic of this name that no other test writes to."""
        return name

    def group(self, name: str) -> str:
        """A group of this name that no other test reads for."""
        return name

    def open(self, group: str | None = None, topics: Sequence[str] = (), partitions: int = 1) -> Log:
        """Another log on the same place."""
        log = self._make(group=group, topics=topics, partitions=partitions)
        self._opened.append(log)
        return log

    def reader(self, *topics: str, group: str = "readers", partitions: int = 1) -> Log:
        """A log for a group that knows which partitions it reads."""
        log = self.open(self.group(group), topics, partitions)
        wait_for_assignment(log)
        return log

    def close(self) -> None:
        """Close all that were opened."""
        for log in self._opened:
            log.close()

    @abstractmethod
    def _make(self, **arguments: Any) -> Log:
        pass


class MemoryLogs(Logs):
    """Logs on one store in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()

    def _make(self, **arguments: Any) -> Log:
        return MemoryLog(store=self.store, **arguments)


class SqliteLogs(Logs):
    """Logs on one file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def _make(self, **arguments: Any) -> Log:
        return SqliteLog(self.path, **arguments)


LOCAL = "memory", "sqlite"


def local_kind(name: str, folder: Path) -> Logs:
    """A kind that needs no broker."""
    return MemoryLogs() if name == "memory" else SqliteLogs(folder / "log.db")


def wait_for_assignment(log: Log) -> frozenset[Partition]:
    """Wait until a log says which partitions it reads, and go on where its group is; nothing is polled meanwhile."""
    known: list[frozenset[Partition]] = []
    log.on_change = lambda gained, _: known.append(gained)
    until = time.monotonic() + PATIENCE
    while not known:
        assert time.monotonic() < until, "the log does not say what it reads"
        assert log.poll(1, _LOOK_EVERY) == []
    log.on_change = None
    log.seek(log.committed())
    return known[-1]


def commit(log: Log, offsets: Offsets | None = None) -> Offsets:
    """Commit, and wait until everybody can read it."""
    written = log.commit(offsets or {})
    for place in written:
        log.wait_for_open_transactions(place)
    return written


def put(log: Log, topic: str, *values: bytes, partition: int | None = 0) -> None:
    """Append and commit."""
    for value in values:
        log.append(topic, value, partition=partition)
    commit(log)


def everything(log: Log, topic: str, partition: int = 0) -> list[Record]:
    """All records of a partition."""
    records: list[Record] = []
    while more := log.read(topic, partition, records[-1].offset + 1 if records else 0, 1000):
        records += more
    return records


def values(records: Sequence[Record]) -> list[bytes]:
    """What the records hold."""
    return [record.value for record in records]


def poll_some(log: Log, most: int) -> list[Record]:
    """The next records, as soon as there are some."""
    return log.poll(most, timeout=PATIENCE)


def poll_all(log: Log, most: int = 100) -> list[Record]:
    """Everything that is there to poll."""
    records: list[Record] = []
    until = time.monotonic() + PATIENCE
    while True:
        more = log.poll(most, timeout=0.0)
        records += more
        # Before a group is joined there is nothing that could be late.
        if not more and (log.ended or ((lag := log.lag()) and not any(lag.values()))):
            return records
        assert time.monotonic() < until, "what there is to poll does not come"
        if not more:
            records += log.poll(most, timeout=_LOOK_EVERY)


def first(topic: str) -> Partition:
    """Partition 0 of a topic."""
    return Partition(topic, 0)
