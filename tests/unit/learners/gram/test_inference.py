"""Standard errors, the Gaussian likelihood and its curve, against statsmodels and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm

from stream_bayes.errors import EvidenceError, NumericalError, ParameterError
from stream_bayes.learners.gram import GramRegression
from tests.support.gram_regressions import sample, taught


def test_a_line_by_hand() -> None:
    """x = 0, 1, 2, 3 and y = 1, 3, 5, 8: S_xx = 5, slope 11.5/5 = 2.3, intercept 0.8, squares 0.3, variance 0.3/2.

    The slope has variance 0.15/5 = 0.03, the intercept 0.15 (1/4 + 1.5^2/5) = 0.105, and together -1.5 x 0.03.
    """
    model = taught(GramRegression(), np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 8.0]))
    fit = model.solve("none")
    assert fit.noise_variance == pytest.approx(0.15, rel=1e-12)
    np.testing.assert_allclose(fit.covariance(), [[0.105, -0.045], [-0.045, 0.03]], rtol=1e-12)
    assert fit.standard_errors() == {0: pytest.approx(math.sqrt(0.03), rel=1e-12)}
    assert fit.intercept_standard_error() == pytest.approx(math.sqrt(0.105), rel=1e-12)
    likelihood = -2 * (math.log(2 * math.pi * 0.075) + 1)
    assert fit.log_likelihood() == pytest.approx(likelihood, rel=1e-12)
    assert model.log_likelihood({0: 2.3}, 0.8) == pytest.approx(likelihood, rel=1e-12)
    # With weights 2 and 1 the errors are 0, 0, 0, 1.
    with pytest.raises(ParameterError, match="no event had a feature 'A'"):
        model.log_likelihood({"A": 1.0}, 0.0, 0.01)
    assert model.log_likelihood({0: 2.0}, 1.0, 0.5) == pytest.approx(-2 * math.log(math.pi) - 1, rel=1e-12)


@pytest.mark.parametrize("offset", [0.0, 50.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_is_that_of_statsmodels(intercept: bool, offset: float) -> None:
    features, targets = sample(offset=offset)
    model = taught(GramRegression(3.0, 2.5, intercept=intercept), features, targets)
    peer = sm.OLS(targets, sm.add_constant(features, has_constant="add") if intercept else features).fit()
    fit = model.solve("none")
    np.testing.assert_allclose(fit.covariance(), peer.cov_params(), rtol=1e-8, atol=1e-12)
    errors = [fit.intercept_standard_error()] * intercept + [*fit.standard_errors().values()]
    assert errors == pytest.approx(peer.bse, rel=1e-8)
    assert fit.noise_variance == pytest.approx(peer.mse_resid, rel=1e-8)
    assert fit.log_likelihood() == pytest.approx(peer.llf, rel=1e-9)
    assert fit.log_likelihood(1.7) == pytest.approx(peer.model.loglike(peer.params, scale=1.7), rel=1e-9)
    np.testing.assert_allclose(fit.covariance(1.0), peer.normalized_cov_params, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("strength", [0.3, 20.0])
def test_ridge_covariance_is_that_of_the_estimator(strength: float, standardise: bool) -> None:
    """(X'X + k)^-1 X'X (X'X + k)^-1 on centred columns, k times their variances where they are standardised."""
    features, targets = sample()
    model = taught(GramRegression(), features, targets)
    fit = model.solve("ridge", strength, standardise=standardise)
    centred = features - features.mean(axis=0)
    penalty = strength * np.diag(centred.var(axis=0) if standardise else np.ones(4))
    inverse = np.linalg.inv(centred.T @ centred + penalty)
    expected = 1.3 * inverse @ centred.T @ centred @ inverse
    np.testing.assert_allclose(fit.covariance(1.3)[1:, 1:], expected, rtol=1e-9, atol=1e-14)
    mean = features.mean(axis=0)
    level = 1.3 / len(features) + mean @ expected @ mean
    assert fit.intercept_standard_error(1.3) == pytest.approx(math.sqrt(level), rel=1e-9)
    left = len(features) - fit.degrees_of_freedom - 1
    assert fit.noise_variance == pytest.approx(fit.residual_squares / left, rel=1e-12)


def test_dependent_columns_have_the_covariance_of_the_shortest_solution() -> None:
    features, targets = sample()
    features[:, 3] = features[:, 0] - 2.0 * features[:, 1]
    fit = taught(GramRegression(intercept=False), features, targets).solve("none")
    inverse = np.linalg.pinv(features)
    np.testing.assert_allclose(fit.covariance(0.7), 0.7 * inverse @ inverse.T, rtol=1e-7, atol=1e-10)


def test_what_has_no_covariance_says_so() -> None:
    features, targets = sample()
    model = taught(GramRegression(), features, targets)
    for fit in (model.solve("lasso", 0.5), model.solve("elastic-net", 0.5), model.solve("lp", 0.5)):
        with pytest.raises(ParameterError, match="no covariance in closed form"):
            fit.covariance()
    few = taught(GramRegression(), features[:5], targets[:5]).solve("none")
    with pytest.raises(EvidenceError, match="no events are left"):
        few.standard_errors()
    assert len(few.standard_errors(0.5)) == 4


def test_no_features_have_no_standard_errors() -> None:
    model = GramRegression()
    for target in (1.0, 2.0, 6.0):
        model.learn_one({}, target)
    fit = model.solve("none")
    assert fit.standard_errors() == {}
    assert fit.intercept_standard_error() == pytest.approx(math.sqrt(7.0 / 3.0), rel=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("noise", [None, 1.7])
def test_the_curve_is_that_of_least_squares_with_one_weight_held(intercept: bool, noise: float | None) -> None:
    features, targets = sample(offset=3.0)
    model = taught(GramRegression(0.7, 2.0, intercept=intercept), features, targets)
    values = [-2.0, 0.0, 1.0, 5.0]
    curve = model.log_likelihood_curve(2, values, noise)
    others = np.delete(features, 2, axis=1)
    design = sm.add_constant(others, has_constant="add") if intercept else others
    for value, height in zip(values, curve, strict=True):
        peer = sm.OLS(targets - value * features[:, 2], design).fit()
        expected = peer.llf if noise is None else peer.model.loglike(peer.params, scale=noise)
        assert height == pytest.approx(expected, rel=1e-9)


def test_the_curve_bends_by_the_standard_error() -> None:
    """With known noise it is a parabola: 1/2 below its maximum one standard error away."""
    features, targets = sample()
    model = taught(GramRegression(), features, targets)
    fit = model.solve("none")
    best = fit.weights[1]
    error = fit.standard_errors(0.8)[1]
    low, top, high = model.log_likelihood_curve(1, [best - error, best, best + error], 0.8)
    assert top == pytest.approx(fit.log_likelihood(0.8), rel=1e-10)
    assert [top - low, top - high] == pytest.approx([0.5, 0.5], rel=1e-7)


def test_no_curve_of_a_weight_that_others_stand_in_for() -> None:
    features, targets = sample()
    features[:, 3] = features[:, 0]
    model = taught(GramRegression(), features, targets)
    with pytest.raises(NumericalError, match="can stand in for this one"):
        model.log_likelihood_curve(3, [0.0])
    with pytest.raises(ParameterError, match="no event had a feature 'never'"):
        model.log_likelihood_curve("never", [0.0])
    with pytest.raises(EvidenceError, match="the fit leaves no noise"):
        taught(GramRegression(), features[:2], np.full(2, 3.0)).solve("none").log_likelihood()
