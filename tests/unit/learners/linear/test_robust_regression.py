"""Robust regression: moments of one event by numerical integration, and lines that outliers do not move."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize

from stream_bayes import BayesianLinearRegression, RobustRegression
from stream_bayes.errors import ParameterError
from stream_bayes.learners.linear.robust import HeavyTailedPredictions
from stream_bayes.posteriors import HeavyTailed
from stream_bayes.typing import FloatArray
from tests.support.linear_regressions import NAMES, data, taught

ERRORS = [0.0, 0.2, -1.5, 4.0, -25.0]


def noise_of(model: RobustRegression) -> Any:
    if model.noise == "laplace":
        return stats.laplace(scale=model.noise_scale)
    return stats.t(model.degrees, scale=model.noise_scale)


def by_integration(model: RobustRegression, variance: float, error: float, weight: float) -> tuple[float, ...]:
    """Log evidence, mean and variance of f ~ N(0, variance) after one target."""
    noise = noise_of(model)
    scale = model.noise_scale

    def log_joint(f: float) -> float:
        return float(stats.norm.logpdf(f, 0, math.sqrt(variance)) + weight * noise.logpdf(error - f))

    steps = np.array([-12, -6, -3, -1, 0, 1, 3, 6, 12])
    points = np.unique(np.concatenate((steps * math.sqrt(variance), error + steps * scale, [error / 2])))
    top = max(map(log_joint, points))

    def integral(value: Any) -> float:
        def weighed(f: float) -> float:
            return float(value(f) * math.exp(log_joint(f) - top))

        return float(sum(quad(weighed, *ends, epsabs=1e-14)[0] for ends in pairwise(points)))

    whole = integral(lambda _: 1.0)
    mean = integral(lambda f: f) / whole
    return math.log(whole) + top, mean, integral(lambda f: (f - mean) ** 2) / whole


@pytest.mark.slow
@pytest.mark.parametrize("variance", [0.01, 0.5, 9.0, 400.0])
@pytest.mark.parametrize("weight", [1.0, 3.0])
@pytest.mark.parametrize(
    "model",
    [
        RobustRegression("laplace", 0.3),
        RobustRegression("laplace", 2.0),
        RobustRegression("student-t", 0.3, 4.0),
        RobustRegression("student-t", 2.0, 1.0),
        RobustRegression("student-t", 0.7, 30.0),
    ],
    ids=str,
)
def test_one_event_has_the_moments_of_its_posterior(model: RobustRegression, variance: float, weight: float) -> None:
    """The variance is the exact one, unless that is larger than before: then it stays."""
    for error in ERRORS:
        one = RobustRegression(model.noise, model.noise_scale, model.degrees, 1.0 / variance, intercept=False)
        one.learn_one({"x": 1.0}, error, w=weight)
        evidence, mean, left = by_integration(model, variance, error, weight)
        assert one.log_evidence() == pytest.approx(evidence, rel=1e-8, abs=1e-8)
        found = one.weights()["x"]
        assert found.mean == pytest.approx(mean, rel=1e-8, abs=1e-10 * math.sqrt(variance))
        assert found.variance == pytest.approx(min(left, variance), rel=1e-8)


@pytest.mark.parametrize("noise", ["laplace", "student-t"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("forgetting", [0.9, 0.3])
def test_an_event_is_learned_after_what_is_known_is_discounted(noise: str, covariance: str, forgetting: float) -> None:
    """N(m, v) is N(m, v / 0.9) when the next target is learned; what it was predicted with is N(m, v)."""
    model = RobustRegression(noise, 0.7, 3.0, 0.4, covariance, intercept=False, forgetting=forgetting)
    mean = 0.0
    variance = 2.5
    evidence = 0.0
    for target in (0.5, -3.0, 8.0):
        evidence += by_integration(model, variance, target - mean, 1.0)[0]
        _, shift, left = by_integration(model, variance / forgetting, target - mean, 1.0)
        mean += shift
        variance = min(left, variance / forgetting)
        model.learn_one({"x": 1.0}, target)
        found = model.weights()["x"]
        assert (found.mean, found.variance) == pytest.approx((mean, variance), rel=1e-8)
        assert model.log_evidence() == pytest.approx(evidence, rel=1e-8)


def test_a_far_target_with_laplace_noise_by_hand() -> None:
    """Far away the likelihood is exp(-(y - f) / b): f ~ N(0, v) moves to v / b = 0.25 / 0.5 and keeps its variance."""
    model = RobustRegression("laplace", 0.5, prior_precision=4.0, intercept=False)
    model.learn_one({"x": 1.0}, 1000.0)
    assert model.weights()["x"].mean == pytest.approx(0.5, rel=1e-9)
    assert model.weights()["x"].variance == pytest.approx(0.25, rel=1e-9)
    # ln(1 / (2 b)) - 1000 / b + v / (2 b^2).
    assert model.log_evidence() == pytest.approx(math.log(1.0) - 2000.0 + 0.5, rel=1e-12)


def test_a_far_target_with_student_noise_moves_little() -> None:
    """There the slope of its log density is (degrees + 1) / distance: 5 / 1000, times the variance 0.25."""
    model = RobustRegression("student-t", 0.5, 4.0, prior_precision=4.0, intercept=False)
    model.learn_one({"x": 1.0}, 1000.0)
    assert model.weights()["x"].mean == pytest.approx(0.25 * 5.0 / 1000.0, rel=1e-5)


@pytest.mark.parametrize("noise", ["laplace", "student-t"])
def test_all_weights_move_as_by_a_normal_observation(noise: str) -> None:
    """With d and r of the line: m + S x d / v, and S - (1 - r) S x x'S / v."""
    design, targets = data(8, 3)
    model = taught(RobustRegression(noise, 0.7, 3.0, 0.4), design, targets)
    before = model.joint("intercept", *NAMES)
    x = np.array([1.0, 0.5, -1.0, 2.0, 1.0])
    variance = float(x @ before.covariance @ x)
    mean = float(x @ before.mean)
    _, shift, left = by_integration(model, variance, 0.8, 1.0)
    model.learn_one(dict(zip(NAMES, x[1:].tolist(), strict=True)), mean + 0.8)
    after = model.joint("intercept", *NAMES)
    gain = before.covariance @ x / variance
    np.testing.assert_allclose(after.mean, before.mean + gain * shift, rtol=1e-8, atol=1e-10)
    expected = before.covariance - (1 - left / variance) * variance * np.outer(gain, gain)
    np.testing.assert_allclose(after.covariance, expected, rtol=1e-7, atol=1e-12)


