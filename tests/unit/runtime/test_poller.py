"""Gathering: how long a record waits for others before it is committed."""

from __future__ import annotations

import math
import time

from stream_bayes.config import CommitSettings, Settings
from stream_bayes.eventlog.memory import MemoryLog
from stream_bayes.eventlog.retry import RetryingLog, RetryPolicy
from stream_bayes.records import Record
from stream_bayes.runtime.partition_processor import StageTimer
from stream_bayes.runtime.poller import Poller
from stream_bayes.runtime.rebalance import AssignedPartitions
from tests.support.logs import put, wait_for_assignment

SECONDS = 1000.0


class Counted(MemoryLog):
    """A log that says stop when it is asked a fifth time."""

    def __init__(self, patience: RetryPolicy) -> None:
        super().__init__(group="readers", topics=["emails"])
        self._patience = patience
        self.polls = 0

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        self.polls += 1
        self._patience.stopping = self.polls > 4
        return super().poll(max_records, min(timeout, 0.01))


def gathered(last: float) -> tuple[int, int]:
    """Where the last gathering was so many seconds ago: how many records, and how many polls it took."""
    patience = RetryPolicy()
    settings = Settings()
    with Counted(patience) as log:
        wait_for_assignment(log)
        put(log, "emails", b"one", b"two")
        log.polls = 0
        commit = CommitSettings(events=10, milliseconds=int(1000 * SECONDS))
        stages = StageTimer()
        retrying = RetryingLog(log, patience)
        gathering = Poller(commit, retrying, AssignedPartitions(settings, retrying, stages), stages)
        gathering._last = time.monotonic() - last
        return len(gathering.poll_batch(math.inf, drain=False)), log.polls


def test_a_poll_long_after_the_last_batch_does_not_wait() -> None:
    assert gathered(last=2.0 * SECONDS) == (2, 2)


def test_records_right_after_the_last_batch_wait_for_more() -> None:
    assert gathered(last=0.0) == (2, 5)
