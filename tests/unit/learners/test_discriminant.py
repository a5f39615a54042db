"""Gaussian discriminant analysis: worked figures, scikit-learn and the textbook."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import invwishart, multivariate_t
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from stream_bayes import GaussianNB
from stream_bayes.errors import EvidenceError, InputError
from stream_bayes.learners.discriminant import FORMS, GaussianDiscriminant
from stream_bayes.typing import FloatArray
from tests.support.discriminants import PRIOR, events, model_of, sample, trained


def of_two_points(
    covariance: str, negative: tuple[float, float], positive: tuple[float, float]
) -> GaussianDiscriminant:
    """Plug-in with exactly these (mean, standard deviation): points m - h and m + h have S / n = h^2."""
    model = model_of(covariance, "plug-in", count=0.0)
    for label, (mean, deviation) in enumerate((negative, positive)):
        for side in (-1.0, 1.0):
            model.learn_one({"x": mean + side * deviation}, label)
    return model


def boundary(model: GaussianDiscriminant, low: float, high: float) -> float:
    return float(brentq(lambda x: model.predict_proba_one({"x": x})[1] - 0.5, low, high, xtol=1e-12))


@pytest.mark.parametrize("covariance", FORMS)
def test_equal_variances_split_in_the_middle(covariance: str) -> None:
    """N(0, 1) against N(1, 1), equal priors: x^2 = (x - 1)^2 at x = 1/2."""
    assert boundary(of_two_points(covariance, (0.0, 1.0), (1.0, 1.0)), -1.0, 2.0) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_unequal_variances_enclose_the_narrow_class(covariance: str) -> None:
    """N(0, 1) against N(1, 1/4): -x^2/2 = log 2 - 2 (x - 1)^2, so 3 x^2 - 8 x + 4 - 2 log 2 = 0, x = .381 and 2.285."""
    model = of_two_points(covariance, (0.0, 1.0), (1.0, 0.5))
    root = math.sqrt(64.0 - 12.0 * (4.0 - 2.0 * math.log(2.0)))
    assert boundary(model, -1.0, 1.0) == pytest.approx((8.0 - root) / 6.0, abs=1e-9) == pytest.approx(0.38, abs=5e-3)
    assert boundary(model, 1.0, 4.0) == pytest.approx((8.0 + root) / 6.0, abs=1e-9) == pytest.approx(2.29, abs=5e-3)


def test_shared_covariance_is_logistic() -> None:
    """N(-1, 4) and N(2, 4): weight (2 + 1) / 4 = .75, bias -(2^2 - 1^2) / (2 * 4) = -.375; equal priors add 0."""
    model = of_two_points("shared", (-1.0, 2.0), (2.0, 2.0))
    weights, bias = model.linear_form(1, 0)
    assert weights == pytest.approx({"x": 0.75})
    assert bias == pytest.approx(-0.375)
    for x in (-3.0, 0.5, 4.0):
        assert model.predict_proba_one({"x": x})[1] == pytest.approx(1.0 / (1.0 + math.exp(0.375 - 0.75 * x)))


def test_linear_form_gives_the_predicted_odds() -> None:
    values, labels = sample(90)
    model = trained(model_of("shared", "plug-in"), values, np.minimum(labels, 1))
    weights, bias = model.linear_form(1, 0)
    for x in events(values[:9]):
        p = model.predict_proba_one(x)
        assert sum(weights[name] * x[name] for name in x) + bias == pytest.approx(math.log(p[1] / p[0]), abs=1e-9)
    with pytest.raises(EvidenceError, match="shared"):
        model_of("full").linear_form(1, 0)
    with pytest.raises(InputError, match="neither learned nor declared"):
        model.linear_form(1, "never")
    with pytest.raises(EvidenceError, match="no finite log-odds"):
        GaussianDiscriminant("shared", class_prior_count=0.0, classes=(0, 1)).linear_form(1, 0)


@pytest.mark.parametrize(
    ("covariance", "oracle"),
    [("full", QuadraticDiscriminantAnalysis()), ("shared", LinearDiscriminantAnalysis(solver="svd"))],
)
def test_plug_in_agrees_with_scikit_learn(covariance: str, oracle: Any) -> None:
    values, labels = sample(300)
    oracle.fit(values, labels)
    order = np.random.default_rng(4).permutation(300)
    model = trained(model_of(covariance, "plug-in", count=0.0), values[order], labels[order])
    for x, expected in zip(events(values), oracle.predict_proba(values), strict=True):
        prediction = model.predict_proba_one(x)
        np.testing.assert_allclose([prediction[c] for c in range(3)], expected, rtol=1e-9, atol=1e-15)


def test_linear_form_is_that_of_scikit_learn() -> None:
    values, labels = sample(300)
    oracle = LinearDiscriminantAnalysis(solver="svd").fit(values, labels)
    weights, bias = trained(model_of("shared", "plug-in", count=0.0), values, labels).linear_form(2, 0)
    assert list(weights.values()) == pytest.approx((oracle.coef_[2] - oracle.coef_[0]).tolist(), rel=1e-9)
    assert bias == pytest.approx(oracle.intercept_[2] - oracle.intercept_[0], rel=1e-9)


@pytest.mark.parametrize("covariance", FORMS)
def test_plug_in_does_not_mind_where_zero_is(covariance: str) -> None:
    """Seconds since 1970 are 1e9 with a spread of 1: rounding costs 1e-16 * 1e9 / 1 = 1e-7 of a deviation."""
    values, labels = sample(120)
    moved = values + np.array((1e9, -1e6, 1e5, 1e7))
    near = trained(model_of(covariance, "plug-in"), values, labels).predictive_many(events(values))
    far = trained(model_of(covariance, "plug-in"), moved, labels).predictive_many(events(moved))
    assert far.probabilities == pytest.approx(near.probabilities, abs=1e-5)


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
def test_diagonal_is_naive_bayes(predictive: str) -> None:
    values, labels = sample(60)
    values[::7, 1] = 1e3
    model = trained(model_of("diagonal", predictive), values, labels)
    naive = trained(GaussianNB(PRIOR, class_prior_count=0.6, predictive=predictive), values, labels)
    for x in [*events(values[:20]), {"a": 1.0}, {}]:
        assert model.predict_proba_one(x) == pytest.approx(naive.predict_proba_one(x), rel=1e-9)
    assert tuple(model.posterior("c", 1)) == pytest.approx(tuple(naive.posterior("c", 1)))


def conjugate(values: FloatArray) -> tuple[float, FloatArray, float, FloatArray]:
    """Strength, location, degrees and Psi by the textbook."""
    mean, strength, shape, scale = PRIOR
    n = len(values)
    average = values.mean(axis=0)
    centred = values - average
    shift = average - mean
    psi = 2.0 * scale * np.eye(values.shape[1]) + centred.T @ centred
    psi += strength * n / (strength + n) * np.outer(shift, shift)
    return strength + n, (strength * mean + n * average) / (strength + n), 2.0 * shape + n, psi


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_posterior_predictive_is_a_multivariate_t(covariance: str) -> None:
    """Degrees 2 shape + n, location and Psi (k + 1) / (k degrees); shared: Psi less its prior, and n, are sums."""
    values, labels = sample(25)
    model = trained(model_of(covariance), values, labels)
    beliefs = {int(c): conjugate(values[labels == c]) for c in np.unique(labels)}
    prior_psi = 2.0 * PRIOR.scale * np.eye(4)
    pooled = prior_psi + sum(psi - prior_psi for _, _, _, psi in beliefs.values())
    for place, x in enumerate(events(values)):
        density = {}
        for c, (strength, location, degrees, psi) in beliefs.items():
            freedom, matrix = (degrees, psi) if covariance == "full" else (2.0 * PRIOR.shape + 25, pooled)
            spread = matrix * (strength + 1.0) / (strength * freedom)
            prior = float((labels == c).sum()) + 0.6
            density[c] = prior * float(multivariate_t.pdf(values[place], location, spread, df=freedom))
            assert model.covariance_of(c)[1] == pytest.approx(matrix / (freedom - 2.0), rel=1e-9)
        expected = {c: p / sum(density.values()) for c, p in density.items()}
        assert model.predict_proba_one(x) == pytest.approx(expected, rel=1e-9)
    assert list(model.mean(2).values()) == pytest.approx(beliefs[2][1].tolist())


def test_spherical_pools_the_features() -> None:
    """A t with 2 shape + sum of n_i degrees and scale matrix (2 scale + all squares) / degrees (1 + 1 / (k + n)) I."""
    values, labels = sample(25)
    model = trained(model_of("spherical"), values, labels)
    density = {}
    for c in range(3):
        strength, location, degrees, psi = conjugate(values[labels == c])
        freedom = degrees + 3.0 * (labels == c).sum()
        variance = (np.trace(psi) - 3.0 * 2.0 * PRIOR.scale) / freedom
        assert model.posterior("b", c)[2:] == pytest.approx((0.5 * freedom, 0.5 * freedom * variance))
        spread = variance * (1.0 + 1.0 / strength) * np.eye(2)
        density[c] = (strength - 0.1) * multivariate_t.pdf((1.0, 40.0), location[[0, 2]], spread, df=freedom)
    expected = {c: float(p / sum(density.values())) for c, p in density.items()}
    assert model.predict_proba_one({"a": 1.0, "c": 40.0}) == pytest.approx(expected, rel=1e-9)


def test_spherical_plug_in_pools_the_features() -> None:
    """Variance S / n over the values of all features, also of those that the event lacks."""
    values, labels = sample(60)
    model = trained(model_of("spherical", "plug-in", count=0.0), values, labels)
    density = {}
    for c in range(3):
        own = values[labels == c]
        squares = ((np.array((1.0, 49.0)) - own.mean(axis=0)[[0, 2]]) ** 2).sum() / own.var(axis=0).mean()
        density[c] = len(own) * math.exp(-0.5 * squares) / own.var(axis=0).mean()
    expected = {c: p / sum(density.values()) for c, p in density.items()}
    assert model.predict_proba_one({"a": 1.0, "c": 49.0}) == pytest.approx(expected, rel=1e-9)


def test_variance_of_the_log_odds_against_draws_from_the_posterior() -> None:
    values, labels = sample(600)
    labels = np.minimum(labels, 1)
    model = trained(model_of(count=0.0), values, labels)
    generator = np.random.default_rng(5)
    probes = values[:4]
    draws: Any = 0.0
    for c, sign in ((0, -1.0), (1, 1.0)):
        strength, location, degrees, psi = conjugate(values[labels == c])
        covariances = invwishart.rvs(degrees + 3.0, psi, size=4000, random_state=generator)
        factors = np.linalg.cholesky(covariances)
        means = location + (factors @ generator.normal(size=(4000, 4, 1)))[:, :, 0] / math.sqrt(strength)
        residual = np.linalg.solve(factors, (probes - means[:, None]).transpose(0, 2, 1))
        log = -0.5 * (residual**2).sum(axis=1) - np.log(factors.diagonal(axis1=1, axis2=2)).sum(axis=1)[:, None]
        draws = draws + sign * log
    frequencies = sum(1.0 / (labels == c).sum() for c in (0, 1))
    expected = draws.var(axis=0) + frequencies
    assert model.predictive_many(events(probes)).latent_variance == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("covariance", FORMS)
def test_ignorance_shrinks_with_data(covariance: str) -> None:
    values, labels = sample(1000)
    x = {"a": 0.5, "b": 2.9, "c": 50.2, "d": -0.6}
    few = trained(model_of(covariance), values[:30], labels[:30]).predictive_many([x]).latent_variance[0]
    many = trained(model_of(covariance), values, labels).predictive_many([x]).latent_variance[0]
    assert 0.0 < many < few / 5.0


def test_a_label_that_does_not_exist_is_refused() -> None:
    """A posterior of what was not learned is the prior, but a mean of all features takes a label that was."""
    model = GaussianDiscriminant(classes=("a",))
    model.learn_one({"x": 1.0}, "b")
    assert model.posterior("new", "a") == model.posterior("x", "zzz") == model.prior
    for read in (model.mean, model.covariance_of):
        with pytest.raises(InputError, match="'zzz' was neither learned nor declared"):
            read("zzz")
