"""Records that were fetched and not given out yet, in the order in which they are given out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from stream_bayes.records import Partition, Record


class Merger:
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
