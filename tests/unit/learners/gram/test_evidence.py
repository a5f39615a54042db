"""Evidence, selection, and bias and variance from Gram matrices, against batch solutions."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge

from stream_bayes import BayesianLinearRegression
from stream_bayes.errors import EvidenceError, ParameterError
from stream_bayes.learners.gram import GramRegression
from stream_bayes.typing import FloatArray
from tests.support.gram_regressions import sample, taught


def batch_evidence(features: FloatArray, targets: FloatArray, precision: float, noise: float) -> float:
    covariance = noise * np.eye(len(targets)) + features @ features.T / precision
    return float(stats.multivariate_normal(np.zeros(len(targets)), covariance).logpdf(targets))


def centred(features: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    return features - features.mean(axis=0), targets - targets.mean()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("count", "width"), [(1, 1), (12, 4), (5, 9), (30, 0)])
def test_log_evidence_is_the_batch_density(intercept: bool, count: int, width: int) -> None:
    features, targets = sample(count, max(width, 1), seed=width, offset=2.0)
    features = features[:, :width]
    model = taught(GramRegression(intercept=intercept), features, targets)
    own = centred(features, targets) if intercept else (features, targets)
    for precision in (1e-3, 1.0, 4.0, 1e3):
        for noise in (0.04, 1.0, 9.0):
            found = model.log_evidence(precision, noise)
            expected = batch_evidence(*own, precision, noise)
            assert found == pytest.approx(expected, rel=1e-8)
            peer: Any = BayesianLinearRegression(precision, noise, intercept=intercept)
            # A prior on the intercept widens the density of centred targets, whose mean is 0, in one direction.
            wider = 0.5 * np.log1p(count / (precision * noise)) if intercept else 0.0
            assert taught(peer, *own).log_evidence() == pytest.approx(found - wider, rel=1e-9)  # type: ignore[call-arg]


def test_log_evidence_far_from_zero_and_with_constant_columns() -> None:
    """Offsets of 1e4, where X'X as it is would leave half the digits; a constant beside the intercept."""
    features, targets = sample(40, 3, seed=3, offset=1e4)
    features[:, 1] = 3.0
    model = taught(GramRegression(), features, targets)
    own, wanted = centred(features, targets)
    # The determinant lemma and a QR decomposition of the stacked system, which never forms X'X.
    stacked = np.vstack((own, np.sqrt(2.0 * 0.5) * np.eye(3)))
    triangle = np.linalg.qr(np.column_stack((stacked, np.concatenate((wanted, np.zeros(3))))))[1]
    volume = 2 * np.log(np.abs(triangle.diagonal()[:3])).sum()
    expected = -0.5 * (40 * np.log(2 * np.pi * 0.5) + volume + triangle[3, 3] ** 2 / 0.5)
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
    whole, targets = centred(features, targets) if intercept else (features, targets)
    ratio = best.prior_precision * best.noise_variance
    weights = np.linalg.solve(whole.T @ whole + ratio * np.eye(whole.shape[1]), whole.T @ targets)
    effective = np.trace(np.linalg.solve(whole.T @ whole + ratio * np.eye(whole.shape[1]), whole.T @ whole))
    assert best.effective_weights == pytest.approx(effective, rel=1e-9)
    assert best.prior_precision == pytest.approx(effective / (weights @ weights), rel=1e-7)
    residuals = targets - whole @ weights
    assert best.noise_variance == pytest.approx(residuals @ residuals / (40 - effective), rel=1e-7)


def bayesian_ridge(features: FloatArray, targets: FloatArray, *, intercept: bool = True) -> Any:
    settings = {"alpha_1": 0.0, "alpha_2": 0.0, "lambda_1": 0.0, "lambda_2": 0.0, "tol": 1e-13, "max_iter": 10_000}
    peer: Any = BayesianRidge(fit_intercept=intercept, compute_score=True, **settings)
    return peer.fit(features, targets)


def far_from_zero() -> tuple[FloatArray, FloatArray]:
    """Targets around 100 and small weights: a prior on the intercept would have to be as wide as that."""
    generator = np.random.default_rng(1)
    features = generator.normal(size=(40, 30))
    weights = generator.normal(0.0, 0.3, 30)
    return features, 100 + features @ weights + 2 * generator.normal(size=40)


def wide(count: int, width: int, seed: int) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(count, width))
    weights = generator.normal(size=width)
    return features, features @ weights + 2 * generator.normal(size=count)


