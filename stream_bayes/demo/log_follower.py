"""What the worker has written, read as it comes and measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from stream_bayes.config import TopicSettings
from stream_bayes.demo.accuracy import WINDOW, PredictionScores, ProbabilityBin
from stream_bayes.eventlog.base import Log, records_from
from stream_bayes.events import DeadLetter, Status
from stream_bayes.records import Partition, Record

_RATE_OVER = 4.0
_FIRST_MEASURED = 200


class WorkerProgress(NamedTuple):
    """What the worker has done by some moment."""

    predicted: int
    distinct: int
    """Mails that have a prediction."""
    dead: int
    """Mails that the worker could not use."""
    rate: float
    """Predictions a second, of late."""
    area: float
    """(1-ROCA)% of all mails so far."""
    recent_area: float
    """Of the last 1,000."""
    history: tuple[float, ...]
    """Of recent_area, from moment to moment."""
    calibration: tuple[ProbabilityBin, ...]
    stage_seconds: dict[str, float]
    """Since the worker started."""
    learned: int
    """Labels."""


class DemoFollower:
    """Follows the predictions, the dead letters and the status events of a log of one partition."""

    def __init__(self, log: Log, topics: TopicSettings, truth: Mapping[str, str]) -> None:
        self._topics = topics
        self.scores = PredictionScores(truth)
        self._predictions = TopicFollower(log, topics.predictions)
        self._dead_letters = TopicFollower(log, topics.dead_letters)
        self._statuses = TopicFollower(log, topics.status)
        self._dead = 0
        self._status: Status | None = None
        self._pace: deque[tuple[float, int]] = deque()
        self._history: list[float] = []

    @property
    def through(self) -> int:
        """Mails that the worker is through with."""
        return self.scores.predictions + self._dead

    @property
    def learned(self) -> int:
        """Labels that the worker has learned, by its newest status."""
        return 0 if self._status is None else self._status.labels_learned

    def read(self) -> None:
        """Take all that is new."""
        self.scores.add(self._predictions.new())
        letters = (DeadLetter.model_validate_json(record.value) for record in self._dead_letters.new())
        self._dead += sum(letter.topic == self._topics.observations for letter in letters)
        for record in self._statuses.new()[-1:]:
            self._status = Status.model_validate_json(record.value)

    def seen(self, now: float) -> WorkerProgress:
        """The figures of this moment."""
        scores = self.scores
        status = self._status
        recent = scores.area(WINDOW)
        if scores.predictions >= _FIRST_MEASURED:
            self._history.append(recent)
        return WorkerProgress(
            scores.predictions,
            scores.distinct,
            self._dead,
            self._rate(now),
            scores.area(),
            recent,
            tuple(self._history),
            tuple(scores.calibration()),
            {} if status is None else dict(status.stage_seconds),
            self.learned,
        )

    def _rate(self, now: float) -> float:
        pace = self._pace
        pace.append((now, self.scores.predictions))
        while len(pace) > 2 and now - pace[0][0] > _RATE_OVER:
            pace.popleft()
        (began, before) = pace[0]
        (ended, after) = pace[-1]
        return (after - before) / (ended - began) if ended > began else 0.0


class TopicFollower:
    """Reads a topic of one partition from its beginning, on nobody's behalf."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log = log
        self._place = Partition(topic, 0)
        self._position = 0

    def new(self) -> list[Record]:
        """What has come since the last call."""
        records = list(records_from(self._log, self._place, self._position))
        if records:
            self._position = records[-1].offset + 1
        return records
