from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from stream_bayes.errors import InputError, ParameterError
from stream_bayes.posteriors import Beta, Dirichlet, Gamma

BETAS = [(77.0, 62.0), (2.5, 0.7), (0.4, 3.0), (1.3, 9.0), (0.6, 0.3), (250.0, 4.0)]
MASSES = [0.5, 0.9, 0.95, 0.999]
pseudo_counts = st.floats(0.2, 500.0)
masses = st.floats(0.05, 0.99)


def test_beta_counts_heads_and_tails() -> None:
    """Beta(2, 2) with 75 heads and 60 tails -> Beta(2 + 75, 2 + 60); the MLE is 75 / 135 = 0.556."""
    assert Beta(2, 2).update_counts(75, 60) == Beta(77, 62)
    assert round(75 / 135, 3) == 0.556
    assert Beta(77, 62).mean == 77 / 139


@pytest.mark.parametrize(
    ("heads", "tails", "maximum_likelihood", "predictive", "mode"),
    [(2, 0, 1.0, 4 / 6, 3 / 4), (55, 45, 0.55, 57 / 104, 56 / 102)],
)
def test_beta_shrinks_small_samples(
    heads: int, tails: int, maximum_likelihood: float, predictive: float, mode: float
) -> None:
    """With a = b = 2, h heads and t tails: ML h/(h+t), predictive (2+h)/(4+h+t), MAP (1+h)/(2+h+t)."""
    belief = Beta(2, 2).update_counts(heads, tails)
    assert heads / (heads + tails) == maximum_likelihood
    assert belief.predictive().probabilities[True] == pytest.approx(predictive, rel=1e-15)
    assert belief.mode == pytest.approx(mode, rel=1e-15)


def test_beta_bayes_actions() -> None:
    """Beta(4, 2): mean 4/6; mode 3/4; the median m solves 5 m^4 - 4 m^5 = 1/2, m = 0.6862."""
    belief = Beta(4, 2)
    assert belief.bayes_action("squared") == 4 / 6
    assert belief.bayes_action("zero-one") == 3 / 4
    median = belief.bayes_action("absolute")
    assert 5 * median**4 - 4 * median**5 == pytest.approx(0.5)
    assert round(median, 4) == 0.6862


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_bayes_action_minimises_the_expected_loss(loss: str) -> None:
    """Averaged over draws, no guess on a grid does better than the action."""
    belief = Beta(3.5, 1.5)
    draws = belief.sample(20_000, np.random.default_rng(7))
    power = {"squared": 2, "absolute": 1}[loss]
    grid = np.linspace(0.01, 0.99, 99)
    best = grid[np.argmin([np.mean(np.abs(draws - guess) ** power) for guess in grid])]
    action = belief.bayes_action("squared") if loss == "squared" else belief.bayes_action("absolute")
    assert action == pytest.approx(best, abs=0.011)


@pytest.mark.parametrize(("a", "b"), BETAS)
def test_beta_agrees_with_scipy(a: float, b: float) -> None:
    belief = Beta(a, b)
    oracle = stats.beta(a, b)
    assert belief.mean == pytest.approx(oracle.mean())
    assert belief.variance == pytest.approx(oracle.var())
    assert belief.median == pytest.approx(oracle.median())
    assert belief.entropy == pytest.approx(oracle.entropy(), abs=1e-9)
    for mass in MASSES:
        assert belief.interval(mass) == pytest.approx(oracle.interval(mass), rel=1e-9)
    points = np.array([-0.5, 0.001, 0.3, 0.8, 1.5])
    np.testing.assert_allclose(belief.density(points), oracle.pdf(points), rtol=1e-9)
    assert belief.log_density(0.3) == pytest.approx(oracle.logpdf(0.3))
    assert belief.density(0.3) == pytest.approx(oracle.pdf(0.3))
    assert belief.quantile(0.2) == pytest.approx(oracle.ppf(0.2))
    assert belief.quantile(0.8) == pytest.approx(oracle.ppf(0.8))


@pytest.mark.parametrize(("a", "b"), [(77.0, 62.0), (2.5, 1.7), (1.3, 9.0), (250.0, 4.0), (1.0, 3.0), (5.0, 1.0)])
@pytest.mark.parametrize("mass", MASSES)
def test_beta_hdi_is_the_shortest_interval(a: float, b: float, mass: float) -> None:
    """The oracle minimises ppf(t + mass) - ppf(t) over t."""
    oracle = stats.beta(a, b)
    low, high = Beta(a, b).hdi(mass)
    assert high - low == pytest.approx(_shortest_width(oracle, mass), rel=1e-6)
    assert oracle.cdf(high) - oracle.cdf(low) == pytest.approx(mass)


