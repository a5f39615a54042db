"""The new records of a topic, as they come."""

from __future__ import annotations

from stream_bayes.log.base import Log
from stream_bayes.log.reading import records_from
from stream_bayes.records import Partition, Record


class Follower:
    """Reads a topic of one partition from its beginning, on nobody's behalf."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log, self._place = log, Partition(topic, 0)
        self._position = 0

    def new(self) -> list[Record]:
        """What has come since the last call."""
        records = list(records_from(self._log, self._place, self._position))
        if records:
            self._position = records[-1].offset + 1
        return records