def outlying(count: int = 400) -> tuple[FloatArray, FloatArray]:
    """One target in five is wrong by far, always to the same side."""
    design, targets = data(count, 7)
    wrong = np.random.default_rng(1).random(count) < 0.2
    return design, targets + 30.0 * wrong


TRUTH = np.array([0.5, -1.0, 2.0, 0.0, 0.3])


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_outliers_move_least_squares_and_not_this(covariance: str) -> None:
    design, targets = outlying()
    least = taught(BayesianLinearRegression(0.01, 0.25), design, targets)
    robust = taught(RobustRegression("student-t", 0.5, 2.0, 0.01, covariance), design, targets)
    off = [abs(model.weights()["intercept"].mean - 0.5) for model in (least, robust)]
    assert off[0] > 5.0
    assert off[1] < 0.1
    means = [weight.mean for weight in robust.weights().values()]
    np.testing.assert_allclose(means, TRUTH, atol=0.25)


def test_laplace_is_near_median_regression() -> None:
    """One pass over 2,000 events, against all of them at once: a few hundredths of a standard error."""
    generator = np.random.default_rng(5)
    design, _ = data(2000, 5)
    targets = design @ TRUTH + generator.laplace(0.0, 0.6, 2000)
    model = taught(RobustRegression("laplace", 0.6, prior_precision=1e-3), design, targets)
    peer = sm.QuantReg(targets, design).fit(q=0.5)
    means = np.array([weight.mean for weight in model.weights().values()])
    errors = np.array([weight.std for weight in model.weights().values()])
    assert (np.abs(means - peer.params) < 0.6 * errors).all()
    # Of a median the variance is scale^2 (X'X)^-1.
    expected = 0.6 * np.sqrt(np.linalg.inv(design.T @ design).diagonal())
    np.testing.assert_allclose(errors, expected, rtol=0.1)


