"""Checkpoints: the newest few in a folder, of other settings refused in words, written beside the stream."""

from __future__ import annotations

import errno
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from stream_bayes import BetaBernoulli
from stream_bayes.errors import CheckpointMismatch, ParameterError, SnapshotError
from stream_bayes.persistence.checkpoint import read_checkpoint
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.persistence.compatibility import differences
from tests.support.checkpoints import SHAPING, assert_same, made, name_of, names
from tests.support.commands import ENVIRONMENT, PATIENCE
from tests.support.disks import mount


def test_nothing_is_there_at_first(tmp_path: Path) -> None:
    assert CheckpointStore(tmp_path / "none").newest() is None
    assert not (tmp_path / "none").exists()
    assert CheckpointStore(tmp_path).newest(SHAPING) is None


def test_a_written_checkpoint_is_read_back(tmp_path: Path) -> None:
    folder = CheckpointStore(tmp_path / "a" / "b")
    path = folder.write(12, made(12))
    assert path == tmp_path / "a" / "b" / name_of(12)
    found = folder.newest(SHAPING)
    assert found is not None
    assert found[0] == 12
    assert_same(found[1], made(12))
    assert load_file(path)["table"].shape == (100, 2)


def test_the_newest_few_stay(tmp_path: Path) -> None:
    folder = CheckpointStore(tmp_path, keep=2)
    (tmp_path / "notes.txt").touch()
    for number in (0, 5, 40, 300, 300):
        folder.write(number, made(number))
    assert names(tmp_path) == [name_of(40), name_of(300), "notes.txt"]
    assert [number for number, _ in folder.checkpoints()] == [300, 40]


def test_checkpoints_ahead_of_the_journal_are_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = CheckpointStore(tmp_path)
    for number in (10, 20, 30):
        folder.write(number, made(number))
    folder.quarantine(30)
    assert not caplog.text
    for above, expected in ((29, 20), (10, 10), (9, None)):
        folder.quarantine(above)
        found = folder.newest()
        assert (found and found[0]) == expected
    assert names(tmp_path) == [f"{name_of(number)}.ahead" for number in (10, 20, 30)]
    assert caplog.text.count("is ahead of the journal") == 3


def test_a_checkpoint_that_is_written_late_takes_no_newer_ones_place(tmp_path: Path) -> None:
    """By a worker that lost its partition while it wrote."""
    folder = CheckpointStore(tmp_path, keep=2)
    for number in (20, 30, 10):
        folder.write(number, made(number))
    assert names(tmp_path) == [name_of(20), name_of(30)]


def test_a_folder_whose_files_are_removed_during_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = CheckpointStore(tmp_path)
    for number in (10, 20, 30):
        folder.write(number, made(number))
    listed = folder.checkpoints()
    for _, path in listed[:2]:
        path.unlink()
    monkeypatch.setattr(folder, "checkpoints", lambda: listed)
    found = folder.newest()
    assert found is not None
    assert found[0] == 10
    with pytest.raises(CheckpointMismatch, match="of another log"):
        folder.check_log("none of these")
    folder.quarantine(15)
    assert names(tmp_path) == [name_of(10)]


SHARING = """
import sys
from pathlib import Path
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from tests.support.checkpoints import made
folder = CheckpointStore(Path(sys.argv[1]), keep=2)
for number in range(60):
    folder.write(number, made(number))
    assert folder.newest()[0] >= number
"""


def test_several_processes_write_to_one_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SHARING, str(tmp_path)]
    writers = [subprocess.Popen(command, env=ENVIRONMENT) for _ in range(3)]
    assert [writer.wait(PATIENCE) for writer in writers] == [0, 0, 0]
    assert names(tmp_path) == [name_of(58), name_of(59)]


@pytest.mark.parametrize("number", [-1, 10**20])
def test_numbers_that_no_file_name_has(tmp_path: Path, number: int) -> None:
    with pytest.raises(ParameterError, match="number"):
        CheckpointStore(tmp_path).write(number, made(1))


def test_keeping_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="keep must be 1 or more"):
        CheckpointStore(tmp_path, keep=0)


