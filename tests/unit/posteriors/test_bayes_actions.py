"""Bayes actions and expected losses under any loss, against mean, median, mode, quantiles and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from stream_bayes.errors import InputError, NumericalError, ParameterError
from stream_bayes.posteriors import (
    Beta,
    Dirichlet,
    Gamma,
    LogitNormal,
    MvNormal,
    MvStudentT,
    NegativeBinomial,
    Normal,
    NormalInverseGamma,
    Poisson,
    StudentT,
)

CONTINUOUS: list[Any] = [
    Beta(2.5, 5.0),
    Beta(0.3, 0.4),
    Gamma(3.5, 2.0),
    Gamma(0.2, 1.0),
    Normal(1e6, 4.0),
    StudentT(5.5, 1.0, 2.0),
    StudentT(2.05, 1.0, 2.0),
    NormalInverseGamma(0.5, 2.0, 3.0, 4.0),
    LogitNormal(0.4, 1.7),
]
COUNTS: list[Any] = [Poisson(3.5), NegativeBinomial(9.5, 3.0, 0.5), NegativeBinomial(0.7, 0.001)]
PEAKED: list[Any] = [Beta(2.5, 5.0), Gamma(3.5, 2.0), Normal(1.0, 4.0), StudentT(5.5, 1.0, 2.0), LogitNormal(0.4, 1.7)]


def squared(action: float, value: float) -> float:
    return (value - action) ** 2


def absolute(action: float, value: float) -> float:
    return abs(value - action)


@pytest.mark.parametrize("posterior", CONTINUOUS + COUNTS, ids=repr)
def test_functions_of_the_named_losses_give_mean_and_median(posterior: Any) -> None:
    slack = 1e-5 * posterior.std
    assert posterior.bayes_action(squared) == pytest.approx(posterior.mean, abs=slack)
    assert posterior.bayes_action(absolute) == pytest.approx(posterior.median, abs=slack)
    assert posterior.bayes_action("squared") == posterior.mean
    assert posterior.bayes_action("absolute") == posterior.median


@pytest.mark.parametrize("posterior", PEAKED, ids=repr)
def test_loss_outside_a_narrow_window_gives_the_mode(posterior: Any) -> None:
    """The best window of width 2 e is centred on the peak, but for a shift of the order e^2."""
    half = 0.02 * posterior.std
    action = posterior.bayes_action(lambda action, value: float(abs(value - action) > half))
    assert action == pytest.approx(posterior.mode, abs=0.01 * posterior.std)


@pytest.mark.parametrize("count", COUNTS, ids=repr)
def test_zero_one_loss_of_a_count_gives_the_mode(count: Any) -> None:
    if count.mode == 0.0 or count.std < 10.0:
        assert count.bayes_action(lambda action, value: float(value != action)) == count.mode
    assert count.risk(count.mode, "zero-one") == pytest.approx(1.0 - count.pmf(int(count.mode)))


@pytest.mark.parametrize("posterior", CONTINUOUS + COUNTS, ids=repr)
@pytest.mark.parametrize(("under", "over"), [(3.0, 1.0), (0.5, 4.5)])
def test_unequal_costs_of_too_little_and_too_much_give_a_quantile(posterior: Any, under: float, over: float) -> None:
    """Loss u (x - a) where x > a, and o (a - x) else: F(a) = u / (u + o), the order of the newsvendor."""
    action = posterior.bayes_action(lambda a, x: under * max(x - a, 0.0) + over * max(a - x, 0.0))
    assert action == pytest.approx(posterior.quantile(under / (under + over)), abs=1e-5 * posterior.std)


def test_linear_exponential_loss_by_hand() -> None:
    """E[exp(c (a - x)) - c (a - x) - 1] under N(m, v) is least at a = m - c v / 2: 1 - 0.7 x 4 / 2 = -0.4."""
    posterior = Normal(1.0, 4.0)
    action = posterior.bayes_action(lambda a, x: math.exp(0.7 * (a - x)) - 0.7 * (a - x) - 1.0)
    assert action == pytest.approx(-0.4, abs=1e-5)


@pytest.mark.parametrize("posterior", CONTINUOUS + COUNTS, ids=repr)
def test_risk_under_squared_loss_is_variance_and_squared_distance(posterior: Any) -> None:
    action = posterior.mean + 0.7 * posterior.std
    assert posterior.risk(action, "squared") == pytest.approx(1.49 * posterior.variance, rel=1e-9)
    # Of many counts bins are summed.
    slack = 1e-6 if posterior == COUNTS[-1] else 1e-9
    assert posterior.risk(action, squared) == pytest.approx(1.49 * posterior.variance, rel=slack)


def test_risks_by_hand() -> None:
    """N(2, 9): E|x - 2| = 3 sqrt(2 / pi) = 2.3937; E max(x - 2, 0) is half of it. Beta(2, 2): E[1 / x] = 3 / 1 = 3."""
    assert Normal(2, 9).risk(2, "absolute") == pytest.approx(3.0 * math.sqrt(2.0 / math.pi), rel=1e-12)
    assert Normal(2, 9).risk(2, lambda a, x: max(x - a, 0.0)) == pytest.approx(1.5 * math.sqrt(2.0 / math.pi))
    assert Beta(2, 2).risk(0.0, lambda _, x: 1.0 / x) == pytest.approx(3.0, rel=1e-10)
    assert Normal(2, 9).risk(2.5, "zero-one") == pytest.approx(1.0)


def test_risk_of_a_loss_with_jumps_is_that_of_the_distribution_function() -> None:
    posterior = Gamma(3.5, 2.0)
    risk = posterior.risk(1.0, lambda _, x: float(0.3 < x < 0.9))
    assert risk == pytest.approx(posterior.cdf(0.9) - posterior.cdf(0.3), rel=1e-9)


def test_risk_agrees_with_quadrature_of_the_density() -> None:
    posterior = StudentT(5.5, 1.0, 2.0)

    def loss(action: float, value: float) -> float:
        return math.log1p((value - action) ** 2)

    expected, _ = integrate.quad(lambda x: loss(0.3, x) * stats.t(5.5, 1.0, 2.0).pdf(x), -np.inf, np.inf)
    assert posterior.risk(0.3, loss) == pytest.approx(expected, rel=1e-7)


def test_infinite_risks() -> None:
    """The variance of Student's t is infinite at 2 degrees of freedom and 11 scale^2 at 2.2 (2.2 / 0.2)."""
    assert StudentT(2, 0, 1).risk(0, "squared") == math.inf
    assert StudentT(2.2, 0, 1).risk(0, "squared") == pytest.approx(11.0)
    with pytest.raises(NumericalError, match="no action has a finite expected loss"):
        StudentT(1.5, 0, 1).bayes_action(squared)
    with pytest.raises(NumericalError, match="no action has a finite expected loss"):
        StudentT(3, 0, 1).bayes_action(lambda a, x: (x - a) ** 4)
    with pytest.raises(NumericalError, match="not a number"):
        Normal(0, 1).bayes_action(lambda _a, _x: math.nan)


