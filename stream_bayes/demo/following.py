"""The new records of a topic, as they come."""

from __future__ import annotations

from stream_bayes.log.base import Log
from stream_bayes.records import Record

_AT_ONCE = 2000


class Follower:
    """Reads a topic of one partition from its beginning, some records at a time, on nobody's behalf."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log, self._topic = log, topic
        self.position = 0
        """Of the next record."""

    def new(self) -> list[Record]:
        """What has come since the last call, at most 2,000 records."""
        records = self._log.read(self._topic, 0, self.position, _AT_ONCE)
        if records:
            self.position = records[-1].offset + 1
        return records
