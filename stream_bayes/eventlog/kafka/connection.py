"""Clients of a Kafka cluster: their options, and errors of authentication while they connect."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, errors
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.net.compat import KafkaNetClient

from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogError, LogUnavailable
from stream_bayes.eventlog.base import MAX_RECORD_BYTES
from stream_bayes.eventlog.kafka.client_workarounds import close_connections, create_network_client, stop_network
from stream_bayes.eventlog.kafka.error_mapping import to_log_error
from stream_bayes.eventlog.kafka.security import Refusals, client_options

_BOOTSTRAP_SECONDS = 10.0
_REQUEST_SECONDS = 15.0
_FETCH_BYTES = 4 << 20
# For some milliseconds after a commit the broker is not ready for the next transaction of the same producer. The client
# retries after 100 ms by default, which limits it to 9 transactions a second instead of 100.
_BACKOFF_MILLISECONDS = 5
# A broker that wants a password closes the connection of a client that gives none. One that is shutting down closes it
# too, but hardly this often after it has answered: the message is a hint, and the error retriable.
_DISCONNECTED = re.compile(r"broker_version=\(.*socket disconnected")
_DISCONNECT_LIMIT = 4
_PASSWORD_HINT = (
    "the broker closes the connection at the first request, as one does that needs a password: correct "
    "kafka.security_protocol, or the port"
)


class KafkaConnection:
    """Factory of clients of one cluster.

    Parameters
    ----------
    servers
        Some of its brokers, as host:port.
    settings
        Authentication, encryption and timeouts.
    """

    def __init__(self, servers: Sequence[str], settings: KafkaSettings) -> None:
        self.servers = list(servers)
        self.settings = settings
        self.name = f"kafka://{','.join(servers)}"
        """For messages."""
        self._common: dict[str, Any] = {
            "bootstrap_servers": self.servers,
            "request_timeout_ms": int(1000 * _REQUEST_SECONDS),
            "reconnect_backoff_max_ms": 1000,
            "bootstrap_timeout_ms": int(1000 * _BOOTSTRAP_SECONDS),
            **client_options(settings),
        }

    def admin(self) -> KafkaAdminClient:
        """A client for topics and groups."""
        with connection_errors(self.name) as net:
            return KafkaAdminClient(**self._common, kafka_client=net)

    def reader(self) -> KafkaConsumer:
        """A consumer of single partitions, without a group."""
        return self._consumer(fetch_max_wait_ms=20)

    def group_consumer(self, group: str, instance_id: str | None) -> KafkaConsumer:
        """A consumer in a group; with an instance id it keeps its partitions over a restart within the session."""
        session = int(1000 * self.settings.session_seconds)
        return self._consumer(
            group_id=group,
            group_instance_id=instance_id,
            # The only strategy that gives partition i of all topics to the same member.
            partition_assignment_strategy=(RangePartitionAssignor,),
            # A seek has to wait until the last fetch is answered.
            fetch_max_wait_ms=100,
            session_timeout_ms=session,
            # Also the delay until a member learns of a rebalance.
            heartbeat_interval_ms=min(session // 5, 1000),
        )

    def producer(self, transactional_id: str) -> KafkaProducer:
        """A transactional producer; a later one with the same transactional id fences this one."""
        with connection_errors(self.name) as net:
            return KafkaProducer(
                **self._common,
                kafka_client=net,
                metrics_enabled=False,
                transactional_id=transactional_id,
                transaction_timeout_ms=int(1000 * self.settings.transaction_seconds),
                retry_backoff_ms=_BACKOFF_MILLISECONDS,
                max_block_ms=int(1000 * _REQUEST_SECONDS),
                max_request_size=MAX_RECORD_BYTES + (1 << 20),
                # All of a commit for a partition goes in one batch, and the flush does not wait for `linger_ms`.
                batch_size=1 << 20,
                linger_ms=1000,
                allow_auto_create_topics=False,
            )

    def _consumer(self, **more: Any) -> KafkaConsumer:
        with connection_errors(self.name) as net:
            return KafkaConsumer(
                **self._common,
                kafka_client=net,
                metrics_enabled=False,
                **more,
                isolation_level="read_committed",
                enable_auto_commit=False,
                auto_offset_reset="none",
                allow_auto_create_topics=False,
                max_partition_fetch_bytes=_FETCH_BYTES,
                fetch_max_bytes=4 * _FETCH_BYTES,
                metadata_max_age_ms=30_000,
            )


class _ConnectionAttempt(Refusals):
    """Stops a client at the first refusal: further attempts fail too, and may lock the user out."""

    def __init__(self) -> None:
        super().__init__()
        self._client: KafkaNetClient | None = None
        self._disconnects = 0

    def create_client(self, **options: Any) -> KafkaNetClient:
        """The network client that the Kafka client is to use."""
        self._client = create_network_client(**options)
        return self._client

    def emit(self, record: logging.LogRecord) -> None:
        """Called in the client's own thread, which must not close the client itself."""
        super().emit(record)
        self._disconnects += _DISCONNECTED.search(record.getMessage()) is not None
        if self._disconnects >= _DISCONNECT_LIMIT and not self.reasons:
            self.reasons.append(_PASSWORD_HINT)
        if self.reasons and self._client is not None:
            close_connections(self._client)

    def close_client(self) -> None:
        """Close the network client: a Kafka client that fails to start leaves its thread running."""
        if self._client is not None:
            stop_network(self._client)


@contextmanager
def connection_errors(servers: str) -> Iterator[Callable[..., KafkaNetClient]]:
    """Context in which a client is created, with the yielded factory as its `kafka_client`; maps its errors."""
    with _ConnectionAttempt() as attempt:
        try:
            yield attempt.create_client
        except errors.KafkaError as problem:
            attempt.close_client()
            if attempt.reasons == [_PASSWORD_HINT]:
                message = f"{servers}: {_PASSWORD_HINT}"
                raise LogUnavailable(message) from problem
            if attempt.reasons and problem.retriable:
                message = f"{servers}: {'; '.join(attempt.reasons)}"
                raise LogError(message) from problem
            raise to_log_error(problem, servers) from problem
