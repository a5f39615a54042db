"""Entropy, information and the choice of events by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from stream_bayes import Batch, BayesianLinearRegression
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.typing import FloatArray

NAMES = ["a", "b", "c", "d", "e", "f"]


def events(count: int, seed: int = 0) -> FloatArray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(count, len(NAMES))) * [0.1, 0.5, 1.0, 2.0, 3.0, 1.0]


def event(row: FloatArray) -> dict[str, float]:
    return dict(zip(NAMES, row.tolist(), strict=True))


@pytest.mark.parametrize(("precision", "noise"), [(1e-3, 9.0), (4.0, 0.04), (1e3, 1.0)])
def test_entropy_falls_by_exactly_the_information(precision: float, noise: float) -> None:
    model = BayesianLinearRegression(precision, noise)
    model.learn_one(event(np.zeros(6)), 1.0)
    for row in events(20):
        before = model.entropy()
        prediction = model.predictive_one(event(row))
        expected = 0.5 * math.log1p(prediction.epistemic_variance / noise)
        assert model.information_gain(event(row)) == pytest.approx(expected, rel=1e-9)
        model.learn_one(event(row), float(row.sum()))
        assert before - model.entropy() == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_entropy_of_known_noise_is_that_of_the_normal() -> None:
    model = BayesianLinearRegression(0.5, 2.0, intercept=False)
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    joint: Any = model.joint("a", "b")
    assert model.entropy() == pytest.approx(joint.entropy)


@pytest.mark.slow
def test_information_of_unknown_noise_is_the_expected_fall_of_entropy() -> None:
    """Averaged over the predictive by quadrature: the noise too becomes better known."""
    model = BayesianLinearRegression(0.5, 2.0, noise="unknown", noise_degrees=3.0)
    for row in events(5):
        model.learn_one(event(row), float(row.sum()))
    x = event(events(1, seed=9)[0])
    prediction: Any = model.predictive_one(x)
    density = stats.t(prediction.degrees, prediction.mean, prediction.scale).pdf

    def fall(y: float) -> float:
        after = BayesianLinearRegression.from_state(model.state())
        after.learn_one(x, y)
        return float(density(y)) * (model.entropy() - after.entropy())

    reach = 400.0 * prediction.scale
    expected = sum(
        integrate.quad(fall, low, high, limit=200)[0]
        for low, high in ((prediction.mean - reach, prediction.mean), (prediction.mean, prediction.mean + reach))
    )
    assert model.information_gain(x) == pytest.approx(expected, rel=1e-3)


def greedy(covariance: FloatArray, rows: FloatArray, noise: float, count: int) -> list[int]:
    """All variances recomputed after each choice, and the covariance by Sherman and Morrison."""
    chosen: list[int] = []
    for _ in range(count):
        variances = np.einsum("ij,jk,ik->i", rows, covariance, rows)
        variances[chosen] = -np.inf
        chosen.append(int(variances.argmax()))
        h = covariance @ rows[chosen[-1]]
        covariance = covariance - np.outer(h, h) / (noise + rows[chosen[-1]] @ h)
    return chosen


@pytest.mark.parametrize(("precision", "noise"), [(0.3, 2.0), (1e-3, 0.04), (50.0, 9.0)])
@pytest.mark.parametrize("intercept", [True, False])
def test_rank_is_the_greedy_choice(precision: float, noise: float, intercept: bool) -> None:
    """Features that no event had are in the batch, too."""
    rows = events(80)
    known = 4
    model = BayesianLinearRegression(precision, noise, intercept=intercept)
    model.test_then_train(Batch.from_matrix(rows[:30, :known], NAMES[:known]), rows[:30, 0])
    design = np.column_stack((np.ones(80), rows)) if intercept else rows
    seen = design[:30].copy()
    seen[:, known + intercept :] = 0.0
    covariance: Any = np.linalg.inv(precision * np.eye(design.shape[1]) + seen.T @ seen / noise)
    ranked = model.rank_by_information(Batch.from_matrix(rows, NAMES), 25)
    assert ranked.tolist() == greedy(covariance, design, noise, 25)


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_rank_is_the_greedy_choice_one_by_one(covariance: str) -> None:
    """Choose, learn any target, choose again: the same rows, since variances do not depend on targets."""
    rows = events(40, seed=4)
    model = BayesianLinearRegression(0.7, 1.5, covariance=covariance)
    model.learn_one(event(rows[0]), 3.0)
    batch = [event(row) for row in rows]
    ranked = model.rank_by_information(batch, 10).tolist()
    chosen: list[int] = []
    for _ in range(10):
        variances = model.predictive_many(batch).variance
        variances[chosen] = -np.inf
        chosen.append(int(variances.argmax()))
        model.learn_one(batch[chosen[-1]], 17.0)
    assert ranked == chosen


@pytest.mark.parametrize(("covariance", "order"), [("full", [1, 2, 0]), ("diagonal", [1, 0, 2])])
def test_rank_of_hashed_few_and_no_events(covariance: str, order: list[int]) -> None:
    """Asked at a = 5, the sum of intercept and weight is known: only a full covariance knows that it is."""
    model = BayesianLinearRegression(covariance=covariance, buckets=16)
    assert model.rank_by_information([], 3).tolist() == []
    assert model.rank_by_information([{"a": 1.0}, {"a": 5.0}], 0).tolist() == []
    assert model.rank_by_information([{"a": 1.0}, {"a": 5.0}, {}], 10).tolist() == order
    model.learn_one({"a": 3.0}, 1.0)
    assert model.rank_by_information([{"a": 1.0}, {"b": 5.0}], 1).tolist() == [1]
    before = {name: array.tobytes() for name, array in model.state().arrays.items()}
    model.rank_by_information([{"new": 1.0}], 1)
    assert before == {name: array.tobytes() for name, array in model.state().arrays.items()}


def test_invalid_rank_arguments_are_refused() -> None:
    model = BayesianLinearRegression()
    wrong: tuple[Any, ...] = (-1, 1.5, "2", True)
    for k in wrong:
        with pytest.raises(ParameterError, match="k must be"):
            model.rank_by_information([{"a": 1.0}], k)
    with pytest.raises(InputError, match="finite"):
        model.rank_by_information([{"a": math.nan}], 1)
    with pytest.raises(InputError, match="joint takes different weights"):
        model.joint("a", "a")


def test_weights_before_any_event_are_the_prior() -> None:
    model = BayesianLinearRegression(4.0, 0.5)
    assert model.weights() == {}
    joint: Any = model.joint("a", "intercept")
    np.testing.assert_allclose(joint.covariance, np.eye(2) / 4.0)
    assert model.probability_positive("a") == 0.5
    assert model.log_evidence() == 0.0
    assert model.predictive_one({"a": 2.0}).variance == pytest.approx(0.5 + (1.0 + 4.0) / 4.0)
