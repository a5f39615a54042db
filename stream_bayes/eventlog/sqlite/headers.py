"""Headers of a record as one blob: for each, two lengths of four bytes, the name in UTF-8, the content."""

from __future__ import annotations

import struct
from functools import lru_cache

from stream_bayes.eventlog.base import Headers

_LENGTHS = struct.Struct("<II")
_SHORT = 256


def packed(headers: Headers) -> bytes | None:
    """The blob; None when there are none."""
    if not headers:
        return None
    parts = []
    for name, content in headers:
        text = name.encode()
        parts += [_LENGTHS.pack(len(text), len(content)), text, content]
    return b"".join(parts)


def unpacked(blob: bytes | None) -> tuple[tuple[str, bytes], ...]:
    """The headers; short blobs are remembered, since most records carry the same few."""
    if blob is None:
        return ()
    return _remembered(blob) if len(blob) <= _SHORT else _split(blob)


def _split(blob: bytes) -> tuple[tuple[str, bytes], ...]:
    headers = []
    place = 0
    while place < len(blob):
        name_length, length = _LENGTHS.unpack_from(blob, place)
        start = place + _LENGTHS.size
        middle = start + name_length
        place = start + name_length + length
        headers.append((blob[start:middle].decode(), blob[middle:place]))
    return tuple(headers)


_remembered = lru_cache(maxsize=1024)(_split)
