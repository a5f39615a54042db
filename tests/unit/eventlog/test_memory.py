"""What the log in memory has beyond the contract: sentinels, and a store that outlives its logs."""

from __future__ import annotations

import threading

import pytest

from stream_bayes.errors import LogError
from stream_bayes.eventlog.memory import ABORT, EOF, Aborted, MemoryLog, MemoryStore, Sentinel
from tests.support.logs import first, poll_all, put, values


def filled(*contents: bytes | Sentinel) -> MemoryStore:
    store = MemoryStore()
    for content in contents:
        store.put("mails", content)
    return store


def test_abort_is_a_crash_that_happens_once() -> None:
    store = filled(b"one", b"two", ABORT, b"three")
    log = MemoryLog("readers", ["mails"], store=store)
    assert values(log.poll(1, timeout=0.0)) == [b"one"]
    log.commit({first("mails"): 1})
    assert values(log.poll(10, timeout=0.0)) == [b"two"]
    log.append("out", b"staged when it crashed")
    with pytest.raises(Aborted, match=r"mails\[0\] has ABORT at offset 2"):
        log.poll(10, timeout=0.0)
    with pytest.raises(LogError, match="closed"):
        log.commit({first("mails"): 2})
    log = MemoryLog("readers", ["mails"], store=store)
    assert [(record.offset, record.value) for record in poll_all(log)] == [(1, b"two"), (3, b"three")]
    assert store.records("out") == []
    assert not log.ended


def test_no_handler_of_errors_catches_an_abort() -> None:
    assert not issubclass(Aborted, Exception)


def test_eof_ends_one_log_and_the_next_one_continues() -> None:
    store = filled(b"one", EOF, b"two")
    log = MemoryLog("readers", ["mails"], store=store)
    assert (values(log.poll(10, timeout=0.0)), log.ended) == ([b"one"], False)
    for _ in range(2):
        assert (log.poll(10, timeout=60.0), log.ended) == ([], True)
    log.commit({first("mails"): 1})
    log.close()
    assert values(poll_all(MemoryLog("readers", ["mails"], store=store))) == [b"two"]


def test_a_sentinel_has_its_place_in_time_among_all_topics() -> None:
    now = 1.0
    store = MemoryStore(clock=lambda: now)
    for topic, content in (("labels", b"first"), ("mails", EOF), ("labels", b"after the end")):
        store.put(topic, content)
        now += 1.0
    assert values(poll_all(MemoryLog("readers", ["mails", "labels"], store=store))) == [b"first"]


def test_sentinels_are_not_records() -> None:
    store = filled(ABORT, b"one", EOF)
    log = MemoryLog(store=store)
    assert values(log.read("mails", 0, 0, 10)) == values(store.records("mails")) == [b"one"]
    # But each has a place that nothing else has.
    assert log.earliest_offsets("mails") == {first("mails"): 0}
    assert log.end_offsets("mails") == {first("mails"): 3}


def test_an_end_wakes_a_waiting_poll() -> None:
    log = MemoryLog("readers", ["mails"])
    thread = threading.Timer(0.05, lambda: log.store.put("mails", EOF))
    thread.start()
    assert log.poll(10, timeout=60.0) == []
    assert log.ended
    thread.join()


def test_times_never_fall() -> None:
    times = iter([5.0, 3.0, 6.0])
    store = MemoryStore(clock=lambda: next(times))
    with MemoryLog(store=store) as log:
        for value in (b"one", b"two", b"three"):
            put(log, "mails", value)
    assert [record.timestamp for record in store.records("mails")] == [5000, 5000, 6000]


def test_how_large_a_record_may_be_is_a_parameter_as_of_a_file() -> None:
    with MemoryLog(record_bytes=10) as log:
        assert log.max_record_bytes("mails") == 10
        log.append("mails", b"1234567", b"key")
        with pytest.raises(LogError, match="at most 10 are taken"):
            log.append("mails", b"12345678", b"key")
