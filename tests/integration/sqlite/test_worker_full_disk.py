"""A disk that is full while a worker runs: a clear line, nothing lost, and after space was made it goes on."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from stream_bayes.eventlog.sqlite import SqliteLog
from tests.support.commands import Run
from tests.support.disks import fill, mount
from tests.support.workers import (
    INPUTS,
    all_records,
    assert_nothing_lost,
    events,
    feed,
    saved_state,
    settings_in,
    stream,
    without_compiling,
    write_config,
)

# Few commits: SQLite writes whole pages beside the log until there are 8 MiB of them, which the disk does not have.
COUNT = 400


@pytest.mark.parametrize("left", [100_000, 200_000, 300_000])
def test_no_space_for_the_log(small_disk: Path, tmp_path: Path, worker_command: Run, left: int) -> None:
    settings = settings_in(small_disk, checkpoint={"folder": tmp_path / "checkpoints"}, commit={"events": 60})
    config = write_config(settings, tmp_path / "settings.toml")
    with SqliteLog(small_disk / "log.db") as log:
        feed(log, stream(COUNT), at_once=10_000)
    ballast = fill(small_disk, but=left)
    code, output, errors = worker_command("run", "--config", config, "--drain")
    assert (code, output) == (2, "")
    assert "no space left" in errors.splitlines()[-1]
    assert errors.splitlines()[-1].startswith("stream-bayes: ")
    assert "Traceback" not in errors
    again = worker_command("run", "--config", config, "--drain")[0]
    assert again == 2
    ballast.unlink()
    assert worker_command("run", "--config", config, "--drain")[0] == 0
    with SqliteLog(small_disk / "log.db") as log:
        assert len(list(all_records(log, "predictions"))) == COUNT
        assert_nothing_lost(settings, log)


def test_no_space_for_a_checkpoint(small_disk: Path, tmp_path: Path, worker_command: Run) -> None:
    settings = settings_in(tmp_path, checkpoint={"folder": small_disk})
    command = "run", "--config", write_config(settings, tmp_path / "settings.toml"), "--drain", "--json"
    more(tmp_path, 100, 0)
    assert worker_command(*command)[0] == 0
    before = saved_state(settings)[0]
    long_ago = time.time() - 5000.0
    os.utime(max(small_disk.rglob("*.safetensors")), (long_ago, long_ago))
    ballast = fill(small_disk)
    more(tmp_path, 200, 100)
    code, _, errors = worker_command(*command)
    *lines, last = errors.splitlines()
    result = [json.loads(line) for line in lines]
    failed = next(event for event in result if event["event"] == "checkpoint failed")
    assert (code, failed["level"], failed["stream"], result[-1]["event"]) == (2, "error", "goes on", "stopped")
    reason = "no space left for a checkpoint; the older ones are kept"
    assert failed["reason"].startswith(reason)
    # The stream is over, and the journal has it all.
    assert last.startswith(f"stream-bayes: everything is committed, but the last checkpoint was not written: {reason}")
    assert "Errno" not in errors
    assert "goes on" not in last
    assert saved_state(settings)[0] == before
    with SqliteLog(tmp_path / "log.db") as log:
        status = events(log, "status")[-1]
    # The age of the file that there is, whatever was tried since.
    assert status["checkpoint_offset"] == before
    assert status["checkpoint_age_seconds"] > 4000.0
    ballast.unlink()
    code, _, errors = worker_command(*command)
    recovered = json.loads(without_compiling(errors)[1])
    assert (code, recovered["event"], recovered["checkpoint"]) == (0, "recovered", before)
    assert recovered["events"] > 200
    with SqliteLog(tmp_path / "log.db") as log:
        assert len(list(all_records(log, "predictions"))) == 300
        assert_nothing_lost(settings, log)


def test_a_checkpoint_folder_that_cannot_be_written(small_disk: Path, tmp_path: Path, worker_command: Run) -> None:
    """Said at the start, and not after an hour of work."""
    mount("-o", "remount,ro", small_disk)
    more(tmp_path, 10, 0)
    config = write_config(settings_in(tmp_path, checkpoint={"folder": small_disk}), tmp_path / "settings.toml")
    code, output, errors = worker_command("run", "--config", config, "--drain")
    assert (code, output) == (2, "")
    last = errors.splitlines()[-1]
    assert last.startswith("stream-bayes: the checkpoint folder cannot be written: read-only file system; name another")
    assert str(small_disk) in last
    with SqliteLog(tmp_path / "log.db") as log:
        assert not any(log.end_offsets("predictions").values())
    assert worker_command("run", "--config", config, "--drain", "--checkpoints", tmp_path / "other")[0] == 0
    assert list((tmp_path / "other").rglob("*.safetensors"))


def test_no_space_for_a_rebuilt_model(small_disk: Path, tmp_path: Path, worker_command: Run) -> None:
    settings = settings_in(tmp_path, checkpoint={"folder": small_disk})
    config = write_config(settings, tmp_path / "settings.toml")
    more(tmp_path, 100, 0)
    assert worker_command("run", "--config", config, "--drain")[0] == 0
    kept = sorted(small_disk.rglob("*.safetensors"))
    ballast = fill(small_disk)
    code, output, errors = worker_command("rebuild", "--config", config)
    assert (code, output) == (2, "")
    assert "no space left for a checkpoint" in errors
    assert "the older ones are kept" in errors.splitlines()[-1]
    assert sorted(small_disk.rglob("*.safetensors")) == kept
    ballast.unlink()
    assert worker_command("rebuild", "--config", config)[0] == 0
    with SqliteLog(tmp_path / "log.db") as log:
        assert_nothing_lost(settings, log)


def more(folder: Path, count: int, first: int) -> None:
    with SqliteLog(folder / "log.db") as log:
        feed(log, stream(count, first))


def test_the_disk_is_full_for_both(small_disk: Path, tmp_path: Path, worker_command: Run) -> None:
    settings = settings_in(small_disk, commit={"events": 60})
    config = write_config(settings, tmp_path / "settings.toml")
    with SqliteLog(small_disk / "log.db", settings.group, INPUTS) as log:
        feed(log, stream(COUNT), at_once=10_000)
    ballast = fill(small_disk, but=150_000)
    assert worker_command("run", "--config", config, "--drain")[0] == 2
    ballast.unlink()
    assert worker_command("run", "--config", config, "--drain")[0] == 0
    with SqliteLog(small_disk / "log.db") as log:
        assert_nothing_lost(settings, log)
