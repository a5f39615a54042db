"""Hostile values and files: every learner and posterior refuses them with the package's own errors, unchanged."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    Batch,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    BernoulliNB,
    Beta,
    CategoricalNB,
    Dirichlet,
    Gamma,
    Learner,
    MultinomialNB,
    MvNormal,
    Normal,
    NormalInverseGamma,
    StudentT,
)
from stream_bayes.config import load_settings
from stream_bayes.engine import Engine
from stream_bayes.engine.state import bookkeeping_of, restore, state_of
from stream_bayes.errors import ConfigError, InputError, ParameterError, SnapshotDamaged, StreamBayesError
from stream_bayes.learners.base.learner import LearnerState
from stream_bayes.learners.base.regressor import Regressor
from stream_bayes.testing import frozen
from tests.support.engines import KINDS, random_stream, settings_for
from tests.support.learners import LEARNERS, by_setting
from tests.support.tiers import short_each

MANY_DIGITS = 10**5000
EXTREME_SIZES = (
    *(1e308, 1e200, 1e154, 1e100, 1e50, 1e40, 1e30, 1e20, 1e12, 1e6, 2.0, 1.0, 0.5, 0.0),
    *(1e-8, 1e-20, 1e-50, 1e-154, 1e-300, 5e-324, -1.0, -5e-324, -1e12, -1e50, -1e308),
)
PROBE_UPDATES = 40
WRONG_SCALARS: tuple[Any, ...] = ([], math.nan, {"a": 1})
CLASSIFIERS = [name for name, learner in LEARNERS.items() if "classes" in learner._get_params()]
DICTS = [name for name in LEARNERS if not name.startswith("SpamFilter")]


def taught(name: str) -> tuple[Any, Any, Any]:
    """A learner that knows two events, the first of them and its label or target."""
    learner: Any = LEARNERS[name].clone()
    labels = (2.0, 1.0) if isinstance(learner, Regressor) else getattr(learner, "classes", None) or ("red", "green")
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


@pytest.mark.parametrize("kind", sorted({type(LEARNERS[name]).__name__ for name in CLASSIFIERS} - {"LogOddsFusion"}))
def test_item20_no_classes_in_the_settings_are_refused_at_the_start(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "stream_bayes.toml"
    file.write_text(f'[learner]\nname = "{kind}"\nparameters = {{ classes = [] }}\n')
    settings = load_settings(file, {}, {}).settings
    with pytest.raises(ConfigError, match=r"learner\.parameters\.classes must be a tuple of different labels"):
        Engine(settings)


@pytest.mark.parametrize("name", by_setting(LEARNERS))
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


@pytest.mark.parametrize("name", by_setting(name for name in DICTS if LEARNERS[name].is_additive))
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
def test_item20_sample_takes_a_size_and_then_a_generator(posterior: Any) -> None:
    for wrong in (3, "seed", np.random.RandomState(1)):
        with pytest.raises(ParameterError, match=r"generator must be a numpy\.random\.Generator"):
            posterior.sample(2, wrong)
    for size in (-1, 1.5, "3", MANY_DIGITS, np.random.default_rng(1)):
        with pytest.raises(ParameterError, match="size"):
            posterior.sample(size, np.random.default_rng(1))
    assert len(posterior.sample(3, np.random.default_rng(1))) == len(posterior.sample(3)) == 3
    first, second = (posterior.sample(3, np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", short_each(LEARNERS, 8))
def test_item20_nested_json_in_a_snapshot_is_damage(name: str) -> None:
    learner, _, _ = taught(name)
    state = learner.state()
    nested = np.frombuffer(b"[" * 100_000 + b"]" * 100_000, dtype=np.uint8)
    for array in [array for array, values in state.arrays.items() if values.dtype == np.uint8]:
        with pytest.raises(SnapshotDamaged):
            Learner.from_state(LearnerState(state.kind, state.parameters, {**state.arrays, array: nested}))
    value: Any = 1
    for _ in range(100_000):
        value = {"tuple": [value]}
    parameters = {**state.parameters, next(iter(state.parameters)): value}
    with pytest.raises(SnapshotDamaged):
        Learner.from_state(LearnerState(state.kind, parameters, state.arrays))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all scalars in a value as JSON has it."""
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in leaves(part, (*path, key))]
    if isinstance(value, list):
        return [leaf for key, part in enumerate(value) for leaf in leaves(part, (*path, key))]
    return [path]


def test_item20_every_scalar_of_a_checkpoint_is_checked() -> None:
    own = settings_for(KINDS["SpamFilter"], budget=30, max_open_requests=20, audit_fraction=0.3)
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
        (("selector", "surprise", "surprise"), 2.0),
        (("selector", "audit", "answers"), -1),
        (("labels", "end"), 2**63),
    ],
    ids=str,
)
def test_item20_a_scalar_of_a_checkpoint_out_of_range_is_damage(path: tuple[str, ...], wrong: Any) -> None:
    own = settings_for(KINDS["SpamFilter"], budget=30, max_open_requests=20)
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


def extreme_event(name: str, generator: random.Random) -> Any:
    if name.startswith("SpamFilter"):
        return generator.choice((b"Subject: hi\n\nhello you", b"Subject: yo\n\nbuy", b""))
    return {feature: generator.choice(EXTREME_SIZES) for feature in "abc" if generator.random() < 0.7}


def extreme_row(name: str, learner: Any, generator: random.Random) -> tuple[Any, Any, float]:
    """An event, its label or target and its weight."""
    labels = getattr(learner, "classes", None) or ("red", "green")
    target = generator.choice(EXTREME_SIZES if isinstance(learner, Regressor) else labels)
    weight = 1.0 if generator.random() < 0.5 else abs(generator.choice(EXTREME_SIZES))
    return extreme_event(name, generator), target, weight


