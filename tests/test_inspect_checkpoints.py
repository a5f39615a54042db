"""`stream-bayes inspect` on checkpoints: one file, a folder, a folder of folders, and what is none of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import SpamFilter
from stream_bayes.checkpoint import Checkpoint, CheckpointFolder
from tests.checkpoints import made
from tests.commands import Run, run

__all__ = ["run"]


def of_a_filter() -> Checkpoint:
    """As an engine has it: a learner, and what was counted and asked."""
    model = SpamFilter(buckets=2**10, members=("word counts",))
    model.learn_many([b"cheap pills", b"lunch at noon", b"buy now"], ["spam", "ham", "spam"])
    state = model.state()
    scalars = {
        "learner": {"class": state.kind, "parameters": state.parameters},
        "positions": {"emails": 17, "labels": 4},
        "model_version": 3,
        "clock": 1_700_000_000_123,
        "counts": {"predict": 12, "learn": 3},
        "refused": {},
        "labels_used": 5,
        "open_requests": list(range(3, 20)),
        "labels": {"end": 17, "labels": ["ham", "spam"]},
    }
    shaping = {"learner": {"name": state.kind, "parameters": state.parameters}, "engine": {"remembered_ids": 100}}
    arrays = {"label_codes": np.zeros(17, np.uint8), **{f"learner.{name}": a for name, a in state.arrays.items()}}
    return Checkpoint(shaping, scalars, arrays)


@pytest.fixture
def folder(tmp_path: Path) -> CheckpointFolder:
    folder = CheckpointFolder(tmp_path / "checkpoints" / "group" / "partition-0")
    folder.write(7, made(7))
    folder.write(42, of_a_filter())
    return folder


def test_what_a_checkpoint_stands_for(run: Run, folder: CheckpointFolder) -> None:
    code, output, errors = run("inspect", folder.path_of(42))
    assert (code, errors) == (0, "")
    assert output.splitlines()[:5] == [
        str(folder.path_of(42)),
        "  journal     what came before record 42",
        "  class       SpamFilter",
        "  parameters  buckets = 1024",
        "              classes = ('ham', 'spam')",
    ]
    for line in (
        "  evidence    'ham': 1",
        "              'spam': 2",
        "              positions.emails = 17",
        "              model_version = 3",
        "  state       clock = 1700000000123 (2023-11-14 22:13:20 UTC)",
        "              counts.predict = 12",
        "              refused = {}",
        "              labels_used = 5",
        "              open_requests = 17 entries, from 3 to 19",
        "              labels.labels = ['ham', 'spam']",
        "  settings    engine.remembered_ids = 100",
    ):
        assert line in output.splitlines()
    assert re.search(r"^ {2}arrays +label_codes +uint8 +17$", output, re.MULTILINE)
    assert re.search(r"^ +learner\.totals +float64 +2$", output, re.MULTILINE)


def test_for_machines(run: Run, folder: CheckpointFolder) -> None:
    code, output, _ = run("inspect", folder.path_of(42), "--json")
    found: dict[str, Any] = json.loads(output)
    expected = of_a_filter()
    assert code == 0
    assert found["journal_offset"] == 42
    assert found["class"] == "SpamFilter"
    assert found["parameters"] == expected.scalars["learner"]["parameters"]
    assert found["labels"] == [{"label": "ham", "evidence": 1.0}, {"label": "spam", "evidence": 2.0}]
    assert found["state"] == {name: value for name, value in expected.scalars.items() if name != "learner"}
    assert found["settings"] == expected.shaping
    assert found["arrays"].keys() == expected.arrays.keys()


@pytest.mark.parametrize("above", [0, 1, 2], ids=["itself", "one above", "two above"])
def test_the_newest_of_a_folder(run: Run, folder: CheckpointFolder, above: int) -> None:
    given = (folder.folder, *folder.folder.parents)[above]
    assert run("inspect", given) == run("inspect", folder.path_of(42))


def test_a_damaged_one_is_passed_over(run: Run, folder: CheckpointFolder) -> None:
    folder.path_of(42).write_bytes(folder.path_of(42).read_bytes()[:-1])
    code, output, _ = run("inspect", folder.folder)
    assert code == 0
    assert output.startswith(f"{folder.path_of(7)}\n  journal     what came before record 7\n  state ")


def test_several_partitions_must_be_named(run: Run, folder: CheckpointFolder, tmp_path: Path) -> None:
    other = CheckpointFolder(folder.folder.with_name("partition-1"))
    other.write(1, made(1))
    code, output, errors = run("inspect", tmp_path)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "several folders, name one of them" in errors
    assert str(folder.folder) in errors
    assert str(other.folder) in errors


def test_a_folder_without_any(run: Run, tmp_path: Path) -> None:
    code, output, errors = run("inspect", tmp_path)
    assert (code, output) == (2, "")
    assert errors == f"stream-bayes: {tmp_path} has no checkpoint that is whole; `stream-bayes run` writes them\n"


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ((b'"version":"1"', b'"version":"3"'), "update stream_bayes"),
        ((b"word.buckets", b"word.bucketz"), "does not fit its checksum"),
        ((b'"dtype"', b'"dtypo"'), "cut short or damaged"),
    ],
)
def test_a_checkpoint_that_cannot_be_read(
    run: Run, folder: CheckpointFolder, edit: tuple[bytes, bytes], problem: str
) -> None:
    path = folder.path_of(42)
    path.write_bytes(path.read_bytes().replace(*edit))
    code, output, errors = run("inspect", path)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert problem in errors
    assert str(path) in errors
