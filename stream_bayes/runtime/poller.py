"""Gathering: the records of one commit."""

from __future__ import annotations

import time

from stream_bayes.config import CommitSettings
from stream_bayes.eventlog.retry import RetryingLog
from stream_bayes.records import Offsets, Partition, Record
from stream_bayes.runtime.monitoring import lag_of
from stream_bayes.runtime.rebalance import AssignedPartitions
from stream_bayes.runtime.timing import StageTimer

LONGEST_WAIT = 0.2
"""A stop is noticed after so many seconds of waiting at the latest."""
# Records that are gathered for one commit are held in memory.
_MAX_BYTES = 32 << 20


class Poller:
    """Polls as often as one commit is worth.

    Parameters
    ----------
    settings
        How many records, or how long.
    log
        What to poll.
    partitions
        Who is told when they change.
    stages
        Where the time is counted that polls take.
    """

    def __init__(
        self, settings: CommitSettings, log: RetryingLog, partitions: AssignedPartitions, stages: StageTimer
    ) -> None:
        self._settings = settings
        self._log = log
        self._partitions = partitions
        self._stages = stages
        self._last = time.monotonic()
        self._forwarded: dict[Partition, int] = {}

    def forwarded(self, written: Offsets) -> None:
        """Labels were appended up to these offsets: the end of the stream is behind them.

        A log may show them a moment after the commit.
        """
        self._forwarded.update(written)

    def gather(self, due: float, *, drain: bool) -> list[Record]:
        """So many records, or what came in so many milliseconds since the last time, or until it is `due`.

        What came first may have come right after the last time. None if partitions have changed.
        """
        commit = self._settings
        size = 0
        gathered: list[Record] = []
        while not self._log.stopping and len(gathered) < commit.events and size < _MAX_BYTES:
            records = self._poll(commit.events - len(gathered), due, drain=drain)
            if self._partitions.changed:
                return []
            if records and not gathered:
                due = min(due, self._last + commit.milliseconds / 1000.0)
            gathered += records
            size += sum(len(record.value) for record in records)
            # What is here already comes with it.
            if not records and (time.monotonic() >= due or self.at_end(drain=drain)):
                break
        self._last = time.monotonic()
        return gathered

    def at_end(self, *, drain: bool) -> bool:
        """Whether everything was polled that there is, or ever will be."""
        if self._log.ended or not drain:
            return self._log.ended
        positions = self._partitions.positions
        if any(positions.get(place, end) < end for place, end in self._forwarded.items()):
            return False
        return self._partitions.told and not lag_of(self._partitions.processors.values(), self._log)

    def _poll(self, most: int, due: float, *, drain: bool) -> list[Record]:
        # Waiting is no work: only a poll that found something counts.
        began = time.perf_counter()
        records = self._log.poll(most, 0.0)
        if records:
            self._stages.add("read", time.perf_counter() - began)
            return records
        timeout = min(due - time.monotonic(), LONGEST_WAIT)
        if timeout <= 0.0 or self._partitions.changed or self.at_end(drain=drain):
            return records
        return self._log.poll(most, timeout)
