"""Hostile values and files: every learner and posterior refuses them with the package's own errors, unchanged."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    Batch,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    BernoulliNB,
    Beta,
    Dirichlet,
    Gamma,
    Learner,
    MultinomialNB,
    MvNormal,
    Normal,
    NormalInverseGamma,
    StudentT,
)
from stream_bayes.checks import frozen
from stream_bayes.engine import Engine
from stream_bayes.engine.state import bookkeeping_of, restore, state_of
from stream_bayes.errors import InputError, ParameterError, SnapshotDamaged, StreamBayesError
from stream_bayes.learners.base import State
from stream_bayes.learners.number_learner import NumberLearner
from tests.engines import KINDS, random_stream, settings_for
from tests.learners import LEARNERS

MANY_DIGITS = 10**5000
WRONG_SCALARS: tuple[Any, ...] = ([], math.nan, {"a": 1})
CLASSIFIERS = [name for name, learner in LEARNERS.items() if "classes" in learner._get_params()]
DICTS = [name for name in LEARNERS if not name.startswith("SpamFilter")]


def taught(name: str) -> tuple[Any, Any, Any]:
    """A learner that knows two events, the first of them and its label or target."""
    learner: Any = LEARNERS[name].clone()
    labels = (2.0, 1.0) if isinstance(learner, NumberLearner) else getattr(learner, "classes", None) or ("red", "green")
    mail = name.startswith("SpamFilter")
    first = b"Subject: hi\n\nhello you" if mail else {"a": 1, "b": 2}
    second = b"Subject: yo\n\nbuy" if mail else {"a": 2, "c": 1}
    learner.learn_one(first, labels[0])
    learner.learn_one(second, labels[1])
    return learner, first, labels[0]


def refuses(learner: Any, method: str, *arguments: Any) -> None:
    before = frozen(learner)
    with pytest.raises(StreamBayesError) as caught:
        getattr(learner, method)(*arguments)
    assert len(str(caught.value)) < 2000
    assert frozen(learner) == before


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_item20_no_classes_at_all_are_refused(name: str) -> None:
    learner = LEARNERS[name]
    with pytest.raises(ParameterError, match="classes"):
        type(learner)(**{**learner._get_params(), "classes": ()})


@pytest.mark.parametrize("name", LEARNERS)
def test_item20_numbers_of_many_digits_are_refused(name: str) -> None:
    learner, x, y = taught(name)
    refuses(learner, "learn_one", x, MANY_DIGITS)
    refuses(learner, "learn_many", [x], [MANY_DIGITS])
    refuses(learner, "learn_one", x, y, MANY_DIGITS)
    for parameter in learner._get_params():
        with pytest.raises(ParameterError):
            type(learner)(**{**learner._get_params(), parameter: MANY_DIGITS})


@pytest.mark.parametrize("name", [name for name in DICTS if not name.startswith("BetaBernoulli")])
def test_item20_names_and_values_of_many_digits_are_refused(name: str) -> None:
    learner, _, y = taught(name)
    for event in ({MANY_DIGITS: 1}, {("a", MANY_DIGITS): 1}, {"b": MANY_DIGITS}):
        refuses(learner, "learn_one", event, y)
        refuses(learner, "predict_one", event)


@pytest.mark.parametrize("value", [Decimal("sNaN"), Decimal(1)], ids=str)
@pytest.mark.parametrize("name", [name for name in DICTS if not name.startswith("BetaBernoulli")])
def test_item20_decimals_are_refused_also_after_an_event_with_the_same_names(name: str, value: Any) -> None:
    learner, x, y = taught(name)
    learner.predict_one(x)
    learner.learn_one(x, y)
    event = {**x, "b": value}
    refuses(learner, "predict_one", event)
    refuses(learner, "learn_one", event, y)
    refuses(learner, "test_then_train", [x, event], [y, y])


@pytest.mark.parametrize(
    "column", [2**63 - 1, 2**63, 2**40, MANY_DIGITS], ids=["63 bits", "64 bits", "40 bits", "many"]
)
def test_item20_a_column_that_no_bucket_has_is_refused(column: int) -> None:
    with pytest.raises(InputError, match="not a batch"):
        Batch.from_arrays([0, 1], [column], [1.0])
    assert Batch.from_arrays([0, 1], [2**32 - 1], [1.0]).columns.tolist() == [2**32 - 1]


@pytest.mark.parametrize("forgetting", [1e-310, 5e-324, 1e-200])
def test_item20_a_forgetting_too_small_for_arithmetic_is_refused(forgetting: float) -> None:
    for kind in (BayesianLinearRegression, BayesianLogisticRegression):
        for covariance in ("full", "diagonal"):
            with pytest.raises(ParameterError, match="forgetting"):
                kind(forgetting=forgetting, covariance=covariance)


@pytest.mark.parametrize("name", [name for name in DICTS if LEARNERS[name].adds_up])
def test_item20_forgetting_nearly_all_leaves_a_learner_that_predicts(name: str) -> None:
    learner, x, y = taught(name)
    for factor in (1e-310, 5e-324):
        refuses(learner, "forget", factor)
    for _ in range(6):
        learner.forget(1e-100)
        predictive = learner.predictive_one(x)
        assert math.isfinite(predictive.variance) or predictive.variance == math.inf
    learner.learn_one(x, y)
    learner.predictive_one(x)


@pytest.mark.parametrize("size", [1e308, -1e308, 1e154, 1e50, 5e-324])
@pytest.mark.parametrize("name", DICTS)
def test_item20_finite_numbers_that_are_learned_do_not_overflow_later(name: str, size: float) -> None:
    learner, x, y = taught(name)
    for event, target in (({"b": size}, y), (x, size), ({"b": size, "a": size}, y)):
        before = frozen(learner)
        try:
            learner.learn_one(event, target)
        except StreamBayesError:
            assert frozen(learner) == before
    predictive = learner.predictive_one(x)
    found = predictive.probabilities.values() if hasattr(predictive, "probabilities") else [predictive.mean]
    assert all(map(math.isfinite, found))
    learner.learn_one(x, y)


@pytest.mark.parametrize(
    "posterior",
    [
        Beta(2, 3),
        Dirichlet((1, 2, 3)),
        Gamma(2, 3),
        Normal(0, 1),
        StudentT(3, 0, 1),
        NormalInverseGamma(0, 1, 2, 3),
        MvNormal([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]]),
    ],
    ids=lambda posterior: type(posterior).__name__,
)
def test_item20_sample_says_that_a_generator_comes_first(posterior: Any) -> None:
    for wrong in (3, None, np.random.RandomState(1)):
        with pytest.raises(ParameterError, match=r"generator must be a numpy\.random\.Generator"):
            posterior.sample(wrong)
    for size in (-1, 1.5, "3", MANY_DIGITS):
        with pytest.raises(ParameterError, match="size"):
            posterior.sample(np.random.default_rng(1), size)
    assert len(posterior.sample(np.random.default_rng(1), 3)) == 3


@pytest.mark.parametrize("name", LEARNERS)
def test_item20_nested_json_in_a_snapshot_is_damage(name: str) -> None:
    learner, _, _ = taught(name)
    state = learner.state()
    nested = np.frombuffer(b"[" * 100_000 + b"]" * 100_000, dtype=np.uint8)
    for array in [array for array, values in state.arrays.items() if values.dtype == np.uint8]:
        with pytest.raises(SnapshotDamaged):
            Learner.from_state(State(state.kind, state.parameters, {**state.arrays, array: nested}))
    value: Any = 1
    for _ in range(100_000):
        value = {"tuple": [value]}
    parameters = {**state.parameters, next(iter(state.parameters)): value}
    with pytest.raises(SnapshotDamaged):
        Learner.from_state(State(state.kind, parameters, state.arrays))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all scalars in a value as JSON has it."""
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in leaves(part, (*path, key))]
    if isinstance(value, list):
        return [leaf for key, part in enumerate(value) for leaf in leaves(part, (*path, key))]
    return [path]


