"""Reading a partition to its end."""

from __future__ import annotations

from itertools import islice

import pytest

from stream_bayes.eventlog.base import records_from
from stream_bayes.records import Partition
from tests.support.logs import Logs, everything, put, values

MANY = 450
"""More than are read at once, twice."""


@pytest.fixture
def place(logs: Logs) -> Partition:
    return Partition(logs.topic("letters"), 1)


def test_all_that_there_is_from_an_offset_on(logs: Logs, place: Partition) -> None:
    log = logs.open(partitions=2)
    put(log, place.topic, *[b"of the other partition"] * MANY)
    numbers = [b"%d" % number for number in range(MANY)]
    for begin in range(0, MANY, 90):
        put(log, place.topic, *numbers[begin : begin + 90], partition=1)
    offsets = [record.offset for record in everything(log, *place)]
    for position in (0, 7, 200, MANY - 1):
        assert values([*records_from(log, place, offsets[position])]) == numbers[position:]
    for offset in (offsets[-1] + 1, offsets[-1] + 10):
        assert list(records_from(log, place, offset)) == []


def test_the_end_is_that_of_the_first_look(logs: Logs, place: Partition) -> None:
    log = logs.open(partitions=2)
    put(log, place.topic, *[b"early"] * 3, partition=1)
    reading = records_from(log, place)
    first = list(islice(reading, 1))
    put(log, place.topic, b"late", partition=1)
    assert values([*first, *reading]) == [b"early"] * 3


def test_nothing_of_nowhere_and_nothing_that_was_removed(logs: Logs, place: Partition) -> None:
    log = logs.open(partitions=2)
    assert list(records_from(log, place)) == []
    put(log, place.topic, *(b"%d" % number for number in range(5)), partition=1)
    offsets = [record.offset for record in everything(log, *place)]
    log.trim({place: offsets[3]})
    assert values([*records_from(log, place)]) == [b"3", b"4"]
    log.trim({place: offsets[4] + 1})
    assert list(records_from(log, place)) == []
