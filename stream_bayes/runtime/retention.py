"""Removing from the log what is old and what nobody needs any more."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable

from stream_bayes.config import Settings
from stream_bayes.eventlog.base import Log, records_from
from stream_bayes.records import Partition
from stream_bayes.runtime.journal import JournalEntry
from stream_bayes.runtime.partition_processor import PartitionProcessor

_MILLISECONDS_A_DAY = 86_400_000
_LOOK_EVERY = 60.0
_NEVER = 2**63
MAX_STATUS = 20_000
"""Status events that are kept: a day, at one in five seconds."""


class Retention:
    """Trims inputs, outputs and journal to the last days, as far as no checkpoint that is kept needs them.

    The age of a record is how far the newest event is ahead of it.
    """

    def __init__(self, settings: Settings, log: Log) -> None:
        self._days = settings.retention.days
        self._topics = settings.topics
        self._log = log
        self._due = time.monotonic() + _LOOK_EVERY

    def trim_if_due(self, processors: Iterable[PartitionProcessor]) -> None:
        """Once a minute."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _LOOK_EVERY
        for processor in processors:
            self._trim_status(processor)
            if self._days is not None:
                self.trim(processor, self._days)

    def _trim_status(self, processor: PartitionProcessor) -> None:
        """Whatever the settings: a worker that has nothing to do must not fill a disk in the long run."""
        place = Partition(self._topics.status, processor.number)
        end = self._log.end_offsets(place.topic).get(place, 0)
        if end > MAX_STATUS:
            self._log.trim({place: end - MAX_STATUS})

    def trim(self, processor: PartitionProcessor, days: float) -> None:
        """Remove what is older in the partition of a processor, now."""
        kept = processor.folder.checkpoints()
        if not kept:
            return
        # The log's clock may have been set wrong once, and never goes back.
        oldest = min(processor.engine.clock, int(1000 * time.time())) - int(days * _MILLISECONDS_A_DAY)
        topics = self._topics
        outputs = topics.predictions, topics.label_requests, topics.dead_letters, topics.status
        floors = {**dict.fromkeys(outputs), **self._floors(processor, kept[-1][0])}
        offsets = {}
        for topic, floor in floors.items():
            place = Partition(topic, processor.number)
            offset = self._first_since(place, oldest)
            offsets[place] = offset if floor is None else min(offset, floor)
        self._log.trim(offsets)
        processor.engine.observation_cache.drop_before(offsets[Partition(topics.observations, processor.number)])

    def _floors(self, processor: PartitionProcessor, checkpoint: int) -> dict[str, int]:
        """What recovery from a checkpoint reads: the journal from there, its inputs, observations of late labels."""
        floors = {place.topic: offset for place, offset in processor.positions.items()}
        for record in records_from(self._log, processor.journal, checkpoint):
            entry = JournalEntry.decode(record)
            for run in entry.ranges:
                floors[run.topic] = min(floors[run.topic], run.begin)
            if entry.late is not None:
                floors[self._topics.observations] = min(floors[self._topics.observations], entry.late)
        return {**floors, processor.journal.topic: checkpoint}

    def _first_since(self, place: Partition, timestamp: int) -> int:
        """The offset of the first record that is not older; times never fall within a partition."""
        begin, end = (
            ends.get(place, 0) for ends in (self._log.earliest_offsets(place.topic), self._log.end_offsets(place.topic))
        )
        return begin + bisect_left(range(begin, end), timestamp, key=lambda offset: self._time_of(place, offset))

    def _time_of(self, place: Partition, offset: int) -> int:
        found = self._log.read(*place, offset)
        return found[0].timestamp if found else _NEVER
