"""Dead letters in a log: reading, and requeueing each exactly once.

A module of its own, since `dead_letters` must not import pydantic until a command runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from pydantic import ValidationError

from stream_bayes.config import Settings
from stream_bayes.errors import InputError
from stream_bayes.eventlog.base import Headers, Log, records_from
from stream_bayes.events import DeadLetter
from stream_bayes.records import Record


class DeadLetterRecord(NamedTuple):
    """A dead letter, its position, and whether it was requeued."""

    position: str
    """PARTITION-OFFSET in the topic of dead letters."""
    content: DeadLetter
    sent_again: bool


def dead_letter_records(log: Log, settings: Settings) -> Iterator[DeadLetterRecord]:
    """Yield all dead letters by partition and offset."""
    requeued = requeued_positions(log, settings)
    return (_parse_record(record, requeued) for record in _records(log, settings.topics.dead_letters))


def dead_letter_at(log: Log, settings: Settings, position: str) -> DeadLetterRecord:
    """Return the dead letter at PARTITION-OFFSET."""
    partition, _, offset = position.partition("-")
    if partition.isdecimal() and offset.isdecimal():
        found = log.read(settings.topics.dead_letters, int(partition), int(offset))
        if found and found[0].offset == int(offset):
            return _parse_record(found[0], requeued_positions(log, settings))
    message = f"there is no dead letter {position!r}: stream-bayes dead-letters list prints their places"
    raise InputError(message)


def requeue_record(log: Log, settings: Settings, letter: DeadLetterRecord) -> None:
    """Stage the original record for its topic, and a marker that it was requeued."""
    content = letter.content
    if content.size is None:
        log.append(content.topic, content.payload, content.key, content.partition, content.headers or ())
    else:
        value, key, headers = _read_original(log, content)
        log.append(content.topic, value, key, content.partition, headers)
    log.append(_requeued_topic(settings), letter.position.encode())


def _read_original(log: Log, content: DeadLetter) -> tuple[bytes, bytes | None, Headers]:
    """Read value, key and headers of the original record."""
    found = log.read(content.topic, content.partition, content.offset)
    if found and found[0].offset == content.offset:
        return found[0].value, found[0].key, found[0].headers
    message = (
        f"{content.topic}-{content.partition}-{content.offset} is no longer in the log, and its letter does not hold "
        "all of it: it cannot be sent again"
    )
    raise InputError(message)


def requeued_positions(log: Log, settings: Settings) -> set[str]:
    """Return the positions of the letters that were requeued."""
    topic = _requeued_topic(settings)
    for partition in log.end_offsets(topic):
        log.wait_for_open_transactions(partition)
    return {record.value.decode("utf-8", "replace") for record in _records(log, topic)}


def _requeued_topic(settings: Settings) -> str:
    return f"{settings.topics.dead_letters}-sent-again"


def _parse_record(record: Record, requeued: set[str]) -> DeadLetterRecord:
    position = f"{record.partition}-{record.offset}"
    try:
        content = DeadLetter.model_validate_json(record.value)
    except ValidationError as problem:
        message = f"record {position} of {record.topic!r} is no dead letter: another program writes to this topic"
        raise InputError(message) from problem
    return DeadLetterRecord(position, content, position in requeued)


def _records(log: Log, topic: str) -> Iterator[Record]:
    return chain.from_iterable(records_from(log, partition) for partition in sorted(log.end_offsets(topic)))
