"""What the logs without a broker promise beyond the contract: one reader for a group, no gaps, ends that are exact."""

from __future__ import annotations

import threading

import pytest

from stream_bayes.errors import LogConflict, LogError
from stream_bayes.eventlog.validation import MAX_POLL_BYTES
from stream_bayes.records import Partition
from tests.support.logs import Logs, first, poll_all, put, values

NUMBERS = [b"%d" % number for number in range(20)]


def test_offsets_increase_by_one_and_a_poll_returns_its_maximum(local_logs: Logs) -> None:
    reader = local_logs.reader("mails")
    put(reader, "mails", *NUMBERS)
    polled = [reader.poll(most, timeout=0.0) for most in (1, 2, 5, 100, 1)]
    assert [len(records) for records in polled] == [1, 2, 5, 12, 0]
    assert [record.offset for records in polled for record in records] == list(range(20))
    assert reader.end_offsets("mails") == {first("mails"): 20}
    assert reader.lag() == {first("mails"): 0}


def test_at_equal_times_topics_come_in_the_order_they_were_named(local_logs: Logs) -> None:
    writer = local_logs.open()
    for topic in ("labels", "mails"):
        writer.append(topic, topic.encode())
    writer.commit({})
    for group, topics in (("one", ["mails", "labels"]), ("other", ["labels", "mails"])):
        assert [record.topic for record in poll_all(local_logs.reader(*topics, group=group))] == topics


def test_a_position_beyond_the_end_is_refused(local_logs: Logs) -> None:
    log = local_logs.reader("mails")
    put(log, "mails", b"one", b"two", b"three")
    with pytest.raises(LogError, match="ends at offset 3, so 4"):
        log.seek({first("mails"): 4})


def test_a_refused_commit_writes_nothing_and_keeps_the_staged_records(local_logs: Logs) -> None:
    log = local_logs.reader("mails")
    put(log, "mails", b"one", b"two", b"three")
    log.append("out", b"kept")
    with pytest.raises(LogError, match=r"mails\[0\] ends at offset 3, so 4 cannot be a position"):
        log.commit({first("mails"): 4})
    assert log.read("out", 0, 0) == []
    assert log.committed() == {first("mails"): 0}
    log.commit({first("mails"): 3})
    assert values(log.read("out", 0, 0, 10)) == [b"kept"]
    assert log.committed() == {first("mails"): 3}


def test_one_log_at_a_time_reads_for_a_group(local_logs: Logs) -> None:
    holder = local_logs.reader("mails")
    with pytest.raises(LogConflict, match=r"already reads for the group 'readers'\. .* another group"):
        local_logs.open("readers", ["mails"])
    put(holder, "mails", b"still works")
    assert values(poll_all(holder)) == [b"still works"]
    holder.close()
    assert values(poll_all(local_logs.reader("mails"))) == [b"still works"]


def test_a_group_that_no_longer_reads_a_topic_holds_nothing_back(local_logs: Logs) -> None:
    put(local_logs.open(), "mails", *NUMBERS)
    local_logs.open("readers", ["mails", "labels"]).close()
    writer = local_logs.open()
    writer.trim({first("mails"): 10})
    assert writer.earliest_offsets("mails") == {first("mails"): 0}
    local_logs.open("readers", ["labels"]).close()
    writer.trim({first("mails"): 10})
    assert writer.earliest_offsets("mails") == {first("mails"): 10}
    late = local_logs.reader("mails", group="late")
    assert late.committed() == {first("mails"): 0}
    assert values(poll_all(late)) == NUMBERS[10:]
    late.trim({first("mails"): 15})
    assert late.earliest_offsets("mails") == {first("mails"): 10}


def test_where_all_is_removed_the_beginning_is_the_end(local_logs: Logs) -> None:
    log = local_logs.open()
    put(log, "mails", *NUMBERS)
    log.trim({first("mails"): 20})
    assert log.earliest_offsets("mails") == log.end_offsets("mails") == {first("mails"): 20}
    put(log, "mails", b"next")
    assert [record.offset for record in log.read("mails", 0, 0, 9)] == [20]


def test_large_records_are_polled_few_at_a_time(local_logs: Logs) -> None:
    log = local_logs.reader("mails", "labels")
    large = bytes(MAX_POLL_BYTES // 4)
    for topic in ("mails", "labels"):
        put(log, topic, *[large] * 3)
    assert [len(log.poll(1000, timeout=0.0)) for _ in range(3)] == [4, 2, 0]


def test_two_topics_of_one_commit_are_seen_together(local_logs: Logs) -> None:
    done = threading.Event()

    def write() -> None:
        with local_logs.open() as log:
            for _ in range(60):
                for topic in ("one", "two"):
                    for number in NUMBERS[:5]:
                        log.append(topic, number)
                log.commit({})
        done.set()

    observer = local_logs.open()
    thread = threading.Thread(target=write)
    thread.start()
    while not done.is_set():
        before, between, after = (sum(observer.end_offsets(topic).values()) for topic in ("one", "two", "one"))
        assert before <= between <= after
        assert before % 5 == between % 5 == 0
    thread.join()


def test_all_partitions_are_there_from_the_beginning(local_logs: Logs) -> None:
    log = local_logs.open("readers", ["mails"], partitions=2)
    both = {Partition("mails", 0), Partition("mails", 1)}
    assert log.heartbeat() == log.committed().keys() == log.lag().keys() == both
