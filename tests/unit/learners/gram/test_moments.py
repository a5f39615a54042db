"""The moments of Gram regression: they keep their digits, add up, can be taken back, and refuse what is not theirs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import Learner
from stream_bayes.errors import InputError, ParameterError, SnapshotDamaged, UnlearnError
from stream_bayes.learners.base.learner import LearnerState
from stream_bayes.learners.gram import GramRegression
from stream_bayes.testing import frozen, refused
from tests.support.gram_regressions import LEARNERS, sample, taught


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
def test_offsets_keep_the_digits(offset: float) -> None:
    """Features and targets on a grid that floating point holds exactly also far from zero: the same weights there."""
    generator = np.random.default_rng(3)
    features = generator.integers(-64, 65, size=(500, 5)) / 32
    targets = features @ np.array([1.0, -2.0, 0.5, 3.0, 0.25]) + generator.integers(-64, 65, size=500) / 64
    near = taught(GramRegression(strength=0.5), features, targets).solve("ridge")
    model = taught(GramRegression(strength=0.5), features + offset, targets + offset)
    far = model.solve("ridge")
    prediction = model.predict_one(dict(enumerate((features[0] + offset).tolist())))
    assert list(far.weights.values()) == pytest.approx(list(near.weights.values()), rel=1e-11)
    assert far.residual_squares == pytest.approx(near.residual_squares, rel=1e-11)
    assert prediction - offset == pytest.approx(
        near.predict(dict(enumerate(features[0].tolist()))), abs=1e-9 + 1e-15 * offset
    )


def test_offsets_survive_merging_and_unlearning() -> None:
    features, targets = sample(60, 3, seed=4, offset=1e6)
    whole = taught(GramRegression(strength=0.5), features[:40], targets[:40])
    first, second = (
        taught(GramRegression(strength=0.5), features[own], targets[own]) for own in (slice(25), slice(25, 60))
    )
    first.merge(second)
    for x, y in zip(features[40:].tolist(), targets[40:].tolist(), strict=True):
        first.unlearn_one(dict(enumerate(x)), y)
    one = whole.solve("ridge")
    two = first.solve("ridge")
    assert list(two.weights.values()) == pytest.approx(list(one.weights.values()), rel=1e-9)
    assert two.residual_squares == pytest.approx(one.residual_squares, rel=1e-9)


def test_merging_into_nothing_is_a_copy() -> None:
    """To the last bit, and also of the part of the mean that is below its rounding."""
    model = taught(GramRegression(strength=0.5), *sample(50, 3, seed=4, offset=1e6))
    empty = GramRegression(strength=0.5)
    empty.merge(model)
    assert frozen(empty) == frozen(model)
    model.merge(GramRegression(strength=0.5))
    assert frozen(empty) == frozen(model)


def test_columns_of_very_different_scale() -> None:
    """Ridge weights of 30 columns from 1e-6 to 1e6: what a scaled solve gives, where eigenvectors of X'X would not."""
    generator = np.random.default_rng(6)
    features = generator.normal(size=(90, 30)) * 10.0 ** generator.uniform(-6, 6, 30)
    targets = generator.normal(size=90)
    model = taught(GramRegression(strength=0.5), features, targets)
    centred = features - features.mean(axis=0)
    matrix = centred.T @ centred + 0.5 * np.eye(30)
    sizes = np.sqrt(matrix.diagonal())
    expected = np.linalg.solve(matrix / np.outer(sizes, sizes), centred.T @ (targets - targets.mean()) / sizes)
    found = np.array(list(model.solve().weights.values())) * sizes
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_late_and_absent_features_are_zeros() -> None:
    """A feature that comes with the last event is one that was 0 before."""
    late = GramRegression(strength=0.4)
    full = GramRegression(strength=0.4)
    events = [({"a": 1.0}, 2.0), ({"a": 3.0}, 1.0), ({}, 0.5), ({"a": 2.0, "b": 5.0}, 4.0), ({"b": 1.0}, 3.0)]
    for x, y in events:
        late.learn_one(x, y)
        full.learn_one({"a": x.get("a", 0.0), "b": x.get("b", 0.0)}, y)
    assert late.solve().weights == pytest.approx(full.solve().weights, rel=1e-13)
    assert late.predict_one({"b": 2.0}) == pytest.approx(full.predict_one({"a": 0, "b": 2.0}), rel=1e-13)


