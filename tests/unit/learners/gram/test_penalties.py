"""Penalties and paths of Gram regression against scikit-learn and numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge
from sklearn.preprocessing import StandardScaler

from stream_bayes.errors import EvidenceError
from stream_bayes.learners.gram import GramRegression
from stream_bayes.typing import FloatArray
from tests.support.gram_regressions import sample, taught

EXACT: Any = {"tol": 1e-14, "max_iter": 1_000_000}


def oracle(penalty: str, strength: float, share: float, count: int, *, intercept: bool) -> Any:
    if penalty == "none":
        return LinearRegression(fit_intercept=intercept)
    if penalty == "ridge":
        return Ridge(alpha=strength, fit_intercept=intercept)
    if penalty == "lasso":
        return Lasso(alpha=strength / count, fit_intercept=intercept, **EXACT)
    return ElasticNet(alpha=strength / count, l1_ratio=share, fit_intercept=intercept, **EXACT)


def vector(weights: dict[Any, float]) -> FloatArray:
    return np.array(list(weights.values()))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("penalty", ["none", "ridge", "lasso", "elastic-net"])
def test_scikit_learn_agrees(penalty: str, standardise: bool, intercept: bool) -> None:
    features, targets = sample(50, 6, seed=1, offset=3.0)
    features *= np.array([0.1, 1.0, 5.0, 1.0, 2.0, 0.5])
    model = taught(GramRegression(intercept=intercept), features, targets)
    scaler = StandardScaler(with_mean=intercept).fit(features) if standardise else None
    scaled = features if scaler is None else scaler.transform(features)
    for strength in (0.03, 2.0, 40.0):
        fit = model.solve(penalty, strength, share=0.3, standardise=standardise)
        peer = oracle(penalty, strength, 0.3, len(targets), intercept=intercept).fit(scaled, targets)
        scale = 1.0 if scaler is None else scaler.scale_
        np.testing.assert_allclose(vector(fit.weights), peer.coef_ / scale, rtol=1e-7, atol=1e-8)
        residuals = targets - peer.predict(scaled)
        assert fit.residual_squares == pytest.approx(residuals @ residuals, rel=1e-8)
        assert fit.predict(dict(enumerate(features[3].tolist()))) == pytest.approx(
            peer.predict(scaled[3:4])[0], rel=1e-8
        )
        if not intercept:
            assert fit.intercept == 0.0


def test_far_from_zero() -> None:
    features, targets = sample(200, 4, seed=8, offset=1e6)
    model = taught(GramRegression(), features, targets)
    for penalty in ("none", "ridge", "lasso", "elastic-net"):
        fit = model.solve(penalty, 3.0, share=0.6)
        middle = features.mean(axis=0)
        peer = oracle(penalty, 3.0, 0.6, 200, intercept=False).fit(features - middle, targets - targets.mean())
        np.testing.assert_allclose(vector(fit.weights), peer.coef_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_least_norm_where_features_outnumber_events(intercept: bool, count: int) -> None:
    features, targets = sample(count, 8, seed=count)
    fit = taught(GramRegression(intercept=intercept), features, targets).solve("none")
    middle, level = (features.mean(axis=0), targets.mean()) if intercept else (0.0, 0.0)
    expected = np.linalg.lstsq(features - middle, targets - level)[0]
    np.testing.assert_allclose(vector(fit.weights), expected, rtol=1e-9, atol=1e-9)
    assert fit.degrees_of_freedom == pytest.approx(count - intercept)
    assert fit.residual_squares == pytest.approx(0.0, abs=1e-9)


def test_dependent_and_constant_columns() -> None:
    """The shortest of all solutions, as numpy finds it; a constant has no weight beside an intercept."""
    features, targets = sample(40, 5, seed=2)
    features[:, 2] = features[:, 0] - 2 * features[:, 1]
    features[:, 4] = 7.1
    for intercept in (True, False):
        model = taught(GramRegression(intercept=intercept), features, targets)
        middle, level = (features.mean(axis=0), targets.mean()) if intercept else (0.0, 0.0)
        expected = np.linalg.lstsq(features - middle, targets - level)[0]
        fit = model.solve("none")
        np.testing.assert_allclose(vector(fit.weights), expected, rtol=1e-9, atol=1e-12)
        assert fit.degrees_of_freedom == pytest.approx(3 if intercept else 4)
        lasso = model.solve("lasso", 1.5)
        peer = Lasso(alpha=1.5 / 40, fit_intercept=intercept, **EXACT).fit(features, targets)
        objective = 0.5 * lasso.residual_squares + 1.5 * np.abs(vector(lasso.weights)).sum()
        residuals = targets - peer.predict(features)
        assert objective <= 0.5 * residuals @ residuals + 1.5 * np.abs(peer.coef_).sum() + 1e-9
    standard = taught(GramRegression(), features, targets).solve("ridge", 2.0, standardise=True)
    assert standard.weights[4] == 0.0


def test_nearly_dependent_columns_converge() -> None:
    """Columns 1574 and a bit, without an intercept: coordinate descent alone takes millions of sweeps."""
    generator = np.random.default_rng(1)
    features = generator.normal(size=(20, 6)) + 1574
    targets = generator.normal(size=20)
    fit = taught(GramRegression(intercept=False), features, targets).solve("lasso", 5.0)
    weights = vector(fit.weights)
    slopes = features.T @ (targets - features @ weights)
    assert np.abs(slopes[weights == 0.0]).max(initial=0.0) <= 5.0 + 1e-6
    np.testing.assert_allclose(slopes[weights != 0.0], 5.0 * np.sign(weights[weights != 0.0]), atol=1e-6)
    assert 0 < np.count_nonzero(weights) < 6


def test_strong_lasso_leaves_nothing() -> None:
    features, targets = sample(30, 4)
    model = taught(GramRegression(), features, targets)
    centred = features - features.mean(axis=0)
    enough = np.abs(centred.T @ targets).max()
    assert not any(model.solve("lasso", enough * 1.000001).weights.values())
    assert sum(weight != 0 for weight in model.solve("lasso", enough * 0.999).weights.values()) == 1
    empty = model.solve("lasso", 2 * enough)
    assert empty.intercept == pytest.approx(targets.mean())
    assert empty.degrees_of_freedom == 0.0


def test_no_strength_is_no_penalty() -> None:
    features, targets = sample(12, 3)
    model = taught(GramRegression(), features, targets)
    expected = model.solve("none")
    for penalty in ("ridge", "lasso", "elastic-net"):
        assert model.solve(penalty, 0.0).weights == pytest.approx(expected.weights)
    assert model.solve("elastic-net", 2.0, share=0.0).weights == pytest.approx(model.solve("ridge", 2.0).weights)
    assert model.solve("elastic-net", 2.0, share=1.0).weights == pytest.approx(model.solve("lasso", 2.0).weights)
    assert GramRegression(strength=2.0).clone().strength == 2.0


@pytest.mark.parametrize("standardise", [True, False])
def test_degrees_of_freedom(standardise: bool) -> None:
    """The trace of the matrix that maps targets to fits."""
    features, targets = sample(25, 5, seed=7)
    model = taught(GramRegression(strength=2.5), features, targets)
    centred = features - features.mean(axis=0)
    centred = centred / features.std(axis=0) if standardise else centred
    for strength in (1e-6, 0.4, 2.5, 300.0):
        hat = centred @ np.linalg.solve(centred.T @ centred + strength * np.eye(5), centred.T)
        assert model.degrees_of_freedom(strength, standardise) == pytest.approx(np.trace(hat), rel=1e-10)
        fit = model.solve("ridge", strength, standardise=standardise)
        assert fit.degrees_of_freedom == pytest.approx(np.trace(hat), rel=1e-10)
    assert model.degrees_of_freedom() == model.degrees_of_freedom(2.5)
    # An elastic net is a ridge fit of the weights that are not 0.
    net = model.solve("elastic-net", 4.0, share=0.5)
    chosen = (features - features.mean(axis=0))[:, [weight != 0.0 for weight in net.weights.values()]]
    squares = np.linalg.svd(chosen, compute_uv=False) ** 2
    assert net.degrees_of_freedom == pytest.approx((squares / (squares + 2.0)).sum())


@pytest.mark.slow
@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("penalty", ["ridge", "lasso", "elastic-net"])
def test_a_path_is_its_solutions(penalty: str, standardise: bool) -> None:
    features, targets = sample(40, 5, seed=3)
    model = taught(GramRegression(), features, targets)
    path = model.path(penalty, 12, share=0.7, standardise=standardise)
    assert len(path) == 12
    assert path.names == [0, 1, 2, 3, 4]
    assert (np.diff(path.strengths) < 0).all()
    for row, strength in enumerate(path.strengths):
        fit = model.solve(penalty, float(strength), share=0.7, standardise=standardise)
        np.testing.assert_allclose(path.weights[row], vector(fit.weights), rtol=1e-8, atol=1e-9)
        assert path.intercepts[row] == pytest.approx(fit.intercept)
        assert path.degrees_of_freedom[row] == pytest.approx(fit.degrees_of_freedom)
        assert path.residual_squares[row] == pytest.approx(fit.residual_squares)
    ends = path.degrees_of_freedom[[0, -1]]
    assert ends == pytest.approx([0.0, 5.0], abs=0.1)
    if penalty != "ridge":
        assert ends[0] == 0.0
        assert not path.weights[0].any()
    given = model.path(penalty, [0.5, 8.0, 2.0], share=0.7, standardise=standardise)
    assert given.strengths.tolist() == [8.0, 2.0, 0.5]
    assert len(model.path(penalty)) == 50


def test_fits_know_names_texts_and_buckets() -> None:
    model = GramRegression(strength=0.2)
    hashed = GramRegression(strength=0.2, buckets=1024)
    for sender, size, y in (("bob", 1.0, 2.0), ("eve", 2.0, 5.0), ("bob", 3.0, 4.0), ("joe", 1.0, 0.0)):
        for learner in (model, hashed):
            learner.learn_one({"sender": sender, "size": size}, y)
    fit = model.solve()
    other = hashed.solve()
    assert list(fit.weights) == [("sender", "bob"), "size", ("sender", "eve"), ("sender", "joe")]
    x = {"sender": "eve", "size": 4.0, "never": 3.0}
    assert fit.predict(x) == pytest.approx(model.predict_one(x))
    assert other.predict(x) == pytest.approx(hashed.predict_one(x))
    assert other.predict(x) == pytest.approx(fit.predict(x))


def test_nothing_little_and_no_feature() -> None:
    model = GramRegression(strength=0.5)
    for ask in (model.solve, model.path, model.degrees_of_freedom, model.maximise_evidence, model.select):
        with pytest.raises(EvidenceError, match="nothing was learned yet"):
            ask()
    with pytest.raises(EvidenceError, match="nothing was learned yet"):
        model.bias_variance({"a": 1.0}, {"a": 1.0})
    assert model.log_evidence(2.0, 3.0) == 0.0
    model.learn_one({}, 4.0)
    for penalty in ("none", "ridge", "lasso", "elastic-net"):
        fit = model.solve(penalty)
        assert (fit.weights, fit.intercept, fit.degrees_of_freedom, fit.residual_squares) == ({}, 4.0, 0.0, 0.0)
        if penalty != "none":
            assert len(model.path(penalty, 3)) == 3
    model.learn_one({"a": 2.0}, 4.0)
    model.unlearn_one({}, 4.0)
    # One event: the intercept says it all, and the feature is constant.
    fit = model.solve("none")
    assert (fit.weights, fit.intercept, fit.degrees_of_freedom) == ({"a": 0.0}, 4.0, 0.0)
    single = GramRegression(strength=0.5, intercept=False)
    single.learn_one({"a": 2.0}, 3.0)
    assert single.solve("ridge").weights == pytest.approx({"a": 6 / 4.5})
    assert single.solve("none").weights == pytest.approx({"a": 1.5})


def test_asking_changes_nothing_and_learning_refreshes() -> None:
    features, targets = sample(20, 3)
    model = taught(GramRegression(strength=0.5), features, targets)
    before = model.solve()
    model.path("lasso", 5)
    assert model.solve() == before
    changes: list[Callable[[], None]] = [
        lambda: model.learn_one({0: 5.0}, 9.0),
        lambda: model.unlearn_one({0: 5.0}, 9.0),
        lambda: model.forget(0.5),
        lambda: model.merge(taught(GramRegression(strength=0.5), *sample(9, 3, seed=5))),
    ]
    for change in changes:
        known = model.solve()
        prediction = model.predict_one({0: 1.0, 1: 2.0})
        change()
        assert model.solve() != known
        assert model.predict_one({0: 1.0, 1: 2.0}) != prediction
