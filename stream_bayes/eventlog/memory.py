"""Log in memory, for tests, with sentinels that crash its reader or end the stream. Also in `stream_bayes.testing`.

A `MemoryStore` holds the records and positions, which outlive a reader as the file or the broker of other logs does.

>>> from stream_bayes.eventlog.memory import ABORT, EOF, Aborted, MemoryLog, MemoryStore
>>> store = MemoryStore()
>>> for value in (b"one", ABORT, b"two", EOF):
...     store.put("mails", value)
>>> log = MemoryLog("readers", ["mails"], store=store)
>>> [record.value for record in log.poll(10, timeout=0)]
[b'one']
>>> try:
...     log.poll(10, timeout=0)
... except Aborted:
...     log = MemoryLog("readers", ["mails"], store=store)
>>> [record.value for record in log.poll(10, timeout=0)]  # nothing was committed, so the first comes again
[b'one', b'two']
>>> log.poll(10, timeout=0), log.ended
([], True)
"""

from __future__ import annotations

import heapq
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice
from operator import attrgetter
from threading import Condition
from typing import Final, NamedTuple
from uuid import uuid4

from stream_bayes.errors import LogConflict, LogError
from stream_bayes.eventlog import validation
from stream_bayes.eventlog.base import MAX_RECORD_BYTES, Headers, Log, OnChange
from stream_bayes.records import Offsets, Partition, Record

__all__ = ["ABORT", "EOF", "Aborted", "MemoryLog", "MemoryStore", "Sentinel"]

_offset_of = attrgetter("offset")
_partition_of = attrgetter("partition")


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
        self._topics: dict[str, tuple[Partition, ...]] = {}
        self._entries: dict[Partition, list[Entry]] = {}
        self.ends: dict[Partition, int] = {}
        """The offset that the next record of each partition will have."""
        self.positions: dict[str, dict[Partition, int]] = {}
        """Positions of each group, also in topics that it no longer reads."""
        self.reads: dict[str, tuple[Partition, ...]] = {}
        """The partitions that each group reads, in the order in which the topics were named."""
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
        return StagedEntry(Partition(topic, partition), value, key, tuple(headers))

    def write(self, staged: Iterable[StagedEntry]) -> Offsets:
        """Append all of them with one timestamp; returns the new end offsets."""
        written: dict[Partition, int] = {}
        with self.changed:
            self._latest = max(self._latest, int(1000 * self._clock()))
            for partition, value, key, headers in staged:
                place = (*partition, self.ends[partition], self._latest)
                entry = Mark(*place, value) if isinstance(value, Sentinel) else Record(*place, key, value, headers)
                self._entries[partition].append(entry)
                self.ends[partition] += 1
                written[partition] = self.ends[partition]
            self.changed.notify_all()
        return written

    def ensure_topic(self, topic: str, partitions: int) -> tuple[Partition, ...]:
        """The partitions of a topic, which is created with that many if it is unknown."""
        with self.changed:
            if topic not in self._topics:
                validation.check_name("topic", topic)
                new = tuple(Partition(topic, number) for number in range(partitions))
                self._entries.update((partition, []) for partition in new)
                self.ends.update(dict.fromkeys(new, 0))
                self._topics[topic] = new
            return self._topics[topic]

    def end_offsets(self, topic: str) -> Offsets:
        """The offset that the next record will have, of each partition."""
        return {partition: self.ends[partition] for partition in self._topics.get(topic, ())}

    def earliest_offsets(self, topic: str) -> Offsets:
        """The first record or sentinel that is still there, of each partition; its end where there is none."""
        earliest: dict[Partition, int] = {}
        for partition in self._topics.get(topic, ()):
            entries = self._entries[partition]
            earliest[partition] = entries[0].offset if entries else self.ends[partition]
        return earliest

    def entries(self, partition: Partition, offset: int) -> Iterator[Entry]:
        """Records and sentinels from this offset on."""
        known: Sequence[Entry] = self._entries.get(partition, ())
        return (known[place] for place in range(len(known) - self.count(partition, offset), len(known)))

    def count(self, partition: Partition, offset: int) -> int:
        """The number of records and sentinels from this offset on."""
        known: Sequence[Entry] = self._entries.get(partition, ())
        return len(known) - bisect_left(known, offset, key=_offset_of)

    def remove(self, mark: Mark) -> None:
        """Remove a sentinel that has happened."""
        self._entries[Partition(mark.topic, mark.partition)].remove(mark)

    def trim(self, partition: Partition, before: int) -> None:
        """Remove what stands before an offset, as far as every group that reads there has gone."""
        with self.changed:
            needed = [self.positions[group][partition] for group, reads in self.reads.items() if partition in reads]
            if partition in self._entries:
                self._entries[partition] = list(self.entries(partition, min([before, *needed])))


