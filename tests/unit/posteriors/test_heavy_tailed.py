"""Heavy-tailed predictions: densities, tails and quantiles at any distance, against scipy and the learner."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from stream_bayes import RobustRegression
from stream_bayes.posteriors import HeavyTailed

FAR = [0.0, 1e-3, 1.0, 1e2, 1e6, 1e20, 1e100]


@pytest.mark.parametrize("degrees", [0.2, 1.0, 4.0, 30.0, 1000.0])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_student_tails_agree_with_scipy_at_any_distance(degrees: float, scale: float) -> None:
    prediction = HeavyTailed(0.0, 0.0, "student-t", scale, degrees)
    oracle = stats.t(degrees, scale=scale)
    assert prediction.log_density(FAR) == pytest.approx(oracle.logpdf(FAR), rel=1e-10, abs=1e-12)
    below = -np.array(FAR)
    assert prediction.cdf(below) == pytest.approx(oracle.cdf(below), rel=1e-10, abs=0.0)


def test_student_tails_by_hand() -> None:
    """4 degrees: the density is 3/8 (1 + t^2 / 4)^(-5/2), so far away 12 / t^5, and the tail beyond is 3 / t^4.

    ln 12 - 5 ln 1e20 = -227.774; 3 / 1e32 = 3e-32. A line with the variance 1 adds a share of about 1 / t^2.
    """
    for variance in (0.0, 1.0):
        prediction = HeavyTailed(0.0, variance, "student-t", 1.0, 4.0)
        assert prediction.log_density(1e20) == pytest.approx(math.log(12.0) - 100.0 * math.log(10.0), rel=1e-13)
        assert prediction.cdf(-1e8) == pytest.approx(3e-32, rel=1e-10)
        assert prediction.quantile(3e-32) == pytest.approx(-1e8, rel=1e-10)


@pytest.mark.parametrize(("variance", "scale"), [(0.0, 1.0), (1.0, 1.0), (0.3, 2.0), (25.0, 0.4)])
def test_laplace_tails_by_hand(variance: float, scale: float) -> None:
    """Far away the density is exp(-d / b + v / (2 b^2)) / (2 b), and the tail beyond is b times that.

    With v = 1 and b = 1 the logarithm at 800 is -800 + 1/2 - ln 2 = -800.193; with v = 0 it is -800.693.
    """
    prediction = HeavyTailed(3.0, variance, "laplace", scale)
    for distance in (800.0, 1e6, 1e20):
        tail = -distance / scale + 0.5 * variance / scale**2
        expected = tail - math.log(2.0 * scale)
        assert prediction.log_density(3.0 + distance) == pytest.approx(expected, rel=1e-13)
        assert prediction.log_density(3.0 - distance) == pytest.approx(expected, rel=1e-13)
    # A tail of 1e-200: ln(1 / 2) - d / b + v / (2 b^2) = ln 1e-200.
    distance = scale * (200.0 * math.log(10.0) - math.log(2.0)) + 0.5 * variance / scale
    assert prediction.quantile(1e-200) == pytest.approx(3.0 - distance, rel=1e-12)
    assert prediction.cdf(3.0 - distance) == pytest.approx(1e-200, rel=1e-10)


@pytest.mark.parametrize("variance", [1e-8, 0.5, 40.0, 1e12])
def test_laplace_density_and_tail_agree_with_integration(variance: float) -> None:
    """The mean of the density of the noise over the line N(0, v), in pieces around the kink at the point."""
    prediction = HeavyTailed(0.0, variance, "laplace", 0.7)
    line = stats.norm(0.0, math.sqrt(variance))
    noise = stats.laplace(scale=0.7)
    for share in (0.0, 0.4, 2.0, 5.0):
        point = share * math.sqrt(variance + 0.98)
        reach = 40.0 * min(0.7, math.sqrt(variance))
        centres = (point, 0.0) if variance < 1.0 else (point,)
        ends = sorted({centre + side * reach for centre in centres for side in (-1.0, 0.0, 1.0)})

        def joint(f: float, point: float = point) -> float:
            return float(line.pdf(f) * noise.pdf(point - f))

        density = sum(quad(joint, *piece, epsabs=0.0)[0] for piece in pairwise(ends))
        assert prediction.density(point) == pytest.approx(density, rel=1e-9)
    normal = stats.norm(0.0, math.sqrt(1e12))
    wide = HeavyTailed(0.0, 1e12, "laplace", 1e-3)
    assert wide.quantile([1e-100, 0.2]) == pytest.approx(normal.ppf([1e-100, 0.2]), rel=1e-12)


@pytest.mark.parametrize("noise", ["laplace", "student-t"])
@pytest.mark.parametrize("variance", [0.0, 1e-6, 2.0, 1e8])
@pytest.mark.parametrize("degrees", [0.5, 4.0, 200.0])
def test_quantiles_and_tails_are_inverse(noise: str, variance: float, degrees: float) -> None:
    prediction = HeavyTailed(0.0, variance, noise, 0.6, degrees)
    tails = np.array([0.4999, 0.3, 0.05, 1e-5, 1e-30, 1e-90])
    assert prediction.cdf(prediction.quantile(tails)) == pytest.approx(tails, rel=1e-10, abs=0.0)
    assert prediction.quantile(1.0 - tails[:3]) == pytest.approx(-prediction.quantile(tails[:3]), rel=1e-12)


def test_the_ends_of_the_line_have_no_density() -> None:
    for noise in ("laplace", "student-t"):
        prediction = HeavyTailed(1.0, 0.5, noise, 2.0, 3.0)
        ends = np.array([-np.inf, np.inf])
        assert prediction.log_density(ends).tolist() == [-np.inf, -np.inf]
        assert prediction.cdf(ends).tolist() == [0.0, 1.0]
        assert prediction.cdf(np.array([])).tolist() == []


def test_a_quantile_that_no_float_can_hold_is_infinite() -> None:
    """With half a degree of freedom the tail falls as d^(-1/2): 1e-300 of it is near 1e600."""
    assert HeavyTailed(0.0, 1.0, "student-t", 1.0, 0.5).quantile(1e-300) == -math.inf


@pytest.mark.parametrize("noise", ["laplace", "student-t"])
@pytest.mark.parametrize("target", [0.0, 0.3, 5.0, 1e2, 1e9, 1e20, -1e49])
@pytest.mark.parametrize("precision", [1e-6, 0.7, 1e4])
def test_learning_and_predicting_have_one_density(noise: str, target: float, precision: float) -> None:
    model = RobustRegression(noise, 0.7, 2.5, precision, intercept=False)
    prediction = model.predictive_one({"x": 1.0})
    assert isinstance(prediction, HeavyTailed)
    expected = prediction.log_density(target)
    model.learn_one({"x": 1.0}, target)
    assert model.log_evidence() == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "degrees"), [("laplace", 4.0), ("student-t", 4.0), ("student-t", 2.2)])
def test_losses_that_are_functions(noise: str, degrees: float) -> None:
    """Squared loss gives variance and squared distance; three times the cost of too little gives the quantile 3/4."""
    prediction = HeavyTailed(0.5, 0.3, noise, 2.0, degrees)
    risk = prediction.risk(1.5, lambda action, value: (action - value) ** 2)
    assert risk == pytest.approx(prediction.variance + 1.0, rel=1e-9)
    action = prediction.bayes_action(lambda a, x: 3.0 * max(x - a, 0.0) + max(a - x, 0.0))
    assert action == pytest.approx(prediction.quantile(0.75), abs=1e-4)
