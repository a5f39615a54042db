"""The results of an engine, dead letters, and the decisions that a replay repeats."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from stream_bayes.active import RequestReason
from stream_bayes.errors import EventError
from stream_bayes.events import DeadLetter, LabelOutcome, LabelRequest, Prediction
from stream_bayes.mail.render.sanitize import printable
from stream_bayes.records import Record

# The last second of the year 9999: a request may expire later than the last date there is.
_LAST_MOMENT = 253_402_300_799_000
MAX_PAYLOAD = 32 << 20
MAX_KEY_AND_HEADERS = 1 << 20
"""Bytes of a value, and of a key with headers, that go into a dead letter: it must still be a record itself."""

Output = Prediction | LabelRequest | LabelOutcome | DeadLetter
TopicOffset = tuple[str, int]
"""The topic and the offset of a record, in the partition of the engine."""


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


@dataclass(slots=True)
class BatchResult:
    """The effects of a batch that are not part of the engine's state."""

    outputs: list[Output] = field(default_factory=list)
    requests: dict[int, RequestReason] = field(default_factory=dict)
    """The observations whose label is requested, by offset, and why."""
    rejected: list[RejectedRecord] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    """The offsets of the observations that were learned after they were predicted, when their label came."""
    abstentions: list[TopicOffset] = field(default_factory=list)
    """The labels by which a labeller abstained."""
    forwards: list[tuple[Record, int]] = field(default_factory=list)
    """The labels that belong to another partition, each with the number of that partition."""


def dead_letter(record: Record, problem: EventError) -> DeadLetter:
    """The dead letter of a record: with the whole record, or its first bytes where that is too large."""
    overhead_bytes = len(record.key or b"") + sum(len(name) + len(content) for name, content in record.headers)
    cut = len(record.value) > MAX_PAYLOAD or overhead_bytes > MAX_KEY_AND_HEADERS
    return DeadLetter(
        code=problem.code,
        message=printable(str(problem)),
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        payload=record.value[:MAX_PAYLOAD],
        size=len(record.value) if cut else None,
        key=None if cut else record.key,
        headers=None if cut else record.headers or None,
        # A producer of others may have sent any number: no date is earlier than the stream's clock can be.
        at=moment(max(record.timestamp, 0)),
    )


def moment(clock: int) -> datetime:
    """A time on the clock of the stream, in milliseconds, as a date and time."""
    return datetime.fromtimestamp(min(clock, _LAST_MOMENT) / 1000.0, UTC)
