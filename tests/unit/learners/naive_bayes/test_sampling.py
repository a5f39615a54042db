"""Events drawn from a learner follow the distribution that it predicts with."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

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
from stream_bayes.errors import EvidenceError, InputError, ParameterError
from stream_bayes.learners.base.generative_classifier import GenerativeClassifier
from stream_bayes.learners.discriminant import FORMS
from tests.support.discriminants import NAMES, model_of, sample, trained
from tests.support.learners import LEARNERS
from tests.support.orienteering import orienteering

GENERATIVE = [
    name
    for name, learner in LEARNERS.items()
    if isinstance(learner, GenerativeClassifier) and getattr(learner, "buckets", None) is None
]
MESSAGES = [({"a": 3, "b": 1}, "spam"), ({"a": 1}, "spam"), ({"b": 1, "c": 2}, "ham"), ({"c": 1}, "ham")]


def taught(model: Any, stream: list[tuple[dict[str, Any], str]]) -> Any:
    for x, y in stream:
        model.learn_one(x, y)
    return model


def assert_frequencies(seen: Counter[Any], expected: dict[Any, float]) -> None:
    """A chi-squared test, with a seed for which it passes."""
    total = sum(seen.values())
    known = sum(expected.values())
    observed = [seen[key] for key in expected]
    wanted = [total * p for p in expected.values()]
    if known < 1.0 - 1e-9:
        observed.append(total - sum(observed))
        wanted.append(total * (1.0 - known))
    assert stats.chisquare(observed, wanted).pvalue > 0.01


@pytest.mark.parametrize("name", GENERATIVE)
def test_sampled_events_can_be_learned(name: str) -> None:
    """They are events of the learner; the same generator gives the same events, and sampling changes nothing."""
    labels = LEARNERS[name].classes or ("red", "green")
    stream = [({"a": 1, "b": 2 + place}, labels[place % 2]) for place in range(8)]
    model = taught(LEARNERS[name].clone(), stream)
    before = model.predict_proba_one({"a": 1})
    drawn = model.sample(size=20, generator=np.random.default_rng(1))
    assert drawn == model.sample(size=20, generator=np.random.default_rng(1))
    assert model.predict_proba_one({"a": 1}) == before
    assert {label for _, label in drawn} <= set(labels)
    for x, label in drawn:
        assert model.log_likelihood_one(x)[label] > -math.inf
        model.learn_one(x, label)
    assert [label for _, label in model.sample(labels[1], 3)] == [labels[1]] * 3
    assert model.sample(size=0) == []


def test_days_of_the_orienteering_table() -> None:
    """The label yes with 9.5 / 15, sunny given yes with 2.7 / 11.1; and the share of each day is its probability."""
    model = orienteering(0.7, 0.5)
    drawn = model.sample(size=4000, generator=np.random.default_rng(2))
    assert_frequencies(Counter(label for _, label in drawn), {"yes": 9.5 / 15, "no": 5.5 / 15})
    sunny = [x["outlook"] == "sunny" for x, label in drawn if label == "yes"]
    assert np.mean(sunny) == pytest.approx(2.7 / 11.1, abs=0.02)
    days = {frozenset(x.items()): x for x, _ in drawn}
    expected = {key: math.exp(model.log_evidence_one(x)) for key, x in days.items()}
    common = {key: p for key, p in expected.items() if p > 0.005}
    assert_frequencies(Counter(frozenset(x.items()) for x, _ in drawn), common)


@pytest.mark.parametrize(
    "model",
    [
        BernoulliNB(Beta(0.5, 1.5)),
        BernoulliNB(None),
        PoissonNB(Gamma(0.8, 1.5)),
        PoissonNB(Gamma(0.8, 1.5), predictive="plug-in"),
        PoissonNB(None),
    ],
    ids=["BernoulliNB", "BernoulliNB ml", "PoissonNB", "PoissonNB plug-in", "PoissonNB ml"],
)
def test_generated_messages_come_as_often_as_predicted(model: Any) -> None:
    """Of each message that is not too rare the share among those drawn is exp(log_likelihood_one)."""
    taught(model, MESSAGES)
    drawn = [x for x, _ in model.sample("spam", 3000, np.random.default_rng(3))]
    messages = {frozenset(x.items()): x for x in drawn}
    expected = {key: math.exp(model.log_likelihood_one(x)["spam"]) for key, x in messages.items()}
    assert_frequencies(
        Counter(frozenset(x.items()) for x in drawn), {key: p for key, p in expected.items() if p > 0.005}
    )


@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
def test_words_of_generated_mails(predictive: str) -> None:
    """Spam has 5 words in 2 messages: lengths are Poisson(2.5). Given the length, words are as predicted."""
    model = taught(MultinomialNB(0.7, predictive=predictive), MESSAGES)
    drawn = [x for x, _ in model.sample("spam", 6000, np.random.default_rng(4))]
    lengths = Counter(sum(x.values()) for x in drawn)
    assert_frequencies(lengths, {n: float(stats.poisson(2.5).pmf(n)) for n in range(8)})
    pairs = [x for x in drawn if sum(x.values()) == 2]
    messages = {frozenset(x.items()): x for x in pairs}
    expected = {key: math.exp(model.log_likelihood_one(x)["spam"]) for key, x in messages.items()}
    assert sum(expected.values()) == pytest.approx(1.0)
    assert_frequencies(Counter(frozenset(x.items()) for x in pairs), expected)


def test_a_text_is_drawn_as_it_was_given() -> None:
    model = taught(
        BernoulliNB(None), [({"sender": "bob", "cheap": 1}, "spam"), ({"sender": "bob", "cheap": 1}, "spam")]
    )
    assert model.sample("spam")[0] == ({"sender": "bob", "cheap": 1}, "spam")


@pytest.mark.parametrize(
    ("variance", "predictive"), [("class", "posterior"), ("shared", "posterior"), ("class", "plug-in")]
)
def test_numbers_follow_the_predictive(variance: str, predictive: str) -> None:
    """Kolmogorov-Smirnov against Student's t, or the normal with the mean and the variance of the data."""
    model = GaussianNB(NormalInverseGamma(0.5, 0.3, 2.0, 3.0), variance=variance, predictive=predictive)
    for x, label in ((1.0, "a"), (3.0, "a"), (2.5, "a"), (7.0, "b"), (9.5, "b")):
        model.learn_one({"x": x}, label)
    values = [x["x"] for x, _ in model.sample("a", 2000, np.random.default_rng(5))]
    p = model.posterior("x", "a").predictive()
    oracle = stats.t(p.degrees, p.location, p.scale)
    if predictive == "plug-in":
        mean, spread = model.parameters("a", "ml")["x"]
        oracle = stats.norm(mean, spread**0.5)
    assert stats.kstest(values, oracle.cdf).pvalue > 0.01