def _shortest_width(oracle: stats.distributions.rv_frozen, mass: float) -> float:
    def width(tail: float) -> float:
        return float(oracle.ppf(tail + mass) - oracle.ppf(tail))

    found = optimize.minimize_scalar(width, bounds=(0.0, 1.0 - mass), method="bounded", options={"xatol": 1e-12})
    return min(float(found.fun), width(0.0), width(1.0 - mass))


def test_beta_hdi_at_a_border() -> None:
    """Beta(1, 3) falls with cdf 1 - (1 - x)^3: 0.95 lies on [0, 1 - 0.05^(1/3)]; Beta(3, 1) mirrors it."""
    end = 1 - 0.05 ** (1 / 3)
    assert Beta(1, 3).hdi(0.95) == pytest.approx((0.0, end))
    assert Beta(3, 1).hdi(0.95) == pytest.approx((1 - end, 1.0))
    assert Beta(0.5, 3).hdi()[0] == 0.0
    assert Beta(3, 0.5).hdi()[1] == 1.0
    assert Beta(1, 1).hdi(0.9) == pytest.approx((0.05, 0.95))
    assert Beta(0.3, 0.6).hdi(0.5)[0] == 0.0
    assert Beta(0.6, 0.3).hdi(0.5)[1] == 1.0


@pytest.mark.parametrize(("a", "b", "mode"), [(0.5, 3.0, 0.0), (1.0, 2.0, 0.0), (2.0, 1.0, 1.0), (0.5, 1.0, 0.0)])
def test_beta_mode_at_a_border(a: float, b: float, mode: float) -> None:
    assert Beta(a, b).mode == mode


@pytest.mark.parametrize("counts", [(0.5, 0.5), (1.0, 1.0), (0.2, 0.9)])
def test_beta_without_a_single_mode_refuses(counts: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="not unique"):
        Beta(*counts).bayes_action("zero-one")


def test_beta_predictive_names_the_likelier_outcome() -> None:
    """Beta(1, 3): False has 3/4, its latent belief is Beta(3, 1) with variance 3/4 * 1/4 / 5 = 0.0375."""
    guess = Beta(1, 3).predictive()
    assert guess.label is False
    assert guess.latent == Beta(3, 1)
    assert guess.mean == 0.75
    assert guess.variance == 0.1875
    assert guess.epistemic_variance == pytest.approx(0.0375)
    assert guess.aleatoric_variance == pytest.approx(0.15)


@given(outcomes=st.lists(st.booleans(), max_size=30), a=pseudo_counts, b=pseudo_counts)
def test_beta_one_by_one_equals_counts(outcomes: list[bool], a: float, b: float) -> None:
    belief = Beta(a, b)
    for outcome in outcomes:
        belief = belief.update(outcome)
    together = Beta(a, b).update_counts(sum(outcomes), len(outcomes) - sum(outcomes))
    assert tuple(belief) == pytest.approx(tuple(together))


@given(a=pseudo_counts, b=pseudo_counts, mass=masses)
def test_beta_intervals_hold_their_mass(a: float, b: float, mass: float) -> None:
    belief = Beta(a, b)
    oracle = stats.beta(a, b)
    (low, high) = belief.interval(mass)
    (left, right) = belief.hdi(mass)
    tail = (1 - mass) / 2
    # Where the density has a pole at 0 or 1, the numbers next to an end have other tails.
    assert oracle.cdf(np.nextafter(low, 0.0)) - 1e-6 <= tail <= oracle.cdf(np.nextafter(low, 1.0)) + 1e-6
    assert oracle.sf(np.nextafter(high, 1.0)) - 1e-6 <= tail <= oracle.sf(np.nextafter(high, 0.0)) + 1e-6
    assert right - left <= (high - low) * (1 + 1e-6)


def test_dirichlet_counts_outcomes() -> None:
    """(0.5, 2, 1) + (1, 3, 0) = (1.5, 5, 1), sum 7.5; mode ((0.5, 4, 0) / 4.5)."""
    belief = Dirichlet((0.5, 2, 1)).update(0).update(1).update(1).update(1)
    assert belief == Dirichlet((0.5, 2, 1)).update_counts((1, 3, 0)) == Dirichlet([1.5, 5.0, 1.0])
    assert belief.mean == pytest.approx((0.2, 5 / 7.5, 1 / 7.5))
    assert belief.bayes_action("zero-one") == pytest.approx((0.5 / 4.5, 4 / 4.5, 0.0))
    assert belief.bayes_action("absolute") == pytest.approx([stats.beta(a, 7.5 - a).median() for a in (1.5, 5, 1)])
    guess = belief.predictive()
    assert guess.label == 1
    assert guess.latent == Beta(5, 2.5)
    assert guess.probabilities[2] == pytest.approx(1 / 7.5)
    assert guess.entropy == pytest.approx(stats.entropy(belief.mean))


