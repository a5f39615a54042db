"""Kafka transactions: all records of a commit, with the offsets of the group."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, NamedTuple

from kafka import KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka import errors as kafka_errors

from stream_bayes.errors import LogUnavailable
from stream_bayes.eventlog.kafka import client_workarounds
from stream_bayes.eventlog.kafka.connection import KafkaConnection
from stream_bayes.records import Offsets, Partition

_TIMEOUT_SECONDS = 5.0
_PAUSE_SECONDS = 0.02


class TransactionAttempt:
    """A transaction in progress, or about to begin."""

    def __init__(self) -> None:
        self.began: float | None = None
        """When it began; the broker's transaction timeout runs from then."""
        self.abandoned = False
        """Whether the caller has stopped waiting for it."""
        self.ends: Offsets | None = None
        """End offsets of its records, once all are written and only the end of the transaction is missing."""


class TransactionTimeout(Exception):
    """A transaction took longer than the transaction timeout of the broker.

    Whether it was committed is known after the next `prepare`, which ends it.
    """

    def __init__(self) -> None:
        super().__init__("a transaction was not finished in time")


class StagedRecord(NamedTuple):
    """A record that is to be written."""

    place: Partition
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...]


class Transactions:
    """Transactions of one transactional id, one after the other; a later producer with the same id fences this one.

    The client waits for a broker without limit, and after an outage it may forget what it waits for. So each
    transaction has a thread of its own, and is abandoned once the broker has ended it too.

    Parameters
    ----------
    connection
        The cluster.
    name
        The transactional id.
    """

    def __init__(self, connection: KafkaConnection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._producer: KafkaProducer | None = None
        self.last = TransactionAttempt()
        """The transaction in progress, or the last one."""
        self._running: tuple[TransactionAttempt, Future[Any]] | None = None
        self._lock = Lock()

    @property
    def producer_id(self) -> int | None:
        """The id that the broker has given to the producer; None where there is no producer."""
        producer = self._producer
        return None if producer is None else client_workarounds.producer_id(producer)

    def finish(self) -> None:
        """Wait until the transaction in progress has ended in any way; LogUnavailable if that takes long."""
        if self._running is not None:
            with suppress(kafka_errors.KafkaError, TransactionTimeout):
                self._result(*self._running)

    def prepare(self) -> None:
        """Have whatever was left over under this name ended: committed where that was on its way, else forgotten."""
        if self._producer is None:
            self._wait(self._ready)

    def commit(self, staged: Sequence[StagedRecord], offsets: Offsets, membership: Any) -> Offsets:
        """The ends of what was written.

        LogUnavailable if the broker takes long, and then the same again. After any error of the client nothing was
        written, as far as it knows, and nothing will be after the next `prepare`.
        """
        ends: Offsets = self._wait(lambda attempt: self._write(attempt, staged, offsets, membership))
        return ends

    def end_again(self, places: Iterable[Partition], group: str | None, *, committed: bool) -> None:
        """Have the end of the last transaction marked in these partitions, and where the positions of the group are."""
        tps = {TopicPartition(*place) for place in places}
        self._wait(lambda attempt: self._mark(attempt, tps, group, committed=committed))

    def close(self) -> None:
        """Let go, whatever is under way: the broker ends it."""
        with self._lock:
            self.last.abandoned = True
        self._running = None
        if self._producer is not None:
            self._drop(self._producer)

    def _wait(self, work: Callable[[TransactionAttempt], Any]) -> Any:
        if self._running is None:
            self._running = _started(work)
        return self._result(*self._running)

    def _result(self, attempt: TransactionAttempt, result: Future[Any]) -> Any:
        self.last = attempt
        try:
            found = result.result(_TIMEOUT_SECONDS)
        except TimeoutError as problem:
            most = self._connection.settings.transaction_seconds
            if attempt.began is not None and time.monotonic() > attempt.began + most:
                self.close()
                raise TransactionTimeout from problem
            message = f"{self._connection.name} does not answer: a transaction is not finished after "
            message += f"{_TIMEOUT_SECONDS:.0f} s. Is the broker running?"
            raise LogUnavailable(message) from problem
        except BaseException:
            self._running = None
            raise
        self._running = None
        return found

    def _ready(self, attempt: TransactionAttempt) -> KafkaProducer:
        if self._producer is not None:
            return self._producer
        producer = self._connection.producer(self._name)
        try:
            producer.init_transactions()
            with self._lock:
                if attempt.abandoned:
                    raise TransactionTimeout
                self._producer = producer
        except BaseException:
            self._drop(producer)
            raise
        return producer

    def _write(
        self, attempt: TransactionAttempt, staged: Sequence[StagedRecord], offsets: Offsets, membership: Any
    ) -> Offsets:
        producer = self._ready(attempt)
        attempt.began = time.monotonic()
        _learn_of(producer, {one.place for one in staged})
        try:
            producer.begin_transaction()
            last = _sent(producer, staged)
            if offsets:
                positions = {TopicPartition(*place): OffsetAndMetadata(at, "", -1) for place, at in offsets.items()}
                producer.send_offsets_to_transaction(positions, membership)
            # Without this the client would send what comes next record by record (3.0.12).
            producer.flush()
            ends = attempt.ends = {place: sent.get(timeout=0).offset + 1 for place, sent in last.items()}
            producer.commit_transaction()
        except BaseException:
            self._abort(producer)
            raise
        return ends

    def _mark(
        self, attempt: TransactionAttempt, places: set[TopicPartition], group: str | None, *, committed: bool
    ) -> None:
        """The end of a transaction without records: it is the end of those before it as well."""
        producer = self._ready(attempt)
        attempt.began = time.monotonic()
        try:
            producer.begin_transaction()
            client_workarounds.add_partitions(producer, places)
            if group is not None:
                producer.send_offsets_to_transaction({}, group)
            client_workarounds.wake_sender(producer)
            while not client_workarounds.has_partitions(producer, places):
                if attempt.abandoned:
                    raise TransactionTimeout
                time.sleep(_PAUSE_SECONDS)
            if committed:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
        except BaseException:
            self._abort(producer)
            raise

    def _abort(self, producer: KafkaProducer) -> None:
        """End the transaction, and let go of the producer: after records were refused it counts wrongly (3.0.12)."""
        with suppress(kafka_errors.KafkaError, RuntimeError):
            producer.abort_transaction()
        self._drop(producer)

    def _drop(self, producer: KafkaProducer) -> None:
        """May be called by a thread that was given up, when there is another producer already."""
        client_workarounds.force_close(producer)
        if self._producer is producer:
            self._producer = None


def _learn_of(producer: KafkaProducer, places: set[Partition]) -> None:
    """The client asks once in five minutes what partitions there are, and refuses those that came since."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while unknown := [place for place in places if place.number not in producer.partitions_for(place.topic)]:
        if time.monotonic() > deadline:
            raise kafka_errors.UnknownTopicOrPartitionError(unknown)
        client_workarounds.request_metadata(producer)
        time.sleep(_PAUSE_SECONDS)


def _sent(producer: KafkaProducer, staged: Sequence[StagedRecord]) -> dict[Partition, Any]:
    """The promise of the last record of each partition."""
    places = {one.place: TopicPartition(*one.place) for one in staged}
    client_workarounds.add_partitions(producer, places.values())
    append = client_workarounds.append_record
    return {one.place: append(producer, places[one.place], one.key, one.value, one.headers) for one in staged}


def _started(work: Callable[[TransactionAttempt], Any]) -> tuple[TransactionAttempt, Future[Any]]:
    """Work in a thread that does not keep the process from ending."""
    attempt = TransactionAttempt()
    result: Future[Any] = Future()

    def run() -> None:
        try:
            result.set_result(work(attempt))
        except BaseException as problem:
            result.set_exception(problem)

    Thread(target=run, name="transaction", daemon=True).start()
    return attempt, result
