"""Bayesian logistic regression: one step by hand, the posterior it approaches, and its honesty."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer

from stream_bayes import Batch, BayesianLogisticRegression, LabelPredictive
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.posteriors import LogitNormal
from stream_bayes.typing import FloatArray


def moderated(mean: float, variance: float) -> float:
    return float(expit(mean / math.sqrt(1.0 + math.pi * variance / 8.0)))


@pytest.mark.parametrize("precision", [0.5, 4.0])
def test_one_step_by_hand(precision: float) -> None:
    """From N(0, I / precision): p = 1/2, the mean moves by S x k / 2, the covariance falls by S x x'S k^2 / 4."""
    model = BayesianLogisticRegression(precision, classes=("no", "yes"))
    x = np.array([1.0, 2.0, -1.0])
    model.learn_one({"a": 2.0, "b": -1.0}, "yes")
    k = 1.0 / math.sqrt(1.0 + math.pi * float(x @ x) / precision / 8.0)
    mean = x / precision * k * 0.5
    covariance = np.eye(3) / precision - np.outer(x, x) / precision**2 * k * k * 0.25
    weights = model.weights()
    assert [w.mean for w in weights.values()] == pytest.approx(mean)
    assert [w.variance for w in weights.values()] == pytest.approx(np.diag(covariance))
    joint: Any = model.joint("a", "b")
    np.testing.assert_allclose(joint.covariance, covariance[1:, 1:])
    assert model.log_evidence() == pytest.approx(math.log(0.5))
    probe = np.array([1.0, 1.0, 1.0])
    expected = moderated(float(probe @ mean), float(probe @ covariance @ probe))
    assert model.predict_proba_one({"a": 1.0, "b": 1.0})["yes"] == pytest.approx(expected)
    prediction = model.predictive_one({"a": 1.0, "b": 1.0})
    assert isinstance(prediction.latent, LogitNormal)
    assert prediction.latent.log_odds_variance == pytest.approx(float(probe @ covariance @ probe))


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 100.0), (0.0, 1.0), (2.0, 4.0), (-3.0, 9.0), (1.0, 0.01)])
@pytest.mark.parametrize("label", [False, True])
def test_a_step_has_the_moments_of_the_exact_posterior(mean: float, variance: float, label: bool) -> None:
    """Log-odds N(mean, variance) times the likelihood of one label, by quadrature."""
    model = BayesianLogisticRegression(1.0 / variance, intercept=False)
    model.learn_one({"a": 1e-30}, True)  # nothing but the name
    posterior: Any = model._posterior
    posterior.vectors[0, 0] = mean / math.sqrt(variance)
    model.learn_one({"a": 1.0}, label)
    f = mean + math.sqrt(variance) * np.linspace(-12.0, 12.0, 40_001)
    density = np.exp(-0.5 * (f - mean) ** 2 / variance) * expit(f if label else -f)
    density /= density.sum()
    expected = float(density @ f)
    found = model.weights()["a"]
    assert found.mean == pytest.approx(expected, abs=0.12 * math.sqrt(variance))
    # A label against the odds leaves more doubt than it should, by the approximation in p.
    surprising = label == (mean < 0.0) and mean != 0.0
    assert 0.95 < found.variance / float(density @ (f - expected) ** 2) < (1.6 if surprising else 1.1)


def test_diagonal_is_full_for_one_feature_an_event() -> None:
    full = BayesianLogisticRegression(0.5, intercept=False)
    diagonal = BayesianLogisticRegression(0.5, covariance="diagonal", intercept=False)
    generator = np.random.default_rng(1)
    for _ in range(60):
        x = {"abc"[int(generator.integers(3))]: float(generator.normal())}
        y = bool(generator.random() < 0.4)
        assert diagonal.predict_proba_one(x) == pytest.approx(full.predict_proba_one(x))
        full.learn_one(x, y)
        diagonal.learn_one(x, y)


