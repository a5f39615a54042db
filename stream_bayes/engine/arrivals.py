"""What an engine takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from stream_bayes.active import Question
from stream_bayes.errors import EventError
from stream_bayes.events import DeadLetter, Label, LabelOutcome, LabelRequest, Observation, Prediction
from stream_bayes.records import Record

Output = Prediction | LabelRequest | LabelOutcome | DeadLetter
Place = tuple[str, int]
"""The topic and the offset of a record."""


class Arrival(NamedTuple):
    """A record, and what it says; or why it says nothing."""

    record: Record
    event: Observation | Label | EventError


class Refused(NamedTuple):
    """A record that ended as a dead letter."""

    topic: str
    offset: int
    code: str
    observation: int | None = None
    """The offset of the observation that it was a label for, where that is known."""


class Decided(NamedTuple):
    """What was decided when events came for the first time; none of it is decided again."""

    asked: Mapping[int, Question]
    """The observations that were asked about, by offset, and why."""
    unsure: Set[Place] = frozenset()
    """The labels that said that nobody knows."""


class Outcome(NamedTuple):
    """What a batch led to."""

    outputs: list[Output]
    asked: dict[int, Question]
    """The observations whose label is asked for, by offset, and why."""
    refused: list[Refused]
    late: list[int]
    """The offsets of the observations that were learned when their label came later."""
    unsure: list[Place]
    """The labels that said that nobody knows."""


class Progress(NamedTuple):
    """A batch on its way: what was decided of it if it came before, and what has come of it so far."""

    decided: Decided | None
    outcome: Outcome

    @property
    def silent(self) -> bool:
        """Whether all was said when the events first came."""
        return self.decided is not None

    def say(self, event: Output | None) -> None:
        """Put out an event, if there is one and it was not put out before."""
        if event is not None and self.decided is None:
            self.outcome.outputs.append(event)


def nothing() -> Outcome:
    """What no events lead to."""
    return Outcome([], {}, [], [], [])
