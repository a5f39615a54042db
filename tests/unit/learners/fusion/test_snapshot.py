"""Snapshots of a fusion: members inside it, in a file that builds only what is known and whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import BernoulliNB, Beta, BetaBernoulli, GaussianNB, Learner
from stream_bayes.errors import SnapshotDamaged, SnapshotError
from stream_bayes.learners.base.learner import LearnerState
from stream_bayes.learners.fusion import LogOddsFusion
from stream_bayes.persistence import snapshot
from stream_bayes.testing import events, frozen, taught


@pytest.fixture(scope="module")
def model() -> Any:
    learners = (BernoulliNB(prior=Beta(0.5, 2.0)), LogOddsFusion((BetaBernoulli(on="a"), GaussianNB())))
    fusion = LogOddsFusion(learners, calibration="beta", calibration_precision=2.5)
    return taught(fusion, events(fusion))


def test_members_stand_in_the_header_by_name(tmp_path: Path, model: LogOddsFusion) -> None:
    model.save(tmp_path / "made")
    header, arrays = snapshot.read(tmp_path / "made")
    words = header["parameters"]["learners"]["tuple"][0]
    assert (words["learner"], words["parameters"]["prior"]["fields"]) == ("BernoulliNB", [0.5, 2.0])
    assert {"learners.0.cells", "learners.1.learners.0.counts", "learners.1.stack_factor", "evidence"} <= arrays.keys()
    restored = Learner.load(tmp_path / "made")
    assert frozen(restored) == frozen(model)
    assert restored.clone().learners[1].learners[0].on == "a"  # type: ignore[attr-defined]


def test_a_restored_fusion_continues_exactly_in_batches(tmp_path: Path, model: LogOddsFusion) -> None:
    stream = events(model, 60, seed=9)
    listed = [x for x, _ in stream]
    labels = [y for _, y in stream]
    model.save(tmp_path / "made")
    through = LogOddsFusion.load(tmp_path / "made")
    again = LogOddsFusion.load(tmp_path / "made")
    whole = through.test_then_train(listed, labels)
    first = again.test_then_train(listed[:23], labels[:23])
    again = LogOddsFusion.from_state(again.state())
    second = again.test_then_train(listed[23:], labels[23:])
    for name in ("probabilities", "log_odds", "latent_mean", "latent_variance"):
        parts = np.concatenate([getattr(first, name), getattr(second, name)])
        assert parts.tobytes() == getattr(whole, name).tobytes()
    assert frozen(again) == frozen(through)


def _edited(state: LearnerState, change: Any) -> LearnerState:
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    change(arrays)
    return state._replace(arrays=arrays)


def _set(name: str, place: Any, value: float) -> Any:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


def _replace(name: str, array: Any) -> Any:
    return lambda arrays: arrays.update({name: array})


@pytest.mark.parametrize(
    "change",
    [
        _set("stack_factor", (0, 0), 0.0),
        _set("stack_factor", (1, 1), -5.0),
        _set("stack_factor", (0, 1), 1.0),
        _set("stack_factor", (2, 0), np.nan),
        _set("stack_target", 0, np.inf),
        _set("stack_target", 0, 1e308),
        _set("calibration_target", 0, -50.0),
        _set("calibration_factor", (2, 2), 0.1),
        _set("evidence", 1, -np.inf),
        _set("evidence", 0, 0.1),
        _set("reliability", (3, 0), -1.0),
        _set("reliability", (3, 2), 1e9),
        _set("losses", 1, 1e9),
        _set("losses", 2, np.nan),
        _set("learners.0.cells", 0, -1.0),
        _set("learners.1.learners.0.counts", 0, np.nan),
        _set("learners.1.stack_factor", (0, 0), 0.0),
        _replace("stack_factor", np.eye(5)),
        _replace("stack_factor", np.eye(3, dtype=np.float32)),
        _replace("stack_target", np.zeros((3, 1))),
        _replace("evidence", np.zeros(3)),
        _replace("evidence", np.zeros(2, dtype=np.int64)),
        _replace("reliability", np.zeros((15, 3))),
    ],
)
def test_arrays_that_make_no_fusion(model: LogOddsFusion, change: Any) -> None:
    with pytest.raises(SnapshotDamaged):
        LogOddsFusion.from_state(_edited(model.state(), change))


def test_every_array_is_needed(model: LogOddsFusion) -> None:
    state = model.state()
    for missing in state.arrays:
        arrays = {name: array for name, array in state.arrays.items() if name != missing}
        with pytest.raises(SnapshotDamaged):
            LogOddsFusion.from_state(state._replace(arrays=arrays))


def _nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"learner": "BetaBernoulli", "parameters": {}}
    for _ in range(depth):
        inner = {"learner": "LogOddsFusion", "parameters": {"learners": {"tuple": [inner]}}}
    return inner


@pytest.mark.parametrize(
    "learners",
    [
        {"tuple": [{"learner": "Nonesuch", "parameters": {}}]},
        {"tuple": [{"learner": "BernoulliNB", "parameters": {"unknown": 1}}]},
        {"tuple": [{"learner": "BernoulliNB", "parameters": {"class_prior_count": -1}}]},
        {"tuple": [{"learner": "BernoulliNB"}]},
        {"tuple": [{"learner": ["BernoulliNB"], "parameters": {}}]},
        {"tuple": [{"learner": "BernoulliNB", "parameters": 5}]},
        {"tuple": [{"learner": "ColumnLearner", "parameters": {}}]},
        {"tuple": [{"posterior": "Beta", "fields": [1, 1]}]},
        {"tuple": ["BernoulliNB"]},
        {"tuple": []},
        {"learner": "BernoulliNB", "parameters": {}},
        "BernoulliNB",
        {"tuple": [_nested(4)]},
        {"tuple": [_nested(200)]},
    ],
    ids=lambda learners: str(learners)[:60],
)
def test_a_header_that_describes_no_members(learners: Any) -> None:
    with pytest.raises(SnapshotError):
        Learner.from_state(LearnerState("LogOddsFusion", {"learners": learners}, {}))


def test_fusions_nest_a_few_deep() -> None:
    """Each level is built as prototype and as copy, so the work doubles with each."""
    model = LogOddsFusion((BetaBernoulli(),))
    for _ in range(3):
        model = LogOddsFusion((model,))
    model.learn_one({}, True)
    assert frozen(LogOddsFusion.from_state(model.state())) == frozen(model)
    with pytest.raises(SnapshotDamaged):
        Learner.from_state(LearnerState("LogOddsFusion", {"learners": {"tuple": [_nested(5000)]}}, {}))
