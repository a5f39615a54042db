"""Learners without a prior: exact maximum likelihood, where events never seen are impossible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BernoulliNB,
    Beta,
    CategoricalNB,
    Gamma,
    GaussianDiscriminant,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
)
from stream_bayes.errors import EvidenceError, InputError
from tests.support.orienteering import orienteering

WITHOUT_PRIOR: dict[str, Any] = {
    "BernoulliNB": BernoulliNB(prior=None),
    "MultinomialNB": MultinomialNB(prior_count=0.0),
    "PoissonNB": PoissonNB(prior=None),
    "CategoricalNB": CategoricalNB(prior_count=0.0),
    "GaussianNB": GaussianNB(prior=None),
    "GaussianDiscriminant": GaussianDiscriminant(prior=None),
}


def test_bernoulli_frequencies() -> None:
    """spam: {a, b}, {a}; ham: {c}, {a, c}. For {a} spam gives 2/2 x (1 - 1/2) x (1 - 0/2) = 1/2.

    c is in every ham: without it ham is impossible. {b, c} is impossible in both: spam never had c, ham never b.
    """
    model = BernoulliNB(prior=None, class_prior_count=0.0)
    for x, y in (({"a", "b"}, "spam"), ({"a"}, "spam"), ({"c"}, "ham"), ({"a", "c"}, "ham")):
        model.learn_one(dict.fromkeys(x, 1), y)
    assert model.log_likelihood_one({"a": 1}) == {"spam": pytest.approx(math.log(1 / 2)), "ham": -math.inf}
    assert model.log_likelihood_one({"a": 1, "c": 1}) == {"spam": -math.inf, "ham": pytest.approx(math.log(1 / 2))}
    impossible = {"b": 1, "c": 1}
    assert model.log_evidence_one(impossible) == -math.inf
    assert model.predict_ml_one(impossible) is None
    assert model.predict_proba_one(impossible) == {"spam": 0.5, "ham": 0.5}


@pytest.mark.parametrize("fraction", [1.0, 0.3])
def test_bernoulli_against_the_sum_over_the_vocabulary(fraction: float) -> None:
    """Whole weights go by distinct counts, fractions by power sums; neither may lose a word that is certain."""
    generator = np.random.default_rng(7)
    model = BernoulliNB(prior=None)
    rows = (generator.random((60, 40)) < np.r_[1.0, 0.0, 0.95, 0.9, generator.random(36) * 0.3]).astype(float)
    labels = generator.integers(2, size=60)
    rows[labels == 1, 1] = 1.0
    for row, label in zip(rows, labels.tolist(), strict=True):
        model.learn_one(dict(enumerate(row.tolist())), label, w=fraction)
    for probe in (*rows[:20], np.zeros(40), np.ones(40)):
        log = model.log_likelihood_one(dict(enumerate(probe.tolist())))
        for label in (0, 1):
            shares = rows[labels == label].mean(axis=0)
            with np.errstate(divide="ignore"):
                expected = np.log(np.where(probe > 0.0, shares, 1.0 - shares)).sum()
            assert log[label] == pytest.approx(expected, abs=1e-9)


def test_multinomial_and_poisson_frequencies() -> None:
    """spam: a a b in two messages. Multinomial: p(a b) = 2 x 2/3 x 1/3 = 4/9, by shares and not by an urn.

    Poisson: rates 1 and 1/2, so p(a b) = e^-1 x e^-1/2 / 2. The word c, of ham alone, is impossible in spam.
    """
    multinomial = MultinomialNB(prior_count=0.0)
    poisson = PoissonNB(prior=None)
    for model in (multinomial, poisson):
        for x, y in (({"a": 2}, "spam"), ({"b": 1}, "spam"), ({"c": 3, "a": 1}, "ham")):
            model.learn_one(x, y)
        assert model.log_likelihood_one({"a": 1, "c": 1})["spam"] == -math.inf
    assert math.exp(multinomial.log_likelihood_one({"a": 1, "b": 1})["spam"]) == pytest.approx(4 / 9)
    assert math.exp(multinomial.log_likelihood_one({"a": 2})["spam"]) == pytest.approx(4 / 9)
    assert math.exp(poisson.log_likelihood_one({"a": 1, "b": 1})["spam"]) == pytest.approx(math.exp(-1.5) / 2)


def test_overcast_is_impossible_without_a_run() -> None:
    """0 of 5: p(overcast | no) = 0, and p(overcast) = p(overcast, yes) = 9/14 x 4/9 = 4/14."""
    model = orienteering(0, 0)
    assert model.log_likelihood_one({"outlook": "overcast"})["no"] == -math.inf
    assert math.exp(model.log_evidence_one({"outlook": "overcast"})) == pytest.approx(4 / 14)


@pytest.mark.parametrize("covariance", ["full", "shared", "diagonal", "spherical", "shared-spherical"])
def test_gaussian_estimates(covariance: str) -> None:
    """a: (0, 0), (2, 0), (1, 3): mean (1, 1), squares 2 and 6, products 0. b: (4, 1), (4, 3): mean (4, 2), 0 and 2.

    a has 2/3 and 2; shared 2/5 and 8/5; spherical (2 + 6) / 6; shared-spherical (2 + 6 + 0 + 2) / 10.
    """
    model = GaussianDiscriminant(covariance, prior=None)
    for x, y, label in ((0, 0, "a"), (2, 0, "a"), (1, 3, "a"), (4, 1, "b"), (4, 3, "b")):
        model.learn_one({"x": x, "y": y}, label)
    expected = {"shared": (2 / 5, 8 / 5), "spherical": (8 / 6, 8 / 6), "shared-spherical": (1.0, 1.0)}
    variances = expected.get(covariance, (2 / 3, 2.0))
    assert model.mean("a") == {"x": 1.0, "y": 1.0}
    assert model.covariance_of("a")[1] == pytest.approx(np.diag(variances), abs=1e-12)
    log = model.log_likelihood_one({"x": 1.0, "y": 1.0})["a"]
    assert log == pytest.approx(-math.log(2 * math.pi) - 0.5 * math.log(variances[0] * variances[1]))


def test_gaussian_naive_bayes_equals_the_diagonal_discriminant_without_a_prior() -> None:
    generator = np.random.default_rng(3)
    naive = GaussianNB(prior=None)
    diagonal = GaussianDiscriminant("diagonal", prior=None)
    for label in generator.integers(3, size=80).tolist():
        x = dict(enumerate(generator.normal(label, 1.0 + label, 3).tolist()))
        naive.learn_one(x, label)
        diagonal.learn_one(x, label)
    for probe in generator.normal(1.0, 2.0, (10, 3)).tolist():
        x = dict(enumerate(probe))
        assert naive.log_likelihood_one(x) == pytest.approx(diagonal.log_likelihood_one(x))


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_singular_covariances_give_answers(covariance: str) -> None:
    """Two events a class cannot give three features a covariance, nor can a constant feature a variance."""
    model = GaussianDiscriminant(covariance, prior=None)
    for x, label in (((0.0, 0.0, 5.0), "a"), ((1.0, 1.0, 5.0), "a"), ((3.0, 0.0, 5.0), "b"), ((4.0, 2.0, 5.0), "b")):
        model.learn_one(dict(zip("xyz", x, strict=True)), label)
    assert model.predict_one({"x": 0.4, "y": 0.4, "z": 5.0}) == "a"
    assert model.predict_one({"x": 3.5, "y": 1.0, "z": 5.0}) == "b"


@pytest.mark.parametrize("name", WITHOUT_PRIOR)
def test_without_a_prior_there_is_no_posterior(name: str) -> None:
    model = WITHOUT_PRIOR[name].clone()
    for x, y in (({"a": 1, "b": 2}, "red"), ({"a": 2, "b": 3}, "red"), ({"a": 1}, "green")):
        model.learn_one(x, y)
    refused = "without a prior there is no posterior: use parameters"
    for feature, label in (("b", "red"), ("b", "green"), ("c", "blue")):
        with pytest.raises(InputError, match=refused):
            model.posterior(feature, label)
    for estimate in ("map", "mean"):
        with pytest.raises(InputError, match=refused):
            model.parameters("red", estimate)
    assert model.parameters("red", "ml")
    with pytest.raises(InputError, match="neither learned nor declared"):
        model.parameters("blue", "ml")


@pytest.mark.parametrize("name", WITHOUT_PRIOR)
def test_a_declared_label_without_events_has_no_estimate(name: str) -> None:
    parameters = {**WITHOUT_PRIOR[name]._get_params(), "classes": ("red", "blue")}
    model = type(WITHOUT_PRIOR[name])(**parameters)
    for x in ({"a": 1, "b": 2}, {"a": 2, "b": 4}, {"a": 4, "b": 3}):
        model.learn_one(x, "red")
    assert sum(model.predict_proba_one({"a": 1, "b": 1}).values()) == pytest.approx(1.0)
    with pytest.raises(EvidenceError, match="no maximum-likelihood estimate"):
        model.parameters("blue", "ml")
    with pytest.raises(EvidenceError, match="nothing to draw from"):
        model.sample("blue")


@pytest.mark.parametrize("name", WITHOUT_PRIOR)
def test_a_vanishing_prior_tends_to_maximum_likelihood(name: str) -> None:
    faint: dict[str, Any] = {
        "BernoulliNB": BernoulliNB(prior=Beta(1e-12, 1e-12)),
        "MultinomialNB": MultinomialNB(prior_count=1e-12, predictive="plug-in"),
        "PoissonNB": PoissonNB(prior=Gamma(1e-12, 1e-12), predictive="plug-in"),
        "CategoricalNB": CategoricalNB(prior_count=1e-12),
        "GaussianNB": GaussianNB(predictive="plug-in"),
        "GaussianDiscriminant": GaussianDiscriminant(predictive="plug-in"),
    }
    generator = np.random.default_rng(5)
    exact = WITHOUT_PRIOR[name].clone()
    model = faint[name]
    for _ in range(60):
        x = {"a": int(generator.integers(3)), "b": int(generator.integers(3))}
        label = "red" if x["a"] + generator.integers(4) > 2 else "green"
        for learner in (exact, model):
            learner.learn_one(x, label)
    for x in ({"a": 1, "b": 2}, {"a": 0, "b": 0}, {"b": 1}):
        expected = model.log_likelihood_one(x)
        assert {y: max(log, -20.0) for y, log in exact.log_likelihood_one(x).items()} == pytest.approx(
            {y: max(log, -20.0) for y, log in expected.items()}, abs=1e-8
        )
