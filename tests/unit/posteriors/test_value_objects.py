"""What every posterior has in common as a value."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_bayes.errors import InputError, ParameterError
from stream_bayes.posteriors import (
    Beta,
    Dirichlet,
    Gamma,
    HeavyTailed,
    LabelPredictive,
    LogitNormal,
    MvNormal,
    NegativeBinomial,
    Normal,
    NormalInverseGamma,
    Poisson,
    StudentT,
)
from stream_bayes.posteriors.base import Quantiles

VALUES: list[tuple[Any, str]] = [
    (Beta(77, 62), "Beta(77, 62)"),
    (Beta(), "Beta(1, 1)"),
    (Beta(0.5, 1e20), "Beta(0.5, 1e+20)"),
    (Dirichlet((1, 2.5)), "Dirichlet((1, 2.5))"),
    (Gamma(2, 0.5), "Gamma(shape=2, rate=0.5)"),
    (NegativeBinomial(2, 0.5), "NegativeBinomial(shape=2, rate=0.5)"),
    (NegativeBinomial(2, 0.5, 3), "NegativeBinomial(shape=2, rate=0.5, exposure=3)"),
    (Normal(-1, 2), "Normal(mean=-1, variance=2)"),
    (Normal(-1, 2, 0.5), "Normal(mean=-1, variance=2, noise_variance=0.5)"),
    (NormalInverseGamma(0, 1, 2, 3), "NormalInverseGamma(mean=0, strength=1, shape=2, scale=3)"),
    (StudentT(4, 0, 1.5), "StudentT(degrees=4, location=0, scale=1.5)"),
    (HeavyTailed(0, 1, "laplace", 2), "HeavyTailed(mean=0, epistemic_variance=1, noise='laplace', noise_scale=2)"),
    (LogitNormal(1, 2), "LogitNormal(log_odds=1, log_odds_variance=2)"),
    (MvNormal([0, 1], [[1, 0], [0, 2]]), "MvNormal(mean=[0, 1], covariance=[[1, 0], [0, 2]])"),
    (LabelPredictive({"a": 1.0}, Beta(2, 1)), "LabelPredictive({'a': 1}, Beta(2, 1))"),
]
ONLY_VALUES = [value for value, _ in VALUES]


@pytest.mark.parametrize(("value", "text"), VALUES)
def test_repr_is_readable_and_can_be_evaluated(value: Any, text: str) -> None:
    assert repr(value) == text
    assert eval(text) == value


@pytest.mark.parametrize("value", ONLY_VALUES, ids=repr)
def test_values_are_tuples_that_copy_and_pickle(value: Any) -> None:
    assert issubclass(type(value), tuple)
    assert len(value) == len(value._fields)
    for same in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value)), value._replace()):
        assert type(same) is type(value)
        assert same == value
        assert hash(same) == hash(value)
    assert type(value)._make(value) == value
    with pytest.raises(AttributeError):
        value.other = 1
    with pytest.raises(AttributeError):
        setattr(value, value._fields[0], 1)


def test_equality_knows_the_type() -> None:
    assert Beta(1, 1) == Beta(1.0, 1.0)
    assert Beta(1, 1) != Gamma(1, 1)
    assert Beta(1, 1) != (1.0, 1.0)
    pair: object = (1.0, 1.0)
    assert pair != Beta(1, 1)
    assert Beta(1, 1) != 1
    assert len({Beta(1, 1), Gamma(1, 1), (1.0, 1.0), Beta(1.0, 1)}) == 3


def test_unpacking_and_replacing() -> None:
    successes, failures = Beta(3, 4)
    assert (successes, failures) == (3.0, 4.0)
    assert Beta(3, 4)._replace(failures=9) == Beta(3, 9)
    with pytest.raises(ParameterError):
        Beta(3, 4)._replace(failures=-1)
    with pytest.raises(ParameterError):
        Beta._make((0, 1))


@pytest.mark.parametrize("number", [3, np.float32(3), np.int64(3), np.float64(3), Fraction(3)])
def test_numbers_become_floats(number: float) -> None:
    belief = Beta(number, number)
    assert [type(field) for field in belief] == [float, float]
    assert belief == Beta(3, 3)


CONSTRUCTORS: list[tuple[Callable[[Any], object], str]] = [
    (lambda bad: Beta(bad, 2), "successes"),
    (lambda bad: Beta(2, bad), "failures"),
    (lambda bad: Dirichlet((2, bad)), "concentration"),
    (lambda bad: Gamma(bad, 2), "shape"),
    (lambda bad: Gamma(2, bad), "rate"),
    (lambda bad: NegativeBinomial(2, 3, bad), "exposure"),
    (lambda bad: Normal(1, bad), "variance"),
    (lambda bad: NormalInverseGamma(0, bad, 2, 3), "strength"),
    (lambda bad: NormalInverseGamma(0, 1, bad, 3), "shape"),
    (lambda bad: NormalInverseGamma(0, 1, 2, bad), "scale"),
    (lambda bad: StudentT(bad, 0, 1), "degrees"),
    (lambda bad: StudentT(3, 0, bad), "scale"),
]
CENTRES: list[tuple[Callable[[Any], object], str]] = [
    (lambda bad: Normal(bad, 2), "mean"),
    (lambda bad: NormalInverseGamma(bad, 1, 2, 3), "mean"),
    (lambda bad: StudentT(3, bad, 1), "location"),
    (lambda bad: LogitNormal(bad, 1), "log_odds"),
]
NO_NUMBERS = [math.nan, math.inf, -math.inf, True, np.True_, "2", None, 1j, Decimal(2), 10**400, [2.0]]


@pytest.mark.parametrize("bad", [0, -1, -0.0, *NO_NUMBERS], ids=repr)
@pytest.mark.parametrize(("construct", "name"), CONSTRUCTORS)
def test_impossible_positive_parameters(construct: Callable[[Any], object], name: str, bad: object) -> None:
    with pytest.raises(ParameterError, match=f"{name} must be a finite number above 0, not "):
        construct(bad)


@pytest.mark.parametrize("bad", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize(("construct", "name"), CENTRES)
def test_impossible_centres(construct: Callable[[Any], object], name: str, bad: object) -> None:
    with pytest.raises(ParameterError, match=f"{name} must be a finite number, not "):
        construct(bad)


@pytest.mark.parametrize("bad", [-1, *NO_NUMBERS], ids=repr)
def test_impossible_variances_that_may_be_zero(bad: Any) -> None:
    for construct in (lambda: Normal(0, 1, bad), lambda: StudentT(3, 0, 1, bad), lambda: LogitNormal(0, bad)):
        with pytest.raises(ParameterError, match="variance must be a finite number, 0 or more, not "):
            construct()


@pytest.mark.parametrize("mass", [0, 1, -0.1, 1.1, 95, math.nan, "0.9", None])
@pytest.mark.parametrize("value", [v for v in ONLY_VALUES if not isinstance(v, LabelPredictive)], ids=repr)
def test_impossible_masses(value: Any, mass: Any) -> None:
    for name, parameter in (("interval", "mass"), ("hdi", "mass"), ("quantile", "probability")):
        if hasattr(value, name):
            with pytest.raises(ParameterError, match=f"{parameter} must be a number between 0 and 1"):
                getattr(value, name)(mass)


def test_predictives_share_their_names() -> None:
    """Total variance = aleatoric + epistemic, and an interval, for every predictive."""
    predictives: list[Any] = [
        Beta(3, 2).predictive(),
        Dirichlet((3, 2, 4)).predictive(),
        Gamma(3, 2).predictive(),
        Normal(3, 2).predictive(0.7),
        NormalInverseGamma(3, 2, 4, 5).predictive(),
        MvNormal([1, 2], [[2, 0.5], [0.5, 1]]).predictive([1, 3], 0.7),
    ]
    for guess in predictives:
        assert guess.variance == pytest.approx(guess.aleatoric_variance + guess.epistemic_variance)
        assert guess.interval()[0] < guess.mean < guess.interval()[1]


def test_importing_the_package_leaves_scipy_stats_alone() -> None:
    code = "import sys, stream_bayes.posteriors, stream_bayes.decisions; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


UNIVARIATE: list[tuple[Quantiles, Any]] = [
    (Beta(2.0, 5.0), stats.beta(2.0, 5.0)),
    (Gamma(3.0, 2.0), stats.gamma(3.0, scale=0.5)),
    (Normal(1.0, 4.0), stats.norm(1.0, 2.0)),
    (StudentT(5.0, 1.0, 2.0), stats.t(5.0, 1.0, 2.0)),
    (NormalInverseGamma(1.0, 2.0, 3.0, 4.0), stats.t(6.0, 1.0, (4.0 / 3.0 / 2.0) ** 0.5)),
    (Poisson(3.5), stats.poisson(3.5)),
    (NegativeBinomial(9.0, 3.0), stats.nbinom(9.0, 0.75)),
]


@pytest.mark.parametrize(("belief", "oracle"), UNIVARIATE, ids=lambda one: type(one).__name__)
def test_cdf_and_std_agree_with_scipy(belief: Quantiles, oracle: Any) -> None:
    assert belief.std == pytest.approx(oracle.std())
    for x in (-np.inf, -1.0, 0.0, 0.3, 1.0, 2.5, 7.0, np.inf):
        assert belief.cdf(x) == pytest.approx(oracle.cdf(x), abs=1e-14)
    infinity: Any = np.float32(np.inf)
    assert belief.cdf(infinity) == 1.0
    refused: list[Any] = [np.nan, 10**400, -(10**400), Decimal("sNaN"), Decimal(1), "1", None, True]
    for value in refused:
        with pytest.raises(InputError, match="x must be a number that a float can hold, or an infinity, not "):
            belief.cdf(value)


def test_cdf_of_a_latent_probability_inverts_its_quantiles() -> None:
    latent = LogitNormal(0.4, 1.7)
    assert [latent.cdf(latent.quantile(p)) for p in (0.01, 0.5, 0.9)] == pytest.approx([0.01, 0.5, 0.9])
    assert [latent.cdf(x) for x in (-1.0, 0.0, 1.0, 2.0)] == [0.0, 0.0, 1.0, 1.0]
    assert [LogitNormal(0.0, 0.0).cdf(x) for x in (0.4, 0.5, 0.6)] == [0.0, 1.0, 1.0]


def test_std_of_several_numbers_is_that_of_each() -> None:
    assert Dirichlet((3, 5, 5)).std == pytest.approx([Beta(3, 10).std, Beta(5, 8).std, Beta(5, 8).std])
    assert MvNormal([0.0, 1.0], [[4.0, 1.0], [1.0, 9.0]]).std.tolist() == [2.0, 3.0]
    assert Beta(3, 1).predictive().std == pytest.approx((3 / 16) ** 0.5)
