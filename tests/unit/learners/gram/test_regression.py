"""Gram regression as a learner: the contract, exact predictions, moments that keep their digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river import checks as river_checks

from stream_bayes import BayesianLinearRegression
from stream_bayes.errors import ParameterError
from stream_bayes.learners.gram import GramRegression
from stream_bayes.testing import yield_checks
from stream_bayes.typing import FloatArray
from tests.support.gram_regressions import LEARNERS, sample, taught
from tests.support.tiers import short_first


@pytest.mark.slow
@pytest.mark.parametrize("name", short_first(LEARNERS))
def test_our_contract(name: str) -> None:
    for check in yield_checks(LEARNERS[name]):
        check(LEARNERS[name].clone())


@pytest.mark.slow
@pytest.mark.parametrize("name", short_first(LEARNERS))
def test_river_contract(name: str) -> None:
    for check in river_checks.yield_checks(LEARNERS[name]):
        check(LEARNERS[name].clone())


def posterior(ones: FloatArray, targets: FloatArray, precision: FloatArray, prior: tuple[float, float]) -> Any:
    """Normal-inverse-gamma regression by the book: covariance over noise, mean, noise and degrees."""
    degrees, variance = prior
    covariance = np.linalg.inv(np.diag(precision) + ones.T @ ones)
    mean = covariance @ ones.T @ targets
    squares = targets @ targets - mean @ np.linalg.inv(covariance) @ mean
    after = degrees + len(targets)
    return covariance, mean, (degrees * variance + squares) / after, after


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [0.05, 1.0, 30.0])
def test_predictions_are_those_of_the_conjugate_prior(intercept: bool, strength: float) -> None:
    """An intercept with a prior precision of 1e-9 is one with no prior to speak of."""
    features, targets = sample()
    model = taught(GramRegression(strength, 2.5, 3.0, intercept), features, targets)
    ones = np.column_stack((np.ones(len(features)), features)) if intercept else features
    precision = np.array([1e-9] * intercept + [strength] * features.shape[1])
    covariance, mean, noise, degrees = posterior(ones, targets, precision, (3.0, 2.5))
    for x in (features[0], np.array([3.0, -1.0, 0.0, 2.0])):
        prediction = model.predictive_one(dict(enumerate(x.tolist())))
        point = np.concatenate(([1.0] * intercept, x))
        assert prediction.mean == pytest.approx(point @ mean, rel=1e-7)
        inflation = degrees / (degrees - 2)
        assert prediction.aleatoric_variance == pytest.approx(noise * inflation, rel=1e-6)
        assert prediction.epistemic_variance == pytest.approx(
            noise * inflation * (point @ covariance @ point), rel=1e-6
        )


def test_bayesian_linear_regression_is_the_same_model() -> None:
    """Without an intercept, of which it has a prior: strength = prior_precision x noise_variance."""
    features, targets = sample(count=25)
    model = taught(GramRegression(3.0, 2.5, 3.5, intercept=False), features, targets)
    peer = BayesianLinearRegression(3.0 / 2.5, 2.5, intercept=False, noise="unknown", noise_degrees=3.5)
    known = BayesianLinearRegression(0.7, 1.3, intercept=False)
    for x, y in zip(features.tolist(), targets.tolist(), strict=True):
        peer.learn_one(dict(enumerate(x)), y)
        known.learn_one(dict(enumerate(x)), y)
    for x in ({0: 1.0, 2: -3.0}, {1: 5.0, "unseen": 2.0}, {}):
        one = model.predictive_one(x)
        two = peer.predictive_one(x)
        assert one.mean == pytest.approx(two.mean, rel=1e-10, abs=1e-12)
        assert one.variance == pytest.approx(two.variance, rel=1e-10)
        assert one.epistemic_variance == pytest.approx(two.epistemic_variance, rel=1e-9)
    assert model.log_evidence(0.7, 1.3) == pytest.approx(known.log_evidence(), rel=1e-10)


def test_by_hand() -> None:
    """Two events x = 0, 2 with y = 1, 3, strength 2: S = 2, w = 2 / (2 + 2) = 1/2, least loss 2 - 2 / 2 = 1."""
    model = GramRegression(strength=2.0, noise_variance=3.0, noise_degrees=5.0)
    model.learn_one({"x": 0.0}, 1.0)
    model.learn_one({"x": 2.0}, 3.0)
    prediction: Any = model.predictive_one({"x": 4.0, "unseen": 2.0})
    assert prediction.mean == pytest.approx(2 + 3 / 2)
    assert prediction.degrees == 7.0
    noise = (5 * 3 + 1) / 7
    assert prediction.scale**2 == pytest.approx(noise * (1 + 1 / 2 + 9 / 4 + 4 / 2))


def test_predictions_before_any_event_are_those_of_the_prior() -> None:
    """Target 0 with a level as uncertain as one target, and a weight of variance noise / strength for each feature."""
    for intercept, level in ((True, 1.0), (False, 0.0)):
        prediction: Any = GramRegression(4.0, 3.0, 5.0, intercept).predictive_one({"a": 2.0, "b": 1.0})
        assert prediction.mean == 0.0
        assert prediction.degrees == 5.0
        assert prediction.scale**2 == pytest.approx(3.0 * (1 + level + (4 + 1) / 4))


@pytest.mark.slow
def test_intervals_cover() -> None:
    """On data from the model 95 of 100 targets lie inside; the standard error of 4000 is 0.35."""
    generator = np.random.default_rng(5)
    inside = 0
    for _ in range(400):
        features = generator.normal(size=(18, 3))
        weights = generator.normal(size=3)
        targets = 5 + features @ weights + generator.normal(size=18)
        model = taught(GramRegression(strength=1.0, noise_variance=1.0, noise_degrees=3.0), features[:8], targets[:8])
        for x, y in zip(features[8:].tolist(), targets[8:].tolist(), strict=True):
            low, high = model.predictive_one(dict(enumerate(x))).interval(0.95)
            inside += low <= y <= high
    assert inside / 4000 == pytest.approx(0.95, abs=0.015)


def test_bad_arguments() -> None:
    model = taught(GramRegression(), *sample(5, 2))
    bad: list[dict[str, Any]] = [
        {"penalty": "l1"},
        {"strength": -1.0},
        {"strength": float("nan")},
        {"strength": 1e200},
        {"penalty": "elastic-net", "share": 1.5},
        {"share": -0.1},
    ]
    for arguments in bad:
        with pytest.raises(ParameterError):
            model.solve(**arguments)
    for strengths in (1, 0, True, [1.0, -2.0], [1e200], "many"):
        with pytest.raises(ParameterError):
            model.path("lasso", strengths)  # type: ignore[arg-type]
    for count in (-1, 3, 1.5, True):
        with pytest.raises(ParameterError):
            model.select(count=count)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        model.select("sideways")


def test_numbers_of_numpy_count() -> None:
    model = taught(GramRegression(), *sample(20, 3))
    assert len(model.path("ridge", np.int64(5))) == 5  # type: ignore[arg-type]
    assert model.select(count=np.int64(1)) == model.select(count=1)  # type: ignore[arg-type]


def test_no_penalty_has_no_path() -> None:
    model = taught(GramRegression(), *sample(20, 3))
    for strengths in (3, None, [1.0, 2.0]):
        with pytest.raises(ParameterError, match="no path without a penalty"):
            model.path("none", strengths)


def test_bias_and_variance_of_features_never_learned() -> None:
    """A feature no event had is not predicted at all; the noise is that of the learner unless it is given."""
    model = GramRegression(strength=2.0, noise_variance=3.0, noise_degrees=5.0)
    model.learn_one({"x": 0.0}, 1.0)
    model.learn_one({"x": 2.0}, 3.0)
    plain = model.bias_variance({"x": 3.0}, {"x": 1.5})
    assert plain.bias == pytest.approx(-2 / 4 * 2 * 1.5)
    assert plain.variance == pytest.approx(16 / 7 * (1 / 2 + 2 / 16 * 4))
    extra = model.bias_variance({"x": 3.0, "y": 2.0}, {"x": 1.5, "y": 10.0, "z": 5.0})
    assert extra == pytest.approx((plain.bias - 20.0, plain.variance))
    with pytest.raises(ParameterError):
        model.bias_variance({"x": 1.0}, {"x": float("nan")})
    named = GramRegression(strength=2.0)
    named.learn_one({"intercept": 0.0}, 1.0)
    named.learn_one({"intercept": 2.0}, 3.0)
    assert named.bias_variance({"intercept": 3.0}, {"intercept": 1.5}).bias == pytest.approx(plain.bias)
