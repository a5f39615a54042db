"""MemoryStore: records and positions that outlive a reader, as the file or the broker of other logs."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from threading import Condition
from typing import Final, NamedTuple
from uuid import uuid4

from stream_bayes.eventlog import validation
from stream_bayes.eventlog.base import Headers
from stream_bayes.records import Offsets, Partition, Record


class Sentinel(Enum):
    """An event between records that happens once, to the first reader that reaches it."""

    ABORT = "abort"
    """A crash: the poll that reaches it raises `Aborted`, and the log is closed with nothing more written."""
    EOF = "eof"
    """End of the stream: the log that reaches it polls nothing more, and `ended` is true."""


ABORT: Final = Sentinel.ABORT
EOF: Final = Sentinel.EOF


class Aborted(BaseException):
    """A poll has reached ABORT. As with a real crash, no `except Exception` on the way should catch it."""


class Mark(NamedTuple):
    """A sentinel at an offset, which is a gap once the sentinel has happened."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    sentinel: Sentinel


class StagedEntry(NamedTuple):
    """A record or a sentinel that has no offset yet."""

    partition: Partition
    value: bytes | Sentinel
    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]


Entry = Record | Mark


class MemoryStore:
    """Topics and positions that several `MemoryLog`s share, one after the other or at once, also between threads.

    Parameters
    ----------
    partitions
        How many partitions a topic gets when `put` creates it.
    clock
        Seconds since 1970; the times of records never fall, even if it does.
    """

    def __init__(self, partitions: int = 1, clock: Callable[[], float] = time.time) -> None:
        self.identity = uuid4().hex
        """The identity of every log on this store."""
        self._partitions = partitions
        self._clock = clock
        self._latest = 0
        self._turn = 0
        self._entries: dict[Partition, list[Entry]] = {}
        self._ends: dict[Partition, int] = {}
        self.positions: dict[str, dict[Partition, int]] = {}
        """Positions of each group, also in topics that it no longer reads."""
        self.reads: dict[str, tuple[Partition, ...]] = {}
        """What each group reads, in the order in which the topics were named."""
        self.holders: set[str] = set()
        """The groups that a log is open for."""
        self.changed = Condition()
        """Held during every change; waited on by polls."""

    def put(
        self,
        topic: str,
        value: bytes | Sentinel,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = (),
    ) -> None:
        """Write one record, or a sentinel, at once."""
        validation.check_record(b"" if isinstance(value, Sentinel) else value, key, headers)
        with self.changed:
            self.write([self.stage(topic, value, key, partition, headers)])

    def records(self, topic: str, partition: int = 0) -> list[Record]:
        """All records of a partition."""
        with self.changed:
            return [entry for entry in self.entries(Partition(topic, partition), 0) if isinstance(entry, Record)]

    def stage(
        self, topic: str, value: bytes | Sentinel, key: bytes | None, partition: int | None, headers: Headers
    ) -> StagedEntry:
        """Choose the partition of a checked record; an unknown topic is created."""
        count = len(self.ensure_topic(topic, self._partitions))
        if partition is None:
            partition = validation.chosen_partition(key, count, self._turn)
            self._turn += key is None
        elif not 0 <= partition < count:
            raise validation.no_such_partition(topic, partition, count)
        pairs = tuple((name, content) for name, content in headers)
        return StagedEntry(Partition(topic, partition), value, key, pairs)

    def write(self, staged: Iterable[StagedEntry]) -> Offsets:
        """Append all of them with one timestamp; returns the new end offsets."""
        written: dict[Partition, int] = {}
        with self.changed:
            self._latest = max(self._latest, int(1000 * self._clock()))
            for partition, value, key, headers in staged:
                place = (*partition, self._ends[partition], self._latest)
                entry = Mark(*place, value) if isinstance(value, Sentinel) else Record(*place, key, value, headers)
                self._entries[partition].append(entry)
                self._ends[partition] += 1
                written[partition] = self._ends[partition]
            self.changed.notify_all()
        return written

    def ensure_topic(self, topic: str, partitions: int) -> tuple[Partition, ...]:
        """The partitions of a topic, which is created with that many if it is unknown."""
        validation.check_name("topic", topic)
        with self.changed:
            if not self.end_offsets(topic):
                for number in range(partitions):
                    self._entries[Partition(topic, number)] = []
                    self._ends[Partition(topic, number)] = 0
            return tuple(self.end_offsets(topic))

    def end_offsets(self, topic: str) -> Offsets:
        """The offset that the next record will have, of each partition."""
        return {partition: end for partition, end in self._ends.items() if partition.topic == topic}

    def earliest_offsets(self, topic: str) -> Offsets:
        """The first record or sentinel that is still there, of each partition; its end where there is none."""
        ends = self.end_offsets(topic).items()
        return {partition: next((entry.offset for entry in self._entries[partition]), end) for partition, end in ends}

    def entries(self, partition: Partition, offset: int) -> Iterator[Entry]:
        """Records and sentinels from this offset on."""
        known: Sequence[Entry] = self._entries.get(partition, ())
        return (known[place] for place in range(len(known) - self.count(partition, offset), len(known)))

    def count(self, partition: Partition, offset: int) -> int:
        """The number of records and sentinels from this offset on."""
        known: Sequence[Entry] = self._entries.get(partition, ())
        return len(known) - bisect_left(known, offset, key=lambda entry: entry.offset)

    def remove(self, mark: Mark) -> None:
        """Remove a sentinel that has happened."""
        self._entries[Partition(mark.topic, mark.partition)].remove(mark)

    def trim(self, partition: Partition, before: int) -> None:
        """Remove what stands before an offset, as far as every group that reads there has gone."""
        with self.changed:
            needed = [self.positions[group][partition] for group, reads in self.reads.items() if partition in reads]
            if partition in self._entries:
                self._entries[partition] = list(self.entries(partition, min([before, *needed])))