def test_named_losses_of_many_counts_are_exact() -> None:
    """Mean 1e8, variance 1e8 + 1e6: P(X = 1e8) = 1 / sqrt(2 pi 1.01e8) = 3.97e-5, near the normal of these moments."""
    count = Gamma(1e10, 100).predictive()
    assert count.risk(1e8, "zero-one") == pytest.approx(1.0 - 1.0 / math.sqrt(2.0 * math.pi * 1.01e8), rel=1e-9)
    assert count.risk(1e8 + 0.5, "zero-one") == count.risk(-1.0, "zero-one") == 1.0
    assert count.risk(1e8 + 100.0, "squared") == pytest.approx(1.01e8 + 1e4, rel=1e-14)
    assert count.risk(1e8, "absolute") == pytest.approx(math.sqrt(2.0 * 1.01e8 / math.pi), rel=1e-8)


@pytest.mark.parametrize("count", COUNTS, ids=repr)
@pytest.mark.parametrize("shift", [-300.0, -2.0, -0.3, 0.0, 1.7, 50.0])
def test_named_losses_of_a_count_agree_with_the_sum_over_all_counts(count: Any, shift: float) -> None:
    action = count.mode + shift
    numbers = np.arange(0, 60_000 if count == COUNTS[-1] else 400)
    weights = count.pmf(numbers)
    for name, losses in (("absolute", np.abs(numbers - action)), ("zero-one", numbers != action)):
        assert count.risk(action, name) == pytest.approx(float(weights @ losses), rel=1e-10)


@pytest.mark.parametrize("base", [1.5, 1.9, 1.95])
def test_risk_of_a_count_under_a_loss_that_grows_nearly_as_fast_as_the_tail_falls(base: float) -> None:
    """Shape 3, rate 1: p(k) = (k + 1) (k + 2) / 2 / 2^(k + 3), and E b^k = (0.5 / (1 - b / 2))^3; 1.9 gives 1,000."""
    risk = Gamma(3, 1).predictive().risk(0.0, lambda _, k: base**k)
    assert risk == pytest.approx((0.5 / (1.0 - 0.5 * base)) ** 3, rel=1e-9)


@pytest.mark.parametrize("base", [2.0, 2.1, 3.0, 1e300])
def test_infinite_risk_of_a_count(base: float) -> None:
    """b^k p(k) does not fall from b = 2 on. A Poisson count has E b^k = e^(rate (b - 1)) for every b."""
    count = Gamma(3, 1).predictive()
    assert count.risk(0.0, lambda _, k: base**k) == math.inf
    with pytest.raises(NumericalError, match="no action has a finite expected loss"):
        count.bayes_action(lambda a, k: base**k + a**2)
    if base < 10.0:
        assert Poisson(3).risk(0.0, lambda _, k: base**k) == pytest.approx(math.exp(3.0 * (base - 1.0)), rel=1e-10)
    assert NegativeBinomial(0.7, 0.001).risk(0.0, lambda _, k: math.exp(k)) == math.inf


