"""Gradient learners keep every promise; extremes stay finite, what is refused changes nothing, edited states too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from river import preprocessing

from stream_bayes.errors import EvidenceError, InputError, ParameterError, SnapshotDamaged, StreamBayesError
from stream_bayes.learners.gradient import LogisticRegression, PoissonRegression, SoftmaxRegression
from stream_bayes.testing import frozen, yield_checks
from tests.support.contract_cases import river_cases
from tests.support.gradient_reference import KINDS, STEPS
from tests.support.tiers import short_first

SCALED: dict[str, Any] = {
    "logistic": LogisticRegression(rate=0.3, l1=0.003, l2=0.02, classes=(False, True)),
    "logistic constant": LogisticRegression(step="constant", rate=0.05, intercept=False),
    "softmax": SoftmaxRegression(rate=0.5, l1=0.01, l2=0.3),
    "softmax inverse-root": SoftmaxRegression(step="inverse-root", rate=0.7, buckets=64),
    "poisson": PoissonRegression(rate=0.2, l2=0.01),
    "poisson constant": PoissonRegression(step="constant", rate=0.001, l1=0.01),
}
HARSH = [{"step": step, "rate": rate, **penalty}
         for step in STEPS for rate in (1e-6, 1e6)
         for penalty in ({}, {"l1": 1e-100, "l2": 1e100}, {"l1": 1e100, "l2": 1e-100}, {"l1": 1e-3})]  # fmt: skip


BEHIND_A_SCALER = {name: preprocessing.StandardScaler() | learner.clone() for name, learner in SCALED.items()}


# A scaler scales the rows of a mini-batch by all of it, and single events by those before them: other steps follow.
BY_BATCH = "check_learn_many_matches_learn_one"
CASES = [case for case in river_cases(BEHIND_A_SCALER, list(BEHIND_A_SCALER)[::3]) if BY_BATCH not in str(case.id)]


@pytest.mark.parametrize(("name", "check"), CASES)
def test_river_contract_behind_a_scaler(name: str, check: Callable[[Any], None]) -> None:
    """Raw features of any size make steps so large that rounding decides where they go; scaled ones do not."""
    check(BEHIND_A_SCALER[name].clone())


@pytest.mark.parametrize("name", short_first(name for name in SCALED if not name.startswith("poisson")))
def test_our_contract(name: str) -> None:
    for check in yield_checks(SCALED[name]):
        check(SCALED[name].clone())


def test_no_memory_for_a_new_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room was made, and then there was no memory for the predictions: the label was never there."""
    model = SoftmaxRegression(rate=0.3, l1=0.01)
    for x, label in (({"a": 1.0}, "red"), ({"b": 1.0}, "green")):
        model.learn_one(x, label)
    before = frozen(model)

    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(model, "_run", full)
        with pytest.raises(EvidenceError, match="no memory"):
            model.learn_one({"c": 1.0}, "blue")
    assert frozen(model) == before
    assert list(model.predict_proba_one({"c": 1.0})) == ["red", "green"]
    model.learn_one({f"x{place}": 1.0 for place in range(200)}, "red")
    model.learn_one({"c": 1.0}, "blue")
    assert frozen(SoftmaxRegression.from_state(model.state())) == frozen(model)


def target_of(kind: str, place: int) -> Any:
    return {"logistic": bool(place % 2), "softmax": "abc"[place % 3], "poisson": (0.0, 1e30)[place % 2]}[kind]


