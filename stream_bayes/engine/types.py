"""What an engine takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from stream_bayes.active import RequestReason
from stream_bayes.engine.forwarding import Forward
from stream_bayes.errors import EventError
from stream_bayes.events import DeadLetter, Label, LabelOutcome, LabelRequest, Observation, Prediction
from stream_bayes.records import Record

Output = Prediction | LabelRequest | LabelOutcome | DeadLetter
Place = tuple[str, int]
"""The topic and the offset of a record."""


class InputEvent(NamedTuple):
    """A record, and what it says; or why it says nothing."""

    record: Record
    event: Observation | Label | EventError
    unknown_fields: int = 0
    """How many fields of its JSON were ignored."""
    label_problem: EventError | None = None
    """Why the label of an observation was refused when it came; then it is refused again."""


class RejectedRecord(NamedTuple):
    """A record that ended as a dead letter."""

    topic: str
    offset: int
    code: str
    observation: int | None = None
    """The offset of the observation that it was a label for, where that is known.

    Its own offset if the record is an observation that was predicted, and its label alone was refused.
    """


class RequestPolicy(NamedTuple):
    """The settings on which the end of questions depends, as they were when events came."""

    request_ttl: int
    """After so many milliseconds a question is closed."""
    remembered: int
    """Questions are about so many of the last observations."""
    partitions: int
    """Between so many the budget is shared."""


class ReplayDecisions(NamedTuple):
    """What was decided when events came for the first time; none of it is decided again."""

    asked: Mapping[int, RequestReason]
    """The observations that were asked about, by offset, and why."""
    unsure: Set[Place] = frozenset()
    """The labels that said that nobody knows."""
    terms: RequestPolicy | None = None
    """By which questions were closed; None if nobody knows: then by those of now."""


class BatchResult(NamedTuple):
    """What a batch led to."""

    outputs: list[Output]
    asked: dict[int, RequestReason]
    """The observations whose label is asked for, by offset, and why."""
    refused: list[RejectedRecord]
    late: list[int]
    """The offsets of the observations that were learned when their label came later."""
    unsure: list[Place]
    """The labels that said that nobody knows."""
    forwards: list[Forward]
    """The labels that are to be appended again, to the partition of their observation."""


class ExpiryRule(NamedTuple):
    """How an engine ends questions as they ended by the terms of then."""

    remembered: int
    """Questions are about so many of the last observations."""
    lead: int
    """By a clock that is so many milliseconds ahead, what is overdue now was overdue then."""


def ends_by(now: RequestPolicy, decided: ReplayDecisions | None) -> ExpiryRule:
    """By the terms of now, or by those of the time when the events first came."""
    then = now if decided is None or decided.terms is None else decided.terms
    return ExpiryRule(then.remembered, now.request_ttl - then.request_ttl)


class BatchProgress(NamedTuple):
    """A batch on its way: what was decided of it if it came before, and what has come of it so far."""

    decided: ReplayDecisions | None
    outcome: BatchResult
    ends: ExpiryRule

    @property
    def silent(self) -> bool:
        """Whether all was said when the events first came."""
        return self.decided is not None

    def say(self, *events: Output | None) -> None:
        """Put out those that are events, unless they were put out before."""
        if self.decided is None:
            self.outcome.outputs.extend(event for event in events if event is not None)


def nothing() -> BatchResult:
    """What no events lead to."""
    return BatchResult([], {}, [], [], [], [])
