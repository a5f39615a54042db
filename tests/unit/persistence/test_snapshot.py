"""Snapshots: what is not one, is cut short, edited, or from the future is refused, each with its own words."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from stream_bayes import BernoulliNB, Beta, BetaBernoulli, Learner, MultinomialNB, SpamFilter, load
from stream_bayes.errors import SnapshotDamaged, SnapshotError, SnapshotTooNew, StreamBayesError
from stream_bayes.persistence import snapshot
from stream_bayes.testing import frozen


@pytest.fixture
def model() -> BernoulliNB:
    model = BernoulliNB(prior=Beta(0.5, 2.0), classes=("ham", "spam"))
    model.learn_one({"cheap": 1, ("subject", "pills"): 1, 7: 1, "sender": "bob"}, "spam")
    model.learn_one({"lunch": 1, "grüße 🙂": 1, "\udce4 not unicode": 1}, "ham")
    return model


@pytest.fixture
def path(tmp_path: Path, model: BernoulliNB) -> Path:
    model.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def metadata(path: Path) -> dict[str, str]:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    found: dict[str, str] = json.loads(content[8 : 8 + length])["__metadata__"]
    return found


def test_names_of_every_kind_come_back(path: Path, model: BernoulliNB) -> None:
    restored = BernoulliNB.load(path)
    for name in ("cheap", ("subject", "pills"), 7, ("sender", "bob"), "grüße 🙂", "\udce4 not unicode"):
        assert restored.posterior(name, "spam") == model.posterior(name, "spam")
    assert restored._vocabulary.state()["names"].tobytes() == model._vocabulary.state()["names"].tobytes()


def test_a_restored_learner_keeps_the_types_of_values(path: Path) -> None:
    with pytest.raises(StreamBayesError, match="was a text before and is a number now"):
        BernoulliNB.load(path).learn_one({"sender": 3}, "spam")


def test_the_header_alone(path: Path) -> None:
    assert snapshot.read_header(path) == snapshot.read(path)[0]
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"x")
    assert snapshot.read_header(path)["class"] == "BernoulliNB", "nothing is said of the arrays"
    for change, kind in (
        (content[:100], SnapshotDamaged),
        (b"GIF89a", SnapshotError),
        (content.replace(b'"version":"1"', b'"version":"9"'), SnapshotTooNew),
        (content.replace(b'"header":"{', b'"header":"['), SnapshotDamaged),
    ):
        path.write_bytes(change)
        with pytest.raises(kind):
            snapshot.read_header(path)


def test_is_an_ordinary_safetensors_file(path: Path, model: BernoulliNB) -> None:
    np.testing.assert_array_equal(load_file(path)["class_weight"], [1.0, 1.0])
    header = json.loads(metadata(path)["header"])
    assert header["class"] == "BernoulliNB"
    assert header["parameters"]["prior"] == {"posterior": "Beta", "fields": [0.5, 2.0]}


@pytest.mark.parametrize("content", [b"", b"\x00" * 7, b"PK\x03\x04 a zip file", b"\x80\x04\x95 a pickle", b"{}" * 50])
def test_a_file_that_is_not_a_snapshot(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(SnapshotError, match="is not a stream_bayes snapshot"):
        Learner.load(tmp_path / "other")


def test_a_safetensors_file_of_another_program_is_refused(tmp_path: Path) -> None:
    save_file({"weights": np.ones(3)}, tmp_path / "other")
    with pytest.raises(SnapshotError, match="is not a stream_bayes snapshot"):
        Learner.load(tmp_path / "other")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Learner.load(tmp_path / "nowhere")


def test_cut_short_anywhere(path: Path) -> None:
    content = path.read_bytes()
    for length in range(0, len(content), 13):
        path.write_bytes(content[:length])
        with pytest.raises(SnapshotError):
            Learner.load(path)


def test_every_flipped_bit_is_noticed(path: Path, model: BernoulliNB) -> None:
    """One bit of one byte anywhere: refused, or (in white space of the header alone) the same learner."""
    content = path.read_bytes()
    generator = np.random.default_rng(0)
    for place in generator.choice(len(content), 300, replace=False):
        edited = bytearray(content)
        edited[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(bytes(edited))
        with contextlib.suppress(SnapshotError):
            assert frozen(BernoulliNB.load(path)) == frozen(model)


@pytest.mark.slow
def test_a_fresh_process_knows_every_kind(path: Path) -> None:
    script = f"from stream_bayes import Learner; print(type(Learner.load({str(path)!r})).__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "BernoulliNB"


def test_from_a_later_version(path: Path) -> None:
    content = path.read_bytes()
    assert content.count(b'"version":"1"') == 1
    path.write_bytes(content.replace(b'"version":"1"', b'"version":"9"'))
    with pytest.raises(SnapshotTooNew, match=r"format 9.*update stream_bayes") as caught:
        Learner.load(path)
    assert caught.value.code == "snapshot-too-new"


def test_of_another_class(path: Path) -> None:
    with pytest.raises(SnapshotError, match="state of a BernoulliNB, not of a MultinomialNB"):
        MultinomialNB.load(path)
    assert isinstance(Learner.load(path), BernoulliNB)


def test_load_takes_a_learner_of_any_kind(path: Path, model: BernoulliNB) -> None:
    assert frozen(load(path)) == frozen(model)
    SpamFilter(buckets=2**10).save(path)
    assert isinstance(load(str(path)), SpamFilter)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"class": "Nonesuch", "parameters": {}}, "Nonesuch"),
        ({"class": "BernoulliNB", "parameters": {"unknown": 1}}, "unknown"),
        ({"class": "BernoulliNB", "parameters": {"class_prior_count": -1}}, "class_prior_count"),
        ({"class": "BernoulliNB", "parameters": {"prior": {"posterior": "Gamma", "fields": [1, 1]}}}, "prior"),
        ({"class": "BernoulliNB", "parameters": {"prior": {"posterior": "os", "fields": []}}}, "os"),
        ({"class": "BernoulliNB"}, "parameters"),
        ({"class": "BernoulliNB", "parameters": {"classes": "spam"}}, "classes"),
        ({"class": "BernoulliNB", "parameters": {"classes": {"tuple": [1.5]}}}, "classes"),
        ({"class": "BernoulliNB", "parameters": {"classes": {"tuple": 5}}}, "parameters"),
        ({"class": "BernoulliNB", "parameters": {"buckets": "x"}}, "buckets"),
        ({"class": "BernoulliNB", "parameters": 3}, "header"),
        ({"class": ["BernoulliNB"], "parameters": {}}, "learner"),
        ([], "header"),
    ],
)
def test_a_header_that_describes_no_learner(tmp_path: Path, header: Any, words: str) -> None:
    snapshot.write(tmp_path / "made", header, {"labels": np.frombuffer(b"[]", dtype=np.uint8)})
    with pytest.raises(SnapshotError, match=words):
        Learner.load(tmp_path / "made")


@pytest.mark.parametrize(
    "change",
    [
        {"cells": np.zeros((3, 2))},
        {"cells": np.full((7, 2), np.nan)},
        {"cells": np.full((7, 2), -1.0)},
        {"names": np.frombuffer(b'["a","a","b","c","d","e","f"]', dtype=np.uint8)},
        {"names": np.frombuffer(b"not json", dtype=np.uint8)},
        {"class_weight": np.zeros(5)},
        {"labels": np.frombuffer(b"[[1]]", dtype=np.uint8)},
        {"cells": np.full((7, 2), 0.5)},
        {"cells": np.zeros((7, 2), dtype=np.float32)},
        {"class_weight": np.ones(2, dtype=np.float32)},
        {"class_total": np.array([1.0, 4.0])},
        {"class_total": np.zeros(2)},
        {"whole": np.ones(2, dtype=np.bool_)},
    ],
    ids=lambda change: "{} of {}".format(*next((name, array.dtype) for name, array in change.items())),
)
def test_arrays_that_make_no_learner(tmp_path: Path, model: BernoulliNB, change: dict[str, Any]) -> None:
    state = model.state()
    header = {"class": state.kind, "parameters": state.parameters}
    snapshot.write(tmp_path / "made", header, state.arrays | change)
    with pytest.raises(SnapshotDamaged):
        Learner.load(tmp_path / "made")
    for missing in state.arrays:
        snapshot.write(tmp_path / "made", header, {k: v for k, v in state.arrays.items() if k != missing})
        with pytest.raises(SnapshotDamaged, match=missing):
            Learner.load(tmp_path / "made")


def with_metadata(path: Path, **changes: Any) -> None:
    """Edit the metadata in the file's own header; the arrays stay."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] |= changes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


