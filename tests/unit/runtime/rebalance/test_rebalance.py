"""Partitions that come and go, as a broker has it: nothing is lost and nothing done twice, whoever reads what."""

from __future__ import annotations

import pytest

from stream_bayes.config import Settings
from stream_bayes.errors import LogError
from stream_bayes.eventlog.memory import MemoryStore
from stream_bayes.records import Partition
from stream_bayes.runtime import Worker, rebalance
from tests.support.shared_log import SharedLog, check, feed_more, log_fields, read_by_another, records_of
from tests.support.workers import INPUTS, work


@pytest.mark.slow
def test_gaps_are_no_records(settings: Settings, store: MemoryStore, worker_logs: pytest.LogCaptureFixture) -> None:
    count = records_of(store, [Partition(topic, number) for topic in INPUTS for number in (0, 1)])
    worker = read_by_another(settings, store, 0, 1)
    check(settings, store)
    assert worker.events == log_fields(worker_logs, "stopped")[0]["events"] == count
    for path in settings.checkpoint_folder.rglob("*.safetensors"):
        path.unlink()
    worker_logs.clear()
    feed_more(store, 500)
    read_by_another(settings, store, 0, 1)
    check(settings, store)
    assert sum(line["events"] for line in log_fields(worker_logs, "recovered")) == count
    assert log_fields(worker_logs, "no checkpoint: learning all again from the journal") == [
        {"partition": 0},
        {"partition": 1},
    ]


@pytest.mark.slow
def test_a_partition_that_is_revoked_and_assigned_again(
    settings: Settings, store: MemoryStore, log: SharedLog, worker_logs: pytest.LogCaptureFixture
) -> None:
    others: list[Worker] = []

    def change(poll: int) -> None:
        if poll == 6:
            log.give(0)
        if poll == 9:
            others.append(read_by_another(settings, store, 1))
            feed_more(store, 500)
        if poll == 15:
            log.give(0, 1)

    log.before_poll = change
    worker = work(settings, log)
    check(settings, store)
    assert [line["partition"] for line in log_fields(worker_logs, "recovered")] == [0, 1, 1, 1], (
        "here, there, and here again"
    )
    assert [line["partitions"] for line in log_fields(worker_logs, "lost")] == ["1"]
    total = records_of(store, [Partition(topic, number) for topic in INPUTS for number in (0, 1)])
    there, here = (line["events"] for line in log_fields(worker_logs, "stopped"))
    assert (there, here) == (others[0].events, worker.events)
    assert there + here == total
    assert min(there, here) > 0


def test_retained_state_is_not_learned_again(
    settings: Settings, store: MemoryStore, log: SharedLog, worker_logs: pytest.LogCaptureFixture
) -> None:
    log.before_poll = lambda poll: log.give(0, 1) if poll % 5 == 4 and poll < 40 else None
    work(settings, log)
    check(settings, store)
    assert [line["partition"] for line in log_fields(worker_logs, "recovered")] == [0, 1]
    assert not log_fields(worker_logs, "lost")


def test_records_that_were_gathered_are_dropped_at_a_change(settings: Settings, store: MemoryStore) -> None:
    slow = settings.model_copy(update={"commit": settings.commit.model_copy(update={"events": 10_000})})
    with SharedLog(store, settings.group, INPUTS) as log:
        # A poll gives everything, and the one after it tells of a change.
        log.before_poll = lambda poll: log.give(0) if poll == 2 else log.give(0, 1) if poll == 4 else None
        work(slow, log)
    check(settings, store)


@pytest.mark.slow
@pytest.mark.parametrize("moments", [{1}, {7}, {3, 9, 11, 20, 30}], ids=["the first", "a later one", "several"])
def test_a_commit_that_is_given_up(
    settings: Settings, store: MemoryStore, log: SharedLog, worker_logs: pytest.LogCaptureFixture, moments: set[int]
) -> None:
    def give_up(poll: int) -> None:
        log.given_up += poll in moments

    log.before_poll = give_up
    work(settings, log)
    check(settings, store)
    warnings = log_fields(worker_logs, "partitions may be another worker's by now")
    assert warnings == [{"reason": "the group has changed"}] * len(moments)
    assert len(log_fields(worker_logs, "recovered")) == 2 + 2 * len(moments)


def test_the_last_commit_is_given_up(settings: Settings, store: MemoryStore, log: SharedLog) -> None:
    worker = Worker(settings, log)

    def stop(poll: int) -> None:
        if poll == 9:
            worker.stop()
            log.given_up = 1

    log.before_poll = stop
    worker.run()
    assert not worker.processors
    read_by_another(settings, store, 0, 1)
    check(settings, store)


@pytest.mark.slow
def test_more_workers_than_partitions(
    settings: Settings, store: MemoryStore, log: SharedLog, worker_logs: pytest.LogCaptureFixture
) -> None:
    log.give()
    worker = work(settings, log)
    assert (worker.events, worker.processors) == (0, {})
    assert len(log_fields(worker_logs, "no partition is left for this worker: it stands by")) == 1
    nothing = ("events", "predictions", "labels_learned", "duplicates", "dead_letters")
    assert log_fields(worker_logs, "stopped") == [dict.fromkeys(nothing, 0)]
    worker = Worker(settings, log)
    log.give()
    log.polls = 0
    log.before_poll = lambda poll: log.give(0, 1) if poll == 10 else worker.stop() if poll == 200 else None
    worker.run()
    check(settings, store)


@pytest.mark.slow
def test_a_partition_that_is_lost_while_it_is_recovered(
    settings: Settings, store: MemoryStore, monkeypatch: pytest.MonkeyPatch, worker_logs: pytest.LogCaptureFixture
) -> None:
    read_by_another(settings, store, 0, 1)
    for path in settings.checkpoint_folder.rglob("*.safetensors"):
        path.unlink()
    feed_more(store, 500)
    worker_logs.clear()
    monkeypatch.setattr(rebalance, "_BEAT_SECONDS", 0.0)
    log = SharedLog(store, settings.group, INPUTS)
    heartbeats = 0

    def heartbeat() -> frozenset[Partition]:
        nonlocal heartbeats
        heartbeats += 1
        if heartbeats == 3:
            log.give(1)
        return frozenset(place for place in log.committed() if place.number or heartbeats != 3)

    monkeypatch.setattr(log, "heartbeat", heartbeat)
    log.before_poll = lambda poll: log.give(0, 1) if poll == 8 else None
    work(settings, log)
    check(settings, store)
    assert [line["partition"] for line in log_fields(worker_logs, "recovered")] == [1, 0]


def test_records_of_an_unassigned_partition_are_refused(settings: Settings, log: SharedLog) -> None:
    worker = Worker(settings, log)
    worker.recover()
    del worker.processors[1]
    with pytest.raises(LogError, match="did not say are read here"):
        worker._process(log.read("emails", 1, 0))
