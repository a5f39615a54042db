"""The layout of snapshots: what the tables of crafted files say, every type of array, and temporary files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from stream_bayes.errors import SnapshotDamaged, SnapshotError
from stream_bayes.persistence import snapshot
from stream_bayes.persistence.atomic_files import remove_abandoned, replacing


@pytest.fixture
def path(tmp_path: Path) -> Path:
    arrays: snapshot.Arrays = {
        "class_weight": np.ones(2),
        "labels": np.frombuffer(b'["ham","spam"]', np.uint8),
        "cells": np.ones((3, 2)),
    }
    snapshot.write(tmp_path / "model.safetensors", {"class": "BernoulliNB"}, arrays)
    return tmp_path / "model.safetensors"


def crafted(path: Path, **changes: Any) -> None:
    """Edit the table of arrays in the file's own header; the bytes after it stay."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    table = json.loads(content[8 : 8 + length])
    table["class_weight"] |= changes
    text = json.dumps(table).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [2**62, 2**62]},
        {"shape": [-1, -2]},
        {"shape": [0, 2**70]},
        {"shape": [0] * 100},
        {"shape": [2.0]},
        {"shape": [True, 2]},
        {"shape": "2"},
        {"shape": None},
        {"shape": []},
        {"dtype": "F32"},
        {"dtype": "O"},
        {"dtype": []},
        {"data_offsets": [0, 2**63]},
        {"data_offsets": [-16, 0]},
        {"data_offsets": [0, 0]},
        {"data_offsets": [16, 0]},
        {"data_offsets": [8, 24]},
        {"data_offsets": [0]},
        {"data_offsets": None},
        {"shape": [0], "data_offsets": [0, 0]},
        {"shape": [0, 2**63], "data_offsets": [0, 0]},
        {"more": 1},
    ],
    ids=repr,
)
def test_a_table_of_arrays_that_cannot_be(path: Path, changes: dict[str, Any]) -> None:
    """Overlapping, with holes, beyond the end, of absurd shapes: refused before any memory is asked for."""
    crafted(path, **changes)
    with pytest.raises(SnapshotDamaged, match="restore it from a copy"):
        snapshot.read(path)


@pytest.mark.parametrize("length", [0, 1, 7, 10**8, 10**8 + 1, 2**62, 2**64 - 1])
def test_a_header_of_another_length_than_there_is(path: Path, length: int) -> None:
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    with pytest.raises(SnapshotError):
        snapshot.read(path)


def test_bytes_after_the_last_array(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(SnapshotDamaged, match="cut short or damaged"):
        snapshot.read(path)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", ">u2"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 4), (2, 3, 5)], ids=str)
def test_arrays_of_every_type_and_shape(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    """As we read them, and as the library of the format does; in whichever order they were in memory."""
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    arrays = {"odd": np.arange(3, dtype=np.int8), "array": values, "other order": np.asfortranarray(values)}
    snapshot.write(tmp_path / "made", {"text": "ä"}, arrays)
    header, ours = snapshot.read(tmp_path / "made")
    theirs = load_file(tmp_path / "made")
    assert header == {"text": "ä"}
    assert ours.keys() == theirs.keys() == arrays.keys()
    for name, array in arrays.items():
        assert ours[name].dtype == theirs[name].dtype == array.dtype.newbyteorder("=")
        assert ours[name].shape == theirs[name].shape == array.shape
        assert ours[name].tobytes() == theirs[name].tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([1j]), np.array([object()]), np.zeros(2, "M8[s]")])
def test_an_array_that_the_format_does_not_know(tmp_path: Path, array: Any) -> None:
    with pytest.raises(SnapshotError, match="cannot be kept in a file"):
        snapshot.write(tmp_path / "made", {}, {"array": array})
    assert not list(tmp_path.iterdir())


def test_a_large_array_is_held_once(tmp_path: Path) -> None:
    """Of 64 MiB: neither the file's content nor a second copy of the array is ever in memory."""
    script = """
import resource, sys, numpy as np
from stream_bayes.persistence import snapshot
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
arrays = {"large": np.ones(8 << 20)}
before = peak()
snapshot.write(sys.argv[1], {}, arrays)
print(peak() - before)
del arrays
header, arrays = snapshot.read(sys.argv[1])
print(peak() - before)
"""
    call = [sys.executable, "-c", script, str(tmp_path / "large")]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert all(int(grown) < 16 << 10 for grown in done.stdout.split()), done.stdout


def test_the_kind_of_a_file_is_in_its_header(tmp_path: Path, path: Path) -> None:
    other = snapshot.FileKind("somebody's own", 3, "file", "files are made here")
    snapshot.write(tmp_path / "other", [1, None], {}, other)
    (tmp_path / "text").write_bytes(b"{}")
    save_file({"weights": np.ones(3)}, tmp_path / "plain")
    found = [snapshot.format_of(place) for place in (path, *(tmp_path / name for name in ("other", "text", "plain")))]
    assert found == [snapshot.FORMAT, "somebody's own", None, None]
    assert snapshot.read(tmp_path / "other", other) == ([1, None], {})
    with pytest.raises(SnapshotError, match="is not a stream_bayes snapshot; snapshots are written"):
        snapshot.read(tmp_path / "other")
    with pytest.raises(SnapshotError, match="is not a stream_bayes file; files are made here"):
        snapshot.read(path, other)


@pytest.mark.slow
def test_a_header_too_large_to_be_read_back(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="keep less in it"):
        snapshot.write(tmp_path / "made", "x" * 100_000_000, {})
    assert not list(tmp_path.iterdir())


def test_a_temporary_file_without_a_lock_is_abandoned(tmp_path: Path) -> None:
    """Those of the living, those of other targets and all other files stay."""
    target = tmp_path / "target"
    others = [tmp_path / name for name in ("target", ".target.12.0123456", ".target.x.01234567", ".other.12.01234567")]
    for other in (*others, tmp_path / ".target.12.01234567"):
        other.write_bytes(b"old")
    with replacing(target, "file") as file:
        file.write(b"new")
        assert remove_abandoned(tmp_path, re.compile("target")) == [tmp_path / ".target.12.01234567"]
        assert len(list(tmp_path.iterdir())) == len(others) + 1
    assert target.read_bytes() == b"new"
    assert sorted(tmp_path.iterdir()) == sorted(others)
