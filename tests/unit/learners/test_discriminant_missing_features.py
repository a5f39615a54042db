"""Gaussian discriminant analysis with features missing, and with too few events for a covariance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from stream_bayes.learners.discriminant import FORMS, GaussianDiscriminant
from tests.support.discriminants import NAMES, PRIOR, Event, assert_same, events, model_of, sample, taught, trained


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
@pytest.mark.parametrize("covariance", ["full", "shared", "diagonal"])
def test_a_missing_feature_is_marginalised_out(covariance: str, predictive: str) -> None:
    values, labels = sample(80)
    model = trained(model_of(covariance, predictive), values, labels)
    without = trained(model_of(covariance, predictive), values[:, :3], labels)
    for x in events(values[:20, :3]):
        assert model.predict_proba_one(x) == pytest.approx(without.predict_proba_one(x), rel=1e-9)


def test_a_covariance_is_that_of_the_events_that_had_both() -> None:
    """a and b in turn missing: variances S / n of each feature's own values, co-scatter / n of the pairs alone."""
    values, labels = sample(90)
    stream = events(values[:, :2])
    for place, x in enumerate(stream):
        if place % 3:
            del x["ab"[place % 3 - 1]]
    model = model_of("shared", "plug-in")
    for x, y in zip(stream, labels, strict=True):
        model.learn_one(x, y)
    present = {"a": np.arange(90) % 3 != 1, "b": np.arange(90) % 3 != 2}
    matrix = np.zeros((2, 2))
    for i, one in enumerate("ab"):
        for j, two in enumerate("ab"):
            both = present[one] & present[two]
            for c in range(3):
                own = values[both & (labels == c)]
                matrix[i, j] += (own[:, i] - own[:, i].mean()) @ (own[:, j] - own[:, j].mean()) / both.sum()
    means = np.array([[values[present[n] & (labels == c), i].mean() for i, n in enumerate("ab")] for c in (2, 0)])
    weights = model.linear_form(2, 0)[0]
    expected = np.linalg.solve(matrix, means[0] - means[1])
    assert list(weights.values()) == pytest.approx(expected.tolist(), rel=1e-9)


def test_plug_in_with_no_more_events_than_features_is_the_posterior_s_normal() -> None:
    """Four events in four dimensions have a singular S: location (k mean + n m) / (k + n), and Psi / degrees."""
    values = sample(4)[0] - (0.0, 3.0, 50.0, -1.0)
    model = trained(GaussianDiscriminant("full", PRIOR, 0.6, (0, 1), "plug-in"), values, np.zeros(4, np.int64))
    strength = PRIOR.strength + 4.0
    shift = values.mean(axis=0) - PRIOR.mean
    psi = 2.0 * PRIOR.scale * np.eye(4) + 4.0 * np.cov(values.T, bias=True)
    psi += PRIOR.strength * 4.0 / strength * np.outer(shift, shift)
    learned = multivariate_normal(PRIOR.mean + 4.0 / strength * shift, psi / (2.0 * PRIOR.shape + 4.0))
    unknown = multivariate_normal(np.full(4, PRIOR.mean), PRIOR.scale / PRIOR.shape * np.eye(4))
    point = np.array((0.9, 1.5, -0.2, 0.1))
    log_odds = math.log(4.6 / 0.6) + learned.logpdf(point) - unknown.logpdf(point)
    p = model.predict_proba_one(dict(zip(NAMES, point.tolist(), strict=True)))
    assert math.log(p[0] / p[1]) == pytest.approx(log_odds, rel=1e-9)


@pytest.mark.parametrize("size", [1e-3, 1e-4, 1e-6, 1e-9, 0.0])
@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_a_feature_that_follows_from_others_may_come_in_any_order(covariance: str, size: float) -> None:
    values, labels = sample(80)
    values[:, 3] = 0.3 * values[:, 0] + 0.3 * values[:, 1] + size * values[:, 3]
    order = np.array((3, 0, 2, 1))
    straight, turned = (model_of(covariance, "plug-in") for _ in range(2))
    for x, y in zip(events(values), labels, strict=True):
        straight.learn_one(x, y)
        turned.learn_one({NAMES[place]: x[NAMES[place]] for place in order}, y)
    assert_same(straight, turned, events(values))


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
def test_pairs_that_contradict_each_other(predictive: str) -> None:
    """a = b, b = c and c = -a, each seen without the third: correlations (1, 1, -1) have an eigenvalue 1 - 2 = -1."""
    model = model_of(predictive=predictive)
    for size in np.linspace(-3.0, 3.0, 30).tolist():
        for x in ({"a": size, "b": size}, {"b": size, "c": size}, {"c": size, "a": -size}):
            model.learn_one(x, "knot")
            model.learn_one({name: value + 2.0 for name, value in x.items()}, "other")
    for x in ({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": -9.0, "b": 9.0, "c": 0.0}, {"a": 1e110, "b": 1.0, "c": -1e110}):
        predictive_of = model.predictive_one(x)
        assert sum(predictive_of.probabilities.values()) == pytest.approx(1.0)
        assert math.isfinite(predictive_of.epistemic_variance)
    matrix = model.covariance_of("knot")[1]
    assert np.linalg.eigvalsh(matrix).min() > 0.1
    assert matrix[0, 0] == pytest.approx(model.posterior("a", "knot").expected_variance)


@pytest.mark.parametrize("covariance", FORMS)
def test_a_feature_made_constant_by_unlearning_is_constant(covariance: str) -> None:
    """What rounding leaves of a spread is no spread: the plug-in falls back as if 0.7 had never come."""
    model = model_of(covariance, "plug-in")
    constant = model_of(covariance, "plug-in")
    stream: list[Event] = [
        ({"a": 0.1}, "x", 3.0),
        ({"a": 0.1}, "x", 1.0),
        ({"a": 0.7}, "y", 1.0),
        ({"a": 0.3}, "y", 2.0),
    ]
    taught(constant, stream)
    taught(model, [*stream, ({"a": 0.7}, "x", 1.0)]).unlearn_one({"a": 0.7}, "x")
    assert_same(model, constant, [{"a": 0.1}, {"a": 0.5}])
