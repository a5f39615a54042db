from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stream_bayes.errors import InputError, ParameterError
from stream_bayes.posteriors import MvNormal, Normal

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 0.7, -0.2], [0.1, -0.2, 1.5]])


def test_one_observation_by_hand() -> None:
    """Prior N(0, I/2), x = (1, 1), y = 3, noise 1/2: S x = (1/2, 1/2), x'S x + n = 3/2, g = (1/3, 1/3).

    Mean (1, 1); covariance I/2 - g (S x)' = [[1/3, -1/6], [-1/6, 1/3]].
    """
    belief = MvNormal([0, 0], [[0.5, 0], [0, 0.5]]).update([1, 1], 3, noise_variance=0.5)
    np.testing.assert_allclose(belief.mean, [1, 1])
    np.testing.assert_allclose(belief.covariance, [[1 / 3, -1 / 6], [-1 / 6, 1 / 3]])


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), noise=st.floats(0.01, 20))
def test_one_by_one_equals_many_equals_ridge(seed: int, n: int, noise: float) -> None:
    """Covariance (S^-1 + X'X / n)^-1, mean covariance (S^-1 m + X'y / n)."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, 3))
    answers = generator.normal(size=n)
    belief = MvNormal(MEAN, COVARIANCE)
    for row, answer in zip(rows, answers, strict=True):
        belief = belief.update(row, answer, noise)
    together = MvNormal(MEAN, COVARIANCE).update_many(rows, answers, noise)
    prior = np.linalg.inv(COVARIANCE)
    covariance = np.linalg.inv(prior + rows.T @ rows / noise)
    for found in (belief, together):
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found.mean, covariance @ (prior @ MEAN + rows.T @ answers / noise), atol=1e-8)


def test_entropy_falls_by_the_information_of_the_predictive() -> None:
    """An event at x lowers the entropy by 1/2 ln(1 + x'S x / n)."""
    belief = MvNormal(MEAN, COVARIANCE)
    x = [0.5, -1.0, 2.0]
    ignorance = belief.predictive(x, 0.3).epistemic_variance
    fall = belief.entropy - belief.update(x, 7.0, 0.3).entropy
    assert fall == pytest.approx(0.5 * math.log(1 + ignorance / 0.3))


def test_agrees_with_scipy() -> None:
    belief = MvNormal(MEAN, COVARIANCE)
    oracle = stats.multivariate_normal(MEAN, COVARIANCE)
    assert belief.entropy == pytest.approx(oracle.entropy())
    assert belief.log_density([0.1, 0.2, 0.3]) == pytest.approx(oracle.logpdf([0.1, 0.2, 0.3]))
    for index, pair in enumerate(belief.interval(0.9)):
        assert pair == pytest.approx(stats.norm(MEAN[index], math.sqrt(COVARIANCE[index, index])).interval(0.9))
    draws = belief.sample(50_000, np.random.default_rng(4))
    np.testing.assert_allclose(np.cov(draws.T), COVARIANCE, atol=0.05)
    for action in (
        belief.bayes_action("squared"),
        belief.bayes_action("absolute"),
        belief.bayes_action("zero-one"),
    ):
        np.testing.assert_array_equal(action, MEAN)
    np.testing.assert_array_equal(belief.variance, np.diag(COVARIANCE))


def test_marginal_and_predictive() -> None:
    belief = MvNormal(MEAN, COVARIANCE)
    assert belief.marginal([2, 0]) == MvNormal([0.5, 1.0], [[1.5, 0.1], [0.1, 2.0]])
    assert belief.marginal(1) == MvNormal([-2.0], [[0.7]])
    assert belief.predictive([0, 0, 2], 0.25) == Normal(1.0, 6.25, noise_variance=0.25)


def test_arrays_are_read_only_copies() -> None:
    covariance = COVARIANCE.copy()
    belief = MvNormal(MEAN, covariance)
    covariance[0, 0] = 99
    assert belief.covariance[0, 0] == 2.0
    with pytest.raises(ValueError, match="read-only"):
        belief.mean[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        belief.covariance[0, 0] = 3.0


def test_equality_hash_copy_and_pickle() -> None:
    belief = MvNormal([0.0, 1.5], [[1, 0.1], [0.1, 2]])
    assert belief == MvNormal((-0.0, 1.5), np.array([[1, 0.1], [0.1, 2]]))
    assert belief != MvNormal([0.0, 1.5], [[1, 0.2], [0.2, 2]])
    assert len({belief, MvNormal((-0.0, 1.5), [[1, 0.1], [0.1, 2]])}) == 1
    for same in (copy.deepcopy(belief), copy.copy(belief), pickle.loads(pickle.dumps(belief))):
        assert same == belief
        assert not same.covariance.flags.writeable
    assert repr(belief) == "MvNormal(mean=[0, 1.5], covariance=[[1, 0.1], [0.1, 2]])"
    assert len(repr(MvNormal(np.zeros(50), np.eye(50)))) < 200


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        ([0, 0], [[1, 0.5], [0.4, 1]], "symmetric"),
        ([0, 0], [[1, 2], [2, 1]], "positive definite"),
        ([0, 0], [[0, 0], [0, 1]], "positive definite"),
        ([0, 0, 0], [[1, 0], [0, 1]], "shape"),
        ([0, math.nan], [[1, 0], [0, 1]], "mean must be a vector of finite numbers"),
        ([0, 0], [[1, 0], [0, math.inf]], "covariance must be a matrix of finite numbers"),
        ([0, 0], [1, 1], "matrix"),
        ([[0, 0]], [[1, 0], [0, 1]], "vector"),
        ([], [[]], "vector"),
        (["a"], [[1]], "vector"),
        ([True], [[1]], "vector"),
        ([0, 0], [[1, 0], [0]], "equally long"),
    ],
)
def test_impossible_parameters_are_refused(mean: list[float], covariance: list[list[float]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MvNormal(mean, covariance)


def test_impossible_events_are_refused() -> None:
    belief = MvNormal(MEAN, COVARIANCE)
    with pytest.raises(InputError, match="vector of 3"):
        belief.update([1, 2], 3, 0.5)
    with pytest.raises(InputError, match="y must be"):
        belief.update([1, 2, 3], math.nan, 0.5)
    with pytest.raises(InputError, match="shape"):
        belief.update_many([[1, 2, 3]], [1, 2], 0.5)
    with pytest.raises(InputError, match="squares are finite"):
        belief.update([1e200, 0, 0], 1, 0.5)
    with pytest.raises(ParameterError, match="noise_variance"):
        belief.update([1, 2, 3], 1, 0.0)
    with pytest.raises(ParameterError, match="from 0 to 2"):
        belief.marginal([0, 3])
    with pytest.raises(ParameterError, match="different"):
        belief.marginal([1, 1])
