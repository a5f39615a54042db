"""OpenTransactions: transactions that are open in partitions, and hanging ones, which the broker has forgotten to end.

A broker of Kafka 4 that was killed may lose the end markers of a transaction when it starts again (KAFKA-20734). Its
coordinator finds the partitions without a leader, takes them for deleted, and counts the transaction as complete. The
partitions never hear of the end. No timeout applies to such a *hanging transaction*: readers of committed records wait
for ever, and the next transaction of the same producer in the partition would decide over the records of both.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import TransactionState

from stream_bayes.errors import LogUnavailable
from stream_bayes.eventlog.kafka.connection import KafkaConnection
from stream_bayes.eventlog.kafka.error_mapping import mapped_errors
from stream_bayes.eventlog.kafka.topics import Topics
from stream_bayes.records import Partition

WRITER_NAME = re.compile(r"writer\.[0-9a-f]{32}")
"""The transactional ids of logs without a group, which are used once."""
_OPEN_SECONDS = 5.0
_SETTLE_SECONDS = 5.0
_PAUSE_SECONDS = 0.05
# An assumption: the clocks of two brokers differ by less than this. It is made only for the own transactional id, whose
# next transaction begins after this one was checked.
_CLOCK_MILLISECONDS = 1000
_NOT_READY = (
    kafka_errors.CoordinatorNotAvailableError,
    kafka_errors.CoordinatorLoadInProgressError,
    kafka_errors.NotCoordinatorError,
)
# Brokers before 3.0 describe neither transactions nor producers: nothing is found there.
_UNSUPPORTED = (kafka_errors.UnsupportedVersionError, kafka_errors.IncompatibleBrokerVersion)
_COMMITTED = {TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT}
_UNKNOWN = {TransactionState.EMPTY, TransactionState.DEAD}
_COMPLETE = {TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}


class LastTransaction(NamedTuple):
    """The last transaction of a transactional id, as its coordinator describes it."""

    name: str
    """The transactional id."""
    producer_id: int
    producer_epoch: int
    began: int
    """When it began, in milliseconds of the coordinator's clock."""
    is_known: bool
    """Whether the coordinator knows anything of it: not so once a new producer has taken the id."""
    is_complete: bool
    """Whether its end is marked in all partitions, as far as the coordinator knows."""
    is_committed: bool
    """Whether it was committed or is about to be."""
    places: frozenset[Partition]
    """The partitions in which its end is not marked yet, as far as the coordinator knows."""


class HangingTransaction(NamedTuple):
    """A transaction that is open in a partition, and that its coordinator will not end there."""

    place: Partition
    start_offset: int
    """The offset of its first record in the partition."""
    last: LastTransaction | None
    """The last transaction of the same producer; None where no coordinator shows the producer to this user."""
    is_committed: bool | None
    """Whether it was committed; None where that is unknown."""