def extreme_update(name: str, learner: Any, known: list[Any], generator: random.Random) -> tuple[str, tuple[Any, ...]]:
    """A method that changes the learner, and its arguments."""
    methods = ["learn_one", "learn_one", "learn_one", "test_then_train", "learn_many"]
    method = generator.choice([*methods, *(("unlearn_one", "unlearn_one", "forget", "merge") * learner.is_additive)])
    if method == "forget":
        return method, (generator.choice((0.0, 1e-300, 1e-100, 1e-8, 0.5)),)
    if method == "merge":
        other = learner.clone()
        for _ in range(generator.randrange(3)):
            changes(other, "learn_one", extreme_row(name, learner, generator))
        return method, (other,)
    if method == "unlearn_one" and known and generator.random() < 0.8:
        return method, generator.choice(known)
    rows = [extreme_row(name, learner, generator) for _ in range(3)]
    return method, tuple(map(list, zip(*rows, strict=True))) if "many" in method or "train" in method else rows[0]


def changes(learner: Any, method: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an update was accepted; one that is refused leaves the state byte-equal."""
    before = frozen(learner)
    try:
        getattr(learner, method)(*arguments)
    except StreamBayesError:
        assert frozen(learner) == before
        return False
    return True


def assert_sound(learner: Any, events: list[Any]) -> None:
    """The state loads, and every event has a prediction of finite numbers or is refused for its values."""
    assert frozen(Learner.from_state(learner.state())) == frozen(learner)
    for x in events:
        try:
            predictive = learner.predictive_one(x)
            learner.predict_one(x)
        except InputError:
            continue
        if isinstance(learner, Regressor):
            assert math.isfinite(predictive.mean)
            assert predictive.variance >= 0.0
        elif predictive.probabilities:
            assert math.fsum(predictive.probabilities.values()) == pytest.approx(1.0)
            assert learner.predict_proba_one(x) == predictive.probabilities


@pytest.mark.parametrize("name", short_each(LEARNERS, 6))
def test_item20_extreme_updates_are_refused_or_leave_a_sound_state(name: str) -> None:
    for seed in range(1 if name.startswith("SpamFilter") else 4):
        generator = random.Random(f"{name} {seed}")
        learner = LEARNERS[name].clone()
        known: list[Any] = []
        for _ in range(PROBE_UPDATES):
            method, arguments = extreme_update(name, learner, known, generator)
            if changes(learner, method, arguments):
                known += [arguments] * (method == "learn_one")
                assert_sound(learner, [extreme_event(name, generator), extreme_event(name, generator)])


@pytest.mark.parametrize("buckets", [None, 4096])
def test_item20_faint_corrections_of_a_value_without_evidence_keep_predictions(buckets: int | None) -> None:
    model = CategoricalNB(prior_count=0.2, buckets=buckets)
    model.learn_one({"a": "x", "b": "u"}, "red")
    model.learn_one({"a": "y", "b": "v"}, "red")
    model.learn_one({"a": "z", "b": "v"}, "red")
    model.unlearn_one({"a": "z", "b": "v"}, "red")
    for _ in range(100):
        model.unlearn_one({"a": "z", "b": "v"}, "red", 5e-324)
    assert_sound(model, [{"a": "x"}, {"a": "y", "b": "u"}])


def test_item20_taking_back_a_heavy_event_leaves_sums_that_fit() -> None:
    for model in (BernoulliNB(prior=Beta(2.0, 0.4)), MultinomialNB()):
        model.learn_one({"a": 1, "c": 1}, "red")
        model.learn_one({"b": 1}, "red", 1e12)
        changes(model, "unlearn_one", ({"b": 1}, "red", 1e12))
        assert_sound(model, [{"a": 1}, {"b": 1, "c": 1}])


@pytest.mark.parametrize("forgetting", [1e-100, 0.5])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_item20_forgetting_all_but_faint_events_leaves_a_sound_state(forgetting: float, covariance: str) -> None:
    logistic = BayesianLogisticRegression(1e-20, covariance, intercept=False, forgetting=forgetting)
    linear = BayesianLinearRegression(forgetting=forgetting, covariance=covariance, noise="unknown")
    events: list[Any] = [{"a": 1e50, "b": 5e-324}, {"a": -1e12, "c": 1e50}, {"c": 0.5}]
    for step in range(60):
        x = events[step % 3]
        weight = (1e12, 5e-324, 1e-300, 0.5)[step % 4]
        changes(logistic, "learn_one", (x, step % 5 == 0, weight))
        changes(linear, "learn_one", (x, 0.0, 5e-324))
        assert_sound(logistic, events)
        assert_sound(linear, events)


@pytest.mark.parametrize("name", by_setting(name for name in DICTS if LEARNERS[name].is_additive))
def test_item20_a_learner_merged_with_itself_is_refused_before_it_overflows(name: str) -> None:
    learner, x, _ = taught(name)
    accepted = 0
    while changes(learner, "merge", (learner,)):
        accepted += 1
        assert accepted < 200
    assert accepted > 20
    assert_sound(learner, [x])


def test_item20_a_merge_that_no_digits_would_survive_changes_nothing() -> None:
    model = BayesianLinearRegression(0.3, 2.5)
    other = BayesianLinearRegression(0.3, 2.5)
    model.learn_one({"a": 1e-154, "d": 1.0}, 1e40)
    other.learn_one({"a": 1.0, "b": 1e40, "c": -1e50}, 1e-50, 1e12)
    changes(model, "merge", (other,))
    assert_sound(model, [{"a": 1.0, "d": 1.0}])
