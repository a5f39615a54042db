"""Likelihood, joint probability and evidence of an event, and the label of maximum likelihood."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln
from sklearn import naive_bayes

from stream_bayes import (
    BernoulliNB,
    Beta,
    CategoricalNB,
    Gamma,
    GaussianDiscriminant,
    GaussianNB,
    MultinomialNB,
    NormalInverseGamma,
    PoissonNB,
)
from stream_bayes.learners.base.generative_classifier import GenerativeClassifier
from stream_bayes.learners.discriminant import FORMS
from tests.support.discriminants import events, model_of, sample, trained
from tests.support.learners import LEARNERS
from tests.support.orienteering import FEATURES, orienteering

GENERATIVE = [name for name, learner in LEARNERS.items() if isinstance(learner, GenerativeClassifier)]


def taught(model: Any, rows: Iterable[Any], labels: Iterable[Any]) -> Any:
    """The model, after rows of numbers with labels."""
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(dict(enumerate(np.asarray(row).tolist())), label)
    return model


def test_orienteering_scores() -> None:
    """ln p(x | yes) = ln(2/9 x 3/9 x 3/9 x 3/9) and ln p(x, yes) = ln .0053; for no 3/5 x 1/5 x 4/5 x 3/5 and .0206.

    p(x) = .0053 + .0206 = .0259, of which yes has 20.5 %.
    """
    model = orienteering(0, 0)
    day = dict(zip(FEATURES, ("sunny", "cool", "high", True), strict=True))
    likelihood = model.log_likelihood_one(day)
    assert math.exp(likelihood["yes"]) == pytest.approx(2 / 9 * 3 / 9 * 3 / 9 * 3 / 9, rel=1e-12)
    assert math.exp(likelihood["no"]) == pytest.approx(3 / 5 * 1 / 5 * 4 / 5 * 3 / 5, rel=1e-12)
    joint = {label: round(math.exp(log), 4) for label, log in model.log_joint_one(day).items()}
    assert joint == {"yes": 0.0053, "no": 0.0206}
    assert math.exp(model.log_evidence_one(day)) == pytest.approx(0.0053 + 0.0206, abs=1e-4)
    assert model.predict_proba_one(day)["yes"] == pytest.approx(0.205, abs=1e-3)


def test_maximum_likelihood_and_maximum_posterior_disagree_on_rain() -> None:
    """p(rainy | yes) = 3/9 is less than p(rainy | no) = 2/5: y_ML is no. p(yes) = 9/14 turns it: y_MAP is yes."""
    model = orienteering(0, 0)
    rainy = {"outlook": "rainy"}
    likelihood = model.log_likelihood_one(rainy)
    assert {label: math.exp(log) for label, log in likelihood.items()} == pytest.approx({"yes": 3 / 9, "no": 2 / 5})
    assert model.predict_ml_one(rainy) == "no"
    assert model.predict_one(rainy) == "yes"


def test_with_pseudo_counts_the_label_of_maximum_likelihood_stays() -> None:
    """With 0.7 for each of 3 outlooks: rainy given yes 3.7 / 11.1, given no 2.7 / 7.1; with 2.5 for each class."""
    model = orienteering(0.7, 2.5)
    joint = model.log_joint_one({"outlook": "rainy"})
    assert math.exp(joint["yes"]) == pytest.approx(11.5 / 19 * 3.7 / 11.1, rel=1e-12)
    assert math.exp(joint["no"]) == pytest.approx(7.5 / 19 * 2.7 / 7.1, rel=1e-12)
    assert (model.predict_ml_one({"outlook": "rainy"}), model.predict_one({"outlook": "rainy"})) == ("no", "yes")


@pytest.mark.parametrize("name", GENERATIVE)
def test_joint_probabilities_are_those_of_the_posterior(name: str) -> None:
    """p(y | x) = p(x, y) / p(x), for each learner and setting, unless p(x) is 0; before learning there is no p(x)."""
    model = LEARNERS[name].clone()
    declared = model.predict_proba_one({})
    assert set(model.log_joint_one({"a": 1.0})) == set(declared)
    assert declared or model.log_evidence_one({"a": 1.0}) == -math.inf
    generator = np.random.default_rng(4)
    labels = tuple(declared) or ("red", "green", "blue")
    for _ in range(30):
        model.learn_one({"a": float(generator.integers(4)), "b": 1.0}, labels[generator.integers(len(labels))])
    for x in ({"a": 2.0, "b": 1.0}, {"a": 1.0}, {"never seen": 3.0}, {}):
        joint = model.log_joint_one(x)
        evidence = model.log_evidence_one(x)
        best = model.predict_ml_one(x)
        if evidence == -math.inf:
            assert best is None
            assert len(set(model.predict_proba_one(x).values())) == 1
            continue
        assert {y: math.exp(log - evidence) for y, log in joint.items()} == pytest.approx(model.predict_proba_one(x))
        likelihood = model.log_likelihood_one(x)
        assert likelihood[best] == max(likelihood.values())


def test_likelihoods_of_scikit_learn() -> None:
    """The joint log-probabilities of its four models, to 1e-8; it leaves the multinomial coefficient out."""
    generator = np.random.default_rng(1)
    labels = generator.integers(3, size=120)
    words = (generator.random((120, 12)) < 0.4).astype(float)
    counts = generator.poisson(0.9, (120, 12)).astype(float) + (np.arange(120) == 0)[:, None]
    values = generator.integers(3, size=(120, 4))
    numbers = generator.normal(labels[:, None], 0.5 + labels[:, None], (120, 3))
    pairs = (
        (BernoulliNB(Beta(0.4, 0.4), class_prior_count=0.0), naive_bayes.BernoulliNB(alpha=0.4), words),
        (MultinomialNB(0.3, 0.0, predictive="plug-in"), naive_bayes.MultinomialNB(alpha=0.3), counts),
        (CategoricalNB(2.5, 0.0), naive_bayes.CategoricalNB(alpha=2.5), values),
        (GaussianNB(None, class_prior_count=0.0), naive_bayes.GaussianNB(var_smoothing=0.0), numbers),
    )
    for model, oracle, rows in pairs:
        expected = oracle.fit(rows, labels).predict_joint_log_proba(rows[:20])
        taught(model, rows, labels)
        for row, own in zip(rows[:20], expected, strict=True):
            coefficient = gammaln(row.sum() + 1.0) - gammaln(row + 1.0).sum() if rows is counts else 0.0
            joint = model.log_joint_one(dict(enumerate(row.tolist())))
            assert [joint[label] for label in range(3)] == pytest.approx(own + coefficient, abs=1e-8)


def test_distributions_of_scipy() -> None:
    """Dirichlet-multinomial and multinomial, negative binomial and Poisson, Student's t, with every constant."""
    generator = np.random.default_rng(2)
    rows = generator.poisson(1.2, (40, 5)).astype(float)
    uses = rows.sum(axis=0)
    x = np.array((2.0, 0.0, 1.0, 3.0, 1.0))
    event = dict(enumerate(x.tolist()))

    def likelihood(model: Any) -> float:
        return float(taught(model, rows, [7] * 40).log_likelihood_one(event)[7])

    drawn = stats.dirichlet_multinomial(0.6 + uses, int(x.sum()))
    assert likelihood(MultinomialNB(0.6)) == pytest.approx(drawn.logpmf(x.astype(int)), abs=1e-8)
    fixed = stats.multinomial(int(x.sum()), (0.6 + uses) / (0.6 + uses).sum())
    assert likelihood(MultinomialNB(0.6, predictive="plug-in")) == pytest.approx(fixed.logpmf(x), abs=1e-8)
    mixed = stats.nbinom(0.5 + uses, (2.0 + 40) / (3.0 + 40)).logpmf(x).sum()
    assert likelihood(PoissonNB(Gamma(0.5, 2.0))) == pytest.approx(mixed, abs=1e-8)
    rates = stats.poisson((0.5 + uses) / 42.0).logpmf(x).sum()
    assert likelihood(PoissonNB(Gamma(0.5, 2.0), predictive="plug-in")) == pytest.approx(rates, abs=1e-8)
    model = GaussianNB(NormalInverseGamma(0.5, 0.3, 2.0, 3.0))
    own = likelihood(model)
    predictives = [model.posterior(name, 7).predictive() for name in range(5)]
    students = sum(
        stats.t(p.degrees, p.location, p.scale).logpdf(value) for p, value in zip(predictives, x, strict=True)
    )
    assert own == pytest.approx(students, abs=1e-8)


