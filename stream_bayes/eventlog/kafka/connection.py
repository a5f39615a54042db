"""Clients of one cluster: how each is set up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.coordinator.assignors.range import RangePartitionAssignor

from stream_bayes.config import KafkaSettings
from stream_bayes.eventlog.base import MAX_RECORD_BYTES
from stream_bayes.eventlog.kafka.connecting import connecting
from stream_bayes.eventlog.kafka.security import client_options

_BOOTSTRAP_SECONDS = 10.0
_REQUEST_SECONDS = 15.0
_FETCH_BYTES = 4 << 20
# After a commit the broker is for some milliseconds not ready for the next transaction of the same producer. With the
# client's default it would be asked again after 100 ms, which made 9 transactions a second of what can be 100.
_BACKOFF_MILLISECONDS = 5


class KafkaConnection:
    """How to reach a cluster, and clients that do.

    Parameters
    ----------
    servers
        Some of its brokers, as host:port.
    settings
        Who we are, and how the connection is secured.
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
        """For topics and groups."""
        with connecting(self.name) as net:
            return KafkaAdminClient(**self._common, kafka_client=net)

    def reader(self) -> KafkaConsumer:
        """For single partitions, on nobody's behalf."""
        return self._consumer(fetch_max_wait_ms=20)

    def member(self, group: str, name: str | None) -> KafkaConsumer:
        """A member of a group; one with a name keeps its partitions when it comes back within the session's time."""
        session = int(1000 * self.settings.session_seconds)
        return self._consumer(
            group_id=group,
            group_instance_id=name,
            # The only one that leaves partition i of all topics with one member.
            partition_assignment_strategy=(RangePartitionAssignor,),
            # A seek has to wait until the last fetch is answered.
            fetch_max_wait_ms=100,
            session_timeout_ms=session,
            # Also how soon a member learns that partitions are to be shared out anew.
            heartbeat_interval_ms=min(session // 5, 1000),
        )

    def producer(self, name: str) -> KafkaProducer:
        """For transactions; whoever comes later with the same name ends those of this one."""
        with connecting(self.name) as net:
            return KafkaProducer(
                **self._common,
                kafka_client=net,
                metrics_enabled=False,
                transactional_id=name,
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
        with connecting(self.name) as net:
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
