"""The poller: collects the records of one commit."""

from __future__ import annotations

import time

from stream_bayes.config import CommitSettings
from stream_bayes.eventlog.retry import RetryingLog
from stream_bayes.records import Offsets, Partition, Record
from stream_bayes.runtime.monitoring import lag_of
from stream_bayes.runtime.partition_processor import StageTimer
from stream_bayes.runtime.rebalance import AssignedPartitions

LONGEST_WAIT = 0.2
"""The longest poll, in seconds, after which a stop is noticed."""
# The records of one commit are held in memory.
_MAX_BYTES = 32 << 20


class Poller:
    """Polls until there are enough records for one commit.

    Parameters
    ----------
    settings
        How many records a commit takes, and how long they may wait for it.
    log
        The log to poll.
    partitions
        The assigned partitions, which may change during a poll.
    stages
        Where the time of polls is counted.
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
        """Note that labels were forwarded up to these offsets: the end of the stream is behind them.

        A log may show them a moment after the commit.
        """
        self._forwarded.update(written)

    def poll_batch(self, due: float, *, drain: bool) -> list[Record]:
        """The records of the next commit: `commit.events` of them, or fewer after `commit.milliseconds`, or at `due`.

        The milliseconds are counted from the last batch, since the first record may have come right after it. Gives no
        records if partitions have changed.
        """
        commit = self._settings
        size = 0
        batch: list[Record] = []
        while not self._log.retry.stopping and len(batch) < commit.events and size < _MAX_BYTES:
            records = self._poll(commit.events - len(batch), due, drain=drain)
            if self._partitions.changed:
                return []
            if records and not batch:
                due = min(due, self._last + commit.milliseconds / 1000.0)
            batch += records
            for record in records:
                size += len(record.value)
            # Records that are in the log already belong to this batch, also when it is due.
            if not records and (time.monotonic() >= due or self.at_end(drain=drain)):
                break
        self._last = time.monotonic()
        return batch

    def at_end(self, *, drain: bool) -> bool:
        """Whether everything was polled: all there is with `drain`, else all there ever will be."""
        if self._log.ended or not drain:
            return self._log.ended
        positions = self._partitions.positions
        if any(positions.get(place, end) < end for place, end in self._forwarded.items()):
            return False
        return self._partitions.is_assigned and not lag_of(self._partitions.processors.values(), self._log)

    def _poll(self, most: int, due: float, *, drain: bool) -> list[Record]:
        # Only a poll that finds records counts as work, waiting does not.
        began = time.perf_counter()
        records = self._log.poll(most, 0.0)
        if records:
            self._stages.add("read", began)
            return records
        timeout = min(due - time.monotonic(), LONGEST_WAIT)
        if timeout <= 0.0 or self._partitions.changed or self.at_end(drain=drain):
            return records
        return self._log.poll(most, timeout)
