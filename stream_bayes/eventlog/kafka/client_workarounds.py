"""Private parts of kafka-python 3.0.12: workarounds for its bugs, and what its public methods do not offer.

All uses of private attributes of the client are here. A function states what it is for, or the bug it works around.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition, errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaTCPTransport


class _JoinAttempt:
    """A pending attempt to join a group that counts as pending until the client has read the answer."""

    def __init__(self, attempt: Any) -> None:
        self._attempt = attempt
        self.add_callback = attempt.add_callback
        self.add_errback = attempt.add_errback

    @property
    def is_done(self) -> bool:
        """Only a failed attempt is repeated."""
        return bool(self._attempt.failed())


def poll_consumer(consumer: KafkaConsumer, milliseconds: int, most: int) -> dict[TopicPartition, list[Any]]:
    """Poll the consumer; an error is raised again at the next poll."""
    _resume_parked_fetch(consumer)
    try:
        found: dict[TopicPartition, list[Any]] = consumer.poll(milliseconds, max_records=most)
    except BaseException:
        # After records that cannot be decoded the client would loop for ever, or skip them.
        consumer._fetcher._next_partition_records = None
        raise
    finally:
        _keep_joining(consumer)
    return found


def heartbeat_stopped(consumer: KafkaConsumer) -> bool:
    """Whether a group member has stopped its heartbeat.

    The client stops it silently when another member has the same instance id, and when it learns late that it was
    replaced by itself.
    """
    coordinator = consumer._coordinator
    if coordinator._heartbeat_enabled or coordinator._join_task is not None:
        return False
    return bool(coordinator.stable() and not coordinator.need_rejoin())


def restart_heartbeat(consumer: KafkaConsumer) -> None:
    """Restart the heartbeat of a member; it stops again where another member has the same instance id."""
    consumer._coordinator._enable_heartbeat()


def request_rejoin(consumer: KafkaConsumer) -> None:
    """Let a member rejoin its group at the next poll; by itself it would notice at its next heartbeat."""
    consumer._coordinator.request_rejoin()


def _resume_parked_fetch(consumer: KafkaConsumer) -> None:
    """Make the client look again at what it fetched of paused partitions.

    After a fetch that was given out to its end it neither looks at them nor fetches more: the partition would be silent
    for ever.
    """
    fetcher = consumer._fetcher
    if not fetcher._next_partition_records:
        fetcher._next_partition_records = None


def _keep_joining(consumer: KafkaConsumer) -> None:
    """Keep a pending attempt to join the group until the next poll.

    When the answer comes between two polls, the client drops it and starts another attempt, which makes all members
    rejoin: a group whose members poll briefly would rebalance for ever. Where the attempt was made because a topic has
    new partitions, the client waits for no answer any more, and would be no member without noticing.
    """
    coordinator = consumer._coordinator
    attempt = coordinator._join_task
    if attempt is not None:
        coordinator.rejoin_needed = True
    if attempt is not None and not isinstance(attempt, _JoinAttempt):
        coordinator._join_task = _JoinAttempt(attempt)


# With the client's buffer of 4 KiB a mail takes 3 µs more.
_RECEIVE_BYTES = 256 << 10
_WOULD_BLOCK = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _ConnectionManager(KafkaConnectionManager):  # type: ignore[misc] # the client has no types
    """Connections that read all that a broker sent before they close."""

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> KafkaTCPTransport:
        transport = await super()._build_transport(node, timeout_at=timeout_at)
        transport._sock_recv = partial(_receive, transport)
        return transport


def create_network_client(**options: Any) -> KafkaNetClient:
    """The network client that a Kafka client is to use for its connections."""
    net = NetworkSelector(**options)
    return KafkaNetClient(net, _ConnectionManager(net, **options))


def close_connections(client: KafkaNetClient) -> None:
    """Close all connections of a network client from its own thread, which must not wait for itself."""
    client._manager.call_soon(client._manager.close)


def stop_network(client: KafkaNetClient) -> None:
    """Close a network client and end its thread, which a Kafka client that fails to start leaves running."""
    client.close()
    client._manager._net.stop()


def _receive(transport: KafkaTCPTransport) -> tuple[bytes, errors.KafkaError | None]:
    """The bytes received, or the error that ended the connection; the error comes again at the next call."""
    chunks: list[bytes] = []
    while True:
        try:
            chunk = transport._sock.recv(_RECEIVE_BYTES)
        except _WOULD_BLOCK:
            return b"".join(chunks), None
        except OSError as problem:
            end = errors.KafkaConnectionError(problem)
        else:
            if chunk:
                chunks.append(chunk)
                continue
            end = errors.KafkaConnectionError("socket disconnected")
        return b"".join(chunks), None if chunks else end


def producer_id(producer: KafkaProducer) -> int:
    """The id that the broker has given to a transactional producer."""
    return int(producer._transaction_manager.producer_id_and_epoch.producer_id)


def force_close(producer: KafkaProducer) -> None:
    """Close a producer at once: its `close` alone would wait for what cannot be sent, and leave everything running."""
    producer._sender.force_close()
    with suppress(errors.KafkaError):
        producer.close(timeout=0)


def request_metadata(producer: KafkaProducer) -> None:
    """Let a producer ask for the partitions of its topics, which it does once in five minutes."""
    producer._metadata.request_update()


def add_partitions(producer: KafkaProducer, places: Iterable[TopicPartition]) -> None:
    """Add partitions to the transaction of a producer."""
    for place in places:
        producer._transaction_manager.maybe_add_partition_to_transaction(place)


def wake_sender(producer: KafkaProducer) -> None:
    """Let a producer send what waits."""
    producer._sender.wakeup()


def has_partitions(producer: KafkaProducer, places: Iterable[TopicPartition]) -> bool:
    """Whether the broker has added all of these partitions to the transaction of a producer; raises its error."""
    manager = producer._transaction_manager
    if all(manager.is_partition_added(place) for place in places):
        return True
    if manager.has_error():
        raise manager.last_error or errors.KafkaError("the transaction has failed")
    return False


def append_record(
    producer: KafkaProducer,
    place: TopicPartition,
    key: bytes | None,
    value: bytes,
    headers: Sequence[tuple[str, bytes]],
) -> Any:
    """Append a record to the transaction of a producer; returns the promise of its place.

    As the client's own `send` does it, without what is known here already: 6 µs a record in place of 13. The partition
    must be known to the producer and be one of the transaction.
    """
    promise, is_full, *_ = producer._accumulator.append(place, None, key, value, headers)
    if is_full:
        producer._sender.wakeup()
    return promise
