"""From records to what an engine takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stream_bayes.config import Settings
from stream_bayes.engine import InputEvent
from stream_bayes.errors import EventError, RecoveryError
from stream_bayes.eventlog.base import Log
from stream_bayes.events import Label, Limits, Observation, decode_record
from stream_bayes.records import Record
from stream_bayes.runtime.journal import OffsetRange

# For records that were good enough once: limits may have been lowered since.
NO_LIMITS = Limits(record_bytes=2**62, depth=200, id_bytes=2**62)
_CHUNK = 1000


def limits_of(settings: Settings) -> Limits:
    """What a record may be at most."""
    return Limits(settings.events.record_bytes, settings.events.depth, settings.events.id_bytes)


def decode_records(records: Iterable[Record], settings: Settings, limits: Limits) -> list[InputEvent]:
    """Each record with its event, or with why it has none."""
    topic = settings.topics.observations
    return [decode_one(record, Observation if record.topic == topic else Label, limits) for record in records]


def decode_one(record: Record, kind: type[Observation] | type[Label], limits: Limits) -> InputEvent:
    """A record with its event, or with why it has none."""
    try:
        decoded = decode_record(record, kind, limits)
    except EventError as problem:
        # Where it came from would hold on to the whole batch, which holds it, until Python looks for garbage.
        problem.__context__ = None
        return InputEvent(record, problem.with_traceback(None))
    refused = decoded.label_problem
    if refused is not None:
        refused = EventError(refused.code, str(refused), record.offset)
    return InputEvent(record, decoded.event, decoded.unknown_fields, refused)


class ObservationReader:
    """Reads observations of one partition from the log again, for labels that come late."""

    def __init__(self, log: Log, topic: str, partition: int) -> None:
        self._log = log
        self._topic = topic
        self._partition = partition

    def fetch(self, offsets: Iterable[int]) -> dict[int, Observation | None]:
        """The observations at these offsets; None where the log no longer has one."""
        return {offset: self._read(offset) for offset in sorted(offsets)}

    def _read(self, offset: int) -> Observation | None:
        records = self._log.read(self._topic, self._partition, offset)
        if not records or records[0].offset != offset:
            return None
        event = decode_one(records[0], Observation, NO_LIMITS).event
        return event if isinstance(event, Observation) else None


def read_range(log: Log, run: OffsetRange, *, lenient: bool = False) -> Iterator[list[Record]]:
    """The records of a run in order, some at a time; it is an error if some are gone, but for a lenient reader."""
    position = run.begin
    while position < run.end:
        found = log.read(run.topic, run.partition, position, min(run.end - position, _CHUNK))
        records = [record for record in found if record.offset < run.end]
        begins = records[0].offset if records else run.end
        # The last record of a run is one, so that its end is no gap.
        if not records and lenient:
            return
        if not lenient and (not records or (begins > position and _removed(log, run, position))):
            message = (
                f"{run.topic}-{run.partition} no longer has the records {position} to {begins - 1}, which the model "
                "has to learn again: put the log back from a copy, or start a new model with stream-bayes rebuild"
            )
            raise RecoveryError(message)
        yield records
        position = records[-1].offset + 1


def _removed(log: Log, run: OffsetRange, position: int) -> bool:
    """Whether retention removed a record, or the log never gave the offset to one."""
    return any(
        begin > position for place, begin in log.earliest_offsets(run.topic).items() if place.number == run.partition
    )
