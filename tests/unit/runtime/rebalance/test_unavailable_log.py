"""A broker that is away, and what readers see who come at the wrong moment: nothing is lost, or an error says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.config import Settings
from stream_bayes.errors import LogConflict, LogError, LogUnavailable, RecoveryError
from stream_bayes.eventlog import retry
from stream_bayes.eventlog.memory import MemoryStore
from stream_bayes.records import Offsets, Partition
from stream_bayes.runtime import Worker
from tests.support.shared_log import EACH, SharedLog, check, feed_more, read_by_another
from tests.support.workers import assert_same, events, saved_state, settings_in, state, work


@pytest.mark.slow
def test_a_worker_continues_after_an_unavailable_broker(
    settings: Settings, store: MemoryStore, log: SharedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Away for some tries at each of the calls, also while an engine is recovered."""
    monkeypatch.setattr(retry, "FIRST_PAUSE", 0.0001)
    read_by_another(settings, store, 0, 1)
    for path in settings.checkpoint_folder.rglob("*.safetensors"):
        path.unlink()
    feed_more(store, 500)
    calls = 0

    def answers() -> None:
        nonlocal calls
        calls += 1
        if calls % 50 < 3 and calls < 2000:
            message = "the broker does not answer"
            raise LogUnavailable(message)

    monkeypatch.setattr(log, "_check_broker", answers)
    work(settings, log)
    check(settings, store)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0, 1, 9])
def test_a_stop_while_the_broker_is_away(settings: Settings, store: MemoryStore, log: SharedLog, moment: int) -> None:
    worker = Worker(settings, log)

    def go_away(poll: int) -> None:
        if poll == moment:
            log.away = True
        if log.away and poll > moment + 1:
            worker.stop()

    log.before_poll = go_away
    with pytest.raises(LogUnavailable):
        worker.run()
    log.close()
    read_by_another(settings, store, 0, 1)
    check(settings, store)


def test_a_commit_that_is_finished_while_the_next_reader_looks(
    settings: Settings, store: MemoryStore, log: SharedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positions are those of before, the journal is that of after: looked at again, they agree."""
    read_by_another(settings, store, 0, 1)
    committed = log.committed
    before = dict.fromkeys(log.committed(), 0)
    looks = iter([before] * 3)
    monkeypatch.setattr(log, "committed", lambda: next(looks, None) or committed())
    worker = Worker(settings, log)
    assert worker.recover()
    monkeypatch.undo()
    for number in (0, 1):
        assert_same(state(worker.processors[number].engine), saved_state(settings, number)[1])


def test_positions_that_never_agree(
    settings: Settings, store: MemoryStore, log: SharedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_by_another(settings, store, 0, 1)
    before: Offsets = dict.fromkeys(log.committed(), 0)
    monkeypatch.setattr(log, "committed", lambda: before)
    with pytest.raises(RecoveryError, match="one of them was changed from outside"):
        Worker(settings, log).recover()


def test_a_new_model_while_others_are_at_work(settings: Settings, store: MemoryStore, log: SharedLog) -> None:
    read_by_another(settings, store, 0, 1)
    before = sorted(settings.checkpoint_folder.rglob("*"))
    log.give(1)
    with pytest.raises(LogConflict, match="other workers read for the group 'stream-bayes': stop them first"):
        Worker(settings, log).rebuild()
    assert sorted(settings.checkpoint_folder.rglob("*")) == before
    log.give(0, 1)
    assert Worker(settings, log).rebuild()
    check(settings, store)


def test_topics_that_are_read_apart(settings: Settings, log: SharedLog) -> None:
    worker = Worker(settings, log)
    worker._partitions.on_change(frozenset({Partition("emails", 0)}), frozenset())
    with pytest.raises(LogError, match=r"'emails' the partitions \[0\] .*'labels' \[\]: an observation and its labels"):
        worker._partitions.update()


def test_a_status_event_is_of_the_partitions_that_are_read_here(
    tmp_path: Path, store: MemoryStore, log: SharedLog
) -> None:
    settings = settings_in(tmp_path, status={"seconds": 0.001})
    log.give(1)
    work(settings, log)
    assert events(log, "status", 0) == []
    last = events(log, "status", 1)[-1]
    assert (last["partition"], last["lag"], last["predictions"]) == (1, 0, EACH)
