"""A thread that follows the topics of a log, without a consumer group, and updates the state store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from threading import Event

from pydantic import ValidationError

from stream_bayes.background import BackgroundThread
from stream_bayes.config import Settings
from stream_bayes.engine.forwarding import forwarded_by
from stream_bayes.errors import BackgroundError, EventError, LogError, StreamBayesError, reason_of
from stream_bayes.eventlog.base import Log
from stream_bayes.events import NO_LIMITS, Label, Prediction, Status, decode, decode_request
from stream_bayes.records import Partition, Record
from stream_bayes.web.readmodel.state_store import NEWEST_PREDICTIONS, StateStore

logger = logging.getLogger("stream_bayes.web")

POLL_SECONDS = 0.2
_RETRY_SECONDS = 1.0
_READ_RECORDS = 500
MAX_REQUESTS = 100_000
MAX_KEPT_LABEL_RECORDS = 20_000
"""Records of each partition read at the start. Requests are few; only labels that the worker has not read matter."""
STATUS_SAMPLES = 300
"""Evenly spaced past status events read of each partition. In a month there are half a million."""
FIRST_SAMPLES = 100
"""All of the first ones: a quick backfill has its learning curve in them."""
RECENT_STATUS = 20_000
RECENT_SAMPLES = 100
"""Additional samples of the last ones, which are about a day."""
MAX_PREDICTIONS = 100
"""Predictions read of each partition in one poll. A sample is enough for a histogram."""


class PartitionTail:
    """A topic that is read from a number of records before its end.

    Parameters
    ----------
    back
        Offsets before the end at which reading of a partition starts.
    max_lag
        Offsets that reading may be behind. Older records are skipped.
    """

    def __init__(self, topic: str, back: int, max_lag: int | None = None) -> None:
        self.topic = topic
        self._back = back
        self.max_lag = max_lag
        self.positions: dict[Partition, int] = {}

    def follow(self, log: Log, apply: Callable[[list[Record]], None]) -> None:
        """Pass new records to `apply`, in order within a partition. A failed read is repeated by the next call."""
        for place, end in log.end_offsets(self.topic).items():
            position = self.positions.get(place, max(end - self._back, 0))
            if self.max_lag is not None:
                position = max(position, end - self.max_lag)
            while position < end:
                records = log.read(*place, position, _READ_RECORDS)
                apply(records)
                # The last offsets may have no records.
                position = records[-1].offset + 1 if records else end
                self.positions[place] = position
            self.positions[place] = position


class LogFollower:
    """A thread that keeps a state store up to date with a log.

    While the log is unavailable the thread retries, and `store.problem` says why.
    """

    def __init__(
        self,
        settings: Settings,
        store: StateStore,
        open_log: Callable[[], Log],
        on_failure: Callable[[BackgroundError], object] | None = None,
    ) -> None:
        topics = settings.topics
        self._store = store
        self._open = open_log
        self._group = settings.group
        self._requests = PartitionTail(topics.label_requests, MAX_REQUESTS)
        self._labels = PartitionTail(topics.labels, MAX_KEPT_LABEL_RECORDS, MAX_KEPT_LABEL_RECORDS)
        self._status = PartitionTail(topics.status, 0)
        self._predictions = PartitionTail(topics.predictions, NEWEST_PREDICTIONS, NEWEST_PREDICTIONS)
        self._sampled = False
        self._identity: str | None = None
        self._log: Log | None = None
        self._stop = Event()
        self._thread = BackgroundThread(self._run, "web-log-follower", on_failure)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and join it."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._open() as log:
                    self._follow(log)
            except (StreamBayesError, OSError) as problem:
                self._set_problem(reason_of(problem))
                self._stop.wait(_RETRY_SECONDS)
            except Exception as problem:
                # The boundary of the thread: after a bug the page must show that it does not follow the log.
                logger.exception("the log cannot be followed")
                self._set_problem(f"internal error: {problem!r:.200}")
                self._stop.wait(_RETRY_SECONDS)

    def _set_problem(self, problem: str | None) -> None:
        if problem != self._store.problem:
            with self._store.write_lock():
                self._store.problem = problem
            if problem is not None:
                logger.warning("the log cannot be read", extra={"fields": {"reason": problem}})

    def _follow(self, log: Log) -> None:
        while not self._stop.is_set():
            try:
                self.poll(log)
            except LogError as problem:
                if not problem.retriable:
                    raise
                self._set_problem(str(problem))
            self._stop.wait(POLL_SECONDS)

    def poll(self, log: Log) -> None:
        """Read new records once. Raise an error if the log that was opened is gone."""
        log.check_exists()
        self._check_same(log)
        # Label requests first: a labeller waits for them.
        self._requests.follow(log, self._apply_all)
        self._labels.follow(log, self._apply_all)
        if not self._sampled:
            self._apply_all(_sample_past(log, self._status))
            self._sampled = True
        self._status.follow(log, self._apply_all)
        self._predictions.follow(log, self._add_predictions)
        self._predictions.max_lag = MAX_PREDICTIONS
        self._set_problem(None)
        if not self._store.ready:
            with self._store.write_lock():
                self._store.ready = True

    def _check_same(self, log: Log) -> None:
        """Raise an error for another log: its partitions and offsets mean other records."""
        if self._identity is None:
            self._identity = log.identity
        if log is not self._log:
            self._log = log
            if log.identity != self._identity:
                message = "this is another log than the one opened before: restart the page"
                raise LogError(message)

    def _add_predictions(self, records: Iterable[Record]) -> None:
        predictions = [found for record in records if (found := _prediction(record)) is not None]
        # Without a new version: they are drawn with the next change.
        with self._store.read_lock():
            self._store.predictions.extend(predictions)

    def _apply_all(self, records: Iterable[Record]) -> None:
        for record in records:
            self._apply(record)

    def _apply(self, record: Record) -> None:
        """Apply one record. One that cannot be decoded is of a newer version, and is skipped."""
        try:
            at = datetime.fromtimestamp(record.timestamp / 1000.0, UTC)
            if record.topic == self._requests.topic:
                event = decode_request(record.value)
                with self._store.write_lock():
                    self._store.add_request_event(event, at)
            elif record.topic == self._labels.topic:
                if forwarded_by(record) is not None:
                    # A forwarded copy: the label itself is in another partition.
                    return
                # Decoded as the worker does: other producers write labels too.
                label = decode(record, Label, NO_LIMITS)
                if isinstance(label, Label):
                    with self._store.write_lock():
                        self._store.add_label(label, at)
            else:
                status = Status.model_validate_json(record.value)
                if status.group == self._group:
                    with self._store.write_lock():
                        self._store.add_status(status)
        except (EventError, ValidationError, ValueError, OverflowError, OSError):
            logger.debug("%s-%s-%s is skipped", record.topic, record.partition, record.offset)


def _sample_past(log: Log, tail: PartitionTail) -> list[Record]:
    """Return a sample of a topic's past records by time, and move the tail to the end."""
    found: list[Record] = []
    firsts = log.earliest_offsets(tail.topic)
    for place, end in log.end_offsets(tail.topic).items():
        begin = firsts.get(place, 0)
        step = max((end - begin) // STATUS_SAMPLES, 1)
        recent = range(max(end - RECENT_STATUS, begin), end, RECENT_STATUS // RECENT_SAMPLES)
        first = range(begin, min(begin + FIRST_SAMPLES, end))
        for offset in sorted({*first, *range(begin, end, step), *recent, *range(max(end - 1, begin), end)}):
            found.extend(log.read(*place, offset))
        tail.positions[place] = end
    return sorted(set(found), key=lambda record: (record.timestamp, record.partition, record.offset))


def _prediction(record: Record) -> Prediction | None:
    try:
        return Prediction.model_validate_json(record.value)
    except ValidationError:
        return None