@pytest.mark.parametrize("covariance", FORMS)
@pytest.mark.parametrize("predictive", ["posterior", "plug-in"])
def test_vectors_follow_the_predictive(covariance: str, predictive: str) -> None:
    """Mean and covariance of many draws are those of the predictive, and so is the distribution of the log-density."""
    values, labels = sample(60)
    model = trained(model_of(covariance, predictive), values, labels)
    drawn = [x for x, _ in model.sample(1, 3000, np.random.default_rng(6))]
    rows = np.array([[x[name] for name in NAMES] for x in drawn])
    expected, matrix = model.mean(1), model.covariance_of(1)[1]
    deviations = np.sqrt(matrix.diagonal())
    assert rows.mean(axis=0) == pytest.approx(
        [expected[name] for name in NAMES], abs=5.0 * deviations.max() / 3000**0.5
    )
    assert np.cov(rows.T) / np.outer(deviations, deviations) == pytest.approx(
        matrix / np.outer(deviations, deviations), abs=0.15
    )
    # Weighted by that of a broad t where it was drawn, the density integrates to 1 and has the same mean logarithm.
    logs = np.array([model.log_likelihood_one(x)[1] for x in drawn[:1000]])
    broad = stats.multivariate_t(rows.mean(axis=0), np.cov(rows.T), df=5, seed=7)
    probes = broad.rvs(4000)
    inside = np.array([model.log_likelihood_one(dict(zip(NAMES, row, strict=True)))[1] for row in probes.tolist()])
    weights = np.exp(inside - broad.logpdf(probes))
    assert weights.mean() == pytest.approx(1.0, abs=0.1)
    assert (weights * inside).mean() == pytest.approx(logs.mean(), abs=0.3)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(EvidenceError, match="no label to draw"):
        BernoulliNB().sample()
    model = taught(CategoricalNB(), [({"a": "x"}, "red")])
    with pytest.raises(InputError, match="neither learned nor declared"):
        model.sample("blue")
    for size in (-1, 1.5, "2", 10**15):
        with pytest.raises(ParameterError, match="size must be"):
            model.sample("red", size)
    with pytest.raises(ParameterError, match="default_rng"):
        model.sample("red", 1, 7)


@pytest.mark.parametrize(
    "model",
    [CategoricalNB(prior_count=0.0), GaussianNB(prior=None), GaussianDiscriminant(prior=None)],
    ids=lambda model: type(model).__name__,
)
def test_without_a_prior_a_feature_that_a_class_never_had_is_not_drawn(model: Any) -> None:
    taught(model, [({"x": 1}, "a"), ({"x": 2}, "a"), ({"x": 1, "y": 2}, "b"), ({"x": 2, "y": 3}, "b")])
    with pytest.raises(EvidenceError, match="label 'a' has no value of feature 'y'"):
        model.sample("a")
    assert [set(x) for x, _ in model.sample("b", 2)] == [{"x", "y"}] * 2
