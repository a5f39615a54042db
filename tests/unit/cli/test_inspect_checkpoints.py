"""`stream-bayes inspect` on checkpoints: one file, a folder, a folder of folders, and what is none of them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import SpamFilter
from stream_bayes.engine.metrics import RunningMetrics
from stream_bayes.engine.state import bookkeeping_of, state_of
from stream_bayes.persistence.checkpoint import Checkpoint
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from tests.support.checkpoints import made
from tests.support.commands import COMMAND, ENVIRONMENT, WITHOUT_PRIVILEGES, Run
from tests.support.engines import KINDS, Stream, settings_for
from tests.support.engines import run as run_engine


def of_a_filter() -> Checkpoint:
    """A checkpoint of an engine, with a learner, counts and label requests."""
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
        "labels_requested": 5,
        "open_requests": list(range(3, 20)),
        "labels": {"end": 17, "labels": ["ham", "spam"]},
    }
    compatibility_key = {
        "learner": {"name": state.kind, "parameters": state.parameters},
        "engine": {"dedup_window": 100},
    }
    metrics = RunningMetrics(100)
    for offset, (log_odds, spam) in enumerate([(2.0, True), (-1.0, False), (-3.0, True), (-4.0, False)]):
        metrics.remember(offset, log_odds, int(log_odds > 0.0))
        metrics.count_label(offset, int(spam))
    own = {f"learner.{name}": array for name, array in state.arrays.items()}
    return Checkpoint(compatibility_key, scalars, {"label_codes": np.zeros(17, np.uint8), **metrics.arrays(), **own})


def plain(value: Any) -> Any:
    """As JSON has it that knows of no tuples."""
    if isinstance(value, dict):
        return plain(value["tuple"]) if "tuple" in value else {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture
def folder(tmp_path: Path) -> CheckpointStore:
    folder = CheckpointStore(tmp_path / "checkpoints" / "group" / "partition-0")
    folder.write(7, made(7))
    folder.write(42, of_a_filter())
    return folder


def test_inspect_describes_a_checkpoint(run: Run, folder: CheckpointStore) -> None:
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
        "  metrics     labelled = 4",
        "              accuracy = 0.75",
        "              one_minus_roca_percent = 25",
        "  state       clock = 1700000000123 (2023-11-14 22:13:20 UTC)",
        "              counts.predict = 12",
        "              refused = {}",
        "              labels_requested = 5",
        "              open_requests = 17 entries, from 3 to 19",
        "              labels.labels = ['ham', 'spam']",
        "  settings    engine.dedup_window = 100",
    ):
        assert line in output.splitlines()
    assert re.search(r"^ +arrays +label_codes +uint8 +17$", output, re.MULTILINE)
    assert re.search(r"^ +learner\.totals +float64 +2$", output, re.MULTILINE)


def test_for_machines(run: Run, folder: CheckpointStore) -> None:
    code, output, _ = run("inspect", folder.path_of(42), "--json")
    found: dict[str, Any] = json.loads(output)
    expected = of_a_filter()
    assert code == 0
    assert found["journal_offset"] == 42
    assert found["class"] == "SpamFilter"
    assert '"tuple"' not in output
    assert found["parameters"] == plain(expected.scalars["learner"]["parameters"])
    assert found["parameters"]["classes"] == ["ham", "spam"]
    assert '"labelled": 4,' in output, "a count is a whole number"
    assert found["metrics"]["one_minus_roca_percent"] == 25.0
    assert found["labels"] == [{"label": "ham", "evidence": 1.0}, {"label": "spam", "evidence": 2.0}]
    assert found["state"] == {name: value for name, value in expected.scalars.items() if name != "learner"}
    assert found["settings"] == plain(expected.compatibility_key)
    assert found["arrays"].keys() == expected.arrays.keys()


def of_an_engine() -> Checkpoint:
    """A checkpoint with requests that two labellers answered differently."""
    stream = Stream()
    for number in range(60):
        stream.observe({"features": {f"x{number}": 1.0, f"z{number}": 2.0}}, None, f"p{number}")
        stream.answer("a", f"p{number}", labeller="ann")
        stream.answer("b" if number % 2 else "a", f"p{number}", labeller="bob\x1b[2J")
    stream.observe({"features": {"y": 1.0}}, None, "q")
    engine, _ = run_engine(
        settings_for(KINDS["MultinomialNB"], budget=40, audit_fraction=0.5, request_ttl="1h"), stream
    )
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    return Checkpoint(engine.compatibility_key, scalars, arrays)


def test_requests_audit_and_labellers_are_shown(run: Run, tmp_path: Path) -> None:
    folder = CheckpointStore(tmp_path)
    path = folder.write(3, of_an_engine())
    code, output, errors = run("inspect", path)
    assert (code, errors) == (0, "")
    found = json.loads(run("inspect", path, "--json")[1])
    requests = found["requests"]
    audit = found["audit"]
    assert requests["requested"] > requests["audited"] > 0
    assert not {"requested", "audited"} & requests["outcomes"].keys()
    assert audit["answers"] > 0
    assert found["labellers"]["ann"]["checked"] == 60
    assert found["labellers"]["ann"]["agreement"] == pytest.approx(31.0 / 62.0)
    lines = output.splitlines()
    assert f"  requests    {requests['requested']} requested, {requests['audited']} of them drawn at random" in lines
    assert f"              corrected = {requests['outcomes']['corrected']}" in lines
    assert f"  budget      {requests['requested']} used; with the --config of the worker: what is left" in lines
    assert re.search(
        r"^  audit       accuracy [01]\.\d{3} \([01]\.\d{3} to [01]\.\d{3} with 95 %\), by \d answers? to r",
        output,
        re.M,
    )
    assert "  labellers   'ann': agreement 0.500 (0.377 to 0.623 with 95 %), 60 of 60 labels checked" in lines
    assert "\x1b" not in output
    assert "selector" not in found["state"]


@pytest.mark.parametrize("above", [0, 1, 2], ids=["itself", "one above", "two above"])
def test_the_newest_of_a_folder(run: Run, folder: CheckpointStore, above: int) -> None:
    given = (folder.folder, *folder.folder.parents)[above]
    assert run("inspect", given) == run("inspect", folder.path_of(42))


def test_a_damaged_checkpoint_is_skipped(run: Run, folder: CheckpointStore) -> None:
    folder.path_of(42).write_bytes(folder.path_of(42).read_bytes()[:-1])
    code, output, _ = run("inspect", folder.folder)
    assert code == 0
    assert output.startswith(f"{folder.path_of(7)}\n  journal     what came before record 7\n  state ")


def test_of_several_partitions_all_are_shown(run: Run, folder: CheckpointStore, tmp_path: Path) -> None:
    other = CheckpointStore(folder.folder.with_name("partition-1"))
    other.write(1, made(1))
    (folder.folder.with_name("partition-2")).mkdir()
    code, output, errors = run("inspect", tmp_path)
    assert (code, errors) == (0, "")
    blocks = [run("inspect", path)[1] for path in (folder.path_of(42), other.path_of(1))]
    assert output == "\n".join(blocks)
    found = json.loads(run("inspect", tmp_path, "--json")[1])
    assert [each["path"] for each in found] == [str(folder.path_of(42)), str(other.path_of(1))]


@pytest.mark.slow
def test_a_partition_that_may_not_be_read_is_said(folder: CheckpointStore) -> None:
    other = folder.folder.with_name("partition-1")
    for path, code in ((other, 0), (folder.folder, 2)):
        path.mkdir(exist_ok=True)
        path.chmod(0)
        command = [*WITHOUT_PRIVILEGES, *COMMAND, "inspect", str(other.parent)]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (code, 1)
        assert "ermission denied" in done.stderr
        assert str(other) in done.stderr
    for path in (other, folder.folder):
        path.chmod(0o700)


def test_a_folder_without_any(run: Run, tmp_path: Path) -> None:
    code, output, errors = run("inspect", tmp_path)
    assert (code, output) == (2, "")
    assert errors == f"stream-bayes: {tmp_path} has no intact checkpoint; `stream-bayes run` writes them\n"


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ((b'"version":"1"', b'"version":"4"'), "update stream_bayes"),
        ((b"word.buckets", b"word.bucketz"), "does not fit its checksum"),
        ((b'"dtype"', b'"dtypo"'), "cut short or damaged"),
    ],
)
def test_a_checkpoint_that_cannot_be_read(
    run: Run, folder: CheckpointStore, edit: tuple[bytes, bytes], problem: str
) -> None:
    path = folder.path_of(42)
    path.write_bytes(path.read_bytes().replace(*edit))
    code, output, errors = run("inspect", path)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert problem in errors
    assert str(path) in errors
