"""Corrections of Bayesian linear regression where digits are scarce: large features, scales apart, no weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_bayes import BayesianLinearRegression
from stream_bayes.errors import InputError, NumericalError, ParameterError, SnapshotDamaged
from stream_bayes.testing import frozen

Events = list[tuple[dict[str, float], float]]


def taught(events: Events, *parameters: Any, **named: Any) -> BayesianLinearRegression:
    model = BayesianLinearRegression(*parameters, **named)
    for x, y in events:
        model.learn_one(x, y)
    return model


def assert_same_weights(one: BayesianLinearRegression, two: BayesianLinearRegression, tolerance: float) -> None:
    first = one.weights()
    second = two.weights()
    for name, weight in first.items():
        other = second[name]
        assert weight.mean == pytest.approx(other.mean, rel=tolerance, abs=tolerance * np.sqrt(other.variance))
        assert weight.variance == pytest.approx(other.variance, rel=tolerance)


@pytest.mark.parametrize("size", [1.0, 85_000.0, 1.7e9, 1e15, 1e40])
@pytest.mark.parametrize("precision", [1.0, 1e-6, 1e-12])
@pytest.mark.parametrize("intercept", [True, False])
def test_an_event_that_alone_had_a_feature(size: float, precision: float, intercept: bool) -> None:
    """Taken back, the feature has its prior again and the others what the other events told of them."""
    others: Events = [({"b": 1.0, "c": 2.0}, 1.0), ({"b": 3.0}, 2.0), ({"c": -1.0, "b": 0.5}, 0.3)]
    strange = ({"t": size, "b": 2.0, "u": -size / 3.0}, 4.0)
    model = taught([others[0], strange, *others[1:]], precision, 0.7, intercept=intercept)
    model.unlearn_one(*strange)
    expected = taught(
        [({"t": 0.0, "u": 0.0, **others[0][0]}, others[0][1]), *others[1:]], precision, 0.7, intercept=intercept
    )
    assert_same_weights(model, expected, 1e-6)
    assert model.log_evidence() == pytest.approx(expected.log_evidence(), rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_corrections_never_give_nan_or_infinity(seed: int) -> None:
    """Features of any size, in any company, taken back in any order: right, or refused with the state as it was."""
    generator = np.random.default_rng(seed)
    events: Events = [
        (
            {
                name: float(generator.normal() * 10.0 ** generator.integers(-3, 12))
                for name in "abc"
                if generator.random() < 0.6
            },
            float(generator.normal()),
        )
        for _ in range(8)
    ]
    model = taught(events, 10.0 ** float(generator.integers(-9, 3)))
    for place in generator.permutation(len(events))[:7]:
        before = frozen(model)
        try:
            model.unlearn_one(*events[place])
        except (NumericalError, ArithmeticError, ValueError):
            assert frozen(model) == before
        assert all(
            np.isfinite(array).all() for name, array in model.state().arrays.items() if array.dtype == np.float64
        )
        assert np.isfinite(model.predictive_one({"a": 1.0, "b": 1.0, "c": 1.0}).variance)


def test_scales_far_apart_keep_their_digits_in_merge_and_forget() -> None:
    generator = np.random.default_rng(0)
    events: Events = [
        ({"a": 1e9 * (1.0 + generator.random()), "b": 1e-6 * float(generator.normal())}, float(generator.normal()))
        for _ in range(40)
    ]
    whole = taught(events, 1e-12, intercept=False)
    half = taught(events[::2], 1e-12, intercept=False)
    half.merge(taught(events[1::2], 1e-12, intercept=False))
    assert_same_weights(half, whole, 1e-8)
    expected = BayesianLinearRegression(1e-12, intercept=False)
    for x, y in events:
        expected.learn_one(x, y, w=0.25)
    whole.forget(0.25)
    assert_same_weights(whole, expected, 1e-8)


def test_evidence_without_any_weight_merges_too() -> None:
    """Targets alone, no intercept: they tell of the noise."""
    model, other = (BayesianLinearRegression(intercept=False, noise="unknown") for _ in range(2))
    for y in (3.0, -4.0, 5.0):
        other.learn_one({}, y)
    model.merge(other)
    assert model.predictive_one({}) == other.predictive_one({})
    assert model.log_evidence() == pytest.approx(other.log_evidence())


def test_rounding_errors_from_before_a_merge_are_tolerated_after_it() -> None:
    generator = np.random.default_rng(3)
    for _ in range(30):
        small: Events = [
            ({"a": float(generator.normal()), "b": float(generator.normal())}, float(generator.normal()))
            for _ in range(6)
        ]
        other = taught([({"a": 1e4, "b": -2e4}, 3.0), *small[:3]], 1e-3)
        other.unlearn_one({"a": 1e4, "b": -2e4}, 3.0)
        model = taught(small[3:], 1e-3)
        model.merge(other)
        for x, y in small[:3]:
            model.unlearn_one(x, y)


def test_an_event_that_outweighs_all_digits_of_the_others_stays() -> None:
    model = taught([({"a": 1.0, "b": 2.0}, 1.0), ({"a": 1e9, "b": -2e9}, 3.0), ({"a": 2.0, "b": 1.0}, 0.0)], 1e-3)
    before = frozen(model)
    with pytest.raises(NumericalError, match="outweighs the others"):
        model.unlearn_one({"a": 1e9, "b": -2e9}, 3.0)
    assert frozen(model) == before


def test_events_of_tiny_weight_can_be_unlearned() -> None:
    model = BayesianLinearRegression()
    for _ in range(2):
        model.learn_one({"a": 1e6}, 1.0, w=1e-10)
    model.unlearn_one({"a": 1e6}, 1.0, w=1e-10)
    once = BayesianLinearRegression()
    once.learn_one({"a": 1e6}, 1.0, w=1e-10)
    assert_same_weights(model, once, 1e-6)


@pytest.mark.parametrize("degrees", [1e3, 1e6, 1e9])
def test_a_noise_that_is_almost_known(degrees: float) -> None:
    events: Events = [({"a": float(x)}, float(np.sin(x))) for x in range(50)]
    known = taught(events, 0.5, 0.3)
    unknown = taught(events, 0.5, 0.3, noise="unknown", noise_degrees=degrees)
    assert unknown.log_evidence() == pytest.approx(known.log_evidence(), abs=1e5 / degrees)
    assert unknown.predictive_one({"a": 2.0}).variance == pytest.approx(
        known.predictive_one({"a": 2.0}).variance, rel=1e3 / degrees
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_hashed_events_one_by_one_and_in_a_batch(intercept: bool) -> None:
    """Also when the first is empty, and when names share a bucket."""
    loop, batch = (BayesianLinearRegression(0.5, buckets=4, intercept=intercept) for _ in range(2))
    rows: list[dict[str, float]] = [{}, {"a": 1.0, "b": 2.0, "c": 3.0, "d": 1.0, "e": 5.0}, {"a": 2.0}]
    for x in rows:
        loop.learn_one(x, 1.0)
    batch.test_then_train(rows, [1.0] * 3)
    assert frozen(loop) == frozen(batch)
    assert sorted(loop.rank_by_information(rows, 3).tolist()) == [0, 1, 2]
    if intercept:
        weight = loop.weights()["intercept"]
        expected = stats.norm(weight.mean, np.sqrt(weight.variance)).sf(0.0)
        assert loop.probability_positive("intercept") == pytest.approx(expected)


def test_several_weights_together() -> None:
    model = taught([({"a": 1.0, "b": -1.0}, 2.0), ({"a": 0.5}, 1.0)], 2.0, 0.5)
    everything: Any = model.joint()
    np.testing.assert_allclose(everything.mean, [weight.mean for weight in model.weights().values()])
    np.testing.assert_allclose(everything.variance, [weight.variance for weight in model.weights().values()])
    three: Any = model.joint("b", "never", "intercept")
    np.testing.assert_allclose(three.covariance[1], [0.0, 0.5, 0.0])
    assert everything.sample(5, np.random.default_rng(0)).shape == (5, 3)
    with pytest.raises(InputError, match="different weights"):
        BayesianLinearRegression().joint()
    hashed = BayesianLinearRegression(buckets=2)
    hashed.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(InputError, match="different weights"):
        hashed.joint("a", "b", "c")


def test_hashed_weights_are_those_that_events_had() -> None:
    model = BayesianLinearRegression(covariance="diagonal", buckets=2**16)
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    assert len(model.weights()) == 3
    with pytest.raises(ParameterError, match="covariance='diagonal'"):
        BayesianLinearRegression(buckets=2**16)


def test_numpy_arrays_of_all_kinds() -> None:
    rows: list[dict[str, Any]] = [
        {"a": np.uint8(200), "b": np.uint8(100)},
        {"a": np.int32(1_700_000_000), "b": np.int32(1_700_000_000)},
    ]
    model = BayesianLinearRegression()
    plain = BayesianLinearRegression()
    model.learn_many(rows, np.ma.masked_array([1.0, 2.0], mask=[False, False]))
    plain.learn_many([{"a": 200, "b": 100}, {"a": 1_700_000_000, "b": 1_700_000_000}], [1.0, 2.0])
    assert frozen(model) == frozen(plain)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("factor", 0, 5e-324),
        ("factor", 0, -1.0),
        ("factor", 1, 1e300),
        ("z", 0, 1e308),
        ("totals", 3, 5e-324),
        ("totals", 1, -1.0),
        ("totals", 0, 7.0),
        ("totals", 4, 0.5),
    ],
)
def test_snapshots_that_no_stream_made(name: str, place: int, value: float) -> None:
    state = taught([({"a": 1.0}, 1.0)], 0.5).state()
    state.arrays[name][place] = value
    with pytest.raises(SnapshotDamaged):
        BayesianLinearRegression.from_state(state)