class OpenTransactions:
    """Finds hanging transactions of Kafka producers.

    Parameters
    ----------
    connection, topics
        The cluster and its topics.
    """

    def __init__(self, connection: KafkaConnection, topics: Topics) -> None:
        self._connection = connection
        self._topics = topics

    def wait_for_end(self, place: Partition) -> bool:
        """Wait some seconds for the end of every transaction that is open in a partition; whether all have ended."""
        deadline = time.monotonic() + _OPEN_SECONDS
        written = self._topics.end_offsets(place.topic, committed=False).get(place, 0)
        while self._topics.end_offsets(place.topic).get(place, written) < written:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        return True

    def wait_for_producer(self, producer_id: int, places: Iterable[Partition]) -> None:
        """Wait until a producer has no open transaction in these partitions; LogUnavailable if that takes long."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        left = set(places)
        while left := {place for place in left if self._of_producer(place, producer_id)}:
            if time.monotonic() > deadline:
                raise self.open_error(min(left))
            time.sleep(_PAUSE_SECONDS)

    def describe_last(self, name: str) -> LastTransaction | None:
        """The last transaction of a transactional id; None where there was none, or the broker is older than 3.0."""
        unknown = (kafka_errors.TransactionalIdNotFoundError, *_UNSUPPORTED)
        with mapped_errors(self._connection.name), suppress(*unknown):
            found = self._described(name)
            places = frozenset(Partition(*tp) for tp in found.topic_partitions if not tp.topic.startswith("__"))
            return LastTransaction(
                name=name,
                producer_id=found.producer_id,
                producer_epoch=found.producer_epoch,
                began=found.transaction_start_time_ms,
                is_known=found.state not in _UNKNOWN,
                is_complete=found.state in _COMPLETE,
                is_committed=found.state in _COMMITTED,
                places=places,
            )
        return None

    def find_hanging_by_producer(self, last: LastTransaction, *, is_own: bool = False) -> list[HangingTransaction]:
        """The hanging transactions of a producer, in all topics that may be read; `last` was queried before."""
        return [
            self._hanging(place, one, last, is_own=is_own)
            for place in sorted(self._topics.open_partitions() - last.places)
            for one in self._of_producer(place, last.producer_id)
        ]

    def find_hanging_in(self, place: Partition) -> list[HangingTransaction]:
        """The hanging transactions in a partition, and the open ones of producers that this user may not see."""
        found = []
        for one in self._producers(place):
            last = self._last_of(one.producer_id)
            if last is None or place not in last.places:
                found.append((one, last))
        # What has ended meanwhile was not hanging.
        still = {(one.producer_id, one.current_transaction_start_offset) for one in self._producers(place)}
        return [
            self._hanging(place, one, last, is_own=False)
            for one, last in found
            if (one.producer_id, one.current_transaction_start_offset) in still
        ]

    def open_error(self, place: Partition, *, is_visible: bool = True) -> LogUnavailable:
        """The error of a transaction that goes on for long; `is_visible`: this user may see its producer."""
        message = (
            f"{self._connection.name}: a transaction in {place.topic}-{place.number} does not end. Its producer has to "
            "end it, or the broker does after the producer's transaction timeout"
        )
        if not is_visible:
            servers = ",".join(self._connection.servers)
            message += (
                ". This user may not see the producer. If the transaction lasts longer than the broker's "
                "transaction.max.timeout.ms, an operator finds it with: kafka-transactions.sh --bootstrap-server "
                f"{servers} find-hanging --topic {place.topic} --partition {place.number}"
            )
        return LogUnavailable(message)

    def hanging_error(self, hanging: HangingTransaction) -> LogUnavailable:
        """The error of a hanging transaction that an operator has to end."""
        place = hanging.place
        if hanging.last is None:
            return self.open_error(place, is_visible=False)
        message = (
            f"{self._connection.name}: a transaction in {place.topic}-{place.number} does not end: the broker has "
            f"forgotten to mark the end of one of the transactional id {hanging.last.name}. "
            f"{self._remedy(hanging, hanging.last.name)}"
        )
        return LogUnavailable(message)

    def _remedy(self, hanging: HangingTransaction, name: str) -> str:
        """The instruction to an operator about a hanging transaction of this transactional id."""
        place = hanging.place
        if hanging.is_committed and WRITER_NAME.fullmatch(name):
            instance_id = name.removeprefix("writer.")
            return (
                "It was committed, so do not abort it. No program returns with this id. Stop the program that wrote "
                "it, if it still runs, and end the transaction in Python: from stream_bayes.eventlog.kafka import "
                f"KafkaLog; KafkaLog({self._connection.servers!r}, 'writer', ['{place.topic}'], "
                f"instance_id='{instance_id}').close()"
            )
        if hanging.is_committed:
            return (
                "It was committed, so do not abort it. Start the worker that has this id (its kafka.instance_id is "
                "the part after the group and the dot): it ends the transaction"
            )
        servers = ",".join(self._connection.servers)
        command = (
            f"kafka-transactions.sh --bootstrap-server {servers} abort --topic {place.topic} "
            f"--partition {place.number} --start-offset {hanging.start_offset}"
        )
        if hanging.is_committed is None:
            return (
                "It is not known whether it was committed. Compare its records with those of the other topics; an "
                f"operator aborts it with: {command}"
            )
        return f"It was aborted. An operator has to end it with: {command}"

    def _hanging(
        self, place: Partition, producer: Any, last: LastTransaction | None, *, is_own: bool
    ) -> HangingTransaction:
        return HangingTransaction(
            place=place,
            start_offset=producer.current_transaction_start_offset,
            last=last,
            is_committed=self._is_committed(place, producer, last, is_own=is_own),
        )

    def _is_committed(
        self, place: Partition, producer: Any, last: LastTransaction | None, *, is_own: bool
    ) -> bool | None:
        """Whether a hanging transaction was committed; None unless it is certain to be the last one of its producer.

        Its records are as old as the last transaction or younger, by the clock of the brokers. A timeout raises the
        epoch of the producer by one.
        """
        if last is None or not last.is_complete or self._topics.settings(place.topic).sender_times:
            return None
        slack = _CLOCK_MILLISECONDS if is_own else 0
        if producer.last_timestamp < last.began - slack:
            return None
        raised = last.producer_epoch - producer.producer_epoch
        if last.is_committed:
            return True if raised == 0 else None
        return False if raised in {0, 1} else None

    def _of_producer(self, place: Partition, producer_id: int) -> list[Any]:
        return [one for one in self._producers(place) if one.producer_id == producer_id]

    def _producers(self, place: Partition) -> list[Any]:
        """The producers with an open transaction in a partition; none where the topic is gone or may not be read."""
        tp = TopicPartition(*place)
        gone = kafka_errors.UnknownTopicOrPartitionError
        refused = (gone, kafka_errors.TopicAuthorizationFailedError, *_UNSUPPORTED)
        with mapped_errors(self._connection.name), suppress(*refused):
            found = self._topics.admin.describe_producers([tp])[tp].active_producers
            return [one for one in found if one.current_transaction_start_offset >= 0]
        return []

    def _last_of(self, producer_id: int) -> LastTransaction | None:
        """The last transaction of a producer, whose transactional id is looked up."""
        with mapped_errors(self._connection.name), suppress(*_UNSUPPORTED):
            listed = self._topics.admin.list_transactions(producer_id_filters=[producer_id])
            for one in (one for listings in listed.values() for one in listings):
                return self.describe_last(one.transactional_id)
        return None

    def _described(self, name: str) -> Any:
        """A broker that has not loaded its coordinator yet needs a moment."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            try:
                return self._topics.admin.describe_transactions([name])[name]
            except _NOT_READY:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE_SECONDS)
