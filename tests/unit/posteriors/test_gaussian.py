from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from stream_bayes.errors import InputError, ParameterError
from stream_bayes.posteriors import Gamma, Normal, NormalInverseGamma, StudentT

numbers = st.floats(-100, 100)
scales = st.floats(0.05, 50)


def test_normal_mean_with_known_variance() -> None:
    """The mean temperature of a city: prior N(10, 4), one day at 16 with noise variance 9.

    Precision 1/4 + 1/9 = 13/36; mean (10/4 + 16/9) * 36/13 = (90 + 64) / 13; predictive variance 36/13 + 9.
    """
    belief = Normal(10, 4).update(16, noise_variance=9)
    assert belief.mean == pytest.approx(154 / 13)
    assert belief.variance == pytest.approx(36 / 13)
    guess = belief.predictive(9)
    assert guess.variance == pytest.approx(36 / 13 + 9)
    assert guess.aleatoric_variance == 9
    assert guess.epistemic_variance == pytest.approx(36 / 13)
    (low, high) = guess.interval(0.9)
    (left, right) = belief.interval(0.9)
    assert low < left < right < high


@given(values=st.lists(numbers, max_size=20), mean=numbers, variance=scales, noise=scales)
def test_normal_one_by_one_equals_many(values: list[float], mean: float, variance: float, noise: float) -> None:
    belief = Normal(mean, variance)
    for value in values:
        belief = belief.update(value, noise)
    together = Normal(mean, variance).update_many(values, noise)
    assert tuple(belief) == pytest.approx(tuple(together), rel=1e-9, abs=1e-9)
    precision = 1 / variance + len(values) / noise
    assert together.variance == pytest.approx(1 / precision)
    assert together.mean == pytest.approx((mean / variance + sum(values) / noise) / precision, abs=1e-9)


@pytest.mark.parametrize(("mean", "variance"), [(-3.0, 0.04), (11.0, 250.0)])
def test_normal_agrees_with_scipy(mean: float, variance: float) -> None:
    belief = Normal(mean, variance)
    oracle = stats.norm(mean, math.sqrt(variance))
    assert belief.bayes_action("squared") == belief.bayes_action("zero-one") == mean
    assert belief.median == pytest.approx(mean)
    assert belief.entropy == pytest.approx(oracle.entropy())
    assert belief.interval(0.8) == pytest.approx(oracle.interval(0.8))
    points = np.linspace(mean - 3, mean + 3, 7)
    np.testing.assert_allclose(belief.density(points), oracle.pdf(points))
    assert belief.log_density(1.5) == pytest.approx(oracle.logpdf(1.5))
    draws = belief.sample(40_000, np.random.default_rng(2))
    assert draws.mean() == pytest.approx(mean, abs=5 * math.sqrt(variance / 40_000))


@pytest.mark.parametrize("degrees", [0.7, 1.0, 2.0, 3.5, 60.0, 500.0, 1e9])
def test_student_t_agrees_with_scipy(degrees: float) -> None:
    belief = StudentT(degrees, -2, 3)
    oracle = stats.t(degrees, -2, 3)
    assert belief.interval(0.9) == pytest.approx(oracle.interval(0.9))
    assert belief.entropy == pytest.approx(oracle.entropy())
    points = np.array([-40.0, -2.0, 0.0, 5.0])
    np.testing.assert_allclose(belief.log_density(points), oracle.logpdf(points), rtol=1e-9)
    assert belief.density(1.0) == pytest.approx(oracle.pdf(1.0))
    assert belief.variance == (pytest.approx(oracle.var()) if degrees > 2 else math.inf)
    assert belief.bayes_action("absolute") == belief.bayes_action("zero-one") == belief.mean == -2.0
    assert belief.sample(4, np.random.default_rng(1)).shape == (4,)


def test_student_t_splits_its_variance() -> None:
    """5 degrees, scale 3: variance 9 * 5/3 = 15; with noise 10, ignorance 5. Two degrees: all infinite."""
    guess = StudentT(5, 0, 3, noise_variance=10)
    assert guess.variance == pytest.approx(15)
    assert guess.aleatoric_variance == 10
    assert guess.epistemic_variance == pytest.approx(5)
    heavy = StudentT(2, 0, 3, noise_variance=math.inf)
    assert heavy.variance == heavy.aleatoric_variance == heavy.epistemic_variance == math.inf
    assert StudentT(2, 0, 3).aleatoric_variance == 0.0


def test_student_t_log_density_far_out() -> None:
    """At z = 1e200 with 3 degrees: -(3 + 1)/2 * 2 ln z + ... is finite, as the tail is a power."""
    assert StudentT(3, 0, 1).log_density(1e200) == pytest.approx(-4 * 200 * math.log(10), rel=1e-2)