def simulated(count: int, precision: float, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    truth = generator.normal(size=4) / math.sqrt(precision)
    design = np.column_stack((np.ones(count), generator.normal(size=(count, 3))))
    return design, (generator.random(count) < expit(design @ truth)).astype(float), truth


def taught(design: FloatArray, labels: FloatArray, **parameters: Any) -> BayesianLogisticRegression:
    model = BayesianLogisticRegression(**parameters)
    model.test_then_train(Batch.from_matrix(design[:, 1:], ["a", "b", "c"]), (labels == 1.0).tolist())
    return model


@pytest.mark.parametrize("precision", [0.3, 2.0])
def test_one_pass_comes_near_the_batch_laplace_posterior(precision: float) -> None:
    design, labels, _ = simulated(3000, precision, seed=2)

    def loss(w: FloatArray) -> float:
        return float(np.logaddexp(0.0, -(2.0 * labels - 1.0) * (design @ w)).sum() + 0.5 * precision * w @ w)

    best = minimize(loss, np.zeros(4), tol=1e-10).x
    p = expit(design @ best)
    covariance = np.linalg.inv(precision * np.eye(4) + (design.T * (p * (1.0 - p))) @ design)
    weights = list(taught(design, labels, prior_precision=precision).weights().values())
    deviations = [(w.mean - m) / math.sqrt(v) for w, m, v in zip(weights, best, np.diag(covariance), strict=True)]
    assert np.abs(deviations).max() < 0.5
    assert [w.variance for w in weights] == pytest.approx(np.diag(covariance), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("events", [20, 200])
def test_intervals_of_the_probability_cover(events: int) -> None:
    """Weights drawn from the prior: 95 % intervals of the true probability hold it about that often."""
    inside = count = 0
    for seed in range(150):
        design, labels, truth = simulated(events + 10, 0.7, seed)
        model = taught(design[:events], labels[:events], prior_precision=0.7)
        for row in design[events:]:
            prediction = model.predictive_one(dict(zip("abc", row[1:].tolist(), strict=True)))
            low, high = prediction.interval(0.95, label=True)
            inside = inside + (low <= expit(row @ truth) <= high)
            count = count + 1
    assert 0.92 < inside / count < 0.98


def test_label_variance_splits_into_noise_and_ignorance() -> None:
    """Far from the data the log-odds are large and unknown: moderation keeps the probability away from 1."""
    model = BayesianLogisticRegression(0.1)
    for _ in range(3):
        model.learn_one({"a": 1.0}, True)
        model.learn_one({"a": 0.5}, False)
    near = model.predictive_one({"a": 1.0})
    far = model.predictive_one({"a": 50.0})
    for result in (near, far):
        assert isinstance(result, LabelPredictive)
        assert result.variance == pytest.approx(result.aleatoric_variance + result.epistemic_variance)
    assert isinstance(far.latent, LogitNormal)
    assert far.mean < expit(far.latent.log_odds) - 0.01
    before = near.epistemic_variance
    for _ in range(200):
        model.learn_one({"a": 1.0}, True)
    assert model.predictive_one({"a": 1.0}).epistemic_variance < 0.1 * before


def test_learns_breast_cancer_in_one_pass() -> None:
    features, labels = load_breast_cancer(return_X_y=True)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    names = [f"x{j}" for j in range(features.shape[1])]
    for covariance, most in (("full", 0.105), ("diagonal", 0.13)):
        model = BayesianLogisticRegression(1.0, covariance=covariance, classes=(False, True))
        predictions = model.test_then_train(Batch.from_matrix(features, names), labels.astype(bool).tolist())
        p = predictions.probabilities[np.arange(len(labels)), labels]
        assert float(-np.log(p).mean()) < most
        assert model.log_evidence() == pytest.approx(float(np.log(p).sum()))


def test_surprises_stay_numbers() -> None:
    """Certain and wrong, again and again: the curvature is nothing, the step is not."""
    model = BayesianLogisticRegression(1e-6)
    for _ in range(300):
        model.learn_one({"a": 1000.0}, True)
    for _ in range(300):
        model.learn_one({"a": 1000.0}, False)
    prediction = model.predict_proba_one({"a": 1000.0})
    assert all(math.isfinite(p) for p in prediction.values())
    assert prediction[False] > 0.5


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize(("precision", "times"), [(1.0, 1000), (1.0, 100), (0.2, 5), (3.0, 40)])
def test_an_event_of_weight_n_equals_n_labels(covariance: str, precision: float, times: int) -> None:
    """Against the exact posterior of the log-odds given equal labels, by quadrature."""
    model = BayesianLogisticRegression(precision, covariance=covariance, intercept=False)
    model.learn_one({"a": 1.0}, True, w=float(times))
    f = np.linspace(-20.0, 40.0, 60_001)
    log_density = -0.5 * precision * f * f - times * np.logaddexp(0.0, -f)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    expected = float(density @ f)
    deviation = math.sqrt(float(density @ (f - expected) ** 2))
    found = model.weights()["a"]
    assert abs(found.mean - expected) < 0.35 * deviation
    assert math.sqrt(found.variance) == pytest.approx(deviation, rel=0.2)


def test_one_heavy_label_does_not_overshoot() -> None:
    """Against the odds and a thousand times: it ends where a thousand events end, and not far beyond."""
    heavy = BayesianLogisticRegression()
    many = BayesianLogisticRegression()
    for model in (heavy, many):
        for _ in range(3):
            model.learn_one({"a": 30.0}, False)
    heavy.learn_one({"a": 30.0}, True, w=1000.0)
    for _ in range(1000):
        many.learn_one({"a": 30.0}, True)
    one, two = (model.predict_proba_one({"a": 30.0})[False] for model in (heavy, many))
    assert 0.01 < one / two < 100.0


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="two different labels"):
        BayesianLogisticRegression(classes=("a",))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="prior_precision"):
        BayesianLogisticRegression(prior_precision=0.0)
    model = BayesianLogisticRegression(classes=(False, True))
    with pytest.raises(InputError, match="neither False nor True"):
        model.learn_one({"a": 1.0}, "spam")
    with pytest.raises(InputError, match="values must lie between"):
        model.learn_one({"a": 1e95}, True)
