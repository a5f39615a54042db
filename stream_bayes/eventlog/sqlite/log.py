"""SqliteLog: a log in one SQLite file."""

from __future__ import annotations

import heapq
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path

from stream_bayes.errors import LogConflict
from stream_bayes.eventlog import validation
from stream_bayes.eventlog.base import MAX_RECORD_BYTES, Headers, Log, OnChange
from stream_bayes.eventlog.sqlite import tables
from stream_bayes.eventlog.sqlite.file import GroupLock, LogFile
from stream_bayes.records import Offsets, Partition, Record

_TRIM_BATCH = 1000


class SqliteLog(Log):
    """A log in one file, shared by any number of processes; one of them at a time reads for a group.

    Times never fall within the file, even if the clock does. Offsets have no gaps but those that `trim` leaves at the
    beginning; the space of trimmed records is used again, the file does not shrink. What is staged is held in memory.
    All partitions are gained at the first poll, and none is ever lost. A log belongs to the thread that opened it.
    Beside the file stand, while it is open, two of SQLite's (-wal, -shm; never remove them), and for each group a small
    lock file, which stays.

    Parameters
    ----------
    path
        The file; made if there is none.
    group, topics
        On whose behalf to read, and what; without them the log is for single records and for writing.
    partitions
        How many partitions a topic gets that does not exist yet; topics are made on the first append or subscription.
    wait
        Seconds to wait for a lock of another process before LogLocked.
    clock
        Seconds since 1970.
    record_bytes
        Largest record that is appended: key, value and headers together.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - all but the first have defaults
        self,
        path: str | Path,
        group: str | None = None,
        topics: Sequence[str] = (),
        partitions: int = 1,
        wait: float = 30.0,
        clock: Callable[[], float] = time.time,
        record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        validation.check_subscription(group, topics, partitions)
        self._group = group
        self._topics = tuple(topics)
        self._partitions = partitions
        self._clock = clock
        self._record_bytes = record_bytes
        self._notified: OnChange | None = None
        self._tables: dict[str, list[tables.TablePosition]] = {}
        self._staged: dict[Partition, list[tables.Row]] = {}
        self._turn = 0
        self._lock: GroupLock | None = None
        self._reads: list[tables.TablePosition] = []
        self._committed: dict[Partition, int] = {}
        self._next: dict[Partition, int] = {}
        self._file = LogFile(path, wait)
        if group is not None:
            self._subscribe(group)

    @property
    def identity(self) -> str:
        """The name that the file got when it was made; a copy of the file has it too."""
        return self._file.read_transaction(tables.identity)

    def max_record_bytes(self, topic: str) -> int:
        """The largest record, which is the same for every topic."""
        return self._record_bytes

    def check_exists(self) -> None:
        """Raise an error where the file was removed or replaced."""
        self._file.check_exists()

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """The next records of all partitions, read at one moment and merged by (time, topic, partition, offset)."""
        validation.check_most(max_records)
        if self._group is None:
            raise validation.no_group("poll")
        if self.on_change is not None and self.on_change is not self._notified:
            self._notified = self.on_change
            self.on_change(frozenset(self._committed), frozenset())
            return []
        deadline = time.monotonic() + timeout
        while True:
            version = self._file.version()
            records = self._fetch(max_records)
            if records or not self._file.wait_for_change(version, deadline):
                return records

    def append(
        self, topic: str, value: bytes, key: bytes | None = None, partition: int | None = None, headers: Headers = ()
    ) -> None:
        """Stage a record in memory; its topic exists from now on."""
        self._file.check_open()
        validation.check_record(value, key, headers, self.max_record_bytes(topic))
        places = self._tables.get(topic) or self._ensure_topic(topic, self._partitions)
        if partition is None:
            partition = validation.chosen_partition(key, len(places), self._turn)
            self._turn += key is None
        elif not 0 <= partition < len(places):
            raise validation.no_such_partition(topic, partition, len(places))
        self._staged.setdefault(places[partition].partition, []).append((key, value, tables.pack_headers(headers)))

    def commit(self, offsets: Offsets) -> Offsets:
        """One transaction; LogConflict if the group's positions are not those that this log left there."""
        self._file.check_open()
        validation.check_offsets(offsets, self._committed)
        if not offsets and not self._staged:
            return {}
        written = self._file.write_transaction(lambda connection: self._write(connection, offsets))
        self._committed.update(offsets)
        self._staged = {}
        self._file.bound_wal()
        return written

    def committed(self) -> Offsets:
        """The group's positions as they stand in the file."""
        group = self._group
        if group is None:
            raise validation.no_group("committed")
        return self._file.read_transaction(lambda connection: tables.positions(connection, group))

    def seek(self, offsets: Offsets) -> None:
        """Poll goes on from here; refused after the end of a partition."""
        validation.check_offsets(offsets, self._committed)
        places = self._file.read_transaction(lambda connection: tables.partitions_of(connection, self._topics))
        for partition, offset in offsets.items():
            if offset > places[partition].ending:
                raise validation.beyond_the_end(partition, offset, places[partition].ending)
        self._next.update(offsets)

    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        """At most `most` records from this offset on, fewer where they are large; none of an unknown topic."""
        validation.check_most(most)

        def work(connection: sqlite3.Connection) -> list[Record]:
            starts = [
                (place, offset)
                for place in tables.topic_partitions(connection, topic)
                if place.partition[1] == partition
            ]
            return merge_by_time(connection, starts, most, validation.MAX_POLL_BYTES)[0]

        return self._file.read_transaction(work)

    def earliest_offsets(self, topic: str) -> Offsets:
        """The first offset that is still there, of each partition of a topic."""
        return self._file.read_transaction(
            lambda connection: {
                place.partition: tables.earliest_offset(connection, place)
                for place in tables.topic_partitions(connection, topic)
            }
        )

    def end_offsets(self, topic: str) -> Offsets:
        """The offset that the next record will have, of each partition of a topic."""
        return self._file.read_transaction(
            lambda connection: {place.partition: place.ending for place in tables.topic_partitions(connection, topic)}
        )

    def ensure(self, topic: str, partitions: int) -> None:
        """Make a topic that does not exist."""
        if (count := len(self._tables.get(topic) or self._ensure_topic(topic, partitions))) < partitions:
            raise validation.too_few_partitions(topic, count, partitions)

    def lag(self) -> Offsets:
        """How many records there are from where the next poll goes on."""
        if self._group is None:
            raise validation.no_group("lag")
        places = self._file.read_transaction(lambda connection: tables.partitions_of(connection, self._topics))
        return {partition: max(places[partition].ending - offset, 0) for partition, offset in self._next.items()}

    def discard(self) -> None:
        """Forget what is staged."""
        self._staged = {}

    def trim(self, offsets: Offsets) -> None:
        """Remove what stands before these offsets and no group has to read, a thousand records at a time."""
        topics = {partition.topic for partition in offsets}
        places = self._file.read_transaction(lambda connection: tables.partitions_of(connection, topics))
        for partition in offsets.keys() & places.keys():
            self._trim(places[partition], offsets[partition])

    def close(self) -> None:
        """Discard staged records, close the file, and release the group's lock."""
        self._staged = {}
        self.on_change = self._notified = None
        try:
            self._file.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    def _subscribe(self, group: str) -> None:
        try:
            self._lock = GroupLock(self._file.path, group)
            self._reads = self._file.write_transaction(
                lambda connection: tables.subscribe(connection, group, self._topics, self._partitions)
            )
            self._committed = dict(self.committed())
            self._next = dict(self._committed)
        except BaseException:
            self.close()
            raise

    def _ensure_topic(self, topic: str, partitions: int) -> list[tables.TablePosition]:
        validation.check_name("topic", topic)
        places = self._file.read_transaction(lambda connection: tables.topic_partitions(connection, topic))
        if not places:
            places = self._file.write_transaction(
                lambda connection: tables.ensure_partitions(connection, topic, partitions)
            )
        self._tables[topic] = places
        return places

    def _fetch(self, most: int) -> list[Record]:
        starts = [(place, self._next[place.partition]) for place in self._reads]
        records, reached = self._file.read_transaction(
            lambda connection: merge_by_time(connection, starts, most, validation.MAX_POLL_BYTES)
        )
        self._next.update(reached)
        return records

    def _write(self, connection: sqlite3.Connection, offsets: Offsets) -> Offsets:
        if self._group is not None and tables.positions(connection, self._group) != self._committed:
            message = (
                f"{self._file.path}: another worker has moved the positions of the group {self._group!r}. Nothing was "
                "committed here: stop this one, or give it another group"
            )
            raise LogConflict(message)
        written: dict[Partition, int] = {}
        if self._staged:
            timestamp = tables.commit_time(connection, int(1000 * self._clock()))
            for partition, rows in self._staged.items():
                table = self._tables[partition.topic][partition.number].table
                written[partition] = tables.insert(connection, table, timestamp, rows)
        for place in self._reads:
            position = offsets.get(place.partition, self._committed[place.partition])
            if position != self._committed[place.partition]:
                self._move_position(connection, place, position)
        return written

    def _move_position(self, connection: sqlite3.Connection, place: tables.TablePosition, position: int) -> None:
        assert self._group is not None
        ending = tables.end_offset(connection, place.table)
        if position > ending:
            raise validation.beyond_the_end(place.partition, position, ending)
        tables.set_position(connection, self._group, place.table, position)

    def _trim(self, place: tables.TablePosition, before: int) -> None:
        before = max(0, min(before, place.ending))
        while self._file.write_transaction(
            lambda connection: tables.delete_before(connection, place, before, _TRIM_BATCH)
        ):
            self._file.bound_wal()
            time.sleep(0.001)  # lets other writers in


def merge_by_time(
    connection: sqlite3.Connection, starts: Sequence[tuple[tables.TablePosition, int]], most: int, max_bytes: int
) -> tuple[list[Record], dict[Partition, int]]:
    """The next records by (time, order among `starts`, offset), and how far each partition was read.

    Ends with the record that reaches `max_bytes`. No more than what is returned is held in memory, and one record
    of each partition.
    """
    records: list[Record] = []
    reached: dict[int, int] = {}
    size = 0
    with ExitStack() as stack:
        cursors = [
            stack.enter_context(closing(tables.select(connection, place.table, rank, offset)))
            for rank, (place, offset) in enumerate(starts)
        ]
        for time, rank, offset, key, value, headers in islice(heapq.merge(*cursors), most):
            topic, number = starts[rank][0].partition
            records.append(Record(topic, number, offset, time, key, value, tables.unpack_headers(headers)))
            reached[rank] = offset + 1
            size += len(value) + len(key or b"") + len(headers or b"")
            if size >= max_bytes:
                break
    return records, {starts[rank][0].partition: offset for rank, offset in reached.items()}