def test_risk_in_the_lower_tail_of_a_count() -> None:
    """E e^-k = e^(rate (1 / e - 1)): at a rate of 500 it comes from counts near 184, which have the tail 1e-61."""
    risk = Poisson(500).risk(0.0, lambda _, k: math.exp(-k))
    assert risk == pytest.approx(math.exp(500.0 * (math.exp(-1.0) - 1.0)), rel=1e-9)


def test_a_loss_that_no_float_can_hold_is_infinite() -> None:
    """E exp(x) = exp(v / 2): e^5000 of N(0, 100^2), and e^50 of N(0, 10^2)."""
    assert Normal(0, 100**2).risk(0, lambda a, x: math.exp(x - a)) == math.inf
    assert Normal(0, 10**2).risk(0, lambda a, x: math.exp(x - a)) == pytest.approx(math.exp(50.0), rel=1e-9)
    assert Normal(0, 1).risk(0, lambda _a, _x: 10**400) == math.inf
    assert math.isnan(Normal(0, 1).risk(0, lambda _a, x: math.inf if x > 0.0 else -math.inf))
    assert Normal(0, 1).risk(0, lambda _a, _x: -math.inf) == -math.inf
    assert Poisson(3).risk(0, lambda _, k: math.exp(1e3 * k)) == math.inf
    assert MvNormal([0.0], [[1.0]]).risk([0.0], lambda _a, _x: math.exp(1e3)) == math.inf
    with pytest.raises(NumericalError, match="no action has a finite expected loss"):
        Normal(0, 100**2).bayes_action(lambda a, x: math.exp(x - a) + a**2)


def test_best_action_of_a_vector_that_is_not_found_is_told() -> None:
    """The loss -|a| has no minimum; the other is infinite everywhere."""
    posterior = MvNormal([1, 2], [[1, 0.3], [0.3, 2]])
    with pytest.raises(NumericalError, match="the action of least expected loss was not found"):
        posterior.bayes_action(lambda a, _: -float(np.abs(a).sum()))
    with pytest.raises(NumericalError, match="no action has a finite expected loss"):
        posterior.bayes_action(lambda _a, _x: math.exp(1e3))


def test_best_action_may_lie_outside_of_the_distribution() -> None:
    """E (a - 100 x)^2 is least at 100 E x = 25 for Beta(1, 3)."""
    assert Beta(1, 3).bayes_action(lambda a, x: (a - 100.0 * x) ** 2) == pytest.approx(25.0, abs=1e-3)


@pytest.mark.parametrize("posterior", [Normal(3, 4), Poisson(3.5), Poisson(1e-9), LogitNormal(0.4, 0.0)], ids=repr)
def test_action_stays_near_where_all_are_as_good(posterior: Any) -> None:
    action = posterior.bayes_action(lambda _action, _value: 1.0)
    assert abs(action - posterior.mean) <= 100.0 * (posterior.std + 0.01)
    assert posterior.bayes_action(squared) == pytest.approx(posterior.mean, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("posterior", CONTINUOUS + COUNTS, ids=repr)
def test_no_quantile_is_better_than_the_action(posterior: Any) -> None:
    """A loss with two minima, a kink and a jump, beside 19 other actions."""
    scale = float(posterior.std)

    def loss(action: float, value: float) -> float:
        share = (value - action) / scale
        return min(abs(share), 0.8) + 0.3 * float(share > 0.1)

    least = posterior.risk(posterior.bayes_action(loss), loss)
    others = [posterior.risk(action, loss) for action in posterior.quantile(np.linspace(0.05, 0.95, 19)).tolist()]
    assert least <= min(others) * (1.0 + 1e-3)


@pytest.mark.parametrize(
    "posterior", [Dirichlet((2.5, 3.0, 4.5)), MvNormal([1, 2], [[1, 0.3], [0.3, 2]]), MvStudentT(5, [1], [[2]])]
)
def test_losses_of_vectors(posterior: Any) -> None:
    """Squared and absolute losses add up over the numbers; any other is averaged over 2,048 draws: within 10 %."""
    mean = np.asarray(posterior.mean)
    assert posterior.risk(posterior.mean, "squared") == pytest.approx(sum(posterior.variance))
    assert posterior.risk(mean, "zero-one") == 1.0
    averaged = posterior.risk(mean, lambda action, value: float(((value - action) ** 2).sum()))
    assert averaged == pytest.approx(sum(posterior.variance), rel=0.1)
    best = posterior.bayes_action(lambda action, value: float(((value - action) ** 2).sum()))
    assert type(best) is type(posterior.mean)
    assert (np.abs(np.asarray(best) - mean) < 0.1 * np.asarray(posterior.std)).all()
    draws = posterior.sample(2_048, np.random.default_rng(0))
    assert np.asarray(best) == pytest.approx(draws.mean(axis=0), abs=1e-3 * max(posterior.std))


def test_what_is_no_loss_and_no_action_is_refused() -> None:
    wrong: Any = "cubic"
    with pytest.raises(ParameterError, match="a function of action and value, or one of squared"):
        Normal(0, 1).risk(0.0, wrong)
    with pytest.raises(InputError, match="action must be a finite number"):
        Normal(0, 1).risk(math.nan, "squared")
