"""What an engine takes and gives."""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.errors import EventError
from stream_bayes.events import DeadLetter, Label, LabelRequest, Observation, Prediction
from stream_bayes.records import Record

Output = Prediction | LabelRequest | DeadLetter


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
    """The offset of the observation that it was a label for, where that will never get one."""


class Outcome(NamedTuple):
    """What a batch led to."""

    outputs: list[Output]
    asked: list[int]
    """The offsets of the observations whose label is asked for."""
    refused: list[Refused]
    late: list[int]
    """The offsets of the observations that were learned when their label came later."""
