"""The answers of one day: how many, whose, and how many the filter had not expected."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import NamedTuple

from stream_bayes.web.readmodel.request_queue import Place


class LabelerTotals(NamedTuple):
    """One of them, as it is after corrections."""

    labeller: str | None
    differs: bool | None
    """From what was thought when the question was asked; None of one that nobody knows."""
    unsure: bool
    corrected: bool


class DailyTotals(NamedTuple):
    """All of them."""

    today: int
    mine: int
    differed: int
    compared: int
    """Answers that could differ from a guess."""
    unsure: int
    corrected: int
    first_at: datetime | None
    """When the first one was given."""


class DailyStats:
    """The answers of the newest day that there are any of, UTC; an answer counts once, however often it is told."""

    def __init__(self) -> None:
        self._day: date | None = None
        self._answers: dict[Place, LabelerTotals] = {}
        self._first_at: datetime | None = None

    def note(self, place: Place, at: datetime, answer: LabelerTotals) -> None:
        """An answer was given, or told of again; once corrected it stays so."""
        at = at.astimezone(UTC)
        if self._day is None or at.date() > self._day:
            self._day = at.date()
            self._answers = {}
            self._first_at = at
        if at.date() < self._day:
            return
        before = self._answers.get(place)
        self._answers[place] = answer._replace(corrected=answer.corrected or (before is not None and before.corrected))
        if self._first_at is None or at < self._first_at:
            self._first_at = at

    def take_back(self, place: Place) -> None:
        """What was counted as an answer was refused."""
        self._answers.pop(place, None)

    def tally(self, today: date, labeller: str | None) -> DailyTotals:
        """The counts of this day, and those of one labeller."""
        if self._day != today:
            return DailyTotals(0, 0, 0, 0, 0, 0, None)
        answers = self._answers.values()
        return DailyTotals(
            today=len(answers),
            mine=sum(one.labeller == labeller for one in answers),
            differed=sum(one.differs is True for one in answers),
            compared=sum(one.differs is not None for one in answers),
            unsure=sum(one.unsure for one in answers),
            corrected=sum(one.corrected for one in answers),
            first_at=self._first_at,
        )
