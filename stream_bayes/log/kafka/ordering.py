"""In which order records of several topics are given out, when they come in whatever order they are fetched."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kafka import KafkaConsumer, TopicPartition

from stream_bayes.log.kafka.merging import Merger
from stream_bayes.log.kafka.topics import Topics
from stream_bayes.records import Partition, Record

# A record waits for those of another topic that the broker has, at most so long; the broker is asked this often.
_AWAIT_SECONDS = 30.0
_ASK_SECONDS = 0.2


class Ordering:
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
        self._consumer, self._topics = consumer, topics
        self._merger = Merger(reads)
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
        tp, first = TopicPartition(*place), self._merger.first(place)
        if first is not None:
            return first
        return (self._consumer.position(tp, timeout_ms=1000) or 0) if tp in self._begun else 0

    def take(self, most: int) -> list[Record]:
        """At most so many of the next records."""
        now = time.monotonic()
        if self._patient_until is None and len(self._merger):
            self._patient_until, self._ask_at, self._ends = now + _AWAIT_SECONDS, now + _ASK_SECONDS, {}
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
            self._ends, self._ask_at = {}, time.monotonic() + _ASK_SECONDS
        elif not self._ends:
            return True
        if place.topic not in self._ends:
            self._ends[place.topic] = dict(self._topics.ends(place.topic))
        return position < self._ends[place.topic].get(place, 0)
