"""TransactionalWriter: records staged in memory, then written exactly once in a transaction."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kafka import errors as kafka_errors
from kafka.partitioner.default import murmur2

from stream_bayes.errors import LogError
from stream_bayes.eventlog import validation
from stream_bayes.eventlog.base import Headers
from stream_bayes.eventlog.kafka.connection import KafkaConnection
from stream_bayes.eventlog.kafka.error_mapping import FENCED, to_log_error, to_unavailable
from stream_bayes.eventlog.kafka.reader import PartitionReader
from stream_bayes.eventlog.kafka.topics import Topics
from stream_bayes.eventlog.kafka.transactions import StagedRecord, TransactionAttempt, Transactions, TransactionTimeout
from stream_bayes.records import Offsets, Partition


class TransactionalWriter:
    """Writes the staged records exactly once, also over an outage of the broker."""

    def __init__(
        self, connection: KafkaConnection, topics: Topics, reader: PartitionReader, name: str, group: str | None
    ) -> None:
        self._server = connection.name
        self._topics = topics
        self._reader = reader
        self._name = name
        self._group = group
        self._transactions = Transactions(connection, name)
        self._doubtful: TransactionAttempt | None = None
        # Where the last transaction wrote, until it is known to have ended there; and what was decided about it.
        self._unended: set[Partition] = set()
        self._committed = False
        self._turn = 0
        self.staged: list[StagedRecord] = []

    def stage(self, topic: str, value: bytes, key: bytes | None, partition: int | None, headers: Headers) -> None:
        """Stage a record in memory; an unknown topic is created."""
        validation.check_record(value, key, headers)
        count = self._topics.count_or_create(topic)
        validation.check_record(value, key, headers, self._topics.settings(topic).max_record_bytes)
        if partition is None:
            partition = self._turn % count if key is None else partition_of(key, count)
            self._turn += key is None
        elif not 0 <= partition < count and not 0 <= partition < self._topics.count_or_create(topic, refresh=True):
            raise validation.no_such_partition(topic, partition, count)
        pairs = tuple((name, content) for name, content in headers)
        self.staged.append(StagedRecord(Partition(topic, partition), key, value, pairs))

    def prepare(self) -> None:
        """See to it that nothing comes any more of what was begun before, here or by one of the same name.

        A broker that was killed may forget to mark the end of a transaction (4.3.1), which then stays open for ever, or
        until the next one under the same name is committed, and all of it with that one. So the end is marked again.
        """
        self._transactions.finish()
        # Queried first: a new producer resets it.
        committed, places = self._topics.last_transaction(self._name)
        self._committed = self._committed or committed
        self._unended |= places
        try:
            self._transactions.prepare()
            # Where nothing may be written nothing was.
            with suppress(kafka_errors.TopicAuthorizationFailedError):
                if self._unended:
                    self._transactions.end_again(self._still_there(), self._group, committed=self._committed)
        except (kafka_errors.KafkaError, TransactionTimeout) as problem:
            raise self.to_log_error(problem) from problem
        self._unended = set()
        self._committed = False

    def commit(self, offsets: Offsets, membership: Any) -> Offsets:
        """Write what is staged, and the positions; gives the ends of what was written.

        After LogUnavailable the same again. After an error of the client, or Abandoned, `prepare` is to be called.
        """
        self._unended |= {one.place for one in self.staged}
        ends = self._transactions.commit(self.staged, offsets, membership)
        self.staged = []
        self._unended = set()
        return ends

    def commit_alone(self) -> Offsets:
        """Write what is staged, without a group: after any error that is retriable everything is still staged."""
        if self._doubtful is not None:
            self.prepare()
        ends = self._resolved()
        if ends is None:
            try:
                return self.commit({}, None)
            except (kafka_errors.KafkaError, TransactionTimeout) as problem:
                raise self._undone(problem) from problem
        self.staged = []
        return ends

    def to_log_error(self, problem: Exception) -> LogError:
        """The error of a log for an error of the client."""
        convert = to_unavailable if isinstance(problem, (TransactionTimeout, *FENCED)) else to_log_error
        return convert(problem, self._server)

    def close(self) -> None:
        """Forget what is staged."""
        self.staged = []
        self._transactions.close()

    def _undone(self, problem: Exception) -> LogError:
        """What to say where a commit has failed; it is doubtful where it came so far, or the broker has ended it."""
        self._doubtful = self._transactions.last
        if isinstance(problem, (TransactionTimeout, *FENCED)) or self._doubtful.ends is not None:
            return to_unavailable(problem, self._server)
        return self.to_log_error(problem)

    def _resolved(self) -> Offsets | None:
        """The ends of a transaction that was given up, and turns out to have been committed."""
        if self._doubtful is None:
            return None
        ends = self._doubtful.ends or {}
        found = []
        for place, end in ends.items():
            # That it will be committed is certain before it can be seen.
            self._topics.wait_for_open_transactions(place)
            found += [record.offset + 1 for record in self._reader.read(place, end - 1, 1)]
        self._doubtful = None
        return ends if ends and found == list(ends.values()) else None

    def _still_there(self) -> set[Partition]:
        """A topic may have been deleted since."""
        there = {
            place for topic in {place.topic for place in self._unended} for place in self._topics.end_offsets(topic)
        }
        return self._unended & there


def partition_of(key: bytes, count: int) -> int:
    """The partition of a key among `count`: the one that Java clients of Kafka choose (murmur2)."""
    return int((murmur2(key) & 0x7FFFFFFF) % count)
