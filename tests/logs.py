"""Kinds of log for the suites that run over each of them: how to open one, as often as a test likes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.log.base import Log, OnChange
from stream_bayes.log.memory import MemoryLog, MemoryStore
from stream_bayes.log.sqlite import SqliteLog
from stream_bayes.records import Partition, Record


class Logs(ABC):
    """One place where records are kept, and any number of logs opened on it."""

    def __init__(self) -> None:
        self._opened: list[Log] = []

    def open(
        self,
        group: str | None = None,
        topics: Sequence[str] = (),
        partitions: int = 1,
        on_change: OnChange | None = None,
    ) -> Log:
        """Another log on the same place."""
        log = self._make(group=group, topics=topics, partitions=partitions, on_change=on_change)
        self._opened.append(log)
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


@pytest.fixture(params=["memory", "sqlite"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Logs]:
    """Each kind in turn."""
    kind: Logs = MemoryLogs() if request.param == "memory" else SqliteLogs(tmp_path / "log.db")
    yield kind
    kind.close()


def put(log: Log, topic: str, *values: bytes, partition: int | None = 0) -> None:
    """Append and commit."""
    for value in values:
        log.append(topic, value, partition=partition)
    log.commit({})


def values(records: Sequence[Record]) -> list[bytes]:
    """What the records hold."""
    return [record.value for record in records]


def drained(log: Log, most: int = 100) -> list[Record]:
    """Everything that is there to poll."""
    records: list[Record] = []
    while more := log.poll(most, timeout=0.0):
        records += more
    return records


def first(topic: str) -> Partition:
    """Partition 0 of a topic."""
    return Partition(topic, 0)