def test_student_is_near_the_most_probable_line() -> None:
    generator = np.random.default_rng(6)
    design, _ = data(1500, 6)
    targets = design @ TRUTH + 0.4 * generator.standard_t(3.0, 1500)
    model = taught(RobustRegression("student-t", 0.4, 3.0, 1e-3), design, targets)

    def loss(weights: FloatArray) -> float:
        return -float(stats.t.logpdf(targets - design @ weights, 3.0, scale=0.4).sum())

    peer = minimize(loss, TRUTH, tol=1e-8)
    means = np.array([weight.mean for weight in model.weights().values()])
    errors = np.array([weight.std for weight in model.weights().values()])
    assert (np.abs(means - peer.x) < 0.5 * errors).all()


def test_the_evidence_prefers_the_noise_there_is() -> None:
    generator = np.random.default_rng(8)
    design, _ = data(600, 8)
    targets = design @ TRUTH + generator.laplace(0.0, 0.5, 600)
    kinds = {
        "laplace": RobustRegression("laplace", 0.5),
        "too wide": RobustRegression("laplace", 2.0),
        "student-t": RobustRegression("student-t", 0.5, 4.0),
    }
    evidence = {name: taught(model, design, targets).log_evidence() for name, model in kinds.items()}
    assert max(evidence, key=evidence.__getitem__) == "laplace"


@pytest.mark.parametrize("degrees", [200.0, 1000.0])
def test_many_degrees_are_normal_noise(degrees: float) -> None:
    design, targets = data(30, noise=0.7)
    robust = taught(RobustRegression("student-t", 0.7, degrees, 0.3), design, targets)
    normal = taught(BayesianLinearRegression(0.3, 0.49), design, targets)
    for name, weight in robust.weights().items():
        assert weight.mean == pytest.approx(normal.weights()[name].mean, abs=2.0 / degrees)
        assert weight.std == pytest.approx(normal.weights()[name].std, rel=10.0 / degrees)


def averaged(part: Any, point: float, variance: float) -> float:
    """The mean of a function of point - f, f ~ N(0.7, variance)."""
    line = stats.norm(0.7, math.sqrt(variance))
    reach = 12 * math.sqrt(variance)
    limits = {"epsabs": 1e-13, "limit": 400, "points": [0.7, point]}
    return float(quad(lambda f: line.pdf(f) * part(point - f), 0.7 - reach, 0.7 + reach, **limits)[0])


@pytest.mark.parametrize("noise", ["laplace", "student-t"])
@pytest.mark.parametrize("variance", [0.0, 0.3, 50.0])
def test_predictions_are_the_line_and_the_noise_together(noise: str, variance: float) -> None:
    prediction = HeavyTailed(0.7, variance, noise, 0.6, 2.5)
    own = stats.laplace(scale=0.6) if noise == "laplace" else stats.t(2.5, scale=0.6)
    for point in (0.7, 1.0, -2.0, 9.0):
        if variance == 0.0:
            expected = own.cdf(point - 0.7), own.pdf(point - 0.7)
        else:
            expected = averaged(own.cdf, point, variance), averaged(own.pdf, point, variance)
        assert prediction.cdf(point) == pytest.approx(expected[0], abs=1e-9)
        assert prediction.density(point) == pytest.approx(expected[1], rel=1e-7)
    low, high = prediction.interval(0.9)
    assert [prediction.cdf(low), prediction.cdf(high)] == pytest.approx([0.05, 0.95], abs=1e-9)
    assert prediction.quantile(0.5) == prediction.median == prediction.mean == prediction.mode == 0.7
    assert prediction.quantile(0.8) == pytest.approx(1.4 - prediction.quantile(0.2), rel=1e-12)


