"""TransactionalWriter: records staged in memory, then written exactly once in a transaction."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import Any
from uuid import uuid4

from kafka import errors as kafka_errors
from kafka.partitioner.default import murmur2

from stream_bayes.errors import LogError
from stream_bayes.eventlog import validation
from stream_bayes.eventlog.base import Headers
from stream_bayes.eventlog.kafka.connection import KafkaConnection
from stream_bayes.eventlog.kafka.error_mapping import FENCED, to_log_error, to_unavailable
from stream_bayes.eventlog.kafka.open_transactions import (
    WRITER_NAME,
    HangingTransaction,
    LastTransaction,
    OpenTransactions,
)
from stream_bayes.eventlog.kafka.reader import PartitionReader
from stream_bayes.eventlog.kafka.topics import Topics
from stream_bayes.eventlog.kafka.transactions import StagedRecord, TransactionAttempt, Transactions, TransactionTimeout
from stream_bayes.records import Offsets, Partition

logger = logging.getLogger("stream_bayes.eventlog")
# A broker that was killed meanwhile may have lost the end markers of a commit that took longer than this.
_SLOW_SECONDS = 1.0


def transactional_id(group: str | None, instance_id: str | None) -> str:
    """The transactional id of a log: that of a member of a group returns with it, any other one is used once."""
    return f"{group or 'writer'}.{instance_id or uuid4().hex}"


class TransactionalWriter:
    """Writes the staged records exactly once, also over an outage of the broker."""

    def __init__(
        self, connection: KafkaConnection, topics: Topics, reader: PartitionReader, name: str, group: str | None
    ) -> None:
        self._connection = connection
        self._server = connection.name
        self._topics = topics
        self._reader = reader
        self._name = name
        self._group = group
        self._transactions = Transactions(connection, name)
        self._open = OpenTransactions(connection, topics)
        self._doubtful: TransactionAttempt | None = None
        self._slow: TransactionAttempt | None = None
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

        Where the broker has forgotten to mark the end of the last transaction (see `OpenTransactions`), the end is
        marked again. LogUnavailable where it is unknown what the end was, since a transaction of this producer in the
        same partition would decide over the records of both.
        """
        self._transactions.finish()
        # Queried first: a new producer resets it.
        last = self._open.describe_last(self._name)
        if last is not None:
            self._committed = self._committed or last.is_committed
            self._unended |= last.places | self._hanging_places(last)
        try:
            self._transactions.prepare()
            # Where nothing may be written nothing was.
            with suppress(kafka_errors.TopicAuthorizationFailedError):
                # A hang in the positions of the group alone cannot be seen, and one that was about to end may hang now.
                if self._unended or (last is not None and last.is_known and self._group is not None):
                    self._transactions.end_again(self._still_there(), self._group, committed=self._committed)
        except (kafka_errors.KafkaError, TransactionTimeout) as problem:
            raise self.to_log_error(problem) from problem
        if last is not None:
            # This end may be forgotten as well.
            self._open.wait_for_producer(last.producer_id, self._unended)
        self._unended = set()
        self._committed = False
        self._slow = None

    def wait_for_open_transactions(self, place: Partition) -> None:
        """Wait until every transaction that is under way in a partition has ended; LogUnavailable if that takes long.

        A hanging one is ended here if it was aborted and its producer is a worker of this group or a writer. If it was
        committed, only its own worker ends it: whoever takes over the transactional id aborts what the owner, should it
        be alive, has begun since in the same partition, and the committed records with it.
        """
        if self._open.wait_for_end(place):
            return
        for hanging in self._open.find_hanging_in(place):
            if hanging.last is not None and hanging.last.name == self._name:
                self.prepare()
            else:
                self._end_hanging(hanging)
        if not self._open.wait_for_end(place):
            raise self._open.open_error(place)

    def commit(self, offsets: Offsets, membership: Any) -> Offsets:
        """Write what is staged, and the positions; gives the ends of what was written.

        After LogUnavailable the same again. After an error of the client, or TransactionTimeout, `prepare` is to be
        called.
        """
        self._unended |= {one.place for one in self.staged}
        ends = self._transactions.commit(self.staged, offsets, membership)
        began = self._transactions.last.began
        if began is not None and time.monotonic() - began > _SLOW_SECONDS:
            self._end_slow_commit()
        self.staged = []
        self._unended = set()
        self._committed = False
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

    def _end_slow_commit(self) -> None:
        """Mark the end of a commit again; TransactionTimeout where that fails, and then `prepare` repeats it."""
        # If this fails, the records of this attempt must not be written again.
        self._slow = self._transactions.last
        self._committed = True
        try:
            self._transactions.end_again(self._still_there(), self._group, committed=True)
            producer_id = self._transactions.producer_id
            if producer_id is not None:
                self._open.wait_for_producer(producer_id, self._unended)
        except LogError as problem:
            raise TransactionTimeout from problem
        self._slow = None

    def _undone(self, problem: Exception) -> LogError:
        """The error of a failed commit; its outcome is unknown if it came so far, or if the broker has ended it."""
        self._doubtful = self._slow or self._transactions.last
        self._slow = None
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
            self.wait_for_open_transactions(place)
            found += [record.offset + 1 for record in self._reader.read(place, end - 1, 1)]
        self._doubtful = None
        return ends if ends and found == list(ends.values()) else None

    def _hanging_places(self, last: LastTransaction) -> set[Partition]:
        """The partitions in which the last transaction of this name hangs; LogUnavailable if another one may hang."""
        hanging_transactions = self._open.find_hanging_by_producer(last, is_own=True)
        found = [one for one in hanging_transactions if one.place not in self._unended]
        for hanging in found:
            if hanging.is_committed is None:
                raise self._open.hanging_error(hanging)
        return {hanging.place for hanging in found}

    def _end_hanging(self, hanging: HangingTransaction) -> None:
        """Mark the end of an aborted transaction of another name in all partitions where it hangs."""
        last = hanging.last
        of_group = last is not None and self._is_of_group(last.name)
        if last is None or not (of_group or WRITER_NAME.fullmatch(last.name)):
            raise self._open.hanging_error(hanging)
        everywhere = [hanging, *self._open.find_hanging_by_producer(last)]
        for one in everywhere:
            if one.is_committed is not False:
                raise self._open.hanging_error(one)
        places = {one.place for one in everywhere}
        transactions = Transactions(self._connection, last.name)
        try:
            transactions.prepare()
            transactions.end_again(places, self._group if of_group else None, committed=False)
        except kafka_errors.AuthorizationError as problem:
            raise self._open.hanging_error(hanging) from problem
        except (kafka_errors.KafkaError, TransactionTimeout) as problem:
            raise self.to_log_error(problem) from problem
        finally:
            transactions.close()
        fields = {
            "transactional_id": last.name,
            "partitions": [f"{place.topic}-{place.number}" for place in sorted(places)],
        }
        logger.warning("ended a transaction that the broker had forgotten to end", extra={"fields": fields})

    def _is_of_group(self, name: str) -> bool:
        """Whether a transactional id is that of a member of this group, and of no other group.

        Names of groups and of members may have dots, so the id alone does not tell.
        """
        if self._group is None or not name.startswith(f"{self._group}."):
            return False
        return not any(name.startswith(f"{group}.") for group in self._topics.groups() - {self._group})

    def _still_there(self) -> set[Partition]:
        """A topic may have been deleted since."""
        there = {
            place for topic in {place.topic for place in self._unended} for place in self._topics.end_offsets(topic)
        }
        return self._unended & there


def partition_of(key: bytes, count: int) -> int:
    """The partition of a key among `count`: the one that Java clients of Kafka choose (murmur2)."""
    return int((murmur2(key) & 0x7FFFFFFF) % count)
