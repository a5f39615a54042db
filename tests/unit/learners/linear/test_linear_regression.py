"""Bayesian linear regression against the batch closed form, at hyper-parameters where the known bugs hide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import Ridge

from stream_bayes import Batch, BayesianLinearRegression, MvNormal, MvStudentT, Normal, StudentT
from stream_bayes.typing import FloatArray
from tests.support.linear_regressions import NAMES, data, taught

PRECISIONS = [1e-3, 1.0, 4.0, 1e3]
NOISES = [0.04, 1.0, 9.0]


def closed_form(
    design: FloatArray, targets: FloatArray, precision: float, noise: float
) -> tuple[FloatArray, FloatArray]:
    covariance: Any = np.linalg.inv(precision * np.eye(design.shape[1]) + design.T @ design / noise)
    return covariance @ design.T @ targets / noise, covariance


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_posterior_is_the_closed_form(precision: float, noise: float) -> None:
    design, targets = data()
    model = taught(BayesianLinearRegression(precision, noise), design, targets)
    mean, covariance = closed_form(design, targets, precision, noise)
    weights = model.weights()
    assert list(weights) == ["intercept", *NAMES]
    assert [w.mean for w in weights.values()] == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert [w.variance for w in weights.values()] == pytest.approx(np.diag(covariance), rel=1e-9)
    pair = model.joint("d", "intercept")
    assert isinstance(pair, MvNormal)
    np.testing.assert_allclose(pair.covariance, covariance[np.ix_([4, 0], [4, 0])], rtol=1e-9, atol=1e-15)
    x = np.array([1.0, 2.0, -1.0, 0.5, 3.0])
    prediction = model.predictive_one(dict(zip(NAMES, x[1:], strict=True)))
    assert prediction.mean == pytest.approx(float(x @ mean), rel=1e-9)
    assert prediction.epistemic_variance == pytest.approx(float(x @ covariance @ x), rel=1e-9)
    assert prediction.aleatoric_variance == noise


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_mean_is_ridge(precision: float, noise: float) -> None:
    design, targets = data()
    model = taught(BayesianLinearRegression(precision, noise, intercept=False), design, targets)
    ridge = Ridge(alpha=precision * noise, fit_intercept=False).fit(design[:, 1:], targets)
    assert [w.mean for w in model.weights().values()] == pytest.approx(ridge.coef_, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_log_evidence_is_the_batch_density_and_the_prequential_sum(precision: float, noise: float) -> None:
    design, targets = data(25)
    model = BayesianLinearRegression(precision, noise)
    total = 0.0
    for row, target in zip(design[:, 1:].tolist(), targets.tolist(), strict=True):
        x = dict(zip(NAMES, row, strict=True))
        total += model.predictive_one(x).log_density(target)
        model.learn_one(x, target)
    batch = stats.multivariate_normal(cov=noise * np.eye(25) + design @ design.T / precision).logpdf(targets)
    assert model.log_evidence() == pytest.approx(total, rel=1e-9)
    assert model.log_evidence() == pytest.approx(float(batch), rel=1e-8)


@pytest.mark.parametrize(("precision", "noise", "degrees"), [(0.3, 0.5, 3.0), (4.0, 9.0, 7.5)])
def test_unknown_noise_is_normal_inverse_gamma(precision: float, noise: float, degrees: float) -> None:
    """Against the multivariate t of all targets, its conditionals, and the t of each weight."""
    design, targets = data(25)
    model = BayesianLinearRegression(precision, noise, noise="unknown", noise_degrees=degrees)
    total = 0.0
    for row, target in zip(design[:, 1:].tolist(), targets.tolist(), strict=True):
        x = dict(zip(NAMES, row, strict=True))
        prediction = model.predictive_one(x)
        total += prediction.log_density(target)
        model.learn_one(x, target)
    shape = noise * np.eye(25) + design @ design.T / precision
    assert total == pytest.approx(stats.multivariate_t(shape=shape, df=degrees).logpdf(targets), rel=1e-8)
    assert model.log_evidence() == pytest.approx(total, rel=1e-9)
    unit = precision * noise * np.eye(5) + design.T @ design
    mean = np.linalg.solve(unit, design.T @ targets)
    squares = targets @ targets - mean @ unit @ mean
    scale = (degrees * noise + squares) / (degrees + 25)
    weight = model.weights()["b"]
    assert isinstance(weight, StudentT)
    assert weight.degrees == degrees + 25
    assert weight.scale**2 == pytest.approx(scale * np.linalg.inv(unit)[2, 2], rel=1e-9)
    pair = model.joint("a", "b")
    assert isinstance(pair, MvStudentT)
    np.testing.assert_allclose(pair.scale, scale * np.linalg.inv(unit)[1:3, 1:3], rtol=1e-9)
    assert model.probability_positive("b") == pytest.approx(stats.t.sf(0.0, weight.degrees, weight.mean, weight.scale))


def test_a_feature_that_comes_late_was_zero_before() -> None:
    design, targets = data()
    design[:15, 3:] = 0.0
    late = BayesianLinearRegression(2.5, 0.3)
    early = BayesianLinearRegression(2.5, 0.3)
    for row, target in zip(design[:, 1:].tolist(), targets.tolist(), strict=True):
        x = dict(zip(NAMES, row, strict=True))
        early.learn_one(x, target)
        late.learn_one({name: value for name, value in x.items() if value}, target)
    for name in NAMES:
        assert late.weights()[name].mean == pytest.approx(early.weights()[name].mean, rel=1e-10)
        assert late.weights()[name].variance == pytest.approx(early.weights()[name].variance, rel=1e-10)


@pytest.mark.parametrize("forgetting", [0.99, 0.9, 0.7])
def test_forgetting_discounts_everything_at_each_event(forgetting: float) -> None:
    """P_n = f^n prior + sum of f^(n - i) x x', the share of the prior not below 1e-8."""
    design, targets = data(120)
    model = taught(BayesianLinearRegression(2.0, 0.5, forgetting=forgetting), design, targets)
    ages = forgetting ** np.arange(119, -1, -1)
    precision = forgetting**120 * 2.0 * np.eye(5) + (design.T * ages) @ design / 0.5
    mean = np.linalg.solve(precision, (design.T * ages) @ targets / 0.5)
    weights = model.weights()
    near = 1e-9 if forgetting**120 > 1e-4 else 2e-3
    assert [w.mean for w in weights.values()] == pytest.approx(mean, rel=near, abs=near)
    assert [w.variance for w in weights.values()] == pytest.approx(np.diag(np.linalg.inv(precision)), rel=near)


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize(
    ("forgetting", "noise"), [(0.99, "known"), (0.99, "unknown"), (0.9, "unknown"), (1e-3, "known"), (1e-100, "known")]
)
def test_weights_of_features_not_seen_for_long_return_to_zero(covariance: str, noise: str, forgetting: float) -> None:
    """The intercept and "a" are known together only, "once" was seen once: means stay small, variances do not."""
    model = BayesianLinearRegression(2.0, 0.3, covariance=covariance, noise=noise, forgetting=forgetting)
    model.learn_one({"once": 1.0, "a": 1.0}, 5.0)
    generator = np.random.default_rng(1)
    for _ in range(6000):
        model.learn_one({"a": 1.0}, 1.0 + 0.1 * float(generator.normal()))
    weights = model.weights()
    assert all(abs(weight.mean) < 2.0 for weight in weights.values())
    assert model.predict_one({"a": 1.0}) == pytest.approx(1.0, abs=0.5)
    assert model.predictive_one({"once": 1.0}).variance > 1e3
    assert weights["once"].variance < 1e9
    model.learn_one({"once": 1.0}, 3.0)
    assert model.predict_one({"once": 1.0}) == pytest.approx(3.0, rel=0.01)


