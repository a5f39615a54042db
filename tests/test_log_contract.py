"""What every log promises, on each kind of log."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_bayes.errors import LogError, ParameterError
from stream_bayes.log.arguments import chosen_partition
from stream_bayes.records import Partition
from tests.logs import Logs, drained, first, logs, put, values

__all__ = ["logs"]

NUMBERS = [b"%d" % number for number in range(20)]


def test_a_record_is_seen_once_it_is_committed_and_not_before(logs: Logs) -> None:
    writer, reader = logs.open(), logs.open("readers", ["mails"])
    writer.append("mails", b"one", key=b"k", headers=[("label", b"spam")])
    assert reader.poll(10, timeout=0.0) == []
    assert writer.ends("mails") == {first("mails"): 0}
    writer.commit({})
    (record,) = reader.poll(10, timeout=0.0)
    assert record[:3] == ("mails", 0, 0)
    assert record[4:] == (b"k", b"one", (("label", b"spam"),))
    assert reader.read("mails", 0, 0) == [record]
    assert not reader.ended


def test_records_come_in_order_and_once_however_many_are_asked_for(logs: Logs) -> None:
    put(logs.open(), "mails", *NUMBERS)
    reader = logs.open("readers", ["mails"])
    polled = [reader.poll(most, timeout=0.0) for most in (1, 2, 5, 100, 1)]
    assert [len(records) for records in polled] == [1, 2, 5, 12, 0]
    assert values([record for records in polled for record in records]) == NUMBERS


any_headers = st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.binary()), max_size=3)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(), st.none() | st.binary(), any_headers)
def test_any_bytes_come_back_as_they_were(
    logs: Logs, value: bytes, key: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    with logs.open() as log:
        end = log.ends("any").get(first("any"), 0)
        log.append("any", value, key, headers=headers)
        log.commit({})
        (record,) = log.read("any", 0, end)
        assert record[4:] == (key, value, tuple(headers))


def test_a_key_chooses_the_same_partition_in_every_topic(logs: Logs) -> None:
    log = logs.open("readers", ["mails", "labels"], partitions=4)
    for number in NUMBERS:
        log.append("mails", b"mail", key=number)
        log.append("labels", b"label", key=number)
        log.append("mails", b"without a key")
    log.commit({})
    records = drained(log)
    chosen = {
        topic: {r.key: r.partition for r in records if r.topic == topic and r.key} for topic in ("mails", "labels")
    }
    assert chosen["mails"] == chosen["labels"]
    assert set(chosen["mails"].values()) == {0, 1, 2, 3}
    assert {record.partition for record in records if record.key is None} == {0, 1, 2, 3}


def test_a_key_chooses_the_same_partition_for_ever() -> None:
    assert [chosen_partition(number, 4, turn) for turn, number in enumerate(NUMBERS[:8])] == [1, 3, 1, 3, 0, 2, 0, 2]


def test_a_topic_keeps_its_number_of_partitions(logs: Logs) -> None:
    logs.open(partitions=2).append("mails", b"", partition=1)
    later = logs.open("readers", ["mails"], partitions=5)
    assert later.ends("mails") == {Partition("mails", 0): 0, Partition("mails", 1): 0}
    for wrong in (2, -1, 10**30):
        with pytest.raises(LogError, match=r"the topic mails has no partition .* its 2 are numbered from 0 to 1"):
            later.append("mails", b"", partition=wrong)


def test_a_restart_goes_on_where_the_last_commit_was(logs: Logs) -> None:
    put(logs.open(), "mails", *NUMBERS)
    with logs.open("readers", ["mails"]) as log:
        assert log.committed() == {first("mails"): 0}
        log.poll(5, timeout=0.0)
        log.append("out", b"committed")
        log.commit({first("mails"): 3})
        log.append("out", b"never committed")
        assert values(log.poll(2, timeout=0.0)) == NUMBERS[5:7]
    with logs.open("readers", ["mails"]) as log:
        assert log.committed() == {first("mails"): 3}
        assert values(drained(log)) == NUMBERS[3:]
        assert values(log.read("out", 0, 0, 10)) == [b"committed"]


def test_what_is_discarded_is_never_written(logs: Logs) -> None:
    log = logs.open()
    log.append("mails", b"no")
    log.discard()
    put(log, "mails", b"yes")
    log.commit({})
    assert values(log.read("mails", 0, 0, 10)) == [b"yes"]


def test_seek_moves_the_poll_and_not_the_position(logs: Logs) -> None:
    log = logs.open("readers", ["mails"])
    put(log, "mails", *NUMBERS)
    for offset in (7, 0, 20, 19):
        log.seek({first("mails"): offset})
        assert values(drained(log)) == NUMBERS[offset:]
    assert log.committed() == {first("mails"): 0}
    with pytest.raises(LogError, match="ends at offset 20, so 21"):
        log.seek({first("mails"): 21})
    for wrong in ({first("labels"): 0}, {first("mails"): -1}):
        for call in (log.seek, log.commit):
            with pytest.raises(ParameterError, match=r"not read here|0 or more"):
                call(wrong)


def test_positions_may_go_back(logs: Logs) -> None:
    with logs.open("readers", ["mails"]) as log:
        put(log, "mails", *NUMBERS)
        log.commit({first("mails"): 20})
        log.commit({first("mails"): 15})
    assert values(drained(logs.open("readers", ["mails"]))) == NUMBERS[15:]


def test_reading_a_range_moves_nothing(logs: Logs) -> None:
    log = logs.open("readers", ["mails"])
    put(log, "mails", *NUMBERS)
    assert values(log.read("mails", 0, 3)) == NUMBERS[3:4]
    assert values(log.read("mails", 0, 3, 4)) == NUMBERS[3:7]
    assert values(log.read("mails", 0, 18, 100)) == NUMBERS[18:]
    for topic, partition, offset in (("mails", 0, 20), ("mails", 0, 10**30), ("mails", 1, 0), ("mails", 10**30, 0),
                                     ("none", 0, 0), ("\ud800", 0, 0), ("", 0, 0)):  # fmt: skip
        assert log.read(topic, partition, offset, 5) == []
    assert values(drained(log)) == NUMBERS
    assert log.ends("none") == log.beginnings("none") == log.ends("\ud800") == {}


def test_retention_leaves_what_a_group_has_to_read(logs: Logs) -> None:
    log = logs.open("readers", ["mails"])
    put(log, "mails", *NUMBERS)
    log.commit({first("mails"): 12})
    log.trim({first("mails"): 8, first("none"): 5, Partition("mails", 9): 1})
    assert log.beginnings("mails") == {first("mails"): 8}
    log.trim({first("mails"): 10**30})
    assert log.beginnings("mails") == {first("mails"): 12}
    log.trim({first("mails"): 3})
    assert values(log.read("mails", 0, 0, 2)) == NUMBERS[12:14]
    assert [record.offset for record in log.read("mails", 0, 5, 1)] == [12]
    log.commit({first("mails"): 20})
    log.trim({first("mails"): 20})
    assert log.beginnings("mails") == log.ends("mails") == {first("mails"): 20}
    put(log, "mails", b"next")
    assert [record.offset for record in log.read("mails", 0, 0, 9)] == [20]


def test_a_group_that_no_longer_reads_a_topic_holds_nothing_back(logs: Logs) -> None:
    put(logs.open(), "mails", *NUMBERS)
    logs.open("readers", ["mails", "labels"]).close()
    writer = logs.open()
    writer.trim({first("mails"): 10})
    assert writer.beginnings("mails") == {first("mails"): 0}
    logs.open("readers", ["labels"]).close()
    writer.trim({first("mails"): 10})
    assert writer.beginnings("mails") == {first("mails"): 10}
    late = logs.open("late", ["mails"])
    assert late.committed() == {first("mails"): 0}
    assert values(drained(late)) == NUMBERS[10:]
    late.trim({first("mails"): 15})
    assert late.beginnings("mails") == {first("mails"): 10}


def test_groups_do_not_know_each_other(logs: Logs) -> None:
    one, other = logs.open("one", ["mails"]), logs.open("other", ["mails"])
    put(one, "mails", *NUMBERS)
    one.commit({first("mails"): 20})
    assert other.committed() == {first("mails"): 0}
    assert values(drained(other)) == NUMBERS
