"""Dead letters in a log: reading them, and sending them again exactly once."""

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
    """A dead letter and its place."""

    place: str
    """PARTITION-OFFSET in the topic of dead letters."""
    content: DeadLetter
    sent_again: bool


def dead_letter_records(log: Log, settings: Settings) -> Iterator[DeadLetterRecord]:
    """All dead letters that are there, by partition and offset."""
    again = places_sent_again(log, settings)
    return (_letter(record, again) for record in _records(log, settings.topics.dead_letters))


def dead_letter_at(log: Log, settings: Settings, place: str) -> DeadLetterRecord:
    """The dead letter at a place."""
    partition, _, offset = place.partition("-")
    if partition.isdecimal() and offset.isdecimal():
        found = log.read(settings.topics.dead_letters, int(partition), int(offset))
        if found and found[0].offset == int(offset):
            return _letter(found[0], places_sent_again(log, settings))
    message = f"there is no dead letter {place!r}: stream-bayes dead-letters list prints their places"
    raise InputError(message)


def send_again(log: Log, settings: Settings, letter: DeadLetterRecord) -> None:
    """Stage the record as it was, into the topic it came from, and a note that it was sent again."""
    content = letter.content
    whole = content.payload, content.key, content.headers or ()
    value, key, headers = whole if content.size is None else _whole(log, content)
    log.append(content.topic, value, key, content.partition, headers)
    log.append(_notes(settings), letter.place.encode())


def _whole(log: Log, content: DeadLetter) -> tuple[bytes, bytes | None, Headers]:
    """Value, key and headers of the record itself."""
    found = log.read(content.topic, content.partition, content.offset)
    if found and found[0].offset == content.offset:
        return found[0].value, found[0].key, found[0].headers
    message = (
        f"{content.topic}-{content.partition}-{content.offset} is no longer in the log, and its letter does not hold "
        "all of it: it cannot be sent again"
    )
    raise InputError(message)


def places_sent_again(log: Log, settings: Settings) -> set[str]:
    """Which letters were sent again before."""
    notes = _notes(settings)
    for place in log.end_offsets(notes):
        log.wait_for_open_transactions(place)
    return {record.value.decode("utf-8", "replace") for record in _records(log, notes)}


def _notes(settings: Settings) -> str:
    return f"{settings.topics.dead_letters}-sent-again"


def _letter(record: Record, again: set[str]) -> DeadLetterRecord:
    place = f"{record.partition}-{record.offset}"
    try:
        content = DeadLetter.model_validate_json(record.value)
    except ValidationError as problem:
        message = f"record {place} of {record.topic!r} is no dead letter: somebody else writes to this topic"
        raise InputError(message) from problem
    return DeadLetterRecord(place, content, place in again)


def _records(log: Log, topic: str) -> Iterator[Record]:
    return chain.from_iterable(records_from(log, place) for place in sorted(log.end_offsets(topic)))
