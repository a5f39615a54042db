"""Polls of the client (3.0.12), around some of its faults, with which a reader would wait or work for ever."""

from __future__ import annotations

import ssl
from functools import partial
from typing import Any

from kafka import KafkaConsumer, TopicPartition, errors
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaTCPTransport


class _Answered:
    """An attempt to join that is under way until the client has taken note of the answer."""

    def __init__(self, attempt: Any) -> None:
        self._attempt = attempt
        self.add_callback = attempt.add_callback
        self.add_errback = attempt.add_errback

    @property
    def is_done(self) -> bool:
        """Only one that failed is to be made anew."""
        return bool(self._attempt.failed())


def polled(consumer: KafkaConsumer, milliseconds: int, most: int) -> dict[TopicPartition, list[Any]]:
    """What the client gives out; its errors come again where it is polled again."""
    _unpark(consumer)
    try:
        found: dict[TopicPartition, list[Any]] = consumer.poll(milliseconds, max_records=most)
    except BaseException:
        # Records that cannot be read: the client would look for more of them without end, or leave them out.
        consumer._fetcher._next_partition_records = None
        raise
    finally:
        _keep_joining(consumer)
    return found


def fell_silent(consumer: KafkaConsumer) -> bool:
    """Whether a member of a group has stopped to say that it is alive.

    It does so when another has its name, without a word; and when it hears late that it was displaced by itself.
    """
    coordinator = consumer._coordinator
    if coordinator._heartbeat_enabled or coordinator._join_task is not None:
        return False
    return bool(coordinator.stable() and not coordinator.need_rejoin())


def speak_again(consumer: KafkaConsumer) -> None:
    """Say again that the member is alive; it falls silent again where another has its name."""
    consumer._coordinator._enable_heartbeat()


def _unpark(consumer: KafkaConsumer) -> None:
    """Let the client look again at what it fetched of partitions that were held.

    Where the last records that it gave out were a fetch to its end, it looks no more, and fetches no more either: the
    partition would be silent for ever.
    """
    fetcher = consumer._fetcher
    if not fetcher._next_partition_records:
        fetcher._next_partition_records = None


def _keep_joining(consumer: KafkaConsumer) -> None:
    """Keep an attempt to join the group, which outlasts a poll.

    When it is answered between two polls the client forgets the answer and begins another one, with which all others
    must join anew: a group whose members poll briefly would never come to rest. Or, where the attempt was made since a
    topic has new partitions, it looks for no answer any more, and would be no member without knowing it.
    """
    coordinator = consumer._coordinator
    attempt = coordinator._join_task
    if attempt is not None:
        coordinator.rejoin_needed = True
    if attempt is not None and not isinstance(attempt, _Answered):
        coordinator._join_task = _Answered(attempt)


# With the client's own 4 KiB a mail takes 3 µs more.
_MAX_BYTES = 256 << 10
_NOTHING_YET = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _Connections(KafkaConnectionManager):  # type: ignore[misc] # the client has no types
    """Connections that hear a broker out."""

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> KafkaTCPTransport:
        transport = await super()._build_transport(node, timeout_at=timeout_at)
        transport._sock_recv = partial(_received, transport)
        return transport


def net_client(**options: Any) -> KafkaNetClient:
    """What a client of the broker is to use for its connections."""
    net = NetworkSelector(**options)
    return KafkaNetClient(net, _Connections(net, **options))


def _received(transport: KafkaTCPTransport) -> tuple[bytes, errors.KafkaError | None]:
    """What has come, or why nothing more will: an end is told again to who asks again."""
    chunks: list[bytes] = []
    while True:
        try:
            chunk = transport._sock.recv(_MAX_BYTES)
        except _NOTHING_YET:
            return b"".join(chunks), None
        except OSError as problem:
            end = errors.KafkaConnectionError(problem)
        else:
            if chunk:
                chunks.append(chunk)
                continue
            end = errors.KafkaConnectionError("socket disconnected")
        return b"".join(chunks), None if chunks else end
