"""A log that several workers share, in memory: partitions come and go, commits are given up, and offsets have gaps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest

from stream_bayes.config import Settings
from stream_bayes.errors import LogRebalanced, LogUnavailable
from stream_bayes.eventlog.memory import MemoryLog, MemoryStore
from stream_bayes.records import Offsets, Partition, Record
from stream_bayes.runtime import Worker
from tests.support.workers import INPUTS, assert_nothing_lost, feed, stream, work

PARTITIONS = 2
"""Of every topic."""


class SharedLog(MemoryLog):
    """One of the logs that read for a group: the partitions that a test gives it, and no others.

    As on a broker, every commit leaves an offset without a record behind what it wrote.
    """

    def __init__(self, store: MemoryStore, group: str | None = None, topics: Sequence[str] = ()) -> None:
        super().__init__(group, topics, PARTITIONS, store)
        self._all = self._reads
        self._given: Collection[int] | None = None
        self.polls = 0
        self.before_poll: Callable[[int], None] = lambda count: None
        """Called with the number of polls before this one."""
        self.given_up = 0
        """Let this number of commits fail by a rebalance."""
        self.away = False
        """The broker does not answer."""

    def give(self, *numbers: int) -> None:
        """From the next poll on these are read here: of those before, each was another's for a moment."""
        self._given = numbers

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Never waits for long."""
        self.before_poll(self.polls)
        self.polls += 1
        self._check_broker()
        if self._given is None:
            return super().poll(max_records, min(timeout, 0.01))
        before = frozenset(self._reads)
        given = self._given
        self._given = None
        self._reads = tuple(place for place in self._all if place.number in given)
        self._next = dict(self.committed())
        assert self.on_change is not None
        self._told = self.on_change
        self.on_change(frozenset(self._reads), before)
        return []

    def commit(self, offsets: Offsets) -> Offsets:
        """With a gap behind every partition that was written to."""
        self._check_broker()
        if self.given_up and offsets:
            self.given_up -= 1
            self.discard()
            self.give(*{place.number for place in self._reads})
            message = "the group has changed"
            raise LogRebalanced(message)
        with self.store.changed:
            written = super().commit(offsets)
            for place in written:
                self.store.ends[place] += 1
        return written

    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        """While the broker answers."""
        self._check_broker()
        return super().read(topic, partition, offset, most)

    def _subscribe(self, group: str, topics: Sequence[str]) -> None:
        self.store.holders.discard(group)
        super()._subscribe(group, topics)

    def _check_broker(self) -> None:
        if self.away:
            message = "the broker does not answer"
            raise LogUnavailable(message)


def records_of(store: MemoryStore, places: Collection[Partition]) -> int:
    """How many records there are in some partitions."""
    return sum(len(store.records(*place)) for place in places)


EACH = 80
"""Observations in each partition."""


def feed_more(store: MemoryStore, first: int) -> None:
    """Inputs for both partitions."""
    for number in (0, 1):
        feed(SharedLog(store), stream(EACH, 1000 * number + first), number)


def log_fields(captured: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    """The figures of each line of a kind."""
    return [vars(record).get("fields", {}) for record in captured.records if record.getMessage() == event]


def check(settings: Settings, store: MemoryStore) -> None:
    """Nothing is lost, and nothing was done twice."""
    for number in (0, 1):
        assert_nothing_lost(settings, SharedLog(store), number, 2)


def read_by_another(settings: Settings, store: MemoryStore, *numbers: int) -> Worker:
    """Another worker reads these partitions to the end."""
    with SharedLog(store, settings.group, INPUTS) as other:
        other.give(*numbers)
        return work(settings, other)
