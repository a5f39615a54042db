"""The inputs and the results of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from stream_bayes.active import RequestReason
from stream_bayes.errors import EventError
from stream_bayes.events import DeadLetter, Label, LabelOutcome, LabelRequest, Observation, Prediction
from stream_bayes.records import Record

Output = Prediction | LabelRequest | LabelOutcome | DeadLetter
TopicOffset = tuple[str, int]
"""The topic and the offset of a record, in the partition of the engine."""


class InputEvent(NamedTuple):
    """A record with the event that it holds, or with the error that decoding it raised."""

    record: Record
    event: Observation | Label | EventError
    unknown_fields: int = 0
    """How many fields of its JSON were ignored."""
    label_problem: EventError | None = None
    """Why the label of an observation cannot be used; the observation itself can."""


class RejectedRecord(NamedTuple):
    """A record that became a dead letter."""

    topic: str
    offset: int
    code: str
    observation: int | None = None
    """The offset of the observation that it was a label for, where that is known.

    It is the record's own offset if the record is an observation that was predicted, and only its label was rejected.
    """


class RequestPolicy(NamedTuple):
    """The settings that decide when label requests expire, as they were when events were first processed."""

    request_ttl: int
    """The time to live of a request, in milliseconds."""
    remembered: int
    """The number of the newest observations that requests can be about."""
    partitions: int
    """The number of partitions that share the label budget."""


class ReplayDecisions(NamedTuple):
    """The decisions that were made when events were first processed; a replay makes none of them again."""

    requests: Mapping[int, RequestReason]
    """The observations whose label was requested, by offset, and why."""
    abstentions: Set[TopicOffset] = frozenset()
    """The labels by which a labeller abstained."""
    policy: RequestPolicy | None = None
    """The policy by which requests expired; None if it is unknown: then the current one is used."""


class BatchResult(NamedTuple):
    """The effects of a batch that are not part of the engine's state."""

    outputs: list[Output]
    requests: dict[int, RequestReason]
    """The observations whose label is requested, by offset, and why."""
    rejected: list[RejectedRecord]
    late: list[int]
    """The offsets of the observations that were learned after they were predicted, when their label came."""
    abstentions: list[TopicOffset]
    """The labels by which a labeller abstained."""
    forwards: list[tuple[Record, int]]
    """The labels that belong to another partition, each with the number of that partition."""

    @classmethod
    def empty(cls) -> BatchResult:
        """The result of no events."""
        return cls([], {}, [], [], [], [])
