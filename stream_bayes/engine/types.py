"""What an engine takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from stream_bayes.active import Question
from stream_bayes.engine.forwarding import Forward
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
    unknown_fields: int = 0
    """How many fields of its JSON were ignored."""
    label_problem: EventError | None = None
    """Why the label of an observation was refused when it came; then it is refused again."""


class Refused(NamedTuple):
    """A record that ended as a dead letter."""

    topic: str
    offset: int
    code: str
    observation: int | None = None
    """The offset of the observation that it was a label for, where that is known.

    Its own offset if the record is an observation that was predicted, and its label alone was refused.
    """


class Terms(NamedTuple):
    """The settings on which the end of questions depends, as they were when events came."""

    expires: int
    """After so many milliseconds a question is closed."""
    remembered: int
    """Questions are about so many of the last observations."""
    partitions: int
    """Between so many the budget is shared."""


class Decided(NamedTuple):
    """What was decided when events came for the first time; none of it is decided again."""

    asked: Mapping[int, Question]
    """The observations that were asked about, by offset, and why."""
    unsure: Set[Place] = frozenset()
    """The labels that said that nobody knows."""
    terms: Terms | None = None
    """By which questions were closed; None if nobody knows: then by those of now."""


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
    forwards: list[Forward]
    """The labels that are to be appended again, to the partition of their observation."""


class Ends(NamedTuple):
    """How an engine ends questions as they ended by the terms of then."""

    remembered: int
    """Questions are about so many of the last observations."""
    lead: int
    """By a clock that is so many milliseconds ahead, what is overdue now was overdue then."""


def ends_by(now: Terms, decided: Decided | None) -> Ends:
    """By the terms of now, or by those of the time when the events first came."""
    then = now if decided is None or decided.terms is None else decided.terms
    return Ends(then.remembered, now.expires - then.expires)


class Progress(NamedTuple):
    """A batch on its way: what was decided of it if it came before, and what has come of it so far."""

    decided: Decided | None
    outcome: Outcome
    ends: Ends

    @property
    def silent(self) -> bool:
        """Whether all was said when the events first came."""
        return self.decided is not None

    def say(self, *events: Output | None) -> None:
        """Put out those that are events, unless they were put out before."""
        if self.decided is None:
            self.outcome.outputs.extend(event for event in events if event is not None)


def nothing() -> Outcome:
    """What no events lead to."""
    return Outcome([], {}, [], [], [], [])
