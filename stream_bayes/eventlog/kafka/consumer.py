"""GroupConsumer: a consumer group member, its assigned partitions, and their records in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from kafka import ConsumerRebalanceListener, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import MemberToRemove

from stream_bayes.errors import LogGap, LogUnavailable
from stream_bayes.eventlog import validation
from stream_bayes.eventlog.kafka.client_workarounds import (
    heartbeat_stopped,
    poll_consumer,
    request_rejoin,
    restart_heartbeat,
)
from stream_bayes.eventlog.kafka.connection import KafkaConnection
from stream_bayes.eventlog.kafka.error_mapping import mapped_errors
from stream_bayes.eventlog.kafka.reader import record_of
from stream_bayes.eventlog.kafka.time_merge import TimeMerge
from stream_bayes.eventlog.kafka.topics import Topics
from stream_bayes.records import Offsets, Partition, Record

_JOIN_SECONDS = 60.0
_COMMITTED_SECONDS = 5.0
_LEAVE_SECONDS = 5.0
_PAUSE_SECONDS = 0.05
_FETCHED_AT_ONCE = 10_000


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Rebalance listener on the client's own thread, which must not call the client: pauses assigned partitions."""

    def __init__(self, member: GroupConsumer) -> None:
        self._member = member

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._member.settled = False

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._member.settled = False

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        for tp in assigned:
            # Without a position the client would look for one, and complain where the group has none yet.
            self._member.consumer.pause(tp)
            self._member.consumer.seek(tp, 0)
        # That of the assignment and no later one: with it the broker refuses a commit for what is another's by now.
        self._member.membership = self._member.consumer.group_metadata()
        self._member.settled = self._member.changed = True