@pytest.mark.parametrize("version", [1, 1.5, None, "²", "", "1x", "-1", [1], {"1": 1}], ids=repr)
def test_an_invalid_format_version_is_refused(path: Path, version: Any) -> None:
    """safetensors has texts only as metadata, and int() knows digits that isdigit() does not, and the reverse."""
    with_metadata(path, version=version)
    with pytest.raises(SnapshotError):
        Learner.load(path)


@pytest.mark.parametrize("deep", ["[" * 100_000, "[" * 50_000 + "]" * 50_000], ids=["open", "closed"])
def test_a_header_nested_too_deep(path: Path, deep: str) -> None:
    """The parser of JSON is recursive: the file's header, and the learner's within it."""
    with_metadata(path, header=deep)
    with pytest.raises(SnapshotError):
        Learner.load(path)
    path.write_bytes(len(deep).to_bytes(8, "little") + deep.encode())
    with pytest.raises(SnapshotError):
        Learner.load(path)


def test_cut_short_within_its_header(path: Path) -> None:
    """What is left still says whose it was, so the advice is to restore a copy."""
    content = path.read_bytes()
    begin = content.index(snapshot.FORMAT.encode())
    length = int.from_bytes(content[:8], "little")
    for end in (8 + length - 1, (begin + length) // 2, begin + 30):
        path.write_bytes(content[:end])
        with pytest.raises(SnapshotDamaged, match="restore it from a copy") as caught:
            Learner.load(path)
        assert caught.value.code == "snapshot-damaged"


def test_a_snapshot_of_an_unknown_class_is_refused(path: Path, tmp_path: Path) -> None:
    """A learner of the user's own is known once its module is imported, and never stands in for one of ours."""
    snapshot.write(tmp_path / "made", {"class": "their.module.Nonesuch", "parameters": {}}, {})
    with pytest.raises(SnapshotError, match=r"Nonesuch.*import the module that defines it"):
        Learner.load(tmp_path / "made")
    own: Any = type("BernoulliNB", (BernoulliNB,), {"__module__": __name__})
    for reader in (BernoulliNB, Learner):
        assert type(reader.load(path)) is BernoulliNB
    with pytest.raises(SnapshotError):
        own.load(path)
    theirs = own(prior=Beta(0.5, 2.0))
    theirs.save(tmp_path / "theirs")
    assert [type(reader.load(tmp_path / "theirs")) for reader in (own, BernoulliNB, Learner)] == [own] * 3
    assert frozen(own.load(tmp_path / "theirs")) == frozen(theirs)


def test_a_failed_write_leaves_the_old_file(path: Path, model: BernoulliNB, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()
    model.learn_one({"new": 1}, "ham")

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    """A tuple that pickle would turn into a call comes back as the tuple it is."""
    model = BetaBernoulli(on="name", classes=("no", "yes"))
    model.learn_one({"name": "cos\nsystem\n(S'true'\ntR."}, "yes")
    model.save(tmp_path / "model")
    assert BetaBernoulli.load(tmp_path / "model").posterior("cos\nsystem\n(S'true'\ntR.") == Beta(2, 1)
