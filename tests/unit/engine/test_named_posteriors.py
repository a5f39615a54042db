"""Posteriors of features and weights by their names, each against counts made by hand and against scipy."""

from __future__ import annotations

from typing import Any

import pytest
from scipy import stats

from stream_bayes import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    BernoulliNB,
    BetaBernoulli,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    GramRegression,
    LogOddsFusion,
    MultinomialNB,
    PoissonNB,
    SpamFilter,
)
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.errors import NoPosterior
from stream_bayes.learners.base.named_posterior import NamedPosterior
from stream_bayes.posteriors import Beta, Gamma, Normal, NormalInverseGamma, StudentT
from tests.support.web_checkpoints import trained_clone


def posterior_of(learner: Any, kind: str, text: str) -> NamedPosterior:
    return ModelAdapter(learner).posterior_of(kind, text)


def test_weights() -> None:
    linear = BayesianLinearRegression(0.5, 0.3)
    logistic = BayesianLogisticRegression(0.5)
    for number in range(20):
        x = {"x": number / 10.0, "colour": ("red", "blue")[number % 2]}
        linear.learn_one(x, 2.0 * number)
        logistic.learn_one(x, number > 7)
    for learner in (linear, logistic):
        weights = learner.weights()
        for text, name in (("x", "x"), ("x = 3", "x"), ("colour = red", ("colour", "red")), ("intercept", "intercept")):
            found = posterior_of(learner, "weight", text)
            assert found.posterior.mean == pytest.approx(weights[name].mean)
            assert found.posterior.interval(0.95) == pytest.approx(weights[name].interval(0.95))
            assert found.note is None
            assert posterior_of(learner, "feature", text) == found
        assert posterior_of(learner, "weight", "colour = red").meaning == 'weight of "colour = red"'
        new = posterior_of(learner, "weight", "zebra")
        assert new.note == "no labelled event had it: this is the prior"
        assert new.posterior.interval(0.95) == pytest.approx(stats.norm(0.0, 0.5**-0.5).interval(0.95))
    unknown = BayesianLinearRegression(4.0, 0.3, noise="unknown", noise_degrees=2.5)
    unknown.learn_one({"x": 1.0}, 2.0)
    weight = posterior_of(unknown, "weight", "x").posterior
    assert isinstance(weight, StudentT)
    assert weight.degrees == 3.5
    hashed = BayesianLinearRegression(0.7, 0.5, buckets=32)
    assert posterior_of(hashed, "weight", "zebra").note is None


def test_weights_of_a_fusion() -> None:
    fusion = LogOddsFusion((BernoulliNB(), MultinomialNB()))
    found = posterior_of(fusion, "weight", "MultinomialNB")
    assert isinstance(found.posterior, Normal)
    assert found == (fusion.weights()["MultinomialNB"], 'weight of "MultinomialNB" in the fusion', None, None, None)
    with pytest.raises(NoPosterior, match="there are none"):
        posterior_of(LogOddsFusion((BernoulliNB(),), method="averaging"), "weight", "BernoulliNB")


def test_weights_of_the_members_of_a_mail_filter() -> None:
    model = SpamFilter(members=("word counts", "senders"), buckets=2**10)
    model.learn_one("\npills", "spam")
    found = posterior_of(model, "weight", " word counts ")
    assert (found.posterior, found.meaning) == (model.weights()["word counts"], 'weight of "word counts" in the fusion')
    with pytest.raises(NoPosterior, match="of a weight of 'hosts': there are word counts, senders, intercept"):
        posterior_of(model, "weight", "hosts")


def test_features_of_a_mail_filter_are_asked_of_it() -> None:
    model = SpamFilter(buckets=2**16)
    model.learn_one("\npills", "spam")
    assert posterior_of(model, "word", "Pills") == model.feature_posterior("word", "Pills")
    assert posterior_of(model, "word", "Pills").posterior == Beta(1.35, 0.35)


