"""A journal that is replayed: stopped meanwhile, with other settings, in a changed log, or in another log."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from stream_bayes.config import Settings
from stream_bayes.engine import Engine, ReplayDecisions
from stream_bayes.engine.batch_plan import BatchPlan
from stream_bayes.errors import CheckpointMismatch, RecoveryError
from stream_bayes.eventlog.base import records_from
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.events import InputEvent
from stream_bayes.records import Partition, Record
from stream_bayes.runtime import Worker, recovery
from stream_bayes.runtime.journal import JournalEntry
from stream_bayes.runtime.retention import Retention
from tests.support.checkpointed_worker import check, feed_more, files, path_of, resume_worker
from tests.support.commands import Run
from tests.support.workers import (
    INPUTS,
    JOURNAL,
    assert_same,
    feed,
    saved_state,
    settings_in,
    state,
    stream,
    work,
    write_config,
)


def test_a_checkpoint_of_another_log(settings: Settings, tmp_path: Path, worker_command: Run) -> None:
    """Refused in a sentence of its own; rebuild does not touch it either."""
    before = files(settings)
    (tmp_path / "other").mkdir()
    other = settings_in(tmp_path / "other", checkpoint={"folder": settings.checkpoint_folder})
    feed_more(tmp_path / "other", 0)
    with pytest.raises(CheckpointMismatch, match=r"is of another log, so it says nothing of this one: name .*folder"):
        resume_worker(other)
    elsewhere = settings_in(tmp_path / "other")
    resume_worker(elsewhere)
    config = write_config(other, tmp_path / "other.toml")
    code, output, errors = worker_command("rebuild", "--config", config)
    assert (code, output) == (2, "")
    assert "holds checkpoints of another log: name another one" in errors.splitlines()[-1]
    assert files(settings) == before
    assert worker_command("rebuild", "--config", config, "--checkpoints", tmp_path / "third")[0] == 0
    assert len(list((tmp_path / "third").rglob("*.safetensors"))) == 1


def test_a_stop_while_replaying(settings: Settings, monkeypatch: pytest.MonkeyPatch, worker_command: Run) -> None:
    """Noticed before the next journal entry: no model that is not whole is ever saved."""
    config = write_config(settings, path_of(settings).parent / "settings.toml")
    before = {path: path.read_bytes() for path in files(settings)}
    decode = JournalEntry.decode
    seen = list[Record]()

    def stopped_at_the_third(record: Record) -> JournalEntry:
        seen.append(record)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return decode(record)

    monkeypatch.setattr(JournalEntry, "decode", stopped_at_the_third)
    code, output, errors = worker_command("rebuild", "--config", config)
    assert (code, output, len(seen)) == (130, "", 3)
    assert errors == "stream-bayes: stopped\n"
    assert {path: path.read_bytes() for path in files(settings)} == before
    for path in files(settings):
        path.unlink()
    seen.clear()
    code, _, errors = worker_command("run", "--config", config)
    assert (code, len(seen), files(settings)) == (0, 3, [])
    assert errors.splitlines()[-1].endswith("stopped before it had recovered")
    monkeypatch.undo()
    resume_worker(settings)
    check(settings)


def test_other_learner_settings_without_a_checkpoint(settings: Settings, tmp_path: Path, worker_command: Run) -> None:
    for path in files(settings):
        path.unlink()
    other = settings_in(tmp_path, learner={"name": "BayesianLinearRegression"})
    with pytest.raises(RecoveryError, match=r"is refused now \(.*\): the journal was written with other") as caught:
        resume_worker(other)
    assert "learner.name is 'BayesianLinearRegression' now" in str(caught.value)
    code, _, errors = worker_command("rebuild", "--config", write_config(other, tmp_path / "other.toml"), "--json")
    said = [json.loads(line) for line in errors.splitlines()]
    (warning,) = [line for line in said if line["level"] == "warning"]
    assert (code, warning["event"], warning["first"].count("(")) == (0, "learned when they came and refused now", 3)
    assert sum(count for code, count in warning.items() if code != "partition" and isinstance(count, int)) > 3


def test_a_log_in_which_a_record_was_changed(settings: Settings) -> None:
    for path in files(settings):
        path.unlink()
    connection = sqlite3.connect(path_of(settings))
    with connection:
        ((table,),) = connection.execute("SELECT id FROM partitions WHERE topic = 'emails'")
        connection.execute(f"UPDATE records_{table} SET value = ? WHERE offset = 5", (b"no event",))
    connection.close()
    with pytest.raises(RecoveryError, match=r"emails-0-5 was learned when it came .*: the log was changed"):
        resume_worker(settings)


def test_a_checkpoint_of_a_copy_that_went_on_by_itself(settings: Settings, tmp_path: Path) -> None:
    log = path_of(settings)
    copy = tmp_path / "copy.db"
    shutil.copy(log, copy)
    feed_more(tmp_path, 1000)
    shutil.move(log, tmp_path / "original.db")
    shutil.copy(copy, log)
    feed_more(tmp_path, 2000)
    resume_worker(settings)
    # Back to the original, whose journal reaches as far, with the checkpoints of the copy.
    shutil.move(tmp_path / "original.db", log)
    elsewhere = settings.checkpoint.model_copy(update={"folder": tmp_path / "elsewhere"})
    shutil.copytree(settings.checkpoint_folder, tmp_path / "aside")
    shutil.rmtree(settings.checkpoint_folder)
    resume_worker(settings.model_copy(update={"checkpoint": elsewhere}))
    shutil.copytree(tmp_path / "aside", settings.checkpoint_folder)
    with pytest.raises(CheckpointMismatch, match="was written from another copy of this log"):
        resume_worker(settings)


@pytest.mark.slow
def test_rebuild_where_the_labels_are_all_gone(tmp_path: Path) -> None:
    """What is left of the journal does not say how far they were read."""
    settings = settings_in(tmp_path, checkpoint={"events": 20, "keep": 1})
    labels = Partition("labels", 0)
    for day in range(3):
        with SqliteLog(path_of(settings), settings.group, INPUTS, clock=partial(float, 1e9 + 86_400.0 * day)) as log:
            feed(log, [message for message in stream(60, 100 * day) if not day or message[0] == "emails"])
            worker = work(settings, log)
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        Retention(settings, log).trim(worker.processors[0], 1.5)
        assert (
            log.earliest_offsets("labels")
            == log.end_offsets("labels")
            == {labels: worker.processors[0].positions[labels]}
        )
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        assert Worker(settings, log).rebuild()
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        feed(log, stream(50, 2000))
        assert work(settings, log).processors[0].positions[labels] > worker.processors[0].positions[labels]


@pytest.mark.parametrize(("records", "size"), [(1000, 1 << 25), (3, 1 << 25), (1000, 1)])
def test_ranges_of_a_commit_are_replayed_in_bounded_batches(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, records: int, size: int
) -> None:
    """Mails and labels that come in turn make many short ranges; the state does not depend on how they are cut."""
    _, expected = saved_state(settings)
    shutil.rmtree(settings.checkpoint_folder)
    monkeypatch.setattr(recovery, "_CHUNK", records)
    monkeypatch.setattr(recovery, "MAX_POLL_BYTES", size)
    batches: list[int] = []
    plan = Engine.plan

    def counted(engine: Engine, events: Sequence[InputEvent], decisions: ReplayDecisions | None = None) -> BatchPlan:
        batches.append(len(events))
        return plan(engine, events, decisions)

    monkeypatch.setattr(Engine, "plan", counted)
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        entries = [JournalEntry.decode(record) for record in records_from(log, Partition(JOURNAL, 0))]
        worker = Worker(settings, log)
        worker.recover()
        assert_same(state(worker.processors[0].engine), expected)
    ranges = sum(map(len, (entry.ranges for entry in entries)))
    assert ranges > len(entries)
    if (records, size) == (1000, 1 << 25):
        assert len(batches) == len(entries)
    else:
        assert len(batches) > len(entries)
        # A batch ends with the range that reaches the limit, which may be as long as the limit.
        assert max(batches) < 2 * records
