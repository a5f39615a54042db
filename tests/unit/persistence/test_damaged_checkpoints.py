"""Checkpoints in trouble: cut short, bits flipped, from the future, killed writers, a full disk."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.errors import SnapshotTooNew
from stream_bayes.persistence.checkpoint_store import BackgroundWriter, CheckpointStore
from tests.support.checkpoints import SHAPING, assert_same, made, names
from tests.support.commands import ENVIRONMENT, PATIENCE
from tests.support.disks import fill

WRITER = """
import sys
from pathlib import Path
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from tests.support.checkpoints import made
folder = CheckpointStore(Path(sys.argv[1]))
found = folder.newest()
print("ready", flush=True)
number = found[0] if found else 0
while True:
    number += 1
    folder.write(number, made(number, size=20_000))
"""


@pytest.fixture
def folder(tmp_path: Path) -> CheckpointStore:
    """One with two checkpoints, of numbers 1 and 2."""
    return two_in(tmp_path)


def two_in(path: Path) -> CheckpointStore:
    folder = CheckpointStore(path)
    folder.write(1, made(1, size=5))
    folder.write(2, made(2, size=5))
    return folder


def newest_file(folder: CheckpointStore) -> Path:
    return folder.checkpoints()[0][1]


def assert_newest(folder: CheckpointStore, number: int, size: int = 5) -> None:
    found = folder.newest(SHAPING)
    assert found is not None
    assert found[0] == number
    assert_same(found[1], made(number, size))


def test_a_checkpoint_truncated_anywhere_is_replaced_by_the_one_before(
    folder: CheckpointStore, caplog: pytest.LogCaptureFixture
) -> None:
    path = newest_file(folder)
    content = path.read_bytes()
    lengths = sorted({0, 1, 7, 8, 9, len(content) - 1, *range(10, len(content), 17)})
    for length in lengths:
        path.write_bytes(content[:length])
        assert_newest(folder, 1)
    assert len(caplog.records) == len(lengths)
    assert {record.name for record in caplog.records} == {"stream_bayes.persistence"}
    for record in caplog.records:
        assert str(path) in record.getMessage()
        assert "it is skipped, and the one before it is used instead" in record.getMessage()


@pytest.mark.slow
@given(place=st.floats(0.0, 1.0, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=300)
def test_a_flipped_bit_anywhere_is_noticed(place: float, bit: int) -> None:
    """The one before counts; or it is the same checkpoint, the bit having been one of case in a number; or too new."""
    with tempfile.TemporaryDirectory() as name:
        folder = two_in(Path(name))
        content = bytearray(newest_file(folder).read_bytes())
        content[int(place * len(content))] ^= 1 << bit
        newest_file(folder).write_bytes(content)
        try:
            found = folder.newest(SHAPING)
        except SnapshotTooNew:
            assert re.search(rb'"version":"[2-9]"', content)
        else:
            assert found is not None
            assert_same(found[1], made(found[0], size=5))


def test_without_a_complete_checkpoint_there_is_none(folder: CheckpointStore) -> None:
    for _, path in folder.checkpoints():
        path.write_bytes(b"")
    assert folder.newest(SHAPING) is None


def test_a_checkpoint_of_a_later_version_is_never_skipped(folder: CheckpointStore) -> None:
    """Going on from the one before it would undo what a newer program did."""
    path = newest_file(folder)
    path.write_bytes(path.read_bytes().replace(b'"version":"1"', b'"version":"7"'))
    with pytest.raises(SnapshotTooNew, match=r"checkpoint of format 7.*update stream_bayes") as caught:
        folder.newest(SHAPING)
    assert caught.value.code == "snapshot-too-new"


def test_a_renamed_checkpoint_is_refused(folder: CheckpointStore, caplog: pytest.LogCaptureFixture) -> None:
    path = newest_file(folder)
    path.rename(path.with_name(path.name.replace("02.", "09.")))
    assert_newest(folder, 1)
    assert "is the checkpoint of number 2: it was renamed" in caplog.text


def test_files_of_dead_writers_are_removed(folder: CheckpointStore, caplog: pytest.LogCaptureFixture) -> None:
    """Even of a process number that is alive again, as in a container, where every worker may be number 1."""
    left = [f".{newest_file(folder).name}.{process}.0123abcd" for process in (1, os.getpid(), 2**30)]
    for name in left:
        (folder.folder / name).write_bytes(b"half of it")
    (folder.folder / ".gitignore").touch()
    folder.write(3, made(3))
    assert names(folder.folder) == [".gitignore", *(path.name for _, path in reversed(folder.checkpoints()))]
    assert all(name in caplog.text for name in left)


@pytest.mark.long
def test_a_writer_killed_at_any_moment_leaves_a_newest_one(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    last = 0
    for _ in range(12):
        call = [sys.executable, "-c", WRITER, str(tmp_path)]
        with subprocess.Popen(call, env=ENVIRONMENT, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            wait_for_another(tmp_path)
            time.sleep(generator.uniform(0.0, 0.02))
            writer.send_signal(signal.SIGKILL)
        found = CheckpointStore(tmp_path).newest(SHAPING)
        assert found is not None
        assert found[0] > last
        assert_same(found[1], made(found[0], size=20_000))
        last = found[0]
    folder = CheckpointStore(tmp_path)
    folder.write(last + 1, made(last + 1))
    assert names(tmp_path) == [path.name for _, path in reversed(folder.checkpoints())]


def wait_for_another(path: Path) -> None:
    """Until a checkpoint is there that was not."""
    before = {*path.glob("checkpoint-*")}
    until = time.monotonic() + PATIENCE
    while not {*path.glob("checkpoint-*")} - before:
        assert time.monotonic() < until, "the writer has fallen silent"
        time.sleep(0.001)


def test_a_full_disk(small_disk: Path) -> None:
    """Older ones stay, nothing half is left, and the next one is written once there is space."""
    folder = CheckpointStore(small_disk / "checkpoints")
    folder.write(1, made(1, size=60_000))
    ballast = fill(small_disk, but=500_000)
    for attempt in (2, 3):
        with pytest.raises(OSError, match="no space left for a checkpoint; the older ones are kept: free") as caught:
            folder.write(attempt, made(attempt, size=60_000))
        assert caught.value.errno == errno.ENOSPC
        assert f"{attempt}.safetensors" in str(caught.value.filename)
        assert len(names(small_disk / "checkpoints")) == 1
        assert_newest(folder, 1, size=60_000)
    ballast.unlink()
    folder.write(4, made(4, size=60_000))
    assert_newest(folder, 4, size=60_000)


def test_a_full_disk_behind_the_saver(small_disk: Path) -> None:
    saver = BackgroundWriter(CheckpointStore(small_disk))
    saver.save(1, lambda: made(1, size=300_000))
    with pytest.raises(OSError, match="no space left for a checkpoint"):
        saver.finish()
    assert names(small_disk) == []
    saver.save(2, lambda: made(2))
    saver.finish()
    assert saver.written == 2