DATA = {
    "sample": sample(60, 6, seed=12),
    "far from zero": far_from_zero(),
    "diabetes": load_diabetes(return_X_y=True),
    "diabetes as measured": load_diabetes(return_X_y=True, scaled=False),
    "as many as events": wide(20, 19, seed=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", DATA)
def test_bayesian_ridge_finds_the_same(name: str, intercept: bool) -> None:
    features, targets = DATA[name]
    peer = bayesian_ridge(features, targets, intercept=intercept)
    best = taught(GramRegression(intercept=intercept), features, targets).maximise_evidence()
    assert best.prior_precision == pytest.approx(peer.lambda_, rel=1e-6)
    assert best.noise_variance == pytest.approx(1 / peer.alpha_, rel=1e-6)
    assert best.log_evidence == pytest.approx(peer.scores_[-1], rel=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("level", "noise"), [(290.0, 0.1), (700.0, 0.5), (0.0, 1e-3), (0.0, 1e-5), (0.0, 1e-6), (0.0, 3e-7)]
)
def test_targets_with_little_noise(level: float, noise: float, intercept: bool) -> None:
    """Noise that leaves shares of 1e-2 down to 2e-14 unexplained; the digits of its variance go with the share."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(200, 1))
    drawn = generator.normal(size=200)
    if not intercept:
        features = np.column_stack((features, np.full(200, level)))
    targets = level + 2 * features[:, 0] + noise * drawn
    best = taught(GramRegression(intercept=intercept), features, targets).maximise_evidence()
    peer = bayesian_ridge(features, targets, intercept=intercept)
    share = noise**2 / 4
    assert best.prior_precision == pytest.approx(peer.lambda_, rel=1e-6)
    assert best.noise_variance == pytest.approx(1 / peer.alpha_, rel=1e-9 + 4e-15 / share)


def test_where_the_evidence_has_no_maximum() -> None:
    features, _ = sample(30, 3, seed=1)
    for intercept in (True, False):
        with pytest.raises(EvidenceError, match="no noise"):
            taught(GramRegression(intercept=intercept), features, features @ np.ones(3)).maximise_evidence()
    # As many features as events, and no peak either.
    with pytest.raises(EvidenceError, match="no noise"):
        taught(GramRegression(), *wide(10, 100, seed=0)).maximise_evidence()
    for model, extra in ((GramRegression(intercept=False), 0.0), (GramRegression(), 5.0)):
        feature = np.array([[1.0], [1.0], [1.0 - extra], [1.0 - extra]])
        with pytest.raises(EvidenceError, match="different from 0"):
            # Targets at right angles to the only feature.
            taught(model, feature, extra + np.array([1.0, -1.0, 2.0, -2.0])).maximise_evidence()
    for model, level in ((GramRegression(intercept=False), 0.0), (GramRegression(), 0.0), (GramRegression(), 0.1)):
        with pytest.raises(EvidenceError, match="targets that are not all"):
            taught(model, features, np.full(30, level)).maximise_evidence()
    with pytest.raises(EvidenceError, match="a feature that varies"):
        taught(GramRegression(), np.ones((4, 2)), np.arange(4.0)).maximise_evidence()
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
    forward = model.select("forward")
    backward = model.select("backward")
    assert {step.name for step in forward} == {step.name for step in backward} == set(range(9))
    assert [step.residual_squares for step in forward[5:]] == pytest.approx([0.0] * 4, abs=1e-9)
    assert [step.residual_squares for step in backward[:4]] == pytest.approx([0.0] * 4, abs=1e-9)
    assert 5 in [step.name for step in backward[:4]]
    assert all(one.residual_squares >= two.residual_squares - 1e-12 for one, two in pairwise(forward))
    assert backward[-1].residual_squares == pytest.approx(((targets - targets.mean()) ** 2).sum())


@pytest.mark.long
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [0.0, 0.5, 20.0])
def test_bias_and_variance_by_closed_form_and_simulation(intercept: bool, strength: float) -> None:
    generator = np.random.default_rng(17)
    features = generator.normal(1.0, 1.0, (15, 3))
    weights = np.array([1.0, -2.0, 0.5])
    level = 0.7
    noise = 0.3
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
    result = []
    for _ in range(200):
        drawn = taught(GramRegression(intercept=intercept), features, clean + generator.normal(0, noise**0.5, 15))
        result.append(drawn.solve("ridge", strength).predict(dict(enumerate(x.tolist()))) - x @ weights - level)
    assert np.mean(result) == pytest.approx(found.bias, abs=4 * (found.variance / 200) ** 0.5)
    assert np.var(result) == pytest.approx(found.variance, rel=0.3)
