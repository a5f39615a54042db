"""Merge by time: records of several topics in the order of their timestamps, though they are fetched in any order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from kafka import KafkaConsumer, TopicPartition

from stream_bayes.eventlog.kafka.topics import Topics
from stream_bayes.records import Partition, Record

# A record waits at most this long for those of another topic that the broker has; end offsets are queried
# this often.
_WAIT_SECONDS = 30.0
_QUERY_SECONDS = 0.2


class TimeMerge:
    """Fetched records in the order of their times; a record waits for earlier ones that were not fetched yet.

    Parameters
    ----------
    consumer
        The consumer that fetches them.
    topics
        The end offsets of topics.
    reads
        The topics, in the order in which their records come at equal times.
    """

    def __init__(self, consumer: KafkaConsumer, topics: Topics, reads: Sequence[str]) -> None:
        self._consumer = consumer
        self._topics = topics
        self._queue = MergeQueue(reads)
        self._fetched: set[TopicPartition] = set()
        self._wait_until: float | None = None
        self._ends: dict[str, dict[Partition, int]] = {}
        self._query_at = 0.0

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def fetched_partitions(self) -> set[TopicPartition]:
        """The partitions that are fetched."""
        return self._fetched

    def start_fetching(self, place: Partition) -> None:
        """Add a partition that is fetched from now on; records of it that were fetched before are dropped."""
        self._queue.clear(place)
        self._fetched.add(TopicPartition(*place))

    def add(self, place: Partition, records: Sequence[Record]) -> None:
        """Add fetched records of a partition."""
        self._queue.add(place, records)

    def clear(self) -> None:
        """Drop all records and partitions."""
        self._queue.clear()
        self._fetched.clear()
        self._wait_until = None

    def position(self, place: Partition) -> int:
        """The offset of the next record, or after transaction markers; 0 where the partition is not fetched."""
        tp = TopicPartition(*place)
        first = self._queue.first(place)
        if first is not None:
            return first
        return (self._consumer.position(tp, timeout_ms=1000) or 0) if tp in self._fetched else 0

    def take(self, max_records: int) -> list[Record]:
        """Take at most `max_records` of the next records."""
        now = time.monotonic()
        if self._wait_until is None and len(self._queue):
            self._wait_until = now + _WAIT_SECONDS
            self._query_at = now + _QUERY_SECONDS
            self._ends = {}
        waiting = self._wait_until is not None and now < self._wait_until
        records = self._queue.take(max_records, self._has_more if waiting else lambda _: False)
        if records or not len(self._queue):
            self._wait_until = None
        return records

    def _has_more(self, place: Partition) -> bool:
        """Whether a partition has committed records that were not fetched.

        The client knows the high watermark only. Whether records before it are committed is queried when they do not
        come.
        """
        tp = TopicPartition(*place)
        if tp not in self._fetched:
            return False
        written = self._consumer.highwater(tp)
        position = self._consumer.position(tp, timeout_ms=0) or 0
        if written is not None and position >= written:
            return False
        if time.monotonic() >= self._query_at:
            self._ends = {}
            self._query_at = time.monotonic() + _QUERY_SECONDS
        elif not self._ends:
            return True
        if place.topic not in self._ends:
            self._ends[place.topic] = dict(self._topics.end_offsets(place.topic))
        return position < self._ends[place.topic].get(place, 0)


class MergeQueue:
    """Queues of fetched records, one for each partition.

    Partitions with the same number are merged by time: the earlier record comes first, and at equal times that of the
    topic that was named first. Partition numbers take turns.
    """

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = list(topics)
        self._queues: dict[int, dict[str, deque[Record]]] = {}
        self._turn = 0

    def __len__(self) -> int:
        return sum(len(queue) for queues in self._queues.values() for queue in queues.values())

    def add(self, place: Partition, records: Sequence[Record]) -> None:
        """Append records to the queue of a partition."""
        queues = self._queues.setdefault(place.number, {topic: deque() for topic in self._topics})
        queues[place.topic].extend(records)

    def clear(self, place: Partition | None = None) -> None:
        """Drop the records of a partition, or of all."""
        if place is None:
            self._queues.clear()
        elif place.number in self._queues:
            self._queues[place.number][place.topic].clear()

    def first(self, place: Partition) -> int | None:
        """The offset of the next record of a partition, if it is here."""
        queue = self._queues.get(place.number, {}).get(place.topic)
        return queue[0].offset if queue else None

    def take(self, max_records: int, has_more: Callable[[Partition], bool]) -> list[Record]:
        """Take at most `max_records` of the next records.

        A record waits while another partition of its number has more: records that were not fetched may be earlier.
        """
        records: list[Record] = []
        numbers = sorted(self._queues)
        if not numbers:
            return records
        self._turn = (self._turn + 1) % len(numbers)
        share = max(max_records // len(numbers), 1)
        for share_now in (share, max_records):
            for number in numbers[self._turn :] + numbers[: self._turn]:
                self._take(number, records, min(len(records) + share_now, max_records), has_more)
        return records

    def _take(
        self, number: int, records: list[Record], max_records: int, has_more: Callable[[Partition], bool]
    ) -> None:
        queues = self._queues[number]
        while len(records) < max_records:
            filled = [queue for queue in queues.values() if queue]
            empty = [topic for topic, queue in queues.items() if not queue]
            if not filled or any(has_more(Partition(topic, number)) for topic in empty):
                return
            if len(filled) == 1:
                (queue,) = filled
                records.extend(queue.popleft() for _ in range(min(max_records - len(records), len(queue))))
            else:
                _merge(filled, records, max_records)


def _merge(queues: list[deque[Record]], records: list[Record], max_records: int) -> None:
    """Merge until one queue is empty: only then the others may have to wait."""
    while len(records) < max_records:
        earliest = min(queues, key=lambda queue: queue[0].timestamp)
        records.append(earliest.popleft())
        if not earliest:
            return