def test_other_settings_are_listed(tmp_path: Path) -> None:
    folder = CheckpointStore(tmp_path)
    folder.write(1, made(1))
    other = {
        "learner": {"name": "SpamFilter", "parameters": {"buckets": 4194304, "members": ("word steps",)}},
        "ids": 7,
    }
    with pytest.raises(CheckpointMismatch) as caught:
        folder.newest(other)
    message = str(caught.value)
    assert caught.value.code == "other-settings"
    assert "learner.parameters.buckets: 1024 in the checkpoint, 4194304 in the settings" in message
    assert "learner.parameters.pairs: true in the checkpoint, nothing in the settings" in message
    assert 'learner.parameters.members: nothing in the checkpoint, ["word steps"] in the settings' in message
    assert "SpamFilter" not in message
    for advice in ("stream-bayes rebuild", "another checkpoint folder", "back to those settings", name_of(1)):
        assert advice in message


def test_a_checkpoint_of_another_log_is_called_so(tmp_path: Path) -> None:
    folder = CheckpointStore(tmp_path)
    folder.write(1, made(1)._replace(compatibility_key={**SHAPING, "log": "0123"}))
    with pytest.raises(CheckpointMismatch, match="is of another log") as caught:
        folder.newest({**SHAPING, "log": "4567", "ids": 7})
    assert "settings" not in str(caught.value)
    assert "0123" not in str(caught.value)
    with pytest.raises(CheckpointMismatch, match=f"{tmp_path} holds checkpoints of another log: name another one"):
        folder.check_log("4567")
    folder.check_log("0123")


def test_a_folder_of_damaged_checkpoints_is_of_no_log(tmp_path: Path) -> None:
    folder = CheckpointStore(tmp_path)
    folder.write(1, made(1)).write_bytes(b"")
    folder.check_log("4567")


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ({}, {}, []),
        ({"a": (1, 2)}, {"a": [1, 2]}, []),
        ({"a": 20}, {"a": 20.0}, []),
        ({"a": float("nan")}, {"a": float("nan")}, []),
        ({"a": None}, {}, ["a: null in the checkpoint, nothing in the settings"]),
        ({"a": {}}, {"a": 1}, ["a: {} in the checkpoint, 1 in the settings"]),
        ({"a": {"b": 1}}, {}, ['a: {"b": 1} in the checkpoint, nothing in the settings']),
        ({"a": {"b": [1]}}, {"a": {"b": [1, 2]}}, ["a.b: [1] in the checkpoint, [1, 2] in the settings"]),
        ({"a": "x" * 200}, {"a": "y"}, [f'a: "{"x" * 76}... in the checkpoint, "y" in the settings']),
    ],
)
def test_differences(theirs: dict[str, Any], ours: dict[str, Any], expected: list[str]) -> None:
    assert differences(theirs, ours) == expected


def test_a_learners_snapshot_is_no_checkpoint(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    BetaBernoulli().save(tmp_path / name_of(3))
    with pytest.raises(SnapshotError, match="is not a stream_bayes checkpoint"):
        read_checkpoint(tmp_path / name_of(3))
    assert CheckpointStore(tmp_path).newest() is None
    assert caplog.record_tuples[0][:2] == ("stream_bayes.persistence", logging.WARNING)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = CheckpointStore(tmp_path / "file")
    with pytest.raises(OSError, match="folder cannot be read: not a directory") as caught:
        folder.newest()
    assert caught.value.filename == str(tmp_path / "file")
    with pytest.raises(OSError, match="a checkpoint cannot be written: file exists"):
        folder.write(1, made(1))
    with pytest.raises(OSError, match="a checkpoint cannot be written: not a directory"):
        CheckpointStore(tmp_path / "file" / "below").write(1, made(1))


def test_a_folder_that_cannot_be_written_is_noticed_beforehand(small_disk: Path, tmp_path: Path) -> None:
    folder = CheckpointStore(small_disk / "a" / "b")
    folder.prepare()
    assert names(small_disk / "a" / "b") == []
    mount("-o", "remount,ro", small_disk)
    for path in (small_disk / "a" / "b", small_disk / "c"):
        with pytest.raises(OSError, match="folder cannot be written: read-only file system") as caught:
            CheckpointStore(path).prepare()
        assert caught.value.filename == str(path)
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="folder cannot be written: not a directory"):
        CheckpointStore(tmp_path / "file" / "below").prepare()


def test_a_folder_that_is_read_only(small_disk: Path) -> None:
    folder = CheckpointStore(small_disk)
    folder.write(1, made(1))
    mount("-o", "remount,ro", small_disk)
    with pytest.raises(OSError, match=r"cannot be written: read-only file system; the older ones are kept") as caught:
        folder.write(2, made(2))
    assert caught.value.errno == errno.EROFS
    found = folder.newest(SHAPING)
    assert found is not None
    assert_same(found[1], made(1))