class GroupConsumer:
    """A member of a consumer group.

    Assigned partitions are paused until `seek` sets their positions.

    Parameters
    ----------
    connection, topics
        The cluster and its topics.
    group, name
        The consumer group, and the instance id.
    reads
        The topics.
    """

    def __init__(
        self, connection: KafkaConnection, topics: Topics, group: str, name: str | None, reads: Sequence[str]
    ) -> None:
        self._connection = connection
        self._topics = topics
        self._group = group
        self.settled = False
        """Whether the assignment is known; false during a rebalance."""
        self.changed = False
        """Whether the assignment changed since `take_change`."""
        self.mine: frozenset[Partition] = frozenset()
        """The partitions as of the last `take_change`."""
        self.membership: Any = None
        """The group metadata of the last assignment, which a commit carries."""
        self._new: set[Partition] = set()
        self._silent: Any = None
        self.consumer = connection.group_consumer(group, name)
        self._order = TimeMerge(self.consumer, topics, reads)
        self.consumer.subscribe(topics=list(reads), listener=_Listener(self))
        self._wait_for_metadata(reads)

    @property
    def joined(self) -> bool:
        """Whether the group metadata is still that of the last assignment, as far as the client knows."""
        return self.membership is not None and self.consumer.group_metadata() == self.membership

    def rejoin(self) -> None:
        """Rejoin the group after the broker has rejected this member; the assignment is unknown until then."""
        self.settled = False
        self.changed = True
        request_rejoin(self.consumer)

    @property
    def has_news(self) -> bool:
        """Whether there is a new assignment."""
        return self.changed and self.settled and self.joined

    def fetch(self, seconds: float) -> None:
        """Fetch records, waiting for some if there are none, and take part in group management."""
        # A heartbeat may have found that some are revoked.
        self.consumer.resume(*(self._order.fetched_partitions & self.consumer.assignment()))
        wait = 0 if len(self._order) or self.has_news else int(1000 * seconds)
        with mapped_errors(self._connection.name):
            found = self._polled(wait)
        if not self.settled or self.changed:
            self._order.clear()
            return
        for tp, records in found.items():
            self._order.add(Partition(*tp), [record_of(one) for one in records])

    def take(self, most: int) -> list[Record]:
        """Take at most `most` of the fetched records."""
        return self._order.take(most)

    def pause_while_waiting(self) -> None:
        """Pause where fetched records have to wait for others."""
        if len(self._order):
            time.sleep(_PAUSE_SECONDS / 10.0)

    def take_change(self) -> tuple[frozenset[Partition], frozenset[Partition]]:
        """The assigned and the revoked partitions."""
        before = self.mine
        self.changed = False
        self._order.clear()
        self.mine = frozenset(Partition(*tp) for tp in self.consumer.assignment())
        return self.mine, before

    def join(self) -> None:
        """Wait until the assignment is known."""
        deadline = time.monotonic() + _JOIN_SECONDS
        while not self.settled:
            self.fetch(0.2)
            if time.monotonic() > deadline:
                message = f"{self._connection.name} has not let us into the group for {_JOIN_SECONDS:.0f} s"
                raise LogUnavailable(message)

    def heartbeat(self) -> frozenset[Partition]:
        """Take part in group management without fetching; returns the assigned partitions."""
        self.consumer.pause(*self.consumer.assignment())
        with mapped_errors(self._connection.name):
            self._polled(0)
        return frozenset(Partition(*tp) for tp in self.consumer.assignment()) if self.changed else self.mine

    def committed(self) -> Offsets:
        """The group's positions in the assigned partitions."""
        offsets = {}
        for place in sorted(self.mine):
            with mapped_errors(self._connection.name):
                found = self.consumer.committed(TopicPartition(*place), timeout_ms=int(1000 * _COMMITTED_SECONDS))
            if found is None:
                self._new.add(place)
            else:
                self._new.discard(place)
            offsets[place] = found or 0
        return offsets

    def seek(self, offsets: Offsets) -> None:
        """Set positions; LogGap where the records are gone."""
        begins, ends = (self._limits(offsets, of) for of in (self._topics.earliest_offsets, self._topics.end_offsets))
        for place, offset in offsets.items():
            if offset > ends[place]:
                raise validation.beyond_the_end(place, offset, ends[place])
            if offset < begins[place] and not (offset == 0 and place in self._new):
                raise LogGap(place.topic, place.number, offset, begins[place])
        for place, offset in offsets.items():
            tp = TopicPartition(*place)
            # The next poll reports what was revoked meanwhile.
            if tp in self.consumer.assignment():
                self.consumer.seek(tp, max(offset, begins[place]))
                self._order.start_fetching(place)

    def lag(self) -> Offsets:
        """Consumer lag of each partition."""
        places = dict.fromkeys(self.mine, 0)
        ends = self._limits(places, self._topics.end_offsets)
        return {place: max(ends[place] - self._order.position(place), 0) for place in places}

    def close(self) -> None:
        """Leave the group, so that others get the partitions at once."""
        self._leave()
        self.consumer.close(timeout_ms=int(1000 * _LEAVE_SECONDS))

    def _wait_for_metadata(self, topics: Sequence[str]) -> None:
        """Wait for the metadata of topics: a group leader without it would assign no partitions."""
        deadline = time.monotonic() + _JOIN_SECONDS
        with mapped_errors(self._connection.name):
            while not all(self.consumer.partitions_for_topic(topic) for topic in topics):
                if time.monotonic() > deadline:
                    message = f"{self._connection.name} says nothing of the partitions of {', '.join(topics)}"
                    raise LogUnavailable(message)
                time.sleep(_PAUSE_SECONDS)

    def _leave(self) -> None:
        """Remove this member from the group: the client does so only without an instance id."""
        who = self.consumer.group_metadata()
        if who.group_instance_id is not None and who.member_id:
            gone = MemberToRemove(member_id=who.member_id, group_instance_id=who.group_instance_id)
            with suppress(kafka_errors.KafkaError):
                self._topics.admin.remove_group_members(self._group, [gone])

    def _polled(self, wait: int) -> dict[TopicPartition, list[Any]]:
        try:
            found = poll_consumer(self.consumer, wait, _FETCHED_AT_ONCE)
        except kafka_errors.OffsetOutOfRangeError as problem:
            (tp, offset), *_ = dict(problem.args[0]).items()
            begin = self._topics.earliest_offsets(tp.topic)[Partition(*tp)]
            if offset < begin:
                raise LogGap(tp.topic, tp.partition, offset, begin) from problem
            end = self._topics.end_offsets(tp.topic)[Partition(*tp)]
            raise validation.beyond_the_end(Partition(*tp), offset, end) from problem
        if heartbeat_stopped(self.consumer):
            who = self.consumer.group_metadata()
            if who == self._silent:
                raise kafka_errors.FencedInstanceIdError
            self._silent = who
            restart_heartbeat(self.consumer)
        return found

    def _limits(self, places: Iterable[Partition], offsets_of: Callable[[str], Offsets]) -> dict[Partition, int]:
        found: dict[Partition, int] = {}
        for topic in {place.topic for place in places}:
            found.update(offsets_of(topic))
        return found
