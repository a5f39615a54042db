"""What a broker has, in memory: for whoever looks up many single records."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import cast

from stream_bayes.eventlog.base import Log
from stream_bayes.records import Record
from tests.chaos.messages import EMAILS, LABELS
from tests.support.workers import JOURNAL, OUTPUTS, all_records


class Copy:
    """One partition of all topics, as it was when it was copied."""

    def __init__(self, log: Log, number: int) -> None:
        topics = {EMAILS, LABELS, JOURNAL, *OUTPUTS.values()}
        self._number = number
        self._records = {topic: list(all_records(log, topic, number)) for topic in topics}

    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        """As a log does."""
        assert partition == self._number
        records = self._records[topic]
        first = bisect_left(records, offset, key=attrgetter("offset"))
        return records[first : first + most]


def copy_of(log: Log, number: int) -> Log:
    """A log of one partition from which records can be read, and nothing else be asked."""
    return cast("Log", Copy(log, number))
