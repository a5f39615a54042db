"""Densities, distribution functions, quantiles, distances and draws of arrays, against scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.spatial import distance

from stream_bayes.errors import InputError, ParameterError
from stream_bayes.posteriors import (
    Beta,
    Dirichlet,
    Gamma,
    HeavyTailed,
    LabelPredictive,
    LogitNormal,
    MvNormal,
    MvStudentT,
    NegativeBinomial,
    Normal,
    NormalInverseGamma,
    Poisson,
    StudentT,
)

SCALE = np.array([[2.0, 0.6, -0.3], [0.6, 1.5, 0.2], [-0.3, 0.2, 0.7]])
CENTRE = np.array([1.0, -2.0, 0.5])
POINTS = np.random.default_rng(3).normal(size=(4, 5, 3))
PROBABILITIES = np.array([[1e-9, 0.01, 0.3], [0.5, 0.8, 1.0 - 1e-9]])
GRID = np.array([[-np.inf, -1.0, 0.0], [0.25, 0.5, 0.99], [1.0, 6.5, np.inf]])

CONTINUOUS: list[tuple[Any, Any]] = [
    (Beta(2.5, 5.0), stats.beta(2.5, 5.0)),
    (Gamma(3.5, 2.0), stats.gamma(3.5, scale=0.5)),
    (Normal(1.0, 4.0), stats.norm(1.0, 2.0)),
    (StudentT(5.5, 1.0, 2.0), stats.t(5.5, 1.0, 2.0)),
]
COUNTS: list[tuple[Any, Any]] = [
    (Poisson(3.5), stats.poisson(3.5)),
    (NegativeBinomial(9.5, 3.0, 0.5), stats.nbinom(9.5, 3.0 / 3.5)),
]


def named(one: object) -> str:
    return type(one).__name__


@pytest.mark.parametrize(("posterior", "oracle"), CONTINUOUS, ids=named)
def test_density_of_an_array_agrees_with_scipy(posterior: Any, oracle: Any) -> None:
    inner = GRID[1:2]
    assert posterior.density(inner) == pytest.approx(oracle.pdf(inner), abs=1e-12)
    assert posterior.log_density(inner) == pytest.approx(oracle.logpdf(inner), abs=1e-12)
    assert isinstance(posterior.density(0.5), float)
    assert posterior.density(0.5) == pytest.approx(oracle.pdf(0.5))


@pytest.mark.parametrize(("posterior", "oracle"), [*CONTINUOUS, *COUNTS], ids=named)
def test_cdf_and_quantile_of_an_array_agree_with_scipy(posterior: Any, oracle: Any) -> None:
    assert posterior.cdf(GRID) == pytest.approx(oracle.cdf(GRID), abs=1e-13)
    assert posterior.cdf(GRID.tolist()).tolist() == posterior.cdf(GRID).tolist()
    assert posterior.quantile(PROBABILITIES) == pytest.approx(oracle.ppf(PROBABILITIES), rel=1e-6)
    single = [posterior.quantile(p) for p in PROBABILITIES.ravel().tolist()]
    assert posterior.quantile(PROBABILITIES).ravel().tolist() == single
    assert {type(number) for number in (*single, posterior.cdf(0.3), posterior.median)} == {float}


@pytest.mark.parametrize(("count", "oracle"), COUNTS, ids=named)
def test_probabilities_of_an_array_of_counts_agree_with_scipy(count: Any, oracle: Any) -> None:
    numbers = np.arange(12).reshape(3, 4)
    assert count.pmf(numbers) == pytest.approx(oracle.pmf(numbers), rel=1e-12)
    assert count.log_pmf(numbers.tolist()) == pytest.approx(oracle.logpmf(numbers), rel=1e-12)
    with pytest.raises(InputError, match="whole number"):
        count.pmf([1, 2.5])


def test_logit_normal_of_an_array_is_the_normal_of_the_log_odds() -> None:
    """The density at q is N(logit q; m, v) / (q (1 - q)); cdf and quantile are those of the normal."""
    posterior = LogitNormal(0.4, 1.7)
    oracle = stats.norm(0.4, 1.7**0.5)
    q = np.array([[0.01, 0.3], [0.5, 0.999]])
    log_odds = np.log(q / (1.0 - q))
    assert posterior.density(q) == pytest.approx(oracle.pdf(log_odds) / (q * (1.0 - q)))
    assert posterior.log_density(q) == pytest.approx(np.log(posterior.density(q)))
    assert posterior.cdf(q) == pytest.approx(oracle.cdf(log_odds))
    assert posterior.quantile(posterior.cdf(q)) == pytest.approx(q)
    assert posterior.log_density([0.0, 1.0, -1.0]).tolist() == [-np.inf] * 3


@pytest.mark.parametrize(("log_odds", "variance"), [(0.4, 1.7), (-0.4, 1.7), (0.1, 9.0), (-2.0, 30.0), (0.0, 1.9)])
def test_mode_of_a_logit_normal_is_the_top_of_its_density(log_odds: float, variance: float) -> None:
    posterior = LogitNormal(log_odds, variance)
    q = np.linspace(1e-4, 1.0 - 1e-4, 19_999)
    assert posterior.density(posterior.mode) >= posterior.density(q).max() * (1.0 - 1e-12)


def test_mode_of_a_logit_normal_with_two_equal_peaks_is_refused() -> None:
    assert LogitNormal(0.0, 2.0).mode == 0.5
    assert LogitNormal(1.0, 0.0).mode == pytest.approx(0.7310585786)
    with pytest.raises(InputError, match="not unique"):
        _ = LogitNormal(0.0, 2.5).mode


def test_dirichlet_of_an_array_agrees_with_scipy() -> None:
    posterior = Dirichlet((2.5, 4.0, 1.5))
    rows = posterior.sample(6, np.random.default_rng(1)).reshape(2, 3, 3)
    expected = np.apply_along_axis(stats.dirichlet((2.5, 4.0, 1.5)).logpdf, -1, rows)
    assert posterior.log_density(rows) == pytest.approx(expected)
    assert posterior.density(rows[0, 0].tolist()) == pytest.approx(np.exp(expected[0, 0]))
    assert posterior.density([[0.5, 0.5, 0.5], [1.2, -0.1, -0.1]]).tolist() == [0.0, 0.0]
    for place, marginal in enumerate((Beta(2.5, 5.5), Beta(4.0, 4.0), Beta(1.5, 6.5))):
        assert posterior.cdf(rows)[..., place] == pytest.approx(marginal.cdf(rows[..., place]))
        assert posterior.quantile(PROBABILITIES)[..., place] == pytest.approx(marginal.quantile(PROBABILITIES))


@pytest.mark.parametrize(
    ("posterior", "oracle", "marginal"),
    [
        (MvNormal(CENTRE, SCALE), stats.multivariate_normal(CENTRE, SCALE), stats.norm),
        (MvStudentT(4.5, CENTRE, SCALE), stats.multivariate_t(CENTRE, SCALE, 4.5), lambda m, s: stats.t(4.5, m, s)),
    ],
    ids=("normal", "t"),
)
def test_vectors_agree_with_scipy(posterior: Any, oracle: Any, marginal: Any) -> None:
    assert posterior.log_density(POINTS) == pytest.approx(oracle.logpdf(POINTS))
    assert posterior.density(POINTS) == pytest.approx(oracle.pdf(POINTS))
    assert isinstance(posterior.log_density([1.0, 2.0, 3.0]), float)
    for place in range(3):
        one = marginal(CENTRE[place], SCALE[place, place] ** 0.5)
        assert posterior.cdf(POINTS)[..., place] == pytest.approx(one.cdf(POINTS[..., place]))
        assert posterior.quantile(PROBABILITIES)[..., place] == pytest.approx(one.ppf(PROBABILITIES), rel=1e-6)
    assert posterior.quantile(0.5).tolist() == CENTRE.tolist()
    inverse = np.linalg.inv(SCALE)
    expected = [distance.mahalanobis(point, CENTRE, inverse) for point in POINTS.reshape(-1, 3)]
    assert posterior.mahalanobis(POINTS).ravel() == pytest.approx(expected)
    assert posterior.mahalanobis(POINTS[0, 0]) == pytest.approx(expected[0])
    for wrong in ([1.0, 2.0], 3.0, [1.0, np.inf, 0.0], ["a", "b", "c"], [[1.0], [2.0, 3.0]]):
        with pytest.raises(InputError, match="x must be"):
            posterior.mahalanobis(wrong)


def test_mahalanobis_distance_by_hand() -> None:
    """Deviations 2 and 3: (4, 6) from the centre is 4/2 = 2 and 6/3 = 2 deviations, sqrt(4 + 4) in all."""
    assert MvNormal([1, 2], [[4, 0], [0, 9]]).mahalanobis([5, 8]) == pytest.approx(8**0.5)


def test_joint_density_of_mean_and_variance_agrees_with_scipy() -> None:
    posterior = NormalInverseGamma(0.5, 2.0, 3.0, 4.0)
    mean, variance = np.meshgrid([-1.0, 0.5, 2.0], [0.3, 1.0, 5.0])
    pairs = np.stack((mean, variance), axis=-1)
    oracle = stats.norm(0.5, np.sqrt(variance / 2.0)).pdf(mean) * stats.invgamma(3.0, scale=4.0).pdf(variance)
    assert posterior.density(pairs) == pytest.approx(oracle)
    assert posterior.log_density([0.5, 1.0]) == pytest.approx(np.log(oracle[1, 1]))
    assert posterior.density([0.5, -1.0]) == 0.0
    with pytest.raises(InputError, match="a mean and a variance"):
        posterior.density([1.0, 2.0, 3.0])


def test_mode_of_a_negative_binomial_is_the_larger_of_two() -> None:
    """shape 9, rate 4: (9 - 1) / 4 = 2, and 1 is as probable; shape 0.5: 0."""
    count = NegativeBinomial(9, 4)
    assert (count.mode, NegativeBinomial(0.5, 0.1).mode) == (2.0, 0.0)
    assert count.pmf(2) == pytest.approx(count.pmf(1))


def test_draws_of_predictives_have_their_moments() -> None:
    generator = np.random.default_rng(5)
    count = NegativeBinomial(9.0, 3.0, 2.0)
    draws = count.sample(40_000, generator)
    assert draws.mean() == pytest.approx(count.mean, rel=0.02)
    assert draws.var() == pytest.approx(count.variance, rel=0.05)
    latent = LogitNormal(0.4, 1.7).sample(40_000, generator)
    assert latent.mean() == pytest.approx(LogitNormal(0.4, 1.7).mean, rel=0.01)
    labels = LabelPredictive({"a": 0.75, "b": 0.25}, Beta(3, 1)).sample(40_000, generator)
    assert labels.count("a") / 40_000 == pytest.approx(0.75, abs=0.01)
    with pytest.raises(InputError, match="no label is known"):
        LabelPredictive({}, Beta(1, 1)).sample()


@pytest.mark.parametrize("method", ["cdf", "density", "log_density"])
def test_arrays_that_are_no_numbers_are_refused(method: str) -> None:
    refused: list[Any] = [[1.0, np.nan], ["1"], [[1.0], [2.0, 3.0]], [True], np.nan, "a", None, {}, True, np.bool_(1)]
    for wrong in (*refused, pd.Series(["1"])):
        with pytest.raises(InputError, match="x must be"):
            getattr(Normal(0, 1), method)(wrong)


def test_probabilities_that_have_no_quantile_are_refused() -> None:
    refused: list[Any] = [[0.5, 1.0], [0.0], [np.nan], "a", 1.0, pd.Series([0.5, 2.0])]
    for posterior in (Normal(0, 1), Poisson(3.0), MvNormal([1, 2], [[1, 0], [0, 1]])):
        for outside in refused:
            with pytest.raises(ParameterError, match="probability must be"):
                posterior.quantile(outside)


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_series_are_arrays(series: Any) -> None:
    values = [0.1, 0.25, 0.8]
    for posterior in (Normal(0, 1), Beta(2, 3), HeavyTailed(0.3, 1.0, "student-t", 0.5, 3.0)):
        for method in ("cdf", "density", "log_density", "quantile"):
            evaluate = getattr(posterior, method)
            assert evaluate(series(values)).tolist() == evaluate(values).tolist()
    assert Poisson(3.0).pmf(series([0, 2])).tolist() == Poisson(3.0).pmf([0, 2]).tolist()
    numbers: list[Any] = [np.float32(0.5), np.int64(2)]
    assert isinstance(Normal(0, 1).density(numbers[0]), float)
    assert isinstance(Poisson(3.0).pmf(numbers[1]), float)
