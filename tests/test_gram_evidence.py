"""Evidence, selection, and bias and variance from Gram matrices, against batch solutions."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import BayesianRidge

from stream_bayes.errors import EvidenceError, ParameterError
from stream_bayes.learners.gram import GramRegression
from tests.test_gram import FloatArray, sample, taught


def batch_evidence(features: FloatArray, targets: FloatArray, precision: float, noise: float) -> float:
    covariance = noise * np.eye(len(targets)) + features @ features.T / precision
    return float(stats.multivariate_normal(np.zeros(len(targets)), covariance).logpdf(targets))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("count", "width"), [(1, 1), (12, 4), (5, 9), (30, 0)])
def test_log_evidence_is_the_batch_density(intercept: bool, count: int, width: int) -> None:
    features, targets = sample(count, max(width, 1), seed=width, offset=2.0)
    features = features[:, :width]
    model = taught(GramRegression(intercept=intercept), features, targets)
    whole = np.column_stack((np.ones(count), features)) if intercept else features
    for precision in (1e-3, 1.0, 4.0, 1e3):
        for noise in (0.04, 1.0, 9.0):
            expected = batch_evidence(whole, targets, precision, noise)
            assert model.log_evidence(precision, noise) == pytest.approx(expected, rel=1e-8)


def test_log_evidence_far_from_zero_and_with_constant_columns() -> None:
    """Offsets of 1e4, where X'X as it is would leave half the digits; a constant beside the intercept."""
    features, targets = sample(40, 3, seed=3, offset=1e4)
    features[:, 1] = 3.0
    model = taught(GramRegression(), features, targets)
    whole = np.column_stack((np.ones(40), features))
    # The determinant lemma and a QR decomposition of the stacked system, which never forms X'X.
    stacked = np.vstack((whole, np.sqrt(2.0 * 0.5) * np.eye(4)))
    triangle = np.linalg.qr(np.column_stack((stacked, np.concatenate((targets, np.zeros(4))))))[1]
    volume = 2 * np.log(np.abs(triangle.diagonal()[:4])).sum()
    expected = -0.5 * (40 * np.log(2 * np.pi * 0.5) + volume + triangle[4, 4] ** 2 / 0.5)
    assert model.log_evidence(2.0, 0.5) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_maximum_is_one(intercept: bool) -> None:
    """Above every point of a fine grid around it and of a coarse one everywhere; MacKay's fixed point."""
    features, targets = sample(40, 5, seed=9)
    model = taught(GramRegression(intercept=intercept), features, targets)
    best = model.maximise_evidence()
    assert best.log_evidence == pytest.approx(model.log_evidence(best.prior_precision, best.noise_variance), rel=1e-12)
    for spread, points in ((0.02, 11), (12.0, 31)):
        for one in np.exp(np.linspace(-spread, spread, points)):
            for two in np.exp(np.linspace(-spread, spread, points)):
                other = model.log_evidence(best.prior_precision * one, best.noise_variance * two)
                assert other <= best.log_evidence + 1e-10
    whole = np.column_stack((np.ones(40), features)) if intercept else features
    ratio = best.prior_precision * best.noise_variance
    weights = np.linalg.solve(whole.T @ whole + ratio * np.eye(whole.shape[1]), whole.T @ targets)
    effective = np.trace(np.linalg.solve(whole.T @ whole + ratio * np.eye(whole.shape[1]), whole.T @ whole))
    assert best.effective_weights == pytest.approx(effective, rel=1e-9)
    assert best.prior_precision == pytest.approx(effective / (weights @ weights), rel=1e-7)
    residuals = targets - whole @ weights
    assert best.noise_variance == pytest.approx(residuals @ residuals / (40 - effective), rel=1e-7)


def test_bayesian_ridge_finds_the_same() -> None:
    features, targets = sample(60, 6, seed=12)
    settings = {"alpha_1": 0.0, "alpha_2": 0.0, "lambda_1": 0.0, "lambda_2": 0.0, "tol": 1e-13, "max_iter": 10_000}
    centred = features - features.mean(axis=0), targets - targets.mean()
    for own, intercept in (((features, targets), False), (centred, True)):
        # With an intercept scikit-learn centres, and gives it no prior: that is our model without one on centred data.
        peer = BayesianRidge(fit_intercept=intercept, compute_score=True, **settings).fit(features, targets)
        best = taught(GramRegression(intercept=False), *own).maximise_evidence()
        assert best.prior_precision == pytest.approx(peer.lambda_, rel=1e-6)
        assert best.noise_variance == pytest.approx(1 / peer.alpha_, rel=1e-6)
        assert best.log_evidence == pytest.approx(peer.scores_[-1], rel=1e-8)