def test_normal_inverse_gamma_by_hand() -> None:
    """m=1, k=2, a=3, b=4, x=4: m' = (2*1 + 4)/3 = 2, k' = 3, a' = 3.5, b' = 4 + 2*9/(2*3) = 7.

    E[s2] = 7/2.5 = 2.8; Var[mu] = 2.8/3; the predictive variance is 2.8 * (1 + 1/3).
    """
    belief = NormalInverseGamma(1, 2, 3, 4).update(4)
    assert belief == NormalInverseGamma(mean=2, strength=3, shape=3.5, scale=7)
    assert belief.expected_variance == pytest.approx(2.8)
    assert belief.variance == pytest.approx(2.8 / 3)
    guess = belief.predictive()
    assert guess.degrees == 7
    assert guess.variance == pytest.approx(2.8 * 4 / 3)
    assert guess.aleatoric_variance == pytest.approx(2.8)
    assert guess.epistemic_variance == pytest.approx(belief.variance)
    assert belief.precision_marginal() == Gamma(3.5, 7)
    assert belief.mean_marginal().scale == pytest.approx(math.sqrt(7 / 3.5 / 3))


@given(values=st.lists(numbers, min_size=1, max_size=15), mean=numbers, rest=st.tuples(scales, scales, scales))
def test_normal_inverse_gamma_one_by_one_equals_many(
    values: list[float], mean: float, rest: tuple[float, float, float]
) -> None:
    belief = NormalInverseGamma(mean, *rest)
    for value in values:
        belief = belief.update(value)
    together = NormalInverseGamma(mean, *rest).update_many(values)
    assert tuple(belief) == pytest.approx(tuple(together), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("rest", [(2.0, 3.0, 4.0), (0.3, 2.2, 0.7)])
def test_normal_inverse_gamma_agrees_with_scipy(rest: tuple[float, float, float]) -> None:
    """The joint entropy is that of s2 plus the expected one of mu given s2, integrated over s2."""
    strength, shape, scale = rest
    belief = NormalInverseGamma(-1.5, *rest)
    variances = stats.invgamma(shape, scale=scale)

    def conditional(s2: float) -> float:
        return float(variances.pdf(s2) * 0.5 * math.log(2 * math.pi * math.e * s2 / strength))

    inner = integrate.quad(conditional, 0, 1)[0] + integrate.quad(conditional, 1, np.inf)[0]
    assert belief.entropy == pytest.approx(variances.entropy() + inner, rel=1e-6)
    marginal = stats.t(2 * shape, -1.5, math.sqrt(scale / shape / strength))
    assert belief.interval(0.9) == pytest.approx(marginal.interval(0.9))
    assert belief.bayes_action("absolute") == belief.bayes_action("zero-one") == -1.5
    draws = belief.sample(20_000, np.random.default_rng(5))
    assert draws.shape == (20_000, 2)
    assert np.mean(draws[:, 0] < marginal.ppf(0.3)) == pytest.approx(0.3, abs=0.02)
    assert np.mean(draws[:, 1] < variances.ppf(0.3)) == pytest.approx(0.3, abs=0.02)


def test_predictive_density_is_the_evidence_of_one_observation() -> None:
    """p(x) integrates N(x; m, s2 (1 + 1/k)) over the belief about s2."""
    belief = NormalInverseGamma(1, 2, 3, 4)

    def joint(s2: float) -> float:
        return float(stats.norm(1, math.sqrt(s2 * 1.5)).pdf(3.0) * stats.invgamma(3, scale=4).pdf(s2))

    assert belief.predictive().density(3.0) == pytest.approx(integrate.quad(joint, 0, np.inf)[0])


def test_vague_normal_inverse_gamma_still_predicts() -> None:
    guess = NormalInverseGamma(0, 1, 0.5, 1).predictive()
    assert guess.variance == guess.aleatoric_variance == math.inf
    assert all(map(math.isfinite, guess.interval(0.95)))


def test_moments_stand_for_their_observations() -> None:
    """2, 3, 7: mean 4, squares around it 4 + 1 + 9 = 14."""
    prior = NormalInverseGamma(1, 2, 3, 4)
    assert tuple(prior.update_moments(3, 4, 14)) == pytest.approx(tuple(prior.update_many([2, 3, 7])))
    assert prior.update_moments(0, 9, 0) == prior
    with pytest.raises(InputError, match="scatter"):
        prior.update_moments(3, 4, -1)


def test_no_observations_change_nothing() -> None:
    assert Normal(1, 2).update_many([], 3) == Normal(1, 2)
    assert NormalInverseGamma(1, 2, 3, 4).update_many([]) == NormalInverseGamma(1, 2, 3, 4)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "3", True, None])
def test_impossible_observations_are_refused(bad: float) -> None:
    with pytest.raises(InputError, match="observation must be a finite number"):
        Normal(1, 2).update(bad, 3)
    with pytest.raises(InputError, match="observation must be a finite number"):
        NormalInverseGamma(1, 2, 3, 4).update_many([1.0, bad])


def test_observations_too_large_are_refused() -> None:
    with pytest.raises(InputError, match="scatter"):
        NormalInverseGamma(1, 2, 3, 4).update_many([1e200, -1e200])
    assert Normal(0, 1).update_many([1e308, 1e308], 1).mean == pytest.approx(1e308 / 1.5)


def test_impossible_noise_is_refused() -> None:
    with pytest.raises(ParameterError, match="noise_variance"):
        Normal(1, 2).update(1, noise_variance=0)
    with pytest.raises(ParameterError, match="at most the variance"):
        Normal(1, 2, noise_variance=3)
    with pytest.raises(ParameterError, match="at most the variance"):
        StudentT(4, 0, 1, noise_variance=3)
    with pytest.raises(ParameterError, match="noise_variance"):
        StudentT(4, 0, 1, noise_variance=math.inf)