EVENTS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abcd"), st.sampled_from([0.0, 1.0, -2.0, 3.5, 10.0]), max_size=4),
        st.sampled_from([0.0, 1.0, -3.0, 7.25]),
        st.sampled_from([1.0, 2.0, 0.25]),
    ),
    max_size=12,
)
PROBES: list[dict[str, float]] = [{}, {"a": 1.0, "b": -2.0}, {"c": 3.0, "d": 1.0, "e": 2.0}]


def learned(events: list[Any], name: str = "plain") -> Any:
    model = LEARNERS[name].clone()
    for x, y, w in events:
        model.learn_one(x, y, w=w)
    return model


def assert_same(one: Any, two: Any) -> None:
    for x in PROBES:
        first = one.predictive_one(x)
        second = two.predictive_one(x)
        assert first.mean == pytest.approx(second.mean, rel=1e-9, abs=1e-9)
        assert first.variance == pytest.approx(second.variance, rel=1e-9)


@pytest.mark.slow
@settings(max_examples=60)
@given(EVENTS, EVENTS, st.sampled_from(list(LEARNERS)), st.randoms(use_true_random=False))
def test_evidence_is_a_sum(one: list[Any], two: list[Any], name: str, random: Any) -> None:
    """Any order, any split into merged parts, and taking back what came besides."""
    both = learned(one + two, name)
    assert_same(learned(random.sample(one + two, len(one + two)), name), both)
    merged = learned(one, name)
    merged.merge(learned(two, name))
    assert_same(merged, both)
    for x, y, w in random.sample(two, len(two)):
        both.unlearn_one(x, y, w=w)
    assert_same(both, learned(one, name))


@settings(max_examples=40)
@given(EVENTS, st.sampled_from([0.5, 0.125, 0.9]), st.sampled_from(list(LEARNERS)))
def test_forgetting_is_having_learned_less(events: list[Any], factor: float, name: str) -> None:
    model = learned(events, name)
    model.forget(factor)
    assert_same(model, learned([(x, y, w * factor) for x, y, w in events], name))


def test_unlearning_all_events_gives_the_prior() -> None:
    model = GramRegression(strength=0.3)
    for x in (0.1, 0.2, 0.7):
        model.learn_one({"x": x}, 3 * x, w=0.1)
    for x in (0.2, 0.7, 0.1):
        model.unlearn_one({"x": x}, 3 * x, w=0.1)
    assert not any(model.state().arrays[name].any() for name in ("events", "present", "peak", "mean", "scatter"))


@pytest.mark.parametrize(
    ("x", "y", "w"),
    [
        ({"a": 2.0}, 1.0, 9.0),  # more than there is
        ({"a": 50.0}, 1.0, 1.0),  # too far out for the scatter of a
        ({"a": 2.0}, 50.0, 1.0),  # too far out for the targets
        ({"a": 2.0, "b": 1.0, "c": 1.0}, 1.0, 1.0),  # c never came
        ({"a": 2.0, "b": 1.0}, 1.0, 2.0),  # b came once
        ({"b": 1.0}, 2.0, 1.0),  # every event had a
    ],
)
def test_events_that_cannot_have_been_learned_are_not_unlearned(x: dict[str, float], y: float, w: float) -> None:
    model = GramRegression()
    for event, target in (({"a": 1.0}, 1.0), ({"a": 2.0, "b": 1.0}, 2.0), ({"a": 4.0}, 3.0)):
        model.learn_one(event, target)
    refused(model, lambda: model.unlearn_one(x, y, w=w), UnlearnError)


