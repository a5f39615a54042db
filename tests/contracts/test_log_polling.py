"""The contract of a log: what a poll gives, in which order, and when. One suite for every log."""

from __future__ import annotations

import threading
import time

from stream_bayes.records import Partition
from tests.support.logs import Logs, commit, poll_all, poll_some, put, values, wait_for_assignment

NUMBERS = [b"%d" % number for number in range(20)]


def test_topics_are_merged_by_time_then_in_the_order_they_were_named(logs: Logs, mails: str) -> None:
    writer = logs.open()
    labels = logs.topic("labels")
    for number in NUMBERS:
        put(writer, mails, b"mail " + number)
        time.sleep(0.002 if number < b"3" else 0.0)
        put(writer, labels, b"label " + number)
    time.sleep(0.002)
    writer.append(labels, b"label of the last")
    writer.append(mails, b"last")
    commit(writer)
    for group, topics in (("readers", [mails, labels]), ("others", [labels, mails])):
        records = poll_all(logs.reader(*topics, group=group), most=7)
        assert len(records) == 2 * len(NUMBERS) + 2
        assert records == sorted(records, key=lambda each: (each.timestamp, topics.index(each.topic), each.offset))
        assert {*values(records)[-2:]} == {b"last", b"label of the last"}


def test_the_first_poll_reports_the_partitions_and_returns_no_records(logs: Logs, mails: str) -> None:
    both = frozenset({Partition(mails, 0), Partition(mails, 1)})
    put(logs.open(partitions=2), mails, b"one")
    log = logs.open(logs.group("readers"), [mails])
    changes: list[tuple[frozenset[Partition], frozenset[Partition]]] = []
    assert wait_for_assignment(log) == both
    log.on_change = lambda gained, lost: changes.append((gained, lost))
    assert log.poll(1, timeout=0.0) == []
    assert changes == [(both, frozenset())], "a new reader gets the partitions again"
    log.seek({Partition(mails, 0): 0, Partition(mails, 1): 0})
    assert values(poll_some(log, 1)) == [b"one"]
    assert len(changes) == 1


def test_a_waiting_poll_gets_the_commit_of_another_log(logs: Logs, mails: str) -> None:
    def write() -> None:
        with logs.open() as log:
            time.sleep(0.05)
            put(log, logs.topic("other"), b"not for the reader")
            time.sleep(0.05)
            put(log, mails, b"here")

    reader = logs.reader(mails)
    thread = threading.Thread(target=write)
    thread.start()
    assert values(poll_some(reader, 10)) == [b"here"]
    thread.join()
