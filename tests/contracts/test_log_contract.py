"""What every log promises, on each kind of log."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_bayes.errors import LogError, ParameterError
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.validation import chosen_partition
from stream_bayes.records import Offsets, Partition
from tests.support.kafka_workers import wait_until
from tests.support.logs import Logs, commit, everything, first, poll_all, poll_some, put, values

NUMBERS = [b"%d" % number for number in range(20)]


def offsets_of(log: Log, topic: str) -> list[int]:
    return [record.offset for record in everything(log, topic)]


def test_a_record_is_seen_once_it_is_committed_and_not_before(logs: Logs, mails: str) -> None:
    writer = logs.open()
    reader = logs.reader(mails)
    writer.append(mails, b"one", key=b"k", headers=[("label", b"spam")])
    assert reader.poll(10, timeout=0.0) == []
    assert writer.end_offsets(mails) == {first(mails): 0}
    written = commit(writer)
    (record,) = poll_some(reader, 10)
    assert record[:2] == (mails, 0)
    assert record[4:] == (b"k", b"one", (("label", b"spam"),))
    assert reader.read(mails, 0, record.offset) == [record]
    assert written == {first(mails): record.offset + 1}
    assert not reader.ended


def test_a_commit_returns_the_end_offsets_of_its_records(logs: Logs, mails: str) -> None:
    log = logs.open(partitions=2)
    other = logs.topic("other")
    assert log.commit({}) == {}
    for _ in range(3):
        for topic, number in ((mails, 0), (mails, 1), (mails, 1), (other, 0)):
            log.append(topic, b"", partition=number)
        written = commit(log)
        assert written.keys() == {Partition(mails, 0), Partition(mails, 1), Partition(other, 0)}
        for place, end in written.items():
            assert everything(log, *place)[-1].offset == end - 1
            assert log.end_offsets(place.topic)[place] >= end
    assert [len(everything(log, mails, number)) for number in (0, 1)] == [3, 6]


def test_records_come_once_and_in_order_for_any_poll_size(logs: Logs, mails: str) -> None:
    put(logs.open(), mails, *NUMBERS)
    reader = logs.reader(mails)
    few = [poll_some(reader, most) for most in (1, 2, 5)]
    assert all(0 < len(records) <= most for records, most in zip(few, (1, 2, 5), strict=True))
    assert values([record for records in few for record in records] + poll_all(reader)) == NUMBERS


def test_the_lag_counts_the_records_still_to_poll(logs: Logs, mails: str) -> None:
    reader = logs.reader(mails)
    assert reader.lag() == {first(mails): 0}
    put(logs.open(), mails, *NUMBERS)
    assert reader.lag()[first(mails)] >= len(NUMBERS)
    poll_all(reader)
    assert reader.lag() == {first(mails): 0}
    reader.seek({first(mails): offsets_of(reader, mails)[5]})
    assert reader.lag()[first(mails)] >= len(NUMBERS) - 5


def test_a_heartbeat_returns_the_assigned_partitions(logs: Logs, mails: str) -> None:
    reader = logs.reader(mails, partitions=2)
    assert reader.heartbeat() == {Partition(mails, 0), Partition(mails, 1)}
    put(reader, mails, b"one")
    assert values(poll_all(reader)) == [b"one"]


any_headers = st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.binary()), max_size=3)


@pytest.fixture
def writer(logs: Logs) -> Log:
    """One for all examples."""
    return logs.open()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.binary(), st.none() | st.binary(), any_headers)
def test_any_bytes_come_back_as_they_were(
    writer: Log, mails: str, value: bytes, key: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    writer.append(mails, value, key, headers=headers)
    written = commit(writer)
    (record,) = writer.read(mails, 0, written[first(mails)] - 1)
    assert record[4:] == (key, value, tuple(headers))


def test_a_key_chooses_the_same_partition_in_every_topic(logs: Logs, mails: str) -> None:
    labels = logs.topic("labels")
    log = logs.reader(mails, labels, partitions=4)
    for number in NUMBERS:
        log.append(mails, b"mail", key=number)
        log.append(labels, b"label", key=number)
        log.append(mails, b"without a key")
    commit(log)
    records = poll_all(log)
    chosen = {topic: {r.key: r.partition for r in records if r.topic == topic and r.key} for topic in (mails, labels)}
    assert chosen[mails] == chosen[labels]
    assert set(chosen[mails].values()) == {0, 1, 2, 3}
    assert {record.partition for record in records if record.key is None} == {0, 1, 2, 3}


def test_a_key_chooses_the_same_partition_for_ever() -> None:
    assert [chosen_partition(number, 4, turn) for turn, number in enumerate(NUMBERS[:8])] == [1, 3, 1, 3, 0, 2, 0, 2]


def test_a_topic_keeps_its_number_of_partitions(logs: Logs, mails: str) -> None:
    logs.open(partitions=2).append(mails, b"", partition=1)
    later = logs.open(logs.group("readers"), [mails], partitions=5)
    assert later.end_offsets(mails) == {Partition(mails, 0): 0, Partition(mails, 1): 0}
    for wrong in (2, -1, 10**30):
        with pytest.raises(LogError, match=rf"the topic {mails} has no partition .* its 2 are numbered from 0 to 1"):
            later.append(mails, b"", partition=wrong)


def test_a_restart_continues_after_the_last_commit(logs: Logs, mails: str) -> None:
    out = logs.topic("out")
    put(logs.open(), mails, *NUMBERS)
    with logs.reader(mails) as log:
        assert log.committed() == {first(mails): 0}
        position = offsets_of(log, mails)[3]
        poll_some(log, 5)
        log.append(out, b"committed")
        commit(log, {first(mails): position})
        log.append(out, b"never committed")
        assert poll_some(log, 2)
    with logs.reader(mails) as log:
        assert log.committed() == {first(mails): position}
        assert values(poll_all(log)) == NUMBERS[3:]
        assert values(everything(log, out)) == [b"committed"]


def test_discarded_records_are_never_written(logs: Logs, mails: str) -> None:
    log = logs.open()
    log.append(mails, b"no")
    log.discard()
    put(log, mails, b"yes")
    log.commit({})
    assert values(everything(log, mails)) == [b"yes"]


def test_seek_moves_the_poll_and_not_the_position(logs: Logs, mails: str) -> None:
    log = logs.reader(mails)
    put(log, mails, *NUMBERS)
    offsets = offsets_of(log, mails)
    places = {7: offsets[7], 0: 0, 20: offsets[-1] + 1, 19: offsets[19]}
    for number, offset in places.items():
        log.seek({first(mails): offset})
        assert values(poll_all(log)) == NUMBERS[number:]
    assert log.committed() == {first(mails): 0}
    for wrong in ({first(logs.topic("labels")): 0}, {first(mails): -1}):
        for call in (log.seek, log.commit):
            with pytest.raises(ParameterError, match=r"not read here|0 or more"):
                call(wrong)


def test_positions_may_go_back(logs: Logs, mails: str) -> None:
    with logs.reader(mails) as log:
        put(log, mails, *NUMBERS)
        offsets = offsets_of(log, mails)
        commit(log, {first(mails): offsets[-1] + 1})
        commit(log, {first(mails): offsets[15]})
    assert values(poll_all(logs.reader(mails))) == NUMBERS[15:]


def test_reading_a_range_moves_nothing(logs: Logs, mails: str) -> None:
    log = logs.reader(mails)
    put(log, mails, *NUMBERS)
    offsets = offsets_of(log, mails)
    assert values(log.read(mails, 0, offsets[3])) == NUMBERS[3:4]
    assert values(log.read(mails, 0, offsets[3], 4)) == NUMBERS[3:7]
    assert values(log.read(mails, 0, offsets[18], 100)) == NUMBERS[18:]
    for topic, partition, offset in ((mails, 0, offsets[-1] + 1), (mails, 0, 10**30), (mails, 1, 0), (mails, 10**30, 0),
                                     (logs.topic("none"), 0, 0), ("\ud800", 0, 0), ("", 0, 0)):  # fmt: skip
        assert log.read(topic, partition, offset, 5) == []
    assert values(poll_all(log)) == NUMBERS
    assert (
        log.end_offsets(logs.topic("none"))
        == log.earliest_offsets(logs.topic("none"))
        == log.end_offsets("\ud800")
        == {}
    )


def trim_past(log: Log, offsets: Offsets, partition: Partition, offset: int) -> None:
    """Trim until the partition begins after an offset: Kafka may show a committed position a moment later."""

    def is_trimmed() -> bool:
        log.trim(offsets)
        return log.earliest_offsets(partition.topic)[partition] > offset

    wait_until(is_trimmed)


def test_retention_keeps_records_that_a_group_has_not_read(logs: Logs, mails: str) -> None:
    log = logs.reader(mails)
    put(log, mails, *NUMBERS)
    offsets = offsets_of(log, mails)
    commit(log, {first(mails): offsets[12]})
    wanted = {first(mails): offsets[8], first(logs.topic("none")): 5, Partition(mails, 9): 1}
    trim_past(log, wanted, first(mails), offsets[7])
    assert log.earliest_offsets(mails)[first(mails)] <= offsets[8]
    trim_past(log, {first(mails): 10**30}, first(mails), offsets[11])
    assert log.earliest_offsets(mails)[first(mails)] <= offsets[12]
    log.trim({first(mails): offsets[3]})
    assert values(log.read(mails, 0, 0, 2)) == NUMBERS[12:14]
    assert [record.offset for record in log.read(mails, 0, offsets[5], 1)] == [offsets[12]]
    commit(log, {first(mails): offsets[-1] + 1})
    trim_past(log, {first(mails): offsets[-1] + 1}, first(mails), offsets[-1])
    assert everything(log, mails) == []
    put(log, mails, b"next")
    assert values(everything(log, mails)) == [b"next"]


def test_groups_do_not_know_each_other(logs: Logs, mails: str) -> None:
    one = logs.reader(mails, group="one")
    other = logs.reader(mails, group="other")
    put(one, mails, *NUMBERS)
    commit(one, {first(mails): offsets_of(one, mails)[-1] + 1})
    assert other.committed() == {first(mails): 0}
    assert values(poll_all(other)) == NUMBERS