@pytest.mark.parametrize("x", [{"a": 1e46}, {"a": -1e300}])
def test_numbers_too_large_are_refused(x: dict[str, float]) -> None:
    model = learned([({"a": 1.0}, 2.0, 1.0)])
    actions: list[Callable[[], Any]] = [
        lambda: model.learn_one(x, 1.0),
        lambda: model.learn_one({"new": 1.0}, 1e46),
        lambda: model.unlearn_one({"a": 1.0}, 1e46),
        lambda: model.test_then_train([{"new": 1.0}, x], [1.0, 2.0]),
        lambda: model.predict_one(x),
    ]
    for action in actions:
        refused(model, action, InputError)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_largest_numbers_give_finite_predictions(intercept: bool) -> None:
    model = GramRegression(1e-100, 1e100, 1e-100, intercept)
    for sign in (1.0, -1.0, 1.0):
        prediction = model.predictive_one({"a": 1e45, "b": -1e45})
        assert math.isfinite(prediction.mean)
        assert not math.isnan(prediction.variance)
        model.learn_one({"a": sign * 1e45, "b": 1e-45}, -sign * 1e45)
    assert math.isfinite(model.predictive_one({"a": -1e45, "c": 1e45}).variance)


@pytest.mark.parametrize(
    "parameters",
    [
        {"strength": 0.0},
        {"strength": -1.0},
        {"noise_variance": 0.0},
        {"noise_degrees": math.nan},
        {"intercept": "yes"},
        {"buckets": 8192},
        {"buckets": 3},
        {"strength": 1e200},
    ],
)
def test_bad_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        GramRegression(**parameters)


def test_many_events_at_once_are_the_loop() -> None:
    """To the last bit, predicted first or not, also where the targets are a column of a matrix that is read-only."""
    table = np.arange(12.0).reshape(6, 2)
    table.setflags(write=False)
    one, two, three = (GramRegression(strength=0.3) for _ in range(3))
    events = [{"a": float(row % 3), "b": 2.5 * row} for row in range(6)]
    targets = table[:, 1]
    predictions = one.test_then_train(events, targets)
    two.learn_many(events, targets)
    for row, (x, y) in enumerate(zip(events, targets.tolist(), strict=True)):
        assert predictions.mean[row] == three.predict_one(x)
        three.learn_one(x, y)
    assert frozen(one) == frozen(two) == frozen(three)
    two.learn_many(events[:3], [1.0, None, 2.0], [2.0, 1.0, 0.0])
    three.learn_one(events[0], 1.0, w=2.0)
    assert frozen(two) == frozen(three)
    assert len(one.test_then_train([], [])) == 0
    refused(two, lambda: two.learn_many(events, [1.0]), InputError)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scatter", np.full((3, 3), np.nan)),
        ("scatter", -np.eye(3)),
        ("scatter", np.full((3, 3), 1e200)),
        ("scatter", np.eye(2)),
        ("mean", np.full((2, 3), 1e50)),
        ("events", np.array([-1.0])),
        ("present", np.array([1, 2])),
        ("events", None),
    ],
)
def test_crafted_arrays_are_refused(name: str, value: Any) -> None:
    state = learned([({"a": 1.0, "b": 2.0}, 2.0, 1.0)]).state()
    arrays = {key: array for key, array in {**state.arrays, name: value}.items() if array is not None}
    with pytest.raises(SnapshotDamaged):
        Learner.from_state(LearnerState(state.kind, state.parameters, arrays))


def test_a_scatter_that_no_events_have_does_no_harm() -> None:
    """Correlations above 1, as a crafted snapshot may have them: any finite answer will do."""
    state = learned([({"a": 1.0, "b": 2.0}, 2.0, 1.0), ({"a": 2.0}, 1.0, 1.0)]).state()
    state.arrays["scatter"][2, 1] = 1e120
    model: Any = Learner.from_state(state)
    assert math.isfinite(model.predictive_one({"a": 1.0, "b": 1.0}).variance)
    assert math.isfinite(model.solve("none").residual_squares)
