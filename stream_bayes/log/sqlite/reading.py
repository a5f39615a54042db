"""Records of several partitions as one sequence in the order of their times."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing
from itertools import islice

from stream_bayes.log.sqlite import tables
from stream_bayes.log.sqlite.headers import unpacked
from stream_bayes.records import Partition, Record


def gather(
    connection: sqlite3.Connection, starts: Sequence[tuple[tables.Place, int]], most: int, most_bytes: int
) -> tuple[list[Record], dict[Partition, int]]:
    """The next records by (time, order among `starts`, offset), and how far each partition was read.

    Ends with the record that reaches `most_bytes`. No more than what is returned is held in memory, and one record
    of each partition.
    """
    records: list[Record] = []
    reached: dict[int, int] = {}
    size = 0
    with ExitStack() as stack:
        cursors = [
            stack.enter_context(closing(tables.select(connection, place.table, rank, offset)))
            for rank, (place, offset) in enumerate(starts)
        ]
        for time, rank, offset, key, value, headers in islice(heapq.merge(*cursors), most):
            topic, number = starts[rank][0].partition
            records.append(Record(topic, number, offset, time, key, value, unpacked(headers)))
            reached[rank] = offset + 1
            size += len(value) + len(key or b"") + len(headers or b"")
            if size >= most_bytes:
                break
    return records, {starts[rank][0].partition: offset for rank, offset in reached.items()}
