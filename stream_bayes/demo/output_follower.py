"""Follows the output of the worker in the log and measures it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from stream_bayes.config import TopicSettings
from stream_bayes.demo.accuracy import WINDOW, PredictionScores, ProbabilityBin
from stream_bayes.eventlog.base import Log, records_from
from stream_bayes.events import DeadLetter, Status
from stream_bayes.records import Partition, Record

_RATE_SECONDS = 4.0
_MIN_PREDICTIONS = 200


class WorkerProgress(NamedTuple):
    """Progress of the worker at one time."""

    predicted: int
    distinct: int
    """Mails with a prediction."""
    dead_letters: int
    """Mails that the worker rejected."""
    rate: float
    """Predictions per second over the last seconds."""
    area: float
    """(1-ROCA)% of all mails so far."""
    recent_area: float
    """(1-ROCA)% of the last 1,000 mails."""
    history: tuple[float, ...]
    """Values of recent_area over time."""
    calibration: tuple[ProbabilityBin, ...]
    stage_seconds: dict[str, float]
    """Since the worker started."""
    learned: int
    """Labels learned."""


class DemoFollower:
    """Follows the predictions, the dead letters and the status events of a log of one partition."""

    def __init__(self, log: Log, topics: TopicSettings, truth: Mapping[str, str]) -> None:
        self._topics = topics
        self.scores = PredictionScores(truth)
        self._predictions = TopicFollower(log, topics.predictions)
        self._dead_letters = TopicFollower(log, topics.dead_letters)
        self._statuses = TopicFollower(log, topics.status)
        self._dead_letter_count = 0
        self._status: Status | None = None
        self._pace: deque[tuple[float, int]] = deque()
        self._history: list[float] = []

    @property
    def processed(self) -> int:
        """Mails with a prediction or a dead letter."""
        return self.scores.predictions + self._dead_letter_count

    @property
    def learned(self) -> int:
        """Labels learned, from the newest status event."""
        return 0 if self._status is None else self._status.labels_learned

    def read(self) -> None:
        """Read all new records."""
        self.scores.add(self._predictions.read_new())
        letters = (DeadLetter.model_validate_json(record.value) for record in self._dead_letters.read_new())
        self._dead_letter_count += sum(letter.topic == self._topics.observations for letter in letters)
        for record in self._statuses.read_new()[-1:]:
            self._status = Status.model_validate_json(record.value)

    def progress(self, now: float) -> WorkerProgress:
        """Return the progress at this time."""
        scores = self.scores
        status = self._status
        recent = scores.area(WINDOW)
        if scores.predictions >= _MIN_PREDICTIONS:
            self._history.append(recent)
        return WorkerProgress(
            scores.predictions,
            scores.distinct,
            self._dead_letter_count,
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
        while len(pace) > 2 and now - pace[0][0] > _RATE_SECONDS:
            pace.popleft()
        (began, before) = pace[0]
        (ended, after) = pace[-1]
        return (after - before) / (ended - began) if ended > began else 0.0


class TopicFollower:
    """Reads a topic of one partition from its beginning, without a consumer group."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log = log
        self._partition = Partition(topic, 0)
        self._position = 0

    def read_new(self) -> list[Record]:
        """Return the records since the last call."""
        records = list(records_from(self._log, self._partition, self._position))
        if records:
            self._position = records[-1].offset + 1
        return records
