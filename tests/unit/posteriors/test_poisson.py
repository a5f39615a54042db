"""A count of known rate, against scipy."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_bayes.errors import InputError, ParameterError
from stream_bayes.posteriors import NegativeBinomial
from stream_bayes.posteriors.poisson import Poisson

RATES = [1e-9, 0.3, 1.0, 2.5, 40.0, 1e4]
MASSES = [0.5, 0.9, 0.95, 0.999, 1 - 1e-9]


@pytest.mark.parametrize("rate", RATES)
def test_agrees_with_scipy(rate: float) -> None:
    count = Poisson(rate)
    oracle = stats.poisson(rate)
    assert count.mean == count.variance == count.aleatoric_variance == rate
    assert count.epistemic_variance == 0.0
    assert count.median == oracle.median()
    for mass in MASSES:
        assert count.interval(mass) == oracle.interval(mass)
    for number in (0, 1, 7, 200):
        assert count.log_pmf(number) == pytest.approx(oracle.logpmf(number))
        assert count.pmf(number) == pytest.approx(oracle.pmf(number))


def test_by_hand() -> None:
    """Rate 2.5: P(0) = exp(-2.5), P(2) = 2.5^2 / 2 exp(-2.5), the most probable count is 2."""
    count = Poisson(2.5)
    assert count.pmf(0) == pytest.approx(math.exp(-2.5))
    assert count.pmf(2) == pytest.approx(3.125 * math.exp(-2.5))
    assert (count.mode, Poisson(0.3).mode) == (2.0, 0.0)
    assert [count.bayes_action(loss) for loss in ("squared", "absolute", "zero-one")] == [2.5, 2.0, 2.0]


def test_is_the_negative_binomial_without_ignorance() -> None:
    """A Gamma belief of mean 3 that has seen a million units of exposure."""
    sure = NegativeBinomial(3e6, 1e6)
    for number in (0, 3, 9):
        assert Poisson(3.0).pmf(number) == pytest.approx(sure.pmf(number), rel=1e-4)


def test_rates_at_the_limits_of_the_linear_predictor() -> None:
    for exponent in (-60.0, 60.0):
        rate = math.exp(exponent)
        low, high = Poisson(rate).interval(0.95)
        assert low <= high
        assert low == pytest.approx(rate, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("rate", "count", "expected"),
    [
        (1e15, 10**15, -18.188326730660016),
        (1e18, 10**18, -21.642204370151084),
        (1e18, 10**18 + 2 * 10**9, -23.64220436981775),
        (1e26, 10**26, -30.852544742127268),
        (1e4, 15000, -1087.7034684512682),
        (1e-9, 7, -153.5880222206903),
    ],
)
def test_no_digits_are_lost_at_large_rates(rate: float, count: int, expected: float) -> None:
    """By the series of ln k!, in decimals: -ln sqrt(2 pi k) at the mode, less (k - rate)^2 / (2 rate) beside it."""
    assert Poisson(rate).log_pmf(count) == pytest.approx(expected, rel=1e-13)
    assert Poisson(rate).pmf(count) == pytest.approx(math.exp(expected), rel=1e-11)


@pytest.mark.parametrize("rate", [9e11, 1.1e12, 1e15, 1e19, 1e26])
def test_draws_and_quantiles_at_large_rates(rate: float) -> None:
    """Standardised, those of a normal."""
    count = Poisson(rate)
    draws = (count.sample(20_000, np.random.default_rng(3)) - rate) / math.sqrt(rate)
    assert draws.mean() == pytest.approx(0.0, abs=0.02)
    assert draws.std() == pytest.approx(1.0, abs=0.02)
    ends = (np.array(count.interval(0.95)) - rate) / math.sqrt(rate)
    np.testing.assert_allclose(ends, [-1.959964, 1.959964], atol=0.002)
    assert count.median == pytest.approx(rate, rel=1e-15)


def test_is_a_value() -> None:
    assert Poisson(3) == Poisson(3.0) == copy.deepcopy(Poisson(3)) != Poisson(4)
    assert hash(Poisson(3)) == hash(Poisson(3.0))
    assert repr(Poisson(3)) == "Poisson(rate=3)"
    draws = Poisson(3).sample(10_000, np.random.default_rng(0))
    assert draws.mean() == pytest.approx(3.0, abs=0.1)
    assert draws.dtype == np.float64


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf, "3", None, True])
def test_invalid_rates_are_refused(rate: Any) -> None:
    with pytest.raises(ParameterError, match="rate"):
        Poisson(rate)


@pytest.mark.parametrize("count", [-1, 0.5, math.nan, "3"])
def test_invalid_counts_are_refused(count: Any) -> None:
    with pytest.raises(InputError, match="count"):
        Poisson(3.0).log_pmf(count)
