"""Reading a partition to its end, on nobody's behalf."""

from __future__ import annotations

from collections.abc import Iterator

from stream_bayes.log.base import Log
from stream_bayes.records import Partition, Record

_AT_ONCE = 200


def records_from(log: Log, place: Partition, position: int = 0) -> Iterator[Record]:
    """The records of a partition from an offset to its end as it is now; none of one that does not exist.

    Those that retention has removed are left out.
    """
    end = log.ends(place.topic).get(place, 0)
    while position < end:
        records = log.read(*place, position, _AT_ONCE)
        if not records:
            return
        yield from (record for record in records if record.offset < end)
        position = records[-1].offset + 1
