"""Reading a partition to its end."""

from __future__ import annotations

from itertools import islice

from stream_bayes.log.reading import records_from
from stream_bayes.records import Partition
from tests.logs import Logs, logs

__all__ = ["logs"]
PLACE = Partition("letters", 1)
MANY = 450
"""More than are read at once, twice."""


def test_all_that_there_is_from_an_offset_on(logs: Logs) -> None:
    log = logs.open(partitions=2)
    for number in range(MANY):
        log.append("letters", b"%d" % number, partition=1)
        log.append("letters", b"of the other partition", partition=0)
    log.commit({})
    for position in (0, 7, MANY - 1, MANY, MANY + 5):
        found = [int(record.value) for record in records_from(log, PLACE, position)]
        assert found == list(range(position, MANY))


def test_the_end_is_that_of_the_first_look(logs: Logs) -> None:
    log = logs.open(partitions=2)
    for _ in range(3):
        log.append("letters", b"early", partition=1)
    log.commit({})
    reading = records_from(log, PLACE)
    first = list(islice(reading, 1))
    log.append("letters", b"late", partition=1)
    log.commit({})
    assert [record.value for record in [*first, *reading]] == [b"early"] * 3


def test_nothing_of_nowhere_and_nothing_that_was_removed(logs: Logs) -> None:
    log = logs.open(partitions=2)
    assert list(records_from(log, PLACE)) == []
    for number in range(5):
        log.append("letters", b"%d" % number, partition=1)
    log.commit({})
    log.trim({PLACE: 3})
    assert [record.offset for record in records_from(log, PLACE)] == [3, 4]
    log.trim({PLACE: 5})
    assert list(records_from(log, PLACE)) == []
