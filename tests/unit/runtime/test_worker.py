"""The worker's promises: after whatever interruption it goes on exactly where the last commit was."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from stream_bayes.errors import LogConflict, LogError, RecoveryError
from stream_bayes.eventlog import retry
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.records import Offsets
from stream_bayes.runtime import Worker
from tests.support.label_requests import dissimilar_observations, requests, without_threshold
from tests.support.logs import Logs, MemoryLogs
from tests.support.workers import (
    INPUTS,
    assert_nothing_lost,
    assert_same,
    events,
    feed,
    label,
    observation,
    settings_in,
    state,
    stream,
    work,
)


@pytest.mark.slow
def test_one_run(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    feed(logs.open(), stream(120))
    log = logs.open(settings.group, INPUTS)
    work(settings, log)
    assert_nothing_lost(settings, log)
    found = events(log, "predictions")
    assert [event["id"] for event in found] == [f"id-{number}" for number in range(120)]
    assert 0 < len(requests(log)) <= 20
    assert {event["code"] for event in events(log, "dead-letters")} == {"not-json", "id-reused", "bad-input"}


@pytest.mark.slow
def test_a_second_run_continues(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    for first in (0, 60, 120):
        feed(logs.open(), stream(60, first))
        log = logs.open(settings.group, INPUTS)
        work(settings, log)
        assert_nothing_lost(settings, log)
        log.close()


def test_without_a_checkpoint_the_whole_journal_is_replayed(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    feed(logs.open(), stream(80))
    log = logs.open(settings.group, INPUTS)
    expected = state(work(settings, log).processors[0].engine)
    log.close()
    for path in settings.checkpoint_folder.rglob("*.safetensors"):
        path.unlink()
    log = logs.open(settings.group, INPUTS)
    worker = Worker(settings, log)
    worker.recover()
    assert_same(state(worker.processors[0].engine), expected)
    assert log.committed() == worker.processors[0].positions


def test_lowered_limits_do_not_change_the_learned_state(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, checkpoint={"events": 10_000})
    feed(logs.open(), stream(50))
    log = logs.open(settings.group, INPUTS)
    expected = state(work(settings, log).processors[0].engine)
    log.close()
    for path in settings.checkpoint_folder.rglob("*.safetensors"):
        path.unlink()
    lowered = settings_in(tmp_path, events={"record_bytes": 10, "id_bytes": 1}, labels={"budget": 0})
    worker = Worker(lowered, logs.open(settings.group, INPUTS))
    worker.recover()
    assert_same(without_threshold(state(worker.processors[0].engine)), without_threshold(expected))


@pytest.mark.slow
def test_two_partitions_share_the_budget(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, labels={"budget": 7, "max_open_requests": 100, "audit_fraction": 0.0})
    writer = logs.open(partitions=2)
    for partition in (0, 1):
        feed(writer, dissimilar_observations(500, 1000 * partition), partition)
    log = logs.open(settings.group, INPUTS, 2)
    work(settings, log)
    first, second = (len(requests(log, partition)) for partition in (0, 1))
    # The pace leaves a part of a share for later.
    assert 2 <= first <= 4
    assert 2 <= second <= 3
    for partition in (0, 1):
        assert_nothing_lost(settings, log, partition, 2)


def test_a_label_in_the_wrong_partition_is_a_dead_letter(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    writer = logs.open(partitions=2)
    feed(writer, [("emails", observation(1))], 0)
    feed(writer, [("labels", label(1, "ham"))], 1)
    log = logs.open(settings.group, INPUTS, 2)
    work(settings, log)
    assert [event["code"] for event in events(log, "dead-letters", 1)] == ["unknown-observation"]


def test_topics_must_have_as_many_partitions(logs: Logs, tmp_path: Path) -> None:
    feed(logs.open(partitions=2), [("emails", observation(1))], 1)
    with pytest.raises(LogError, match="2 partitions and 'labels' has 1"):
        work(settings_in(tmp_path), logs.open("stream-bayes", INPUTS, 1))


def test_the_clock_may_jump(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    times = iter([1e9, 5e8, 2e9, 1.5e9, 3e9] * 100)
    with SqliteLog(tmp_path / "log.db", clock=lambda: next(times)) as writer:
        feed(writer, stream(100))
    with SqliteLog(tmp_path / "log.db", settings.group, INPUTS, clock=lambda: 1.0) as log:
        work(settings, log)
        assert_nothing_lost(settings, log)


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


class _Waits(logging.Handler):
    """Lets the holder of a lock go as soon as a worker says that it waits."""

    def __init__(self, stdin: IO[bytes]) -> None:
        super().__init__()
        self._stdin = stdin

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "waiting for the log":
            self._stdin.close()


def test_a_locked_log_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = settings_in(tmp_path)
    path = tmp_path / "log.db"
    with SqliteLog(path) as writer:
        feed(writer, stream(100))
    with SqliteLog(path, settings.group, INPUTS, wait=0.05) as log:
        command = [sys.executable, "-c", HOLD, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            waits = _Waits(holder.stdin)
            logging.getLogger("stream_bayes").addHandler(waits)
            try:
                work(settings, log)
            finally:
                logging.getLogger("stream_bayes").removeHandler(waits)
        assert "waiting for the log" in caplog.text
        assert_nothing_lost(settings, log)


class Passing(LogError):
    """Over at the next try."""

    retriable = True


class Flaky(SqliteLog):
    """Every other commit fails."""

    commits = 0

    def commit(self, offsets: Offsets) -> Offsets:
        self.commits += 1
        if self.commits % 2:
            message = "not now"
            raise Passing(message)
        return super().commit(offsets)


def test_retriable_errors_are_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE", 0.001)
    settings = settings_in(tmp_path)
    with SqliteLog(tmp_path / "log.db") as writer:
        feed(writer, stream(30))
    with Flaky(tmp_path / "log.db", settings.group, INPUTS) as log:
        work(settings, log)
        assert_nothing_lost(settings, log)
    assert "waiting for the log" in caplog.text


def test_changed_group_offsets_are_noticed(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with SqliteLog(tmp_path / "log.db") as writer:
        feed(writer, stream(30))
    with SqliteLog(tmp_path / "log.db", settings.group, INPUTS) as log:
        work(settings, log)
        log.commit({place: offset - 1 for place, offset in log.committed().items()})
    with (
        SqliteLog(tmp_path / "log.db", settings.group, INPUTS) as log,
        pytest.raises(RecoveryError, match="one of them was changed from outside"),
    ):
        work(settings, log)


def test_two_workers_of_one_group(logs: Logs, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    feed(logs.open(), stream(10))
    log = logs.open(settings.group, INPUTS)
    with pytest.raises(LogConflict, match="already reads for the group"):
        logs.open(settings.group, INPUTS)
    work(settings, log)
    assert_nothing_lost(settings, log)


def test_another_group_makes_its_own_model(tmp_path: Path) -> None:
    store = MemoryLogs()
    feed(store.open(), stream(30))
    work(settings_in(tmp_path), store.open("stream-bayes", INPUTS))
    other = settings_in(tmp_path, topics={"predictions": "predictions-2"})
    other = other.model_copy(update={"group": "other"})
    log = store.open("other", INPUTS)
    work(other, log)
    assert len(events(log, "predictions-2")) == 30
    assert len(events(log, "predictions")) == 30
