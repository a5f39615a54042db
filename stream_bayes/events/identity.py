"""The id of an observation: given by the sender, or the place of its record."""

from __future__ import annotations

import unicodedata

from stream_bayes.errors import EventError
from stream_bayes.records import Record

# Control characters, halves of surrogate pairs, separators of lines and paragraphs.
_USUAL_BYTES = 512
_FORBIDDEN = ("Cc", "Cs", "Zl", "Zp")


def check_id(given: str, most_bytes: int) -> None:
    """Refuse an id that is empty, too long, or would not stay on one line."""
    if problem := _trouble(given, most_bytes):
        raise EventError("bad-id", problem)


def decoded_id(given: bytes, most_bytes: int) -> str:
    """An id from a header."""
    try:
        text = given.decode()
    except UnicodeDecodeError:
        message = "the id in the header is not UTF-8"
        raise EventError("bad-id", message) from None
    check_id(text, most_bytes)
    return text


def id_header(name: str) -> tuple[tuple[str, bytes], ...]:
    """The record header `id` for an observation; none where the name cannot be an id, so that its place is."""
    return () if _trouble(name, _USUAL_BYTES) else (("id", name.encode()),)


def id_of(record: Record) -> str:
    """The id of an observation that was given none: the place of its record.

    Never the key: many records share one, such as all mails of a mailbox.
    """
    return f"{record.topic}-{record.partition}-{record.offset}"


def _trouble(text: str, most_bytes: int) -> str | None:
    # The two quick questions answer for nearly every id.
    if not text:
        return "the id is empty"
    if len(text) * 4 > most_bytes and (size := len(text.encode("utf-8", "surrogatepass"))) > most_bytes:
        return f"the id has {size} bytes; at most {most_bytes} are allowed (events.id_bytes)"
    if not text.isprintable() and any(unicodedata.category(character) in _FORBIDDEN for character in text):
        return "the id has control characters in it"
    return None