@pytest.mark.parametrize("noise", ["known", "unknown"])
def test_intervals_cover(noise: str) -> None:
    """95 % intervals of targets from the model hold 95 % of them, within 4 standard errors."""
    generator = np.random.default_rng(5)
    inside = 0
    count = 0
    for _ in range(60):
        variance = 0.7 if noise == "known" else 4.0 * 0.7 / generator.chisquare(4.0)
        # The prior of the weights is in units of the noise when that is unknown.
        deviation = math.sqrt(1.0 / 2.5 if noise == "known" else variance / (2.5 * 0.7))
        truth = deviation * generator.normal(size=4)
        model = BayesianLinearRegression(2.5, 0.7, noise=noise)
        for _ in range(30):
            x = generator.normal(size=3)
            y = float(truth[0] + x @ truth[1:] + math.sqrt(variance) * generator.normal())
            event = dict(zip("abc", x.tolist(), strict=True))
            low, high = model.predictive_one(event).interval(0.95)
            inside = inside + (low <= y <= high)
            count = count + 1
            model.learn_one(event, y)
    assert abs(inside / count - 0.95) < 4.0 * math.sqrt(0.95 * 0.05 / count)


@pytest.mark.parametrize("noise", ["known", "unknown"])
@settings(max_examples=30)
@given(weight=st.sampled_from([2.0, 3.0, 5.0]), target=st.floats(-5, 5))
def test_a_weight_counts_repetitions_also_in_the_evidence(noise: str, weight: float, target: float) -> None:
    once, often = (BayesianLinearRegression(0.4, 2.0, noise=noise) for _ in range(2))
    for model in (once, often):
        model.learn_one({"a": 1.0, "b": -2.0}, 1.5)
    once.learn_one({"a": 0.5}, target, w=weight)
    for _ in range(int(weight)):
        often.learn_one({"a": 0.5}, target)
    assert once.log_evidence() == pytest.approx(often.log_evidence(), rel=1e-10)
    assert once.predict_one({"a": 1.0, "b": 1.0}) == pytest.approx(often.predict_one({"a": 1.0, "b": 1.0}), rel=1e-10)


def test_diagonal_is_exact_for_orthogonal_events() -> None:
    """One feature an event: nothing is lost by taking the weights as independent."""
    full = BayesianLinearRegression(0.5, 2.0, intercept=False)
    diagonal = BayesianLinearRegression(0.5, 2.0, covariance="diagonal", intercept=False)
    generator = np.random.default_rng(2)
    for _ in range(50):
        x = {NAMES[int(generator.integers(4))]: float(generator.normal())}
        y = float(generator.normal())
        assert diagonal.predictive_one(x).variance == pytest.approx(full.predictive_one(x).variance)
        for model in (full, diagonal):
            model.learn_one(x, y, w=1.7)
    for name, weight in full.weights().items():
        assert isinstance(weight, Normal)
        assert tuple(diagonal.weights()[name]) == pytest.approx(tuple(weight))


def test_batches_in_the_order_of_a_matrix() -> None:
    design, targets = data()
    model = BayesianLinearRegression(3.0, 0.2)
    predictions = model.test_then_train(Batch.from_matrix(design[:, 1:], NAMES), targets)
    assert predictions.mean[0] == 0.0
    assert predictions.variance[0] == pytest.approx(0.2 + float(design[0] @ design[0]) / 3.0)
    assert predictions.predictive(39).interval() == pytest.approx(
        stats.norm(predictions.mean[39], math.sqrt(predictions.variance[39])).interval(0.95)
    )