def test_draws_are_of_the_prediction() -> None:
    for prediction in (HeavyTailed(1.0, 0.3, "laplace", 0.6), HeavyTailed(1.0, 0.3, "student-t", 0.6, 5.0)):
        draws = prediction.sample(4000, np.random.default_rng(2))
        assert stats.kstest(draws, np.vectorize(prediction.cdf)).pvalue > 0.01
        assert draws.var() == pytest.approx(prediction.variance, rel=0.15)


def test_far_tails_keep_their_digits() -> None:
    far = HeavyTailed(0.0, 0.0, "laplace", 2.0).interval(1.0 - 1e-12)
    assert far[1] == pytest.approx(2.0 * 12.0 * math.log(10.0), rel=1e-4)
    wide = HeavyTailed(0.0, 0.0, "student-t", 2.0, 1.0).interval(1.0 - 1e-9)
    assert wide[1] == pytest.approx(stats.cauchy(scale=2.0).isf(0.5e-9), rel=1e-4)


def test_many_rows_have_the_intervals_of_each() -> None:
    design, targets = data(12)
    for model in (RobustRegression("laplace", 0.4), RobustRegression("student-t", 0.4, 1.5)):
        predictions = model.test_then_train([dict(zip(NAMES, row, strict=True)) for row in design[:, 1:]], targets)
        assert isinstance(predictions, HeavyTailedPredictions)
        low, high = predictions.interval(0.8)
        for row in range(12):
            one = predictions.predictive(row)
            assert (low[row], high[row]) == pytest.approx(one.interval(0.8), rel=1e-12)
            assert predictions.variance[row] == one.variance
        assert np.isfinite(predictions.uncertainties().variance).all()


@pytest.mark.parametrize("noise", ["laplace", "student-t"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_extreme_targets_and_weights_leave_it_finite(noise: str, covariance: str) -> None:
    model = RobustRegression(noise, 1e-3, 0.1, 1e-6, covariance)
    for target in (1e50, -1e50, 1e-300, 0.0):
        for weight in (1e12, 1e-12, 1.0):
            model.learn_one({"x": 1e3, "y": 1e-30}, target, w=weight)
            model.learn_one({"x": 1e-3}, target, w=weight)
    for known in model.weights().values():
        assert math.isfinite(known.mean)
        assert 0.0 < known.variance <= 1.000001e6
    assert math.isfinite(model.log_evidence())


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "student-t"])
def test_intervals_cover_what_they_say(noise: str) -> None:
    """Weights from the prior and noise from the model: 95 % intervals of weights and targets hold 94 to 95 %."""
    weights = []
    targets = []
    for seed in range(100):
        generator = np.random.default_rng(seed)
        truth = generator.normal(size=5)
        design = np.column_stack((np.ones(100), generator.normal(size=(100, 4))))
        model = RobustRegression(noise, 0.5, 3.0)
        y = design @ truth + noise_of(model).rvs(100, random_state=generator)
        rows = [dict(zip(NAMES, row, strict=True)) for row in design[:, 1:].tolist()]
        low, high = model.test_then_train(rows, y).interval(0.95)
        targets.append(np.mean((low <= y) & (y <= high)))
        ends = [weight.interval(0.95) for weight in model.weights().values()]
        weights += [first <= value <= last for (first, last), value in zip(ends, truth, strict=True)]
    assert np.mean(weights) == pytest.approx(0.95, abs=0.025)
    assert np.mean(targets) == pytest.approx(0.95, abs=0.01)


def test_parameters_out_of_range_are_refused() -> None:
    wrong: tuple[dict[str, Any], ...] = ({"noise": "normal"}, {"noise_scale": 0.0}, {"degrees": 0.01}, {"degrees": 1e4})
    for arguments in wrong:
        with pytest.raises(ParameterError, match=next(iter(arguments))):
            RobustRegression(**arguments)