@pytest.mark.parametrize("parameters", HARSH, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_no_step_overflows(kind: str, parameters: dict[str, Any]) -> None:
    """The largest and smallest values, weights, rates, penalties and counts: all answers finite, the state sound."""
    model = KINDS[kind](**parameters)
    values = (1e60, -1e60, 1e-300, 0.0, 1.0, 5e-324)
    for place in range(60):
        x = {"a": values[place % 6], "b": values[place % 5], ("c", place % 7): 1e60}
        model.learn_one(x, target_of(kind, place), w=(1e12, 1e-300, 1.0)[place % 3])
        prediction = model.predictive_one({"a": 1e60, "b": -1e60})
        assert math.isfinite(prediction.mean)
        assert 0.0 <= prediction.epistemic_variance <= prediction.variance < math.inf
    assert frozen(type(model).from_state(model.state())) == frozen(model)
    assert np.isfinite(model._model.cells).all()
    assert np.isfinite(model._model.offsets).all()


def taught(kind: str, **parameters: Any) -> Any:
    model = KINDS[kind](**parameters)
    for place in range(6):
        model.learn_one({"a": 1.5 - place, f"x{place}": 1.0}, 2.0 if kind == "poisson" else target_of(kind, place))
    return model


def assert_refused(model: Any, error: type[StreamBayesError], words: str, method: str, *arguments: Any) -> None:
    before = frozen(model)
    with pytest.raises(error, match=words):
        getattr(model, method)(*arguments)
    assert frozen(model) == before


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_could_overflow_are_refused(kind: str) -> None:
    model = taught(kind, l2=0.3)
    target = target_of(kind, 0)
    for value in (1.1e60, -1e300):
        assert_refused(model, InputError, "so that no step overflows", "learn_one", {"a": value, "new": 1.0}, target)
        assert_refused(model, InputError, "so that no step overflows", "predict_one", {"a": value})
        rows: list[Any] = [{"new": 1.0}, {"a": value}]
        assert_refused(model, InputError, "so that no step overflows", "test_then_train", rows, [target, target])


def test_counts() -> None:
    model = taught("poisson")
    for target in (-1, -1e-9, 1.1e30):
        assert_refused(model, InputError, "a count is between 0 and 1e", "learn_one", {"a": 1.0}, target)
    assert_refused(model, InputError, "a count is", "test_then_train", [{"new": 1.0}, {"a": 1.0}], [1, -2])
    assert_refused(model, InputError, "target", "learn_one", {"a": 1.0}, "many")
    model.test_then_train([{"a": 1.0}, {"a": 2.0}], [2.5, None])


def test_labels_of_logistic_regression_may_be_declared() -> None:
    model = LogisticRegression(rate=0.3, classes=(False, True))
    words = r"label 'spam' is neither False nor True: declare the two by classes="
    assert_refused(model, InputError, words, "learn_one", {"a": 1.0}, "spam")
    assert_refused(model, InputError, words, "test_then_train", [{"a": 1.0}, {"b": 1.0}], [True, "spam"])
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    model.learn_one({"a": 1.0}, 1)
    assert model.predict_one({"a": 1.0}) is True


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"step": "newton"}, "step must be one of 'constant', 'inverse-root', 'adagrad'"),
        ({"rate": 0.0}, "rate"),
        ({"rate": -1.0}, "rate"),
        ({"rate": math.nan}, "rate"),
        ({"rate": 1e7}, "rate must lie between"),
        ({"rate": "fast"}, "rate"),
        ({"l1": -0.1}, "l1"),
        ({"l2": math.inf}, "l2"),
        ({"l2": 1e-200}, "l2"),
        ({"intercept": "yes"}, "intercept"),
        ({"buckets": 1000}, "power of two"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_parameters(kind: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        KINDS[kind](**parameters)


@pytest.mark.parametrize("classes", [(), ("a",), ("a", "a"), ("a", "b", "c"), "ab", 3])
def test_logistic_regression_has_two_classes(classes: Any) -> None:
    with pytest.raises(ParameterError, match="classes"):
        LogisticRegression(classes=classes)


def test_softmax_weights_of_an_unknown_label() -> None:
    with pytest.raises(InputError, match="label 'z' was neither declared nor learned"):
        taught("softmax").weights("z")


CRAFTED: dict[str, list[Any]] = {
    "cells": [0.0, math.nan, math.inf, -1.0, 1e200, np.float32(1)],
    "offsets": [math.nan, -math.inf, 1e200, np.float32(1)],
    "clock": [math.nan, -1.0, 0.0, 1e300, np.float32(1)],
    "seen": [math.nan, -1.0, math.inf, np.float32(1)],
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_edited_states_are_refused_or_sound(kind: str, step: str) -> None:
    """Whatever number stands in whatever place: an error with a code, or a learner whose answers are finite."""
    model = taught(kind, step=step, rate=0.2, l1=0.01, l2=0.1)
    state = model.state()
    for name in set(CRAFTED) & set(state.arrays):
        for value in CRAFTED[name]:
            for place in range(state.arrays[name].size):
                array = state.arrays[name].astype(np.asarray(value).dtype)
                array.flat[place] = value
                assert_refused_or_sound(model, state._replace(arrays=state.arrays | {name: array}))
        for shape in ((0,), (1, 1), state.arrays[name].shape[::-1], (3, *state.arrays[name].shape)):
            changed = state._replace(arrays=state.arrays | {name: np.zeros(shape)})
            if shape != state.arrays[name].shape:
                with pytest.raises(SnapshotDamaged):
                    type(model).from_state(changed)
        with pytest.raises(SnapshotDamaged, match=name):
            type(model).from_state(state._replace(arrays={k: v for k, v in state.arrays.items() if k != name}))


def assert_refused_or_sound(model: Any, state: Any) -> None:
    try:
        restored = type(model).from_state(state)
    except SnapshotDamaged:
        return
    for x in ({"a": 1e60, "x0": 1.0}, {"x3": -1e60}):
        restored.learn_one(x, 2.0 if isinstance(model, PoissonRegression) else next(iter(model._labels)))
        assert math.isfinite(restored.predictive_one(x).variance)


def test_memory_of_a_hashed_learner_does_not_grow() -> None:
    model = LogisticRegression(l1=0.01, buckets=64)
    shape = model._model.cells.shape
    for place in range(300):
        model.learn_one({f"word {place}": 1.0}, bool(place % 2))
    assert model._model.cells.shape == shape == (64, 4)
    assert set(model.state().arrays) == {"cells", "offsets", "clock", "labels"}
