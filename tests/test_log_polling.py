"""The contract of a log: what a poll gives, in which order, and when. One suite for every log."""

from __future__ import annotations

import threading
import time

from stream_bayes.log.arguments import MOST_POLL_BYTES
from stream_bayes.records import Partition
from tests.logs import Logs, drained, logs, put, values

__all__ = ["logs"]

NUMBERS = [b"%d" % number for number in range(20)]


def test_topics_are_merged_by_time_then_in_the_order_they_were_named(logs: Logs) -> None:
    writer = logs.open()
    for number in NUMBERS:
        put(writer, "mails", b"mail " + number)
        time.sleep(0.002 if number < b"3" else 0.0)
        put(writer, "labels", b"label " + number)
    time.sleep(0.002)
    writer.append("labels", b"label of the last")
    writer.append("mails", b"last")
    writer.commit({})
    records = drained(logs.open("readers", ["mails", "labels"]), most=7)
    ordered = sorted(records, key=lambda record: (record.timestamp, record.topic != "mails", record.offset))
    assert records == ordered
    places = {record.value: place for place, record in enumerate(records)}
    assert all(places[b"mail " + number] < places[b"label " + number] for number in NUMBERS)
    assert values(records)[-2:] == [b"last", b"label of the last"]
    reversed_ties = drained(logs.open("others", ["labels", "mails"]))
    assert values(reversed_ties)[-2:] == [b"label of the last", b"last"]


def test_a_change_of_partitions_is_told_at_the_first_poll(logs: Logs) -> None:
    told: list[tuple[frozenset[Partition], frozenset[Partition]]] = []
    log = logs.open("readers", ["mails"], partitions=2, on_change=lambda gained, lost: told.append((gained, lost)))
    assert not told
    log.poll(1, timeout=0.0)
    log.poll(1, timeout=0.0)
    assert told == [(frozenset({Partition("mails", 0), Partition("mails", 1)}), frozenset())]


def test_large_records_are_polled_few_at_a_time(logs: Logs) -> None:
    log = logs.open("readers", ["mails", "labels"])
    large = bytes(MOST_POLL_BYTES // 4)
    for topic in ("mails", "labels"):
        put(log, topic, *[large] * 3)
    assert [len(log.poll(1000, timeout=0.0)) for _ in range(3)] == [4, 2, 0]


def test_two_topics_of_one_commit_are_seen_together(logs: Logs) -> None:
    done = threading.Event()

    def write() -> None:
        with logs.open() as log:
            for _ in range(60):
                for topic in ("one", "two"):
                    for number in NUMBERS[:5]:
                        log.append(topic, number)
                log.commit({})
        done.set()

    observer = logs.open()
    thread = threading.Thread(target=write)
    thread.start()
    while not done.is_set():
        before, between, after = (sum(observer.ends(topic).values()) for topic in ("one", "two", "one"))
        assert before <= between <= after
        assert before % 5 == between % 5 == 0
    thread.join()


def test_a_waiting_poll_gets_what_another_log_commits(logs: Logs) -> None:
    def write() -> None:
        with logs.open() as log:
            time.sleep(0.05)
            put(log, "other", b"not for the reader")
            time.sleep(0.05)
            put(log, "mails", b"here")

    reader = logs.open("readers", ["mails"])
    thread = threading.Thread(target=write)
    thread.start()
    assert values(reader.poll(10, timeout=60.0)) == [b"here"]
    thread.join()
