from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stream_bayes.posteriors import Gamma, NegativeBinomial

GAMMAS = [(9.0, 3.0), (0.4, 2.5), (1.0, 0.3), (1.2, 7.0), (400.0, 0.05)]
MASSES = [0.5, 0.9, 0.95, 0.999]
parameters = st.floats(0.2, 500.0)


@given(shape=parameters, rate=parameters, mass=st.floats(0.05, 0.99))
def test_gamma_intervals_hold_their_mass(shape: float, rate: float, mass: float) -> None:
    belief = Gamma(shape, rate)
    oracle = stats.gamma(shape, scale=1 / rate)
    (low, high) = belief.interval(mass)
    (left, right) = belief.hdi(mass)
    assert oracle.cdf(high) - oracle.cdf(low) == pytest.approx(mass)
    assert oracle.cdf(right) - oracle.cdf(left) == pytest.approx(mass)
    assert right - left <= (high - low) * (1 + 1e-6)


@pytest.mark.parametrize(("shape", "rate"), GAMMAS)
def test_gamma_agrees_with_scipy(shape: float, rate: float) -> None:
    belief = Gamma(shape, rate)
    oracle = stats.gamma(shape, scale=1 / rate)
    assert belief.mean == pytest.approx(oracle.mean())
    assert belief.variance == pytest.approx(oracle.var())
    assert belief.median == pytest.approx(oracle.median())
    assert belief.entropy == pytest.approx(oracle.entropy())
    for mass in MASSES:
        assert belief.interval(mass) == pytest.approx(oracle.interval(mass))
    points = oracle.ppf([0.1, 0.5, 0.9])
    np.testing.assert_allclose(belief.density(points), oracle.pdf(points), rtol=1e-9)
    assert belief.density(-1.0) == 0.0


@pytest.mark.parametrize("mass", MASSES)
@pytest.mark.parametrize(("shape", "rate"), GAMMAS)
def test_gamma_hdi_cuts_the_density_at_one_height(shape: float, rate: float, mass: float) -> None:
    """No point outside is denser than one inside: equal ends, or a start at 0 where the density falls."""
    oracle = stats.gamma(shape, scale=1 / rate)
    low, high = Gamma(shape, rate).hdi(mass)
    assert oracle.cdf(high) - oracle.cdf(low) == pytest.approx(mass)
    if shape <= 1:
        assert low == 0.0
    else:
        peak = oracle.pdf((shape - 1) / rate)
        assert oracle.pdf(low) == pytest.approx(oracle.pdf(high), abs=1e-3 * peak)


def test_gamma_learns_a_poisson_rate() -> None:
    """Gamma(2, 0.5), counts 1, 3, 5 in unit exposure: Gamma(2 + 9, 0.5 + 3); mode (11 - 1) / 3.5."""
    belief = Gamma(2, 0.5).update(1).update(3).update(5)
    assert belief == Gamma(2, 0.5).update_counts(9, 3) == Gamma(11, 3.5)
    assert belief.mode == 10 / 3.5
    assert Gamma(0.5, 2).mode == 0.0
    assert belief.bayes_action("squared") == 11 / 3.5
    assert Gamma(2, 0.5).update(4, exposure=2.0) == Gamma(6, 2.5)


@pytest.mark.parametrize(("shape", "rate", "exposure"), [(9.0, 3.0, 1.0), (0.4, 2.5, 6.0), (30.0, 0.2, 0.7)])
def test_negative_binomial_agrees_with_scipy(shape: float, rate: float, exposure: float) -> None:
    guess = Gamma(shape, rate).predictive(exposure)
    oracle = stats.nbinom(shape, rate / (rate + exposure))
    assert guess == NegativeBinomial(shape, rate, exposure)
    assert guess.mean == pytest.approx(oracle.mean())
    assert guess.variance == pytest.approx(oracle.var())
    assert guess.variance == pytest.approx(guess.epistemic_variance + guess.aleatoric_variance)
    assert guess.epistemic_variance == pytest.approx(exposure**2 * Gamma(shape, rate).variance)
    assert guess.median == oracle.median()
    for mass in MASSES:
        assert guess.interval(mass) == oracle.interval(mass)
    for count in (0, 1, 7, 200):
        assert guess.log_pmf(count) == pytest.approx(oracle.logpmf(count))
        assert guess.pmf(count) == pytest.approx(oracle.pmf(count))


@pytest.mark.parametrize("shape", [1, 30, 1_000, pytest.param(200_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("count", [1, 7, 900, pytest.param(150_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(("rate", "exposure"), [(1, 1), (3, 1), (1, 1000)])
def test_log_pmf_agrees_with_whole_numbers(shape: int, count: int, rate: int, exposure: int) -> None:
    """C(shape + count - 1, count) rate^shape exposure^count / (rate + exposure)^(shape + count), without rounding."""
    ways = math.comb(shape + count - 1, count)
    top = ways * rate**shape * exposure**count
    bottom = (rate + exposure) ** (shape + count)
    shift = max(bottom.bit_length() - top.bit_length(), 0)
    expected = math.log((top << (shift + 64)) // bottom) - (shift + 64) * math.log(2.0)
    found = NegativeBinomial(shape, rate, exposure).log_pmf(count)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-9 if shift > 1e4 else 1e-12)


def test_log_pmf_keeps_its_digits_at_huge_parameters() -> None:
    """At the mean it is that of a normal with the same variance, up to 1 / count."""
    for size in (1e9, 1e12, 1e15):
        belief = NegativeBinomial(size, 1.0)
        expected = -0.5 * math.log(2.0 * math.pi * belief.variance)
        assert belief.log_pmf(int(size)) == pytest.approx(expected, abs=4.0 / size + 1e-13)
        away = int(math.sqrt(belief.variance))
        assert belief.log_pmf(int(size) + away) == pytest.approx(expected - 0.5, abs=3.0 / math.sqrt(size) + 1e-12)


def test_log_pmf_with_an_extreme_exposure_is_finite_or_minus_infinity() -> None:
    assert NegativeBinomial(2.0, 1e-300, 1e300).log_pmf(3) == -math.inf
    assert math.isfinite(NegativeBinomial(1e-300, 1.0).log_pmf(3))
