"""Online calibration: the identity before data, the right map after it, and never one that falls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from stream_bayes import Beta, BetaBernoulli, GaussianNB
from stream_bayes.kernels.fusion.calibration import fold_calibration, keep_rising
from stream_bayes.learners.fusion import LogOddsFusion
from stream_bayes.learners.fusion.fusion import Calibration
from stream_bayes.learners.fusion.weights import LogisticWeights
from stream_bayes.typing import FloatArray


def calibrate(kind: str, scores: Any, outcomes: Any, precision: float = 0.5) -> tuple[Calibration, FloatArray]:
    made = Calibration(kind, precision, 10.0)
    scores = np.asarray(scores, dtype=np.float64)
    result, _ = made.fold(
        scores, 0.1 * np.ones(len(scores)), np.asarray(outcomes, dtype=np.int64), np.ones(len(scores))
    )
    return made, result


def duplicated(count: int = 3000, copies: int = 6) -> tuple[list[dict[str, float]], list[bool]]:
    """One number said six times over: naive Bayes takes it for six witnesses."""
    generator = np.random.default_rng(4)
    labels = (generator.random(count) < 0.4).tolist()
    values = [float(generator.normal(1.2 * y, 1.0)) for y in labels]
    return [{f"copy {place}": value for place in range(copies)} for value in values], labels


@pytest.mark.parametrize("kind", ["platt", "beta"])
@pytest.mark.parametrize("precision", [0.03, 1.0, 40.0])
def test_the_identity_before_data(kind: str, precision: float) -> None:
    scores = np.linspace(-10.0, 10.0, 41)
    _, result = calibrate(kind, scores, np.full(41, -1), precision)
    np.testing.assert_allclose(result, scores, rtol=1e-12, atol=1e-12)
    plain, mapped = (LogOddsFusion((BetaBernoulli(prior=Beta(7, 2)),), calibration=kind) for kind in ("none", kind))
    assert mapped.predict_proba_one({}) == pytest.approx(plain.predict_proba_one({}), rel=1e-12)


def test_one_platt_step_by_hand() -> None:
    """s = 2, y = 0, precision 4: x = (2, 1), q = 5/4, k = 1 / sqrt(1 + pi q / 8) = 0.81899, p = sigmoid(2 k) = 0.83726.

    k p = 0.68571, k^2 p (1 - p) = 0.091393: slope 1 - 2/4 x 0.68571, intercept -0.68571 / 4,
    Var(slope) = 1/4 - (2/4)^2 x 0.091393 = 0.22715. The latent variance was 1^2 x 0.1 + q = 1.35.
    """
    made = Calibration("platt", 4.0, 10.0)
    result, spread = made.fold(np.array([2.0]), np.array([0.1]), np.array([0]), np.ones(1))
    assert (result[0], spread[0]) == pytest.approx((2.0, 1.35))
    slope, intercept = made.weights().values()
    assert (slope.mean, intercept.mean, slope.variance) == pytest.approx((0.65715, -0.17143, 0.22715), abs=1e-5)


@pytest.mark.parametrize(("slope", "shift"), [(0.3, 0.8), (2.5, -1.0), (-0.6, 0.0)])
def test_platt_finds_the_map(slope: float, shift: float) -> None:
    """Labels drawn from a known map: the weights come near it, and nearer still to the batch optimum."""
    generator = np.random.default_rng(7)
    scores = generator.normal(0.0, 2.5, 8000)
    outcomes = generator.random(8000) < expit(slope * scores + shift)
    found = [normal.mean for normal in calibrate("platt", scores, outcomes)[0].weights().values()]
    batch = LogisticRegression(C=np.inf).fit(scores[:, None], outcomes)
    assert found == pytest.approx([slope, shift], abs=0.2)
    assert found == pytest.approx([batch.coef_[0, 0], batch.intercept_[0]], abs=0.08)


def test_beta_finds_a_map_with_two_slopes() -> None:
    """Trust the low end and doubt the high one: logit p = 1.0 ln q - 0.3 ln(1 - q) + 0.2."""
    generator = np.random.default_rng(8)
    scores = generator.normal(0.0, 3.0, 20_000)
    truth = -np.log1p(np.exp(-scores)) + 0.3 * np.log1p(np.exp(scores)) + 0.2
    outcomes = generator.random(len(scores)) < expit(truth)
    beta, result = calibrate("beta", scores, outcomes)
    assert [normal.mean for normal in beta.weights().values()] == pytest.approx([1.0, 0.3, 0.2], abs=0.12)
    _, platt = calibrate("platt", scores, outcomes)
    late = slice(5000, None)
    assert np.abs(result - truth)[late].mean() < 0.5 * np.abs(platt - truth)[late].mean()


@pytest.mark.parametrize("kind", ["platt", "beta"])
@pytest.mark.parametrize("method", ["stacking", "averaging"])
def test_repairs_an_overconfident_member(kind: str, method: str) -> None:
    """Naive Bayes on six copies of one feature; predictions each made before their event was learned."""
    events, labels = duplicated()
    raw = LogOddsFusion((GaussianNB(),), method="averaging", calibration="none")
    repaired = LogOddsFusion((GaussianNB(),), method=method, calibration=kind)
    for model in (raw, repaired):
        model.test_then_train(events, labels)
    before = raw.reliability()
    after = repaired.reliability()
    assert before.expected_calibration_error > 0.1
    assert after.expected_calibration_error < before.expected_calibration_error / 4.0
    assert after.log_loss < 0.75 * before.log_loss
    assert after.brier_score < before.brier_score


def test_calibration_learns_from_the_prediction_before_the_event() -> None:
    """A coin of few throws believes the last one; they alternate, so what it says beforehand is wrong."""
    throws = [bool(place % 2) for place in range(40)]
    model = LogOddsFusion((BetaBernoulli(prior=Beta(0.01, 0.01)),), method="averaging", calibration_precision=0.5)
    model.test_then_train([{}] * 40, throws)
    odds = np.array([(0.01 + sum(throws[:row])) / (0.01 + row - sum(throws[:row])) for row in range(40)])
    expected = calibrate("platt", np.log(odds), throws)[0].weights()
    for name, weight in model.calibration_weights().items():
        assert tuple(weight) == pytest.approx(tuple(expected[name]), rel=1e-9)
    assert model.calibration_weights()["slope"].mean < 0.3


def test_slopes_of_beta_never_fall_below_zero() -> None:
    """Scores that say the opposite of what comes, and at random turns what comes."""
    generator = np.random.default_rng(11)
    weights = LogisticWeights([1.0, 1.0, 0.0], 0.05)
    for _ in range(1500):
        score = generator.normal(0.0, 4.0, 1)
        against = generator.random() < 0.7
        outcome = np.array([(score[0] < 0.0) == against], dtype=np.int64)
        fold_calibration(
            score, np.zeros(1), outcome, np.ones(1), 10.0, weights.factor, weights.target, np.empty(1), np.empty(1)
        )
        assert (weights.mean()[:2] >= -1e-12).all()
    assert weights.mean()[:2] == pytest.approx([0.0, 0.0], abs=0.1)


@pytest.mark.slow
def test_the_nearest_rising_map() -> None:
    """Against a quadratic programme: the least of (m - x)' L L' (m - x) with two weights at 0 or more."""
    generator = np.random.default_rng(12)
    sides = set()
    for _ in range(60):
        factor = np.tril(generator.normal(0.0, 1.0, (3, 3))) + 1.5 * np.eye(3)
        start = generator.normal(-0.4, 1.0, 3)
        target = factor.T @ start
        mean = np.empty(3)
        keep_rising(factor, target, mean)
        best = minimize(
            lambda x, factor=factor, start=start: ((factor.T @ (x - start)) ** 2).sum(),
            np.maximum(start, 0.5),
            bounds=[(0.0, None), (0.0, None), (None, None)],
            options={"ftol": 1e-15, "gtol": 1e-10},
        )
        np.testing.assert_allclose(mean, best.x, atol=2e-5)
        np.testing.assert_allclose(factor.T @ mean, target, atol=1e-12)
        sides.add((bool(mean[0] > 0.0), bool(mean[1] > 0.0)))
    assert len(sides) == 4


def test_clipped_scores() -> None:
    """Beyond the bound a score counts as the bound."""
    made = Calibration("platt", 1.0, 3.0)
    result, _ = made.fold(np.array([50.0, -50.0]), np.zeros(2), np.array([-1, -1]), np.ones(2))
    assert result == pytest.approx([3.0, -3.0])
    assert math.isclose(made.weights()["slope"].variance, 1.0)
