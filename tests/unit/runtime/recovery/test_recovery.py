"""Checkpoints that are damaged, of another time or of other settings: the state is right, or one line says why not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.config import Settings
from stream_bayes.errors import CheckpointMismatch, RecoveryError, SnapshotDamaged, SnapshotTooNew
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.persistence.checkpoint import Checkpoint
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.runtime import Worker
from tests.support.checkpointed_worker import check, feed_more, files, path_of, resume_worker
from tests.support.commands import Run
from tests.support.label_requests import dissimilar_observations, without_threshold
from tests.support.workers import INPUTS, JOURNAL, assert_same, feed, saved_state, settings_in, state, write_config


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-20] ^= 4
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.slow
@pytest.mark.parametrize("damage", [cut_short, flip_a_bit, empty])
@pytest.mark.parametrize("how_many", [1, 2, 3])
def test_a_damaged_checkpoint_is_skipped(
    settings: Settings, damage: Any, how_many: int, caplog: pytest.LogCaptureFixture
) -> None:
    _, expected = saved_state(settings)
    for path in files(settings)[:how_many]:
        damage(path)
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        worker = Worker(settings, log)
        worker.recover()
        assert_same(state(worker.processors[0].engine), expected)
    assert caplog.text.count("it is skipped") == how_many
    feed_more(path_of(settings).parent, 150)
    resume_worker(settings)
    check(settings)


def test_a_checkpoint_of_a_later_version_is_not_skipped(settings: Settings) -> None:
    newest = files(settings)[0]
    newest.write_bytes(newest.read_bytes().replace(b'"version":"1"', b'"version":"9"'))
    with pytest.raises(SnapshotTooNew, match=newest.name):
        resume_worker(settings)


def test_other_settings_are_refused_with_their_differences(
    settings: Settings, tmp_path: Path, worker_command: Run
) -> None:
    other = settings_in(tmp_path, learner={"parameters": {"prior_count": 0.25}}, engine={"dedup_window": 999})
    with pytest.raises(CheckpointMismatch, match=r"learner\.parameters\.prior_count: 1\.0 in the checkpoint, 0\.25"):
        resume_worker(other)
    code, output, errors = worker_command("run", "--config", write_config(other, tmp_path / "other.toml"), "--drain")
    assert (code, output) == (2, "")
    assert ["started" in line for line in errors.splitlines()] == [True, False]
    assert "engine.dedup_window: 1000 in the checkpoint, 999 in the settings" in errors
    assert "stream-bayes rebuild" in errors
    check(settings)


def test_a_larger_budget_is_no_other_setting(settings: Settings, tmp_path: Path) -> None:
    raised = settings_in(
        tmp_path, labels={"budget": 500, "max_open_requests": 400, "strategy": "margin", "reserve": 0.1}
    )
    with SqliteLog(path_of(settings)) as writer:
        feed(writer, dissimilar_observations(200, 1000))
    used = saved_state(settings)[1].scalars["selector"]["budget"]["used"]
    resume_worker(raised)
    number, saved = saved_state(raised)
    assert saved.scalars["selector"]["budget"]["used"] > used
    with SqliteLog(path_of(settings), raised.group, INPUTS) as log:
        assert number == sum(log.end_offsets(JOURNAL).values())
        worker = Worker(settings_in(tmp_path / "elsewhere"), log)
        worker.recover()
        # By budgets of its own time it would follow other scores, but nothing is decided again.
        assert_same(without_threshold(state(worker.processors[0].engine)), without_threshold(saved))


def test_rebuild_makes_the_same_model_and_takes_other_settings(settings: Settings, tmp_path: Path) -> None:
    _, expected = saved_state(settings)
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        Worker(settings, log).rebuild()
    assert len(files(settings)) == 1
    assert_same(saved_state(settings)[1], expected)
    other = settings_in(tmp_path, learner={"parameters": {"prior_count": 0.25}})
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        Worker(other, log).rebuild()
    feed_more(tmp_path, 150)
    resume_worker(other)
    with pytest.raises(CheckpointMismatch):
        resume_worker(settings)


def put_an_older_copy_back(settings: Settings, folder: Path) -> None:
    """A log as it was before the newest checkpoints."""
    path = path_of(settings)
    copy = folder / "copy.db"
    feed_more(folder, 0)
    resume_worker(settings)
    shutil.copy(path, copy)
    feed_more(folder, 50)
    resume_worker(settings)
    shutil.copy(copy, path)


def test_a_log_put_back_from_an_older_copy(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, checkpoint={"events": 20})
    put_an_older_copy_back(settings, tmp_path)
    feed_more(tmp_path, 300)
    resume_worker(settings)
    check(settings)


@pytest.mark.slow
def test_checkpoints_ahead_of_the_journal_never_come_back(tmp_path: Path) -> None:
    """After an older copy of the log the journal grows beyond them before the first new checkpoint is written."""
    settings = settings_in(tmp_path)
    put_an_older_copy_back(settings, tmp_path)
    feed_more(tmp_path, 300)
    feed_more(tmp_path, 400)
    # A worker that is killed before it writes a checkpoint.
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        killed = Worker(settings_in(tmp_path, checkpoint={"events": 10_000}), log)
        killed._finish = lambda: None  # type: ignore[method-assign]
        killed.run(drain=True)
    resume_worker(settings)
    check(settings)


def test_a_checkpoint_older_than_the_journal_is_no_use(settings: Settings) -> None:
    path = path_of(settings)
    with SqliteLog(path, settings.group, INPUTS) as log:
        end = sum(log.end_offsets(JOURNAL).values())
        log.trim(dict.fromkeys(log.end_offsets(JOURNAL), end))
    for checkpoint in files(settings):
        checkpoint.unlink()
    with pytest.raises(RecoveryError, match=r"stream-bayes rebuild"):
        resume_worker(settings)


def test_inputs_that_are_gone_are_named(settings: Settings) -> None:
    for checkpoint in files(settings):
        checkpoint.unlink()
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        log.trim(dict.fromkeys(log.end_offsets("emails"), 5))
    with pytest.raises(RecoveryError, match=r"emails-0 no longer has the records 0 to 4"):
        resume_worker(settings)


def test_a_checkpoint_that_makes_no_engine(settings: Settings) -> None:
    """A whole file with another content: damaged, said so, and nothing else happens."""
    folder = CheckpointStore(files(settings)[0].parent)
    found = folder.newest()
    assert found is not None
    number, checkpoint = found
    folder.write(
        number, Checkpoint(checkpoint.compatibility_key, {**checkpoint.scalars, "labels": None}, checkpoint.arrays)
    )
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        worker = Worker(settings, log)
        with pytest.raises(SnapshotDamaged, match="does not make an engine"):
            worker.recover()
