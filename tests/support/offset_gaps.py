"""A log whose offsets have gaps, as those of Kafka have."""

from __future__ import annotations

from stream_bayes.eventlog.memory import MemoryLog
from stream_bayes.records import Offsets, Record

STEP = 3
"""Of as many offsets one has a record."""


class LogWithGaps(MemoryLog):
    """A log in memory, for single records and for writing, that gives every third offset to a record."""

    def commit(self, offsets: Offsets) -> Offsets:
        """Behind the last record, and not behind the gap that follows it."""
        return {place: STEP * (end - 1) + 1 for place, end in super().commit(offsets).items()}

    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        """From the first record that is not before this offset."""
        found = super().read(topic, partition, -(-offset // STEP), most)
        return [record._replace(offset=STEP * record.offset) for record in found]

    def earliest_offsets(self, topic: str) -> Offsets:
        """As they are."""
        return {place: STEP * begin for place, begin in super().earliest_offsets(topic).items()}

    def end_offsets(self, topic: str) -> Offsets:
        """Behind the last gap."""
        return {place: STEP * end for place, end in super().end_offsets(topic).items()}