def test_naive_bayes() -> None:
    words: list[Any] = [BernoulliNB(prior=Beta(0.5, 2.0)), MultinomialNB(prior_count=0.5), PoissonNB(prior=Gamma(2, 3))]
    for learner in words:
        learner.learn_one({"pills": 2, "now": 1}, "spam")
        learner.learn_one({"pills": 1}, "spam")
        learner.learn_one({"lunch": 1}, "ham")
    present, share, often = (posterior_of(learner, "word", "pills") for learner in words)
    assert (present.meaning, present.posterior) == ('probability that "pills" is in an event of spam', Beta(2.5, 2.0))
    assert (share.meaning, share.posterior) == ('share of "pills" among all words of spam', Beta(3.5, 2.0))
    assert (often.meaning, often.posterior) == ('how often "pills" is in an event of spam', Gamma(5.0, 5.0))
    for learner in words:
        assert posterior_of(learner, "word", "pills").note is None
        assert str(posterior_of(learner, "word", "zebra").note).startswith("no labelled event had it")


@pytest.mark.parametrize("kind", [GaussianNB, GaussianDiscriminant])
def test_the_mean_of_a_number_in_a_class(kind: Any) -> None:
    prior = NormalInverseGamma(0.5, 0.3, 2.0, 3.0)
    learner = kind(prior=prior, classes=("no", "yes"))
    for value, label in ((1.0, "yes"), (2.0, "yes"), (9.0, "no")):
        learner.learn_one({"x": value}, label)
    found = posterior_of(learner, "feature", "x = 7.5")
    truth = prior.update_many((1.0, 2.0)).mean_marginal()
    assert found.meaning == 'mean of "x" in yes'
    assert found.posterior.mean == pytest.approx(truth.mean)
    assert found.posterior.interval() == pytest.approx(truth.interval())


def test_categories() -> None:
    learner = CategoricalNB(prior_count=0.2)
    for outlook, windy, label in (("sunny", True, "no"), ("rainy", False, "yes"), ("sunny", False, "yes")):
        learner.learn_one({"outlook": outlook, "windy": windy}, label)
    found = posterior_of(learner, "feature", "outlook = sunny")
    assert (found.meaning, found.posterior) == ("probability of outlook = sunny in yes", Beta(1.2, 1.2))
    assert posterior_of(learner, "feature", "windy = True").posterior == Beta(0.2, 2.2)
    for text in ("outlook", "outlook = foggy", "zebra = 1"):
        with pytest.raises(NoPosterior, match="a category is a feature with its value; known are "):
            posterior_of(learner, "feature", text)
    with pytest.raises(NoPosterior, match="with buckets no names are kept"):
        posterior_of(trained_clone(CategoricalNB(buckets=64)), "feature", "a = 1")


def test_coins() -> None:
    learner = BetaBernoulli(on="sender", prior=Beta(2.0, 3.0), classes=("ham", "spam"))
    for label in ("spam", "ham", "ham"):
        learner.learn_one({"sender": "bob"}, label)
    for text in ("bob", "sender = bob"):
        found = posterior_of(learner, "feature", text)
        assert found == (Beta(3.0, 5.0), "probability of spam where sender = bob", None, 3, 1)
    assert posterior_of(learner, "feature", "eve").note == "no labelled event had it: this is the prior"
    number = BetaBernoulli(on="port")
    number.learn_one({"port": 25}, True)
    assert posterior_of(number, "feature", "25").posterior == Beta(2.0, 1.0)
    assert posterior_of(BetaBernoulli(), "feature", "anything").meaning == "probability of true"


def test_learners_that_keep_none() -> None:
    assert GramRegression.posterior_kinds == ()
    with pytest.raises(NoPosterior, match="GramRegression has no posterior of a word: it keeps none that can be drawn"):
        posterior_of(GramRegression(), "word", "pills")
    with pytest.raises(NoPosterior, match="this BernoulliNB has not learned any label yet"):
        posterior_of(BernoulliNB(), "word", "pills")


def test_learners_without_a_prior() -> None:
    for learner in (BernoulliNB(prior=None), PoissonNB(prior=None)):
        for x, y in (({"lunch": 1}, "ham"), ({"cheap": 3}, "spam"), ({"lunch": 1}, "spam")):
            learner.learn_one(x, y)
        for word in ("cheap", "never"):
            with pytest.raises(NoPosterior, match="without a prior there is no posterior"):
                posterior_of(learner, "word", word)
