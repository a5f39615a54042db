"""Where events come from: records of a log, and their places in it. Plain tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Partition(NamedTuple):
    """One of the sequences that a topic is made of."""

    topic: str
    number: int


class Source(NamedTuple):
    """The place of a record: what identifies it for ever."""

    topic: str
    partition: int
    offset: int


class Record(NamedTuple):
    """A record as a log gives it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970, set by the log and not by the sender."""
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def source(self) -> Source:
        """Its place."""
        return Source(self.topic, self.partition, self.offset)


Offsets = Mapping[Partition, int]
"""For each partition the offset of the next record: to be read, or to be written."""
