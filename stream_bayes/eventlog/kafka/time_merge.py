"""In which order records of several topics are given out, when they come in whatever order they are fetched."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from kafka import KafkaConsumer, TopicPartition

from stream_bayes.eventlog.kafka.topics import Topics
from stream_bayes.records import Partition, Record

# A record waits for those of another topic that the broker has, at most so long; the broker is asked this often.
_AWAIT_SECONDS = 30.0
_ASK_SECONDS = 0.2


class TimeMerge:
    """Records that were fetched, and which of them have to wait for others that were not fetched yet.

    Parameters
    ----------
    consumer
        Who fetches them.
    topics
        Who knows what there is.
    reads
        The topics, in the order in which their records come at equal times.
    """

    def __init__(self, consumer: KafkaConsumer, topics: Topics, reads: Sequence[str]) -> None:
        self._consumer = consumer
        self._topics = topics
        self._merger = MergeQueue(reads)
        self._begun: set[TopicPartition] = set()
        self._patient_until: float | None = None
        self._ends: dict[str, dict[Partition, int]] = {}
        self._ask_at = 0.0

    def __len__(self) -> int:
        return len(self._merger)

    @property
    def begun(self) -> set[TopicPartition]:
        """The partitions that are fetched."""
        return self._begun

    def begin(self, place: Partition) -> None:
        """A partition is fetched from now on; what was fetched of it before does not count."""
        self._merger.clear(place)
        self._begun.add(TopicPartition(*place))

    def add(self, place: Partition, records: Sequence[Record]) -> None:
        """These were fetched."""
        self._merger.add(place, records)

    def clear(self) -> None:
        """Forget everything."""
        self._merger.clear()
        self._begun.clear()
        self._patient_until = None

    def position(self, place: Partition) -> int:
        """The offset of the next record, or behind marks of transactions; 0 where nothing is fetched."""
        tp = TopicPartition(*place)
        first = self._merger.first(place)
        if first is not None:
            return first
        return (self._consumer.position(tp, timeout_ms=1000) or 0) if tp in self._begun else 0

    def take(self, most: int) -> list[Record]:
        """At most so many of the next records."""
        now = time.monotonic()
        if self._patient_until is None and len(self._merger):
            self._patient_until = now + _AWAIT_SECONDS
            self._ask_at = now + _ASK_SECONDS
            self._ends = {}
        patient = self._patient_until is not None and now < self._patient_until
        records = self._merger.take(most, self._awaited if patient else lambda _: False)
        if records or not len(self._merger):
            self._patient_until = None
        return records

    def _awaited(self, place: Partition) -> bool:
        """Whether there is more of a partition than was fetched.

        The client knows only of everything written; whether it is committed, too, is asked when it does not come.
        """
        tp = TopicPartition(*place)
        if tp not in self._begun:
            return False
        written = self._consumer.highwater(tp)
        position = self._consumer.position(tp, timeout_ms=0) or 0
        if written is not None and position >= written:
            return False
        if time.monotonic() >= self._ask_at:
            self._ends = {}
            self._ask_at = time.monotonic() + _ASK_SECONDS
        elif not self._ends:
            return True
        if place.topic not in self._ends:
            self._ends[place.topic] = dict(self._topics.end_offsets(place.topic))
        return position < self._ends[place.topic].get(place, 0)


class MergeQueue:
    """Queues of the partitions that are read.

    Those that share a number are merged by time: of two records the earlier comes first, and at equal times that of
    the topic that was named first. Numbers take turns.
    """

    def __init__(self, topics: Sequence[str]) -> None:
        self._topics = list(topics)
        self._queues: dict[int, dict[str, deque[Record]]] = {}
        self._turn = 0

    def __len__(self) -> int:
        return sum(len(queue) for queues in self._queues.values() for queue in queues.values())

    def add(self, place: Partition, records: Sequence[Record]) -> None:
        """These come after those that are there."""
        queues = self._queues.setdefault(place.number, {topic: deque() for topic in self._topics})
        queues[place.topic].extend(records)

    def clear(self, place: Partition | None = None) -> None:
        """Forget what was fetched of a partition, or of all."""
        if place is None:
            self._queues.clear()
        elif place.number in self._queues:
            self._queues[place.number][place.topic].clear()

    def first(self, place: Partition) -> int | None:
        """The offset of the next record of a partition, if it is here."""
        queue = self._queues.get(place.number, {}).get(place.topic)
        return queue[0].offset if queue else None

    def take(self, most: int, awaited: Callable[[Partition], bool]) -> list[Record]:
        """At most so many of the next records.

        A record waits while another partition of its number is awaited: it is known to hold records that are not here
        yet, which may be earlier.
        """
        records: list[Record] = []
        numbers = sorted(self._queues)
        if not numbers:
            return records
        self._turn = (self._turn + 1) % len(numbers)
        share = max(most // len(numbers), 1)
        for share_now in (share, most):
            for number in numbers[self._turn :] + numbers[: self._turn]:
                self._take(number, records, min(len(records) + share_now, most), awaited)
        return records

    def _take(self, number: int, records: list[Record], most: int, awaited: Callable[[Partition], bool]) -> None:
        queues = self._queues[number]
        while len(records) < most:
            filled = [queue for queue in queues.values() if queue]
            empty = [topic for topic, queue in queues.items() if not queue]
            if not filled or any(awaited(Partition(topic, number)) for topic in empty):
                return
            if len(filled) == 1:
                (queue,) = filled
                records.extend(queue.popleft() for _ in range(min(most - len(records), len(queue))))
            else:
                _merge(filled, records, most)


def _merge(queues: list[deque[Record]], records: list[Record], most: int) -> None:
    """Until one queue is empty: only then the others may have to wait."""
    while len(records) < most:
        earliest = min(queues, key=lambda queue: queue[0].timestamp)
        records.append(earliest.popleft())
        if not earliest:
            return
