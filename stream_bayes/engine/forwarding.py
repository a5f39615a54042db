"""Forwarding: a label that arrives in another partition than its observation is appended again to that partition.

Clients hash the key of a record differently (CRC32 in librdkafka, murmur2 in Java), so that the label of an observation
may arrive in another partition than the observation. A label that names the place of its observation, by its `source`
or by an id that is a place, is appended once more to the labels topic, at the partition of that place. The copy has a
header with the group that forwarded it. It is never forwarded again, and other groups ignore it: each group forwards
the labels for itself, in the order in which it reads them.
"""

from __future__ import annotations

from typing import NamedTuple

from stream_bayes.events import Label
from stream_bayes.records import Record

FORWARDED = "stream-bayes-forwarded"
"""The header of a forwarded label; its content is the name of the group that forwarded it."""
# More digits than any partition or offset has.
_MAX_DIGITS = 18


class Routing(NamedTuple):
    """The partition of an engine among those of the observations topic."""

    topic: str
    """The observations topic."""
    partition: int
    partitions: int
    """How many partitions the topic has."""
    group: bytes

    def target_of(self, label: Label) -> int | None:
        """The other partition in which a label says that its observation is; None if it names no other one."""
        if label.source is None:
            partition = self._partition_in(label.id)
        else:
            partition = label.source.partition if label.source.topic == self.topic else None
        if partition is None or partition == self.partition or not 0 <= partition < self.partitions:
            return None
        return partition

    def _partition_in(self, name: str) -> int | None:
        """The partition in an id that is the place of an observation: topic-partition-offset."""
        if not name.startswith(f"{self.topic}-"):
            return None
        numbers = name[len(self.topic) + 1 :].split("-")
        if len(numbers) != 2 or not all(map(_is_number, numbers)):
            return None
        partition = int(numbers[0])
        return partition if str(partition) == numbers[0] else None


def forwarded_by(record: Record) -> bytes | None:
    """The group that forwarded a record; None if it was not forwarded."""
    return next((content for name, content in record.headers if name == FORWARDED), None)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
