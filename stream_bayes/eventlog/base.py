"""Log: the contract of every event log, on SQLite, on Kafka and in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from stream_bayes.records import Offsets, Partition, Record

Headers = Sequence[tuple[str, bytes]]

MAX_RECORD_BYTES = 64 << 20
"""Key, value and headers of one record together; a broker may take less."""

OnChange = Callable[[frozenset[Partition], frozenset[Partition]], None]
"""Rebalance callback: `poll` calls it with the partitions that were assigned and those that were revoked.

A partition in both may have been changed by another reader in between."""


class Log(ABC):
    """Topics of records in numbered partitions, read on behalf of a group.

    - A record, once committed, has its place (topic, partition, offset) for ever; offsets rise, with or without gaps.
    - Every record carries the time the log gave it, which never falls within a partition.
    - What is appended, and the positions of the group, become visible together at `commit`, or not at all.
    - A reader sees committed records only.
    - Without a group a log is for reading single records and for writing.
    """

    on_change: OnChange | None = None
    """Rebalance callback; set before the first poll by a reader that keeps state for each partition."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Which log this is: the same through every handle, another for every other log."""

    @abstractmethod
    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """The next records of the topics that the group reads, after those polled before; empty after `timeout` s.

        Of the topics that share a partition number, records come in the order of their times, as far as the log can
        tell; at equal times in the order in which the topics were named.

        A poll that finds partitions assigned or revoked (the first one always does) calls `on_change` and returns no
        records.
        The reader forgets what it polled and did not commit, and seeks to where it goes on, in every partition it has.
        """

    @abstractmethod
    def append(
        self, topic: str, value: bytes, key: bytes | None = None, partition: int | None = None, headers: Headers = ()
    ) -> None:
        """Stage a record for the next commit; without a partition the key chooses it."""

    @abstractmethod
    def commit(self, offsets: Offsets) -> Offsets:
        """Write all that is staged, and the group's positions, in one transaction.

        Returns the new end offset of each partition that was written to. If it raises an error that is retriable,
        everything is still staged and it is to be called again with the same offsets. After LogRebalanced nothing was
        written and nothing is staged, and the next poll reports all partitions as assigned again.
        """

    @abstractmethod
    def committed(self) -> Offsets:
        """The group's positions: of every partition that is read here, 0 where none was committed yet.

        Waits for a commit of another reader that is in progress.
        """

    @abstractmethod
    def seek(self, offsets: Offsets) -> None:
        """Poll goes on from here."""

    @abstractmethod
    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        """At most `most` records from this offset on, in order; without moving any position.

        Fewer at the end, and where they are large. Where retention has removed the first ones, what is left starts
        later: look at the offsets.
        """

    @abstractmethod
    def earliest_offsets(self, topic: str) -> Offsets:
        """The first offset that is still there, of each partition of a topic; its end where there is none."""

    @abstractmethod
    def end_offsets(self, topic: str) -> Offsets:
        """The offset that the next record will have, of each partition of a topic; empty for an unknown topic."""

    @abstractmethod
    def ensure(self, topic: str, partitions: int) -> None:
        """Create a topic, or raise an error where it exists with fewer partitions."""

    def keeps_all(self, topic: str) -> bool:
        """Whether records stay until retention removes them, whatever comes after them."""
        return True

    def has_log_append_time(self, topic: str) -> bool:
        """Whether the times of the records are the log's own, and not those of whoever sent them."""
        return True

    @abstractmethod
    def lag(self) -> Offsets:
        """Consumer lag: how many records are still to poll, of each partition that is read here; gaps may count."""

    def wait_for_open_transactions(self, partition: Partition) -> None:  # noqa: B027 - where a commit is one step there is nothing to do
        """Wait until no transaction is open in a partition: then all that is committed there can be read."""

    def check_exists(self) -> None:  # noqa: B027 - a broker that is away says so itself
        """Raise an error where the log no longer exists, as a file that was removed."""

    def heartbeat(self) -> frozenset[Partition]:
        """Send a heartbeat while the reader does not poll; returns the partitions that it still reads."""
        return frozenset(self.committed())

    def max_record_bytes(self, topic: str) -> int:
        """The largest record that this topic takes: key, value and headers together."""
        return MAX_RECORD_BYTES

    @abstractmethod
    def discard(self) -> None:
        """Discard the staged records."""

    @abstractmethod
    def trim(self, offsets: Offsets) -> None:
        """Retention: delete the records before these offsets, but none that a group has still to read."""

    @property
    def ended(self) -> bool:
        """Whether there will never be more to poll; true only of a log for tests, after its EOF."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Discard the staged records and release all resources; a closed log may be closed again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_READ_BATCH = 200


def records_from(log: Log, place: Partition, position: int = 0) -> Iterator[Record]:
    """The records of a partition from an offset to its end as it is now; none of one that does not exist.

    Records that retention has removed are left out.
    """
    end = log.end_offsets(place.topic).get(place, 0)
    while position < end:
        records = log.read(*place, position, _READ_BATCH)
        if not records:
            return
        yield from (record for record in records if record.offset < end)
        position = records[-1].offset + 1