def test_item20_every_scalar_of_a_checkpoint_is_checked() -> None:
    own = settings_for(KINDS["SpamFilter"], budget=30, open_requests=20, audit_share=0.3)
    engine = Engine(own)
    engine.process(random_stream(KINDS["SpamFilter"], 3, 120).arrivals)
    assert engine.selector.budget.used
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    text = json.dumps(scalars)
    unchecked = []
    for path in leaves(json.loads(text)):
        if path[0] == "learner":
            continue  # the parameters of now are used
        for wrong in WRONG_SCALARS:
            changed = json.loads(text)
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = wrong
            try:
                restore(Engine(own), changed, {name: array.copy() for name, array in arrays.items()})
            except SnapshotDamaged:
                continue
            unchecked.append((path, wrong))
    assert not unchecked


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("model_version",), -1),
        (("clock",), "12"),
        (("counts",), {"predict": -1}),
        (("selector", "budget", "used"), -5),
        (("selector", "budget", "used"), 1.5),
        (("selector", "budget", "audited"), 10**9),
        (("selector", "budget", "age"), -1.0),
        (("selector", "budget", "times"), [3, 2, 1]),
        (("selector", "threshold", "correction"), 1e300),
        (("selector", "urgency", "surprise"), 2.0),
        (("selector", "audit", "answers"), -1),
        (("labels", "end"), 2**63),
    ],
    ids=str,
)
def test_item20_a_scalar_of_a_checkpoint_out_of_range_is_damage(path: tuple[str, ...], wrong: Any) -> None:
    own = settings_for(KINDS["SpamFilter"], budget=30, open_requests=20)
    engine = Engine(own)
    engine.process(random_stream(KINDS["SpamFilter"], 3, 60).arrivals)
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    changed = json.loads(json.dumps(scalars))
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = wrong
    with pytest.raises(SnapshotDamaged):
        restore(Engine(own), changed, arrays)


def test_item20_tiny_evidence_and_tiny_priors_do_not_overflow_later() -> None:
    with pytest.raises(ParameterError, match="prior"):
        BernoulliNB(prior=Beta(0.5, 1e-50))
    model = MultinomialNB(prior_count=0.0, predictive="plug-in", classes=("red", "green"))
    model.learn_one({"a": 1}, "green", 1e-300)
    model.learn_one({"a": 1, "b": 1}, "red", 1e-300)
    for x in ({}, {"a": 1}, {"a": 1, "b": 2}):
        assert math.fsum(model.predict_proba_one(x).values()) == pytest.approx(1.0)