class MemoryLog(Log):
    """A log for tests; opening another one on the same store is what a restart is for the logs on disk.

    All partitions are gained at the first poll, and none is ever lost.

    Parameters
    ----------
    group, topics
        On whose behalf to read, and what; without them the log is for single records and for writing.
    partitions
        How many partitions a topic gets that does not exist yet.
    store
        What is read and written; a new one if none is given.
    record_bytes
        How large a record may be: key, value and headers together.
    """

    def __init__(
        self,
        group: str | None = None,
        topics: Sequence[str] = (),
        partitions: int = 1,
        store: MemoryStore | None = None,
        record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        validation.check_subscription(group, topics, partitions)
        self.store = MemoryStore(partitions) if store is None else store
        self._group = group
        self._partitions = partitions
        self._record_bytes = record_bytes
        self._notified: OnChange | None = None
        self._staged: list[StagedEntry] = []
        self._ended = self._closed = False
        self._reads: tuple[Partition, ...] = ()
        self._next: dict[Partition, int] = {}
        if group is not None:
            self._subscribe(group, topics)

    @property
    def ended(self) -> bool:
        """A poll has reached EOF."""
        return self._ended

    @property
    def identity(self) -> str:
        """The identity of the store."""
        return self.store.identity

    def max_record_bytes(self, topic: str) -> int:
        """The largest record, which is the same for all topics."""
        return self._record_bytes

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """The next records; those before a sentinel come first, and the poll after them reaches it."""
        validation.check_most(max_records)
        self._reader("poll")
        if self.on_change is not None and self.on_change is not self._notified:
            self._notified = self.on_change
            self.on_change(frozenset(self._reads), frozenset())
            return []
        deadline = time.monotonic() + timeout
        with self.store.changed:
            while not (records := self._fetch(max_records)) and not self._ended:
                left = deadline - time.monotonic()
                if left <= 0.0:
                    break
                self.store.changed.wait(left)
            return records

    def append(
        self, topic: str, value: bytes, key: bytes | None = None, partition: int | None = None, headers: Headers = ()
    ) -> None:
        """Stage a record; its topic exists from now on."""
        self._check_open()
        validation.check_record(value, key, headers, self.max_record_bytes(topic))
        self.store.ensure_topic(topic, self._partitions)
        self._staged.append(self.store.stage(topic, value, key, partition, headers))

    def commit(self, offsets: Offsets) -> Offsets:
        """Write what is staged and the positions, all under one lock."""
        self._check_open()
        validation.check_offsets(offsets, self._reads)
        with self.store.changed:
            new = Counter(map(_partition_of, self._staged))
            for partition, offset in offsets.items():
                self._check_end(partition, offset, new[partition])
            written = self.store.write(self._staged) if self._staged else {}
            if self._group is not None:
                self.store.positions[self._group].update(offsets)
            self._staged = []
        return written

    def committed(self) -> Offsets:
        """The group's positions."""
        group = self._reader("committed")
        with self.store.changed:
            return {partition: self.store.positions[group][partition] for partition in self._reads}

    def seek(self, offsets: Offsets) -> None:
        """Poll goes on from here; refused after the end of a partition."""
        self._check_open()
        validation.check_offsets(offsets, self._reads)
        for partition, offset in offsets.items():
            self._check_end(partition, offset, 0)
        self._next.update(offsets)

    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        """Return up to the given number of records from this offset on, without sentinels."""
        validation.check_most(most)
        self._check_open()
        with self.store.changed:
            entries = self.store.entries(Partition(topic, partition), offset)
            return list(islice((entry for entry in entries if isinstance(entry, Record)), most))

    def earliest_offsets(self, topic: str) -> Offsets:
        """The first offset that is still there, of each partition of a topic."""
        self._check_open()
        with self.store.changed:
            return self.store.earliest_offsets(topic)

    def end_offsets(self, topic: str) -> Offsets:
        """The offset that the next record will have, of each partition of a topic."""
        self._check_open()
        with self.store.changed:
            return self.store.end_offsets(topic)

    def ensure(self, topic: str, partitions: int) -> None:
        """Make a topic that does not exist."""
        self._check_open()
        if (count := len(self.store.ensure_topic(topic, partitions))) < partitions:
            raise validation.too_few_partitions(topic, count, partitions)

    def lag(self) -> Offsets:
        """How many records there are from where the next poll goes on; sentinels count."""
        self._reader("lag")
        with self.store.changed:
            return {partition: self.store.count(partition, offset) for partition, offset in self._next.items()}

    def discard(self) -> None:
        """Forget what is staged."""
        self._staged = []

    def trim(self, offsets: Offsets) -> None:
        """Remove what stands before these offsets and no group has to read."""
        self._check_open()
        for partition, offset in offsets.items():
            self.store.trim(partition, offset)

    def close(self) -> None:
        """Forget what is staged, and let another log read for the group."""
        self._staged = []
        self.on_change = self._notified = None
        if self._group is not None and not self._closed:
            self.store.holders.discard(self._group)
        self._closed = True

    def _subscribe(self, group: str, topics: Sequence[str]) -> None:
        with self.store.changed:
            if group in self.store.holders:
                self._closed = True
                message = f"another log already reads for the group {group!r}. Close it, or use another group"
                raise LogConflict(message)
            self._reads = tuple(part for topic in topics for part in self.store.ensure_topic(topic, self._partitions))
            self.store.holders.add(group)
            self.store.reads[group] = self._reads
            positions = self.store.positions.setdefault(group, {})
            self._next = {partition: positions.setdefault(partition, 0) for partition in self._reads}

    def _check_open(self) -> None:
        if self._closed:
            message = "this log is closed: open another one on its store"
            raise LogError(message)

    def _reader(self, what: str) -> str:
        self._check_open()
        if self._group is None:
            raise validation.no_group(what)
        return self._group

    def _check_end(self, partition: Partition, offset: int, new: int) -> None:
        end = self.store.ends[partition] + new
        if offset > end:
            raise validation.beyond_the_end(partition, offset, end)

    def _fetch(self, most: int) -> list[Record]:
        records: list[Record] = []
        size = 0
        for entry in self._merged():
            if isinstance(entry, Mark):
                if not records:
                    self._reach_sentinel(entry)
                break
            records.append(entry)
            self._next[Partition(entry.topic, entry.partition)] = entry.offset + 1
            size += len(entry.value) + len(entry.key or b"") + sum(len(content) for _, content in entry.headers)
            if len(records) == most or size >= validation.MAX_POLL_BYTES:
                break
        return records

    def _merged(self) -> Iterator[Entry]:
        if self._ended:
            return iter(())
        rank = {partition: order for order, partition in enumerate(self._reads)}
        streams = [self.store.entries(partition, self._next[partition]) for partition in self._reads]
        return heapq.merge(*streams, key=lambda entry: (entry.timestamp, rank[Partition(entry[0], entry[1])]))

    def _reach_sentinel(self, mark: Mark) -> None:
        self.store.remove(mark)
        if mark.sentinel is ABORT:
            self.close()
            message = f"{mark.topic}[{mark.partition}] has ABORT at offset {mark.offset}"
            raise Aborted(message)
        self._ended = True
