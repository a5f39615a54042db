"""lp penalties between the LASSO and ridge: conditions of the minimum, and scipy's minimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from stream_bayes.errors import ParameterError
from stream_bayes.kernels.gram.power_descent import power_violation, shrink_power
from stream_bayes.learners.gram import Fit, GramRegression
from stream_bayes.typing import FloatArray
from tests.support.gram_regressions import sample, taught


def loss(weights: FloatArray, data: tuple[FloatArray, FloatArray], strength: float, power: float) -> float:
    features, targets = data
    away = targets - targets.mean() - (features - features.mean(axis=0)) @ weights
    return 0.5 * float(away @ away) + strength * float(np.sum(np.abs(weights) ** power)) / power


def weights_of(fit: Fit) -> FloatArray:
    return np.array([fit.weights[place] for place in range(len(fit.weights))])


def test_one_weight_by_hand() -> None:
    """x = 1, y = 6, power 3/2, strength 1: w + w^(1/2) = 6 has the root w = 4."""
    model = taught(GramRegression(intercept=False), np.array([[1.0]]), np.array([6.0]))
    fit = model.solve("lp", 1.0, power=1.5)
    assert fit.weights[0] == pytest.approx(4.0, rel=1e-12)
    # Its degree of freedom is 1 / (1 + second derivative of the penalty), 1/2 w^(-1/2) = 1/4.
    assert fit.degrees_of_freedom == pytest.approx(0.8, rel=1e-12)


@pytest.mark.parametrize("power", [1.02, 1.2, 1.5, 1.9])
@pytest.mark.parametrize("strength", [0.5, 20.0, 400.0])
def test_the_conditions_of_the_minimum_hold(power: float, strength: float) -> None:
    """X'(y - Xw) = strength sign(w) |w|^(power - 1), all centred."""
    features, targets = sample(60, 6, 3, 2.0)
    fit = taught(GramRegression(0.3, 2.5), features, targets).solve("lp", strength, power=power)
    weights = weights_of(fit)
    centred = features - features.mean(axis=0)
    slopes = centred.T @ (targets - targets.mean() - centred @ weights)
    pull = strength * np.sign(weights) * np.abs(weights) ** (power - 1)
    sizes = np.linalg.norm(centred, axis=0) * np.linalg.norm(targets - targets.mean())
    np.testing.assert_allclose(slopes / sizes, pull / sizes, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("power", "strength"), [(1.3, 5.0), (1.6, 40.0), (1.9, 400.0)])
def test_the_minimum_is_that_of_scipy(power: float, strength: float) -> None:
    data = sample(60, 5, 4)
    found = weights_of(taught(GramRegression(), *data).solve("lp", strength, power=power))
    options = {"maxiter": 20000, "xatol": 1e-9, "fatol": 1e-14, "adaptive": True}
    peer = minimize(loss, found + 0.1, (data, strength, power), method="Nelder-Mead", options=options)
    assert loss(found, data, strength, power) <= peer.fun * (1 + 1e-12)
    np.testing.assert_allclose(found, peer.x, atol=1e-5 * np.abs(found).max())


@pytest.mark.parametrize("standardise", [True, False])
def test_the_ends_are_lasso_and_ridge(standardise: bool) -> None:
    features, targets = sample()
    model = taught(GramRegression(), features, targets)
    for power, penalty, close in ((1.0, "lasso", 1.001), (2.0, "ridge", 1.9999)):
        end = model.solve("lp", 3.0, standardise=standardise, power=power)
        assert end == model.solve(penalty, 3.0, standardise=standardise)
        near = model.solve("lp", 3.0, standardise=standardise, power=close)
        np.testing.assert_allclose(weights_of(near), weights_of(end), atol=5e-3)


def test_standardised_is_the_fit_of_divided_columns() -> None:
    features, targets = sample()
    features[:, 1] *= 1000.0
    scales = features.std(axis=0)
    whole = taught(GramRegression(), features, targets).solve("lp", 4.0, standardise=True, power=1.4)
    divided = taught(GramRegression(), features / scales, targets).solve("lp", 4.0, power=1.4)
    np.testing.assert_allclose(weights_of(whole) * scales, weights_of(divided), rtol=1e-8)
    assert whole.degrees_of_freedom == pytest.approx(divided.degrees_of_freedom, rel=1e-8)