def test_where_the_evidence_has_no_maximum() -> None:
    features, _ = sample(30, 3, seed=1)
    with pytest.raises(EvidenceError, match="no noise"):
        taught(GramRegression(), features, features @ np.ones(3)).maximise_evidence()
    with pytest.raises(EvidenceError, match="different from 0"):
        # Targets at right angles to the only feature.
        taught(GramRegression(intercept=False), np.ones((4, 1)), np.array([1.0, -1.0, 2.0, -2.0])).maximise_evidence()
    for model in (GramRegression(intercept=False), GramRegression()):
        with pytest.raises(EvidenceError, match="targets that are not all 0"):
            taught(model, features, np.zeros(30)).maximise_evidence()
    for precision, noise in ((-1.0, 1.0), (1.0, 0.0), (1e200, 1.0), (1.0, 1e-200)):
        with pytest.raises(ParameterError):
            GramRegression().log_evidence(precision, noise)


def squares(features: FloatArray, targets: FloatArray, chosen: list[int], *, intercept: bool) -> float:
    whole = features[:, chosen]
    whole = np.column_stack((np.ones(len(targets)), whole)) if intercept else whole
    residuals = targets - whole @ np.linalg.lstsq(whole, targets)[0] if whole.shape[1] else targets
    return float(residuals @ residuals)


@pytest.mark.parametrize("intercept", [True, False])
def test_selection_is_that_of_refits(intercept: bool) -> None:
    features, targets = sample(40, 7, seed=21)
    features = features * np.array([1.0, 100.0, 0.01, 1.0, 1.0, 3.0, 1.0]) + 1.0
    model = taught(GramRegression(intercept=intercept), features, targets)
    chosen: list[int] = []
    for step in model.select("forward"):
        rest = [place for place in range(7) if place not in chosen]
        each = {place: squares(features, targets, [*chosen, place], intercept=intercept) for place in rest}
        assert step.name == min(each, key=each.__getitem__)
        assert step.residual_squares == pytest.approx(each[step.name], rel=1e-9)
        chosen.append(step.name)
    assert sorted(chosen) == list(range(7))
    left = list(range(7))
    for step in model.select("backward"):
        each = {
            place: squares(features, targets, [other for other in left if other != place], intercept=intercept)
            for place in left
        }
        assert step.name == min(each, key=each.__getitem__)
        assert step.residual_squares == pytest.approx(each[step.name], rel=1e-9)
        left.remove(step.name)
    assert model.select("backward", 2) == model.select("backward")[:2]
    assert model.select(count=0) == []


def test_selection_with_dependent_features() -> None:
    """More features than events, a copy and a constant: they join last and leave first, and change nothing."""
    features, targets = sample(6, 9, seed=2)
    features[:, 3] = features[:, 0]
    features[:, 5] = 2.0
    model = taught(GramRegression(), features, targets)
    forward, backward = model.select("forward"), model.select("backward")
    assert {step.name for step in forward} == {step.name for step in backward} == set(range(9))
    assert [step.residual_squares for step in forward[5:]] == pytest.approx([0.0] * 4, abs=1e-9)
    assert [step.residual_squares for step in backward[:4]] == pytest.approx([0.0] * 4, abs=1e-9)
    assert 5 in [step.name for step in backward[:4]]
    assert all(one.residual_squares >= two.residual_squares - 1e-12 for one, two in pairwise(forward))
    assert backward[-1].residual_squares == pytest.approx(((targets - targets.mean()) ** 2).sum())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [0.0, 0.5, 20.0])
def test_bias_and_variance_by_closed_form_and_simulation(intercept: bool, strength: float) -> None:
    generator = np.random.default_rng(17)
    features, weights, level, noise = generator.normal(1.0, 1.0, (15, 3)), np.array([1.0, -2.0, 0.5]), 0.7, 0.3
    clean = features @ weights + level
    model = taught(GramRegression(intercept=intercept), features, clean)
    x = np.array([2.0, 1.0, -1.0])
    truth: dict[Hashable, float] = dict(enumerate(weights.tolist()))
    found = model.bias_variance(dict(enumerate(x.tolist())), {**truth, "intercept": level}, strength, noise)
    # The prediction is a linear function a'y of the targets.
    middle = features.mean(axis=0) if intercept else np.zeros(3)
    centred = features - middle
    map_to = (x - middle) @ np.linalg.solve(centred.T @ centred + strength * np.eye(3), centred.T)
    map_to = map_to + (1 / 15 if intercept else 0.0)
    assert found.bias == pytest.approx(map_to @ clean - x @ weights - level, abs=1e-10)
    assert found.variance == pytest.approx(noise * map_to @ map_to, rel=1e-10)
    assert found.squared_error == pytest.approx(found.bias**2 + found.variance)
    said = []
    for _ in range(400):
        drawn = taught(GramRegression(intercept=intercept), features, clean + generator.normal(0, noise**0.5, 15))
        said.append(drawn.solve("ridge", strength).predict(dict(enumerate(x.tolist()))) - x @ weights - level)
    assert np.mean(said) == pytest.approx(found.bias, abs=4 * (found.variance / 400) ** 0.5)
    assert np.var(said) == pytest.approx(found.variance, rel=0.3)


def test_bias_of_what_never_came() -> None:
    """A feature no event had is not predicted at all; the noise is what the learner expects unless it is told."""
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
