from __future__ import annotations

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