@pytest.mark.parametrize("covariance", FORMS)
def test_density_of_the_discriminant(covariance: str) -> None:
    """The plug-in likelihood is the multivariate normal density of scipy; features never learned say nothing."""
    values, labels = sample(90)
    model = trained(model_of(covariance, "plug-in"), values, labels)
    for x in events(values)[:5]:
        log = model.log_likelihood_one({**x, "never learned": 3.0})
        for label in range(3):
            names, matrix = model.covariance_of(label)
            mean = [model.mean(label)[name] for name in names]
            density = stats.multivariate_normal(mean, matrix).logpdf([x[str(name)] for name in names])
            assert log[label] == pytest.approx(density, abs=1e-8)


def test_evidence_is_a_probability() -> None:
    """Over all 2^3 messages, over all days of 3 x 2 values, and on a fine grid, p(x) sums to 1."""
    bernoulli = BernoulliNB(Beta(0.7, 1.9), class_prior_count=0.4)
    for x, y in (({"a": 1, "b": 1}, "spam"), ({"c": 1}, "ham"), ({"a": 1}, "ham")):
        bernoulli.learn_one(x, y)
    sets = [{name: 1 for place, name in enumerate("abc") if bits >> place & 1} for bits in range(8)]
    assert sum(math.exp(bernoulli.log_evidence_one(x)) for x in sets) == pytest.approx(1.0)
    days = [{"outlook": o, "windy": w} for o in ("sunny", "overcast", "rainy") for w in (False, True)]
    model = orienteering(0.3, 1.7)
    assert sum(math.exp(model.log_evidence_one(day)) for day in days) == pytest.approx(1.0)
    discriminant = GaussianDiscriminant(prior=NormalInverseGamma(0.5, 0.3, 4.0, 3.0))
    for value, label in ((-1.0, "a"), (0.5, "a"), (2.0, "b")):
        discriminant.learn_one({"x": value}, label)
    grid = np.linspace(-60.0, 60.0, 6001)
    densities = [math.exp(discriminant.log_evidence_one({"x": value})) for value in grid.tolist()]
    assert np.trapezoid(densities, grid) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(("reds", "blues"), [(1, 2), (3, 7), (5, 13), (11, 6)])
def test_certainties_are_ties(reds: int, blues: int) -> None:
    """Of a feature with one value each class is certain: ln 1 = 0, not a rounding error above, and the first wins."""
    model = CategoricalNB(prior_count=0.7)
    words = MultinomialNB(prior_count=0.3)
    for label, count in (("red", reds), ("blue", blues)):
        for _ in range(count):
            model.learn_one({"a": "x"}, label)
            words.learn_one({"a": 1}, label)
    for learner, x in ((model, {"a": "x"}), (words, {"a": 1})):
        assert learner.log_likelihood_one(x) == {"red": 0.0, "blue": 0.0}
        assert learner.predict_ml_one(x) == "red"