def test_dependent_columns_share_a_weight() -> None:
    """Of equal columns the penalty is least where their weights are equal."""
    features, targets = sample()
    columns = np.column_stack((features, features[:, 0]))
    weights = weights_of(taught(GramRegression(), columns, targets).solve("lp", 4.0, power=1.3))
    assert weights[4] == pytest.approx(weights[0], rel=1e-7)


def test_columns_that_are_nearly_dependent_are_no_slower() -> None:
    features, targets = sample(100, 8, 1)
    features[:, 4:] = features[:, :4] + 1e-3 * features[:, 4:]
    fit = taught(GramRegression(), features, targets).solve("lp", 0.1, power=1.2)
    weights = weights_of(fit)
    centred = features - features.mean(axis=0)
    slopes = centred.T @ (targets - targets.mean() - centred @ weights)
    np.testing.assert_allclose(slopes, 0.1 * np.sign(weights) * np.abs(weights) ** 0.2, atol=1e-7)


def test_weights_too_small_for_a_number_are_zero() -> None:
    """At power 1.003 a pull of 0.09 strength is that of a weight of 0.09^(1 / 0.003) = 1e-349."""
    for seed in range(12):
        generator = np.random.default_rng(seed)
        features = generator.normal(size=(50, 3))
        targets = features @ generator.normal(size=3) + generator.normal(size=50)
        path = taught(GramRegression(), features, targets).path("lp", np.geomspace(1e-3, 1e3, 60).tolist(), power=1.003)
        sizes = np.abs(path.weights)
        assert ((sizes == 0.0) | (sizes >= np.finfo(float).tiny)).all()
        assert (sizes[0] == 0.0).all()


@pytest.mark.parametrize("power", [1.003, 1.01, 1.3])
def test_shrinking_has_no_numbers_that_lost_digits(power: float) -> None:
    """w + strength w^(power - 1) = slope, as long as w is a number of full precision."""
    strength = 2.5
    slopes = np.linspace(1e-4, 6.0, 3000)
    for slope in slopes.tolist():
        weight = shrink_power(slope, strength, power)
        if weight == 0.0:
            assert slope <= strength * np.finfo(float).tiny ** (power - 1.0) * (1.0 + 1e-12)
        else:
            assert weight + strength * weight ** (power - 1.0) == pytest.approx(slope, rel=1e-12)
        assert power_violation(slope - weight, weight, strength, power) <= 1e-12 * slope


def test_degrees_of_freedom_are_the_change_of_fits_with_targets() -> None:
    """The sum over events of d prediction / d target."""
    features, targets = sample(12, 3, 2)
    step = 1e-5
    total = 0.0
    for row in range(12):
        moved = targets.copy()
        moved[row] += step
        up = taught(GramRegression(), features, moved).solve("lp", 2.0, power=1.5)
        moved[row] -= 2 * step
        down = taught(GramRegression(), features, moved).solve("lp", 2.0, power=1.5)
        x = dict(enumerate(features[row].tolist()))
        total += (up.predict(x) - down.predict(x)) / (2 * step)
    fit = taught(GramRegression(), features, targets).solve("lp", 2.0, power=1.5)
    assert fit.degrees_of_freedom + 1.0 == pytest.approx(total, rel=1e-6)


def test_a_path_goes_from_nothing_to_least_squares() -> None:
    features, targets = sample()
    model = taught(GramRegression(), features, targets)
    path = model.path("lp", 30, power=1.5)
    assert path.degrees_of_freedom[0] < 0.1
    assert path.degrees_of_freedom[-1] > 3.8
    assert (np.diff(path.residual_squares) <= 1e-9).all()
    none = model.solve("lp", 0.0, power=1.5)
    np.testing.assert_allclose(weights_of(none), weights_of(model.solve("none")), rtol=1e-12)


def test_a_power_beyond_the_ends_is_refused() -> None:
    features, targets = sample()
    model = taught(GramRegression(), features, targets)
    for power in (0.5, 2.1):
        with pytest.raises(ParameterError, match="power must be between 1 and 2"):
            model.solve("lp", 1.0, power=power)
