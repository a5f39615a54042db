"""Records of a log, partitions, and the places of records, as plain tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Partition(NamedTuple):
    """One partition of a topic."""

    topic: str
    number: int


class Source(NamedTuple):
    """The place of a record, which identifies it for ever."""

    topic: str
    partition: int
    offset: int


class Record(NamedTuple):
    """A record of a log."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970, set by the log and not by the sender."""
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


Offsets = Mapping[Partition, int]
"""For each partition the offset of the next record: to be read, or to be written."""
