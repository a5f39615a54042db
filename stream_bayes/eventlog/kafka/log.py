"""KafkaLog: a log on a Kafka cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kafka import errors as kafka_errors

from stream_bayes.config import KafkaSettings
from stream_bayes.errors import LogError
from stream_bayes.eventlog import validation
from stream_bayes.eventlog.base import Headers, Log, OnChange
from stream_bayes.eventlog.kafka.codecs import check_codecs, missing_codecs
from stream_bayes.eventlog.kafka.connection import KafkaConnection
from stream_bayes.eventlog.kafka.consumer import GroupConsumer
from stream_bayes.eventlog.kafka.error_mapping import to_transaction_error
from stream_bayes.eventlog.kafka.reader import PartitionReader
from stream_bayes.eventlog.kafka.topics import Topics
from stream_bayes.eventlog.kafka.transactions import TransactionTimeout
from stream_bayes.eventlog.kafka.writer import TransactionalWriter, transactional_id
from stream_bayes.records import Offsets, Partition, Record


class KafkaLog(Log):
    """A log on a cluster, read by any number of members of a group, each with partitions of its own.

    What is staged is held in memory until `commit` writes it in one transaction, together with the positions. Offsets
    have gaps: the broker marks the end of each transaction with one. Records carry the broker's time where the topic
    says so (message.timestamp.type=LogAppendTime), as those that are made here do. A key chooses a partition as it does
    for other clients of Kafka. A log belongs to the thread that opened it.

    Parameters
    ----------
    servers
        Some brokers of the cluster, as host:port.
    group, topics
        On whose behalf to read, and what; without them the log is for single records and for writing.
    partitions
        How many partitions a topic gets that does not exist yet; topics are made on the first append or subscription.
    settings
        Security, times, and whether topics may be made.
    instance_id
        The stable name of this member of the group (`group.instance.id`): a worker that restarts under it takes over
        its partitions without a rebalance.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - all but the first have defaults
        self,
        servers: Sequence[str],
        group: str | None = None,
        topics: Sequence[str] = (),
        partitions: int = 1,
        settings: KafkaSettings | None = None,
        instance_id: str | None = None,
    ) -> None:
        validation.check_subscription(group, topics, partitions)
        self._connection = KafkaConnection(servers, settings or KafkaSettings())
        self._topics = Topics(self._connection, partitions)
        self._reader = PartitionReader(self._connection, self._topics)
        name = transactional_id(group, instance_id)
        self._writer = TransactionalWriter(self._connection, self._topics, self._reader, name, group)
        self._member: GroupConsumer | None = None
        self._notified: OnChange | None = None
        self._closed = False
        if group is not None:
            self._subscribe(group, instance_id, topics)

    @property
    def identity(self) -> str:
        """The name that the cluster got when it was made."""
        self._check_open()
        return self._topics.cluster

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """The next records; partitions with the same number are merged by time, as far as they were fetched."""
        validation.check_most(max_records)
        member = self._reading("poll")
        deadline = time.monotonic() + timeout
        while True:
            member.fetch(max(deadline - time.monotonic(), 0.0))
            if member.has_news or (member.settled and self._has_new_callback()):
                self._notify(member)
                if self.on_change is not None:
                    return []
            records = member.take(max_records)
            if records or time.monotonic() >= deadline:
                return records
            member.pause_while_waiting()

    def append(
        self, topic: str, value: bytes, key: bytes | None = None, partition: int | None = None, headers: Headers = ()
    ) -> None:
        """Stage a record in memory; its topic exists from now on."""
        self._check_open()
        self._writer.stage(topic, value, key, partition, headers)

    def commit(self, offsets: Offsets) -> Offsets:
        """One transaction; LogRebalanced where the group has given the partitions to another member meanwhile."""
        self._check_open()
        member = self._member
        validation.check_offsets(offsets, frozenset() if member is None else member.mine)
        if not offsets and not self._writer.staged:
            return {}
        if member is None:
            return self._writer.commit_alone()
        if member.changed or not (member.settled and member.joined):
            problem = kafka_errors.CommitFailedError()
            raise self._aborted(member, problem)
        try:
            return self._writer.commit(offsets, member.membership)
        except (kafka_errors.KafkaError, TransactionTimeout) as problem:
            raise self._aborted(member, problem) from problem

    def committed(self) -> Offsets:
        """The group's positions in the partitions that are this member's; the first time it waits to be given some."""
        member = self._reading("committed")
        self._join(member)
        return member.committed()

    def seek(self, offsets: Offsets) -> None:
        """Poll goes on from here; refused after the end of a partition, LogGap before its beginning."""
        member = self._reading("seek")
        self._join(member)
        validation.check_offsets(offsets, member.mine)
        member.seek(offsets)

    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        """At most `most` records from this offset on, fewer where they are large; none of an unknown topic."""
        validation.check_most(most)
        self._check_open()
        return self._reader.read(Partition(topic, partition), offset, most)

    def earliest_offsets(self, topic: str) -> Offsets:
        """The first offset that is still there, of each partition of a topic."""
        self._check_open()
        return self._topics.earliest_offsets(topic)

    def end_offsets(self, topic: str) -> Offsets:
        """The end of what is committed, of each partition of a topic."""
        self._check_open()
        return self._topics.end_offsets(topic)

    def ensure(self, topic: str, partitions: int) -> None:
        """Make a topic, or make it larger."""
        self._check_open()
        self._topics.ensure(topic, partitions)

    def keeps_all(self, topic: str) -> bool:
        """Whether the topic is not compacted."""
        return not self._topics.settings(topic).compacted

    def has_log_append_time(self, topic: str) -> bool:
        """Whether the topic's message.timestamp.type is LogAppendTime."""
        return not self._topics.settings(topic).sender_times

    def lag(self) -> Offsets:
        """How much there is still to poll, marks of transactions included."""
        return self._reading("lag").lag()

    def wait_for_open_transactions(self, partition: Partition) -> None:
        """Wait until the broker has ended every transaction that is under way in a partition."""
        self._check_open()
        self._writer.wait_for_open_transactions(partition)

    def heartbeat(self) -> frozenset[Partition]:
        """Keep the place in the group; gives the partitions that are still this member's."""
        return self._reading("heartbeat").heartbeat()

    def max_record_bytes(self, topic: str) -> int:
        """The largest record of a topic, from its max.message.bytes."""
        return self._topics.settings(topic).max_record_bytes

    def discard(self) -> None:
        """Forget what is staged."""
        self._writer.staged = []

    def trim(self, offsets: Offsets) -> None:
        """Remove what stands before these offsets and no group with a position has to read."""
        self._check_open()
        mine = frozenset() if self._member is None else self._member.mine
        self._topics.trim(offsets, dict.fromkeys(mine, 0))

    def close(self) -> None:
        """Forget what is staged, leave the group, let go of the connections."""
        if not self._closed:
            self._closed = True
            self.on_change = self._notified = None
            self._writer.close()
            if self._member is not None:
                self._member.close()
            self._reader.close()
            self._topics.close()

    def _subscribe(self, group: str, instance_id: str | None, topics: Sequence[str]) -> None:
        try:
            for topic in topics:
                self._topics.count_or_create(topic)
            if missing := missing_codecs():
                compression_types = {topic: self._topics.settings(topic).compression_type for topic in topics}
                check_codecs(compression_types, missing, self._connection.name)
            self._writer.prepare()
            self._member = GroupConsumer(self._connection, self._topics, group, instance_id, topics)
        except BaseException:
            self.close()
            raise

    def _join(self, member: GroupConsumer) -> None:
        """Join the group at the first call of a reader that has no rebalance callback."""
        if self.on_change is None and (member.changed or not member.settled):
            member.join()
            self._notify(member)

    def _has_new_callback(self) -> bool:
        """Whether there is a rebalance callback that was not called yet; compared by identity, as methods are equal."""
        return self.on_change is not None and self.on_change is not self._notified

    def _notify(self, member: GroupConsumer) -> None:
        # What was begun before must not be committed when the new owner, be it ourselves, has read the positions.
        self._writer.prepare()
        gained, lost = member.take_change()
        if self.on_change is None:
            try:
                member.seek(member.committed())
            except BaseException:
                member.changed = True
                raise
        else:
            # A callback that was never called has no partitions to lose.
            self.on_change(gained, lost if self._notified is self.on_change else frozenset())
        self._notified = self.on_change

    def _aborted(self, member: GroupConsumer, problem: Exception) -> LogError:
        """The error of an aborted transaction; the next poll reports all partitions as assigned again."""
        self._writer.staged = []
        member.changed = True
        # Fenced by a later join of its own client, not by another worker.
        displaced = isinstance(problem, kafka_errors.FencedInstanceIdError) and not member.joined
        if displaced or isinstance(problem, kafka_errors.CommitFailedError):
            problem = kafka_errors.CommitFailedError()
            member.rejoin()
        return to_transaction_error(problem, self._connection.name)

    def _check_open(self) -> None:
        if self._closed:
            message = "this log is closed: open another one"
            raise LogError(message)

    def _reading(self, what: str) -> GroupConsumer:
        self._check_open()
        if self._member is None:
            raise validation.no_group(what)
        return self._member
