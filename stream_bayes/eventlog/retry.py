"""Retry with backoff: `RetryPolicy` retries a call, `RetryingLog` the calls of a log.

Errors that may pass by themselves (`LogError.retriable`: a file that another process has locked, a broker that does not
answer) are retried until the call works or `stopping` is set. Any other error is raised.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from stream_bayes.errors import LogError
from stream_bayes.eventlog.base import Headers, Log
from stream_bayes.records import Offsets, Partition, Record

logger = logging.getLogger("stream_bayes.eventlog")
Result = TypeVar("Result")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds before the first retry, which double with each retry, and the longest pause."""
_CHECK_SECONDS = 0.1


class RetryPolicy:
    """Exponential backoff that ends when a program stops.

    Parameters
    ----------
    max_seconds
        For how long a call is retried; without it until `stopping` is set.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self.stopping = False
        """Whether retriable errors are raised, too; may be set by a signal handler."""
        self._max_seconds = max_seconds

    def __call__(self, call: Callable[[], Result]) -> Result:
        """The result of a call, once it works."""
        pause = FIRST_PAUSE
        deadline = None if self._max_seconds is None else time.monotonic() + self._max_seconds
        while True:
            try:
                return call()
            except LogError as problem:
                is_late = deadline is not None and time.monotonic() > deadline
                if self.stopping or is_late or not problem.retriable:
                    raise
                logger.warning("waiting for the log", extra={"fields": {"reason": str(problem)}})
                self._wait(pause)
                pause = min(2.0 * pause, LONGEST_PAUSE)

    def _wait(self, pause: float) -> None:
        end = time.monotonic() + pause
        while not self.stopping and (left := end - time.monotonic()) > 0.0:
            time.sleep(min(left, _CHECK_SECONDS))


class RetryingLog(Log):
    """A log whose calls are retried while their errors may pass by themselves.

    Changes of partitions are reported by the wrapped log: set its `on_change`, not that of this one.
    """

    def __init__(self, log: Log, retry: RetryPolicy | None = None) -> None:
        self.wrapped = log
        """The log itself, for calls that must not wait."""
        self.retry = RetryPolicy() if retry is None else retry

    @property
    def stopping(self) -> bool:
        """Whether retriable errors are raised."""
        return self.retry.stopping

    @property
    def identity(self) -> str:
        """The identity of the wrapped log."""
        return self.wrapped.identity

    @property
    def ended(self) -> bool:
        """Whether the wrapped log has ended."""
        return self.wrapped.ended

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Poll; retried."""
        return self.retry(partial(self.wrapped.poll, max_records, timeout))

    def append(
        self, topic: str, value: bytes, key: bytes | None = None, partition: int | None = None, headers: Headers = ()
    ) -> None:
        """Stage a record; retried."""
        self.retry(partial(self.wrapped.append, topic, value, key, partition, headers))

    def commit(self, offsets: Offsets) -> Offsets:
        """Commit; retried: after an error that is retriable, everything is still staged."""
        return self.retry(partial(self.wrapped.commit, offsets))

    def committed(self) -> Offsets:
        """The group's positions; retried."""
        return self.retry(self.wrapped.committed)

    def seek(self, offsets: Offsets) -> None:
        """Set where the next poll goes on; retried."""
        self.retry(partial(self.wrapped.seek, offsets))

    def read(self, topic: str, partition: int, offset: int, most: int = 1) -> list[Record]:
        """Read single records; retried."""
        return self.retry(partial(self.wrapped.read, topic, partition, offset, most))

    def earliest_offsets(self, topic: str) -> Offsets:
        """The first offsets of a topic; retried."""
        return self.retry(partial(self.wrapped.earliest_offsets, topic))

    def end_offsets(self, topic: str) -> Offsets:
        """The end offsets of a topic; retried."""
        return self.retry(partial(self.wrapped.end_offsets, topic))

    def ensure(self, topic: str, partitions: int) -> None:
        """Make a topic that does not exist; retried."""
        self.retry(partial(self.wrapped.ensure, topic, partitions))

    def keeps_all(self, topic: str) -> bool:
        """Whether the topic is not compacted; retried."""
        return self.retry(partial(self.wrapped.keeps_all, topic))

    def has_log_append_time(self, topic: str) -> bool:
        """Whether the log sets the times of records; retried."""
        return self.retry(partial(self.wrapped.has_log_append_time, topic))

    def lag(self) -> Offsets:
        """How many records there are still to poll; retried."""
        return self.retry(self.wrapped.lag)

    def wait_for_open_transactions(self, partition: Partition) -> None:
        """Wait until no transaction is under way in a partition; retried."""
        self.retry(partial(self.wrapped.wait_for_open_transactions, partition))

    def check_exists(self) -> None:
        """Raise an error where the wrapped log is not there any more; retried."""
        self.retry(self.wrapped.check_exists)

    def heartbeat(self) -> frozenset[Partition]:
        """Say that the reader is alive; retried."""
        return self.retry(self.wrapped.heartbeat)

    def max_record_bytes(self, topic: str) -> int:
        """How large a record of a topic may be; retried."""
        return self.retry(partial(self.wrapped.max_record_bytes, topic))

    def trim(self, offsets: Offsets) -> None:
        """Remove old records; retried."""
        self.retry(partial(self.wrapped.trim, offsets))

    def discard(self) -> None:
        """Forget what is staged."""
        self.wrapped.discard()

    def close(self) -> None:
        """Close the wrapped log."""
        self.wrapped.close()
