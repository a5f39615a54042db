"""Following the topics of a log, on nobody's behalf, and telling the desk what is new."""

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
from stream_bayes.events import Label, Prediction, Status, decode, decode_request
from stream_bayes.records import Partition, Record
from stream_bayes.runtime.decoding import NO_LIMITS
from stream_bayes.web.readmodel.state_store import NEWEST_PREDICTIONS, StateStore

logger = logging.getLogger("stream_bayes.web")

LOOK_EVERY = 0.2
"""Seconds."""
_TRY_AGAIN = 1.0
_AT_ONCE = 500
MAX_QUESTIONS = 100_000
MAX_LABELS = 20_000
"""How far back one looks, in each partition: questions are few, of labels only those matter that nobody has read."""
STATUS_SAMPLES = 300
"""Status events of the past that are looked at, in each partition, evenly: in a month there are half a million."""
FIRST_SAMPLES = 100
"""Of the first ones all: a quick backfill has its learning curve in them."""
LATELY = 20_000
LATE_SAMPLES = 100
"""Of the last ones, about a day, so many more."""
MAX_PREDICTIONS = 100
"""Of each partition at a time: a sample is enough for a histogram."""


class PartitionTail:
    """A topic that is read on from some distance before its end.

    Parameters
    ----------
    back
        How many offsets of each partition are looked at when it is first seen.
    most
        How many it may be behind: what is older is passed over.
    """

    def __init__(self, topic: str, back: int, most: int | None = None) -> None:
        self.topic = topic
        self._back = back
        self.most = most
        self.positions: dict[Partition, int] = {}

    def follow(self, log: Log, tell: Callable[[list[Record]], None]) -> None:
        """Tell what has come, in each partition in its order; what could not be read is told the next time."""
        for place, end in log.end_offsets(self.topic).items():
            position = self.positions.get(place, max(end - self._back, 0))
            if self.most is not None:
                position = max(position, end - self.most)
            while position < end:
                records = log.read(*place, position, _AT_ONCE)
                tell(records)
                # Offsets may end with ones that no record has.
                position = records[-1].offset + 1 if records else end
                self.positions[place] = position
            self.positions[place] = position


class LogFollower:
    """A thread that keeps a desk up to date with a log; when the log is away it waits, and says so at the desk."""

    def __init__(
        self,
        settings: Settings,
        desk: StateStore,
        open_log: Callable[[], Log],
        on_failure: Callable[[BackgroundError], object] | None = None,
    ) -> None:
        topics = settings.topics
        self._desk = desk
        self._open = open_log
        self._group = settings.group
        self._questions = PartitionTail(topics.label_requests, MAX_QUESTIONS)
        self._labels = PartitionTail(topics.labels, MAX_LABELS, MAX_LABELS)
        self._status = PartitionTail(topics.status, 0)
        self._predictions = PartitionTail(topics.predictions, NEWEST_PREDICTIONS, NEWEST_PREDICTIONS)
        self._sampled = False
        self._identity: str | None = None
        self._log: Log | None = None
        self._stop = Event()
        self._thread = BackgroundThread(self._run, "web-watch", on_failure)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it, and wait for that."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._open() as log:
                    self._follow(log)
            except (StreamBayesError, OSError) as problem:
                self._say(reason_of(problem))
                self._stop.wait(_TRY_AGAIN)
            except Exception as problem:
                # The boundary of the thread: a fault of ours must not leave a page that looks well and hears nothing.
                logger.exception("the log cannot be followed")
                self._say(f"something failed here: {problem!r:.200}")
                self._stop.wait(_TRY_AGAIN)

    def _say(self, problem: str | None) -> None:
        if problem != self._desk.problem:
            with self._desk.write_lock():
                self._desk.problem = problem
            if problem is not None:
                logger.warning("the log cannot be read", extra={"fields": {"reason": problem}})

    def _follow(self, log: Log) -> None:
        while not self._stop.is_set():
            try:
                self.look(log)
            except LogError as problem:
                if not problem.retriable:
                    raise
                self._say(str(problem))
            self._stop.wait(LOOK_EVERY)

    def look(self, log: Log) -> None:
        """Read what is new, once; an error where the log that was opened is not there any more."""
        log.check_there()
        self._check_same(log)
        # Questions first: a labeller waits for them.
        self._questions.follow(log, self._tell)
        self._labels.follow(log, self._tell)
        if not self._sampled:
            self._tell(_sampled(log, self._status))
            self._sampled = True
        self._status.follow(log, self._tell)
        self._predictions.follow(log, self._add_predictions)
        self._predictions.most = MAX_PREDICTIONS
        self._say(None)
        if not self._desk.ready:
            with self._desk.write_lock():
                self._desk.ready = True

    def _check_same(self, log: Log) -> None:
        """Places mean something else in another log."""
        if self._identity is None:
            self._identity = log.identity
        if log is not self._log:
            self._log = log
            if log.identity != self._identity:
                message = "this is another log than before: start the page again"
                raise LogError(message)

    def _add_predictions(self, records: Iterable[Record]) -> None:
        told = [found for record in records if (found := _prediction(record)) is not None]
        # Nobody is told of it: they are drawn when something else is new.
        with self._desk.read_lock():
            self._desk.predictions.extend(told)

    def _tell(self, records: Iterable[Record]) -> None:
        for record in records:
            self._tell_one(record)

    def _tell_one(self, record: Record) -> None:
        """One record; what cannot be understood is of a version to come, and passed over."""
        try:
            at = datetime.fromtimestamp(record.timestamp / 1000.0, UTC)
            if record.topic == self._questions.topic:
                asked = decode_request(record.value)
                with self._desk.write_lock():
                    self._desk.asked(asked, at)
            elif record.topic == self._labels.topic:
                if forwarded_by(record) is not None:
                    # A copy: the label itself is in another partition.
                    return
                # As the worker reads it: other people's producers write labels too.
                label = decode(record, Label, NO_LIMITS)
                if isinstance(label, Label):
                    with self._desk.write_lock():
                        self._desk.labelled(label, at)
            else:
                status = Status.model_validate_json(record.value)
                if status.group == self._group:
                    with self._desk.write_lock():
                        self._desk.told(status)
        except (EventError, ValidationError, ValueError, OverflowError, OSError):
            logger.debug("%s-%s-%s is passed over", record.topic, record.partition, record.offset)


def _sampled(log: Log, tail: PartitionTail) -> list[Record]:
    """Some of the past of a topic, evenly, in the order of time; the tail goes on behind it."""
    found: list[Record] = []
    firsts = log.earliest_offsets(tail.topic)
    for place, end in log.end_offsets(tail.topic).items():
        begin = firsts.get(place, 0)
        step = max((end - begin) // STATUS_SAMPLES, 1)
        lately = range(max(end - LATELY, begin), end, LATELY // LATE_SAMPLES)
        first = range(begin, min(begin + FIRST_SAMPLES, end))
        for offset in sorted({*first, *range(begin, end, step), *lately, *range(max(end - 1, begin), end)}):
            found.extend(log.read(*place, offset))
        tail.positions[place] = end
    return sorted(set(found), key=lambda record: (record.timestamp, record.partition, record.offset))


def _prediction(record: Record) -> Prediction | None:
    try:
        return Prediction.model_validate_json(record.value)
    except ValidationError:
        return None
