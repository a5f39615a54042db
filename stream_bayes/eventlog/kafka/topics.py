"""Topics of a cluster: their partitions, earliest and end offsets, settings, and their creation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic, OffsetSpec

from stream_bayes.errors import LogError
from stream_bayes.eventlog import validation
from stream_bayes.eventlog.base import MAX_RECORD_BYTES
from stream_bayes.eventlog.kafka.connection import KafkaConnection
from stream_bayes.eventlog.kafka.error_mapping import mapped_errors
from stream_bayes.records import Offsets, Partition

# Of topics that are made here. Nothing is removed unless retention.days says so; times are the broker's; and a dead
# letter holds a record of a megabyte as text.
DEFAULTS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.type": "LogAppendTime",
    "max.message.bytes": str(4 << 20),
}
"""Settings of topics that are made here; everything else is as the broker has it."""
# What the broker adds to a record of its own before it compares sizes.
_OVERHEAD_BYTES = 4096
_READY_MILLISECONDS = 20_000
_ATTEMPTS = 5


class TopicLimits(NamedTuple):
    """Settings of a topic: record size, retention, timestamps."""

    compacted: bool
    sender_times: bool
    """Whether records carry the time of whoever sent them."""
    max_record_bytes: int
    compression_type: str
    """The codec in which the broker keeps its records; "producer": each as its producer has compressed it."""


class Topics:
    """Queries about topics; only the partition counts of topics that are written are cached."""

    def __init__(self, connection: KafkaConnection, partitions: int) -> None:
        self._connection = connection
        self._partitions = partitions
        self._counts: dict[str, int] = {}
        self._settings: dict[str, TopicLimits] = {}

    @cached_property
    def admin(self) -> KafkaAdminClient:
        """The admin client."""
        return self._connection.admin()

    @cached_property
    def cluster(self) -> str:
        """The name that the cluster got when it was made."""
        with mapped_errors(self._connection.name):
            return str(self.admin.describe_cluster()["cluster_id"])

    def count(self, topic: str) -> int:
        """How many partitions a topic has now; 0 of one that does not exist."""
        if not validation.is_name(topic):
            return 0
        with mapped_errors(self._connection.name):
            (found,) = self.admin.describe_topics([topic])
        code = found["error_code"]
        if code not in {0, kafka_errors.UnknownTopicOrPartitionError.errno}:
            with mapped_errors(self._connection.name):
                raise kafka_errors.for_code(code)(topic)
        return len(found["partitions"])

    def count_or_create(self, topic: str, *, refresh: bool = False) -> int:
        """The number of partitions of a topic, cached unless `refresh`; a topic that does not exist is created."""
        if refresh or topic not in self._counts:
            validation.check_name("topic", topic)
            count = self.count(topic)
            if not count:
                self._make(topic, self._partitions)
                count = self.count(topic)
            self._counts[topic] = count
        return self._counts[topic]

    def ensure(self, topic: str, partitions: int) -> None:
        """Create a topic with this number of partitions, or add those that it lacks."""
        validation.check_name("topic", topic)
        count = self.count(topic)
        if not count:
            self._make(topic, partitions)
        elif count < partitions:
            if not self._connection.settings.create_topics:
                raise validation.too_few_partitions(topic, count, partitions)
            with mapped_errors(self._connection.name), suppress(kafka_errors.InvalidPartitionsError):
                self.admin.create_partitions({topic: partitions})
        self._counts[topic] = max(count, partitions)

    def settings(self, topic: str) -> TopicLimits:
        """The broker's limits for the records of a topic, as of the first query; the defaults for one to be created."""
        if topic not in self._settings:
            if not self.count(topic):
                return _settings_of(DEFAULTS)
            resource = ConfigResource(ConfigResourceType.TOPIC, topic)
            with mapped_errors(self._connection.name):
                found = self.admin.describe_configs([resource], config_filter="all")["topic"][topic]
            self._settings[topic] = _settings_of({name: entry["value"] for name, entry in found.items()})
        return self._settings[topic]

    def end_offsets(self, topic: str, *, committed: bool = True) -> Offsets:
        """The ends of the partitions: of what is committed, or of everything written."""
        return self._offsets(topic, OffsetSpec.LATEST, committed=committed)

    def earliest_offsets(self, topic: str) -> Offsets:
        """The first offsets that are still there."""
        return self._offsets(topic, OffsetSpec.EARLIEST)

    def open_partitions(self) -> set[Partition]:
        """The partitions in which a transaction is open now, of all topics that may be seen but the broker's own."""
        with mapped_errors(self._connection.name):
            for _ in range(_ATTEMPTS):
                # A topic may be deleted meanwhile.
                with suppress(kafka_errors.UnknownTopicOrPartitionError):
                    return self._open_partitions()
            return self._open_partitions()

    def _open_partitions(self) -> set[Partition]:
        wanted = {
            TopicPartition(topic["name"], partition["partition_index"]): OffsetSpec.LATEST
            for topic in self.admin.describe_topics()
            for partition in topic["partitions"]
            # Without a leader the partition cannot be queried.
            if not topic["name"].startswith("__") and partition["leader_id"] >= 0
        }
        if not wanted:
            return set()
        committed = self.admin.list_partition_offsets(wanted, isolation_level="read_committed")
        written = self.admin.list_partition_offsets(wanted, isolation_level="read_uncommitted")
        return {Partition(*tp) for tp in wanted if committed[tp].offset < written[tp].offset}

    def groups(self) -> set[str]:
        """The names of the groups that this user may see."""
        with mapped_errors(self._connection.name):
            return {str(group["group_id"]) for group in self.admin.list_groups()}

    def trim(self, offsets: Offsets, needed: Offsets) -> None:
        """Remove what stands before these offsets and is needed neither here nor by a group that has a position."""
        ends = {
            place: at for topic in {place.topic for place in offsets} for place, at in self.end_offsets(topic).items()
        }
        kept = {**ends, **needed, **self._positions(offsets)}
        wanted = {TopicPartition(*place): min(at, kept[place]) for place, at in offsets.items() if place in ends}
        if wanted:
            with mapped_errors(self._connection.name):
                self.admin.delete_records(wanted)

    def _positions(self, places: Iterable[Partition]) -> dict[Partition, int]:
        """The lowest position that a group has in each of these partitions, where one has a position there."""
        lowest: dict[Partition, int] = {}
        wanted = set(places)
        with mapped_errors(self._connection.name):
            groups = self.groups()
            found = self.admin.list_group_offsets(dict.fromkeys(groups)) if groups else {}
        for positions in found.values():
            for tp, position in positions.items():
                place = Partition(tp.topic, tp.partition)
                if place in wanted and position.offset >= 0:
                    lowest[place] = min(lowest.get(place, position.offset), position.offset)
        return lowest

    def close(self) -> None:
        """Let go of the client."""
        if "admin" in self.__dict__:
            self.admin.close()

    def _offsets(self, topic: str, spec: OffsetSpec, *, committed: bool = True) -> Offsets:
        wanted = {TopicPartition(topic, number): spec for number in range(self.count(topic))}
        if not wanted:
            return {}
        level = "read_committed" if committed else "read_uncommitted"
        with mapped_errors(self._connection.name):
            found = self.admin.list_partition_offsets(wanted, isolation_level=level)
        return {Partition(*place): found[place].offset for place in wanted}

    def _make(self, topic: str, partitions: int) -> None:
        settings = self._connection.settings
        if not settings.create_topics:
            message = (
                f"{self._connection.name} has no topic {topic!r}, and kafka.create_topics forbids to make it: make it, "
                f"with {partitions} partition{'s' * (partitions != 1)} and message.timestamp.type=LogAppendTime"
            )
            raise LogError(message)
        new = NewTopic(topic, partitions, settings.replication_factor or -1, topic_configs=DEFAULTS)
        with mapped_errors(self._connection.name):
            # By another worker, a moment ago.
            with suppress(kafka_errors.TopicAlreadyExistsError):
                self.admin.create_topics([new])
            self.admin.wait_for_topics([topic], timeout_ms=_READY_MILLISECONDS)


def _settings_of(found: Mapping[str, str]) -> TopicLimits:
    return TopicLimits(
        "compact" in found["cleanup.policy"],
        found["message.timestamp.type"] != "LogAppendTime",
        min(int(found["max.message.bytes"]) - _OVERHEAD_BYTES, MAX_RECORD_BYTES),
        found.get("compression.type", "producer"),
    )