@pytest.mark.parametrize("concentration", [(1.5, 5.0, 1.0), (0.3, 0.8), (40.0, 300.0, 2.0, 7.0)])
def test_dirichlet_agrees_with_scipy(concentration: tuple[float, ...]) -> None:
    belief = Dirichlet(concentration)
    oracle = stats.dirichlet(concentration)
    assert belief.mean == pytest.approx(oracle.mean())
    assert belief.variance == pytest.approx(oracle.var())
    assert belief.entropy == pytest.approx(oracle.entropy())
    total = sum(concentration)
    for index, count in enumerate(concentration):
        expected = stats.beta(count, total - count).interval(0.8)
        assert belief.interval(0.8)[index] == pytest.approx(expected)


def test_dirichlet_of_two_is_a_beta() -> None:
    """The marginal of Dirichlet((3, 4.5)) is Beta(3, 4.5), with the same entropy."""
    assert Dirichlet((3, 4.5)).marginal(0) == Beta(3, 4.5)
    assert Dirichlet((3, 4.5)).entropy == Beta(3, 4.5).entropy


def test_entropy_does_not_cancel_for_large_counts() -> None:
    """Beta(3, 1e7) is nearly Gamma(3, 1e7), whose entropy is 1.8475 - ln 1e7 = -14.2705."""
    assert Beta(3, 1e7).entropy == pytest.approx(-14.2705, abs=1e-4)
    assert Gamma(1e12, 2).entropy == pytest.approx(stats.norm(scale=1e6 / 2).entropy(), abs=1e-9)


def test_samples_have_the_moments() -> None:
    generator = np.random.default_rng(3)
    for belief in (Beta(2.5, 0.7), Gamma(9, 3)):
        draws = belief.sample(40_000, generator)
        assert draws.shape == (40_000,)
        assert draws.mean() == pytest.approx(belief.mean, abs=5 * math.sqrt(belief.variance / 40_000))
    assert Dirichlet((1, 2, 3)).sample(5, generator).sum(axis=1) == pytest.approx(1.0)
    assert Beta(2, 3).sample(generator=np.random.default_rng(1)) == Beta(2, 3).sample(
        generator=np.random.default_rng(1)
    )


@pytest.mark.parametrize("outcome", [2, -1, 0.5, 1.0, "yes", None, math.nan])
def test_beta_refuses_invalid_outcomes(outcome: object) -> None:
    with pytest.raises(InputError, match="outcome must be True or False"):
        Beta(2, 3).update(outcome)  # type: ignore[arg-type]


def test_numpy_outcomes_count() -> None:
    assert Beta(2, 3).update(bool(np.True_)) == Beta(2, 3).update(1) == Beta(3, 3)
    assert Dirichlet((1, 1)).update(int(np.int64(1))) == Dirichlet((1, 2))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "3", True, None])
def test_impossible_counts_are_refused(bad: float) -> None:
    with pytest.raises(InputError):
        Beta(2, 3).update_counts(bad, 1.0)
    with pytest.raises(InputError):
        Gamma(2, 3).update_counts(1.0, bad)
    with pytest.raises(InputError):
        Gamma(2, 3).update(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        Dirichlet((1, 2)).update_counts((1.0, bad))
    with pytest.raises(InputError):
        Dirichlet((1, 2)).update(bad)  # type: ignore[arg-type]


def test_other_refusals() -> None:
    with pytest.raises(InputError, match="whole number"):
        Gamma(2, 3).update(1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="from 0 to 1"):
        Dirichlet((1, 2)).update(2)
    with pytest.raises(InputError, match="2 numbers"):
        Dirichlet((1, 2)).update_counts((1, 2, 3))
    with pytest.raises(InputError, match="not unique"):
        _ = Dirichlet((1, 1, 1)).mode
    with pytest.raises(ParameterError, match="two or more"):
        Dirichlet((1,))
    with pytest.raises(ParameterError, match="several numbers"):
        Dirichlet(3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="one of squared, absolute, zero-one"):
        Beta(2, 3).bayes_action("hinge")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="sum of the counts"):
        Beta(1e308, 1e308)
