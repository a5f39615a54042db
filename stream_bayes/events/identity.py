"""Ids of observations: checked if the sender gives one, else derived from topic, partition and offset."""

from __future__ import annotations

import unicodedata

from stream_bayes.errors import EventError
from stream_bayes.records import Record

_DEFAULT_MAX_BYTES = 512
# Unicode categories: control characters, lone surrogates, line and paragraph separators.
_FORBIDDEN = ("Cc", "Cs", "Zl", "Zp")


def check_id(id_: str, max_bytes: int) -> None:
    """Raise `EventError` for an id that is empty, too long, or has control characters."""
    if problem := _id_problem(id_, max_bytes):
        raise EventError("bad-id", problem)


def id_from_header(value: bytes, max_bytes: int) -> str:
    """Decode and check the id in a record header."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        message = "the id in the header is not UTF-8"
        raise EventError("bad-id", message) from None
    check_id(text, max_bytes)
    return text


def id_header(name: str) -> tuple[tuple[str, bytes], ...]:
    """Return the record header `id`; empty if the name is no valid id, so that the default id is used."""
    return () if _id_problem(name, _DEFAULT_MAX_BYTES) else (("id", name.encode()),)


def default_id(record: Record) -> str:
    """Return TOPIC-PARTITION-OFFSET, the id of an observation whose sender gave none.

    The key is not used: many records share one, such as all mails of a mailbox.
    """
    return f"{record.topic}-{record.partition}-{record.offset}"


def _id_problem(text: str, max_bytes: int) -> str | None:
    # The length of the string and `isprintable` are cheap and decide nearly every id.
    if not text:
        return "the id is empty"
    if len(text) * 4 > max_bytes and (size := len(text.encode("utf-8", "surrogatepass"))) > max_bytes:
        return f"the id has {size} bytes; at most {max_bytes} are allowed (events.id_bytes)"
    if not text.isprintable() and any(unicodedata.category(character) in _FORBIDDEN for character in text):
        return "the id has control characters in it"
    return None
