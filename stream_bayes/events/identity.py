"""The id of an observation: given, or taken from its record."""

from __future__ import annotations

import unicodedata

from stream_bayes.errors import EventError
from stream_bayes.records import Record

# Control characters, halves of surrogate pairs, separators of lines and paragraphs.
_FORBIDDEN = ("Cc", "Cs", "Zl", "Zp")
LONGEST_KEY = 512
"""Bytes of a key that is taken for an id. No setting: what an observation is called must never change."""


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


def id_of(record: Record) -> str:
    """The id of an observation that has none: the key of its record if that will do, else its place."""
    if record.key and len(record.key) <= LONGEST_KEY:
        try:
            key = record.key.decode()
        except UnicodeDecodeError:
            pass
        else:
            if not _trouble(key, LONGEST_KEY):
                return key
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
