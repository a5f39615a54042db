"""Posteriors as curves: of a word, a sender, a weight; each against counts made by hand and against scipy."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
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
from stream_bayes.posteriors import Beta, Gamma, Normal, NormalInverseGamma, StudentT
from stream_bayes.web.api.schemas import DensityBody
from stream_bayes.web.services.model_cache import ModelCache
from stream_bayes.web.services.posteriors import NamedPosterior, NoPosterior, density, density_of, kinds_of
from tests.support.learners import LEARNERS
from tests.support.web_checkpoints import MailWorker, mails, trained_clone

MAIL = """\
Received: from relay.shop.example [10.1.2.3]
From: Offer <Offer@Shop.example>
Subject: cheap pills
X-Link: http://track.example/1

buy cheap pills at http://www.shop.example:80/x or ask help@desk.example
"""


def assert_is_a_curve(found: DensityBody) -> None:
    x = np.array(found.x)
    y = np.array(found.y)
    assert 150 <= len(x) == len(y) <= 210
    assert (np.diff(x) > 0.0).all()
    assert np.isfinite(y).all()
    assert (y >= 0.0).all()
    low, high = found.interval
    assert low < high


CURVES: dict[str, tuple[Any, Any]] = {
    "flat": (Beta(1.0, 1.0), stats.beta(1.0, 1.0)),
    "wide": (Beta(2.5, 4.0), stats.beta(2.5, 4.0)),
    "narrow": (Beta(40_000.0, 90_000.0), stats.beta(40_000.0, 90_000.0)),
    "at the end": (Beta(1.0, 30.0), stats.beta(1.0, 30.0)),
    "normal": (Normal(-3.0, 0.04), stats.norm(-3.0, 0.2)),
    "student": (StudentT(5.0, 2.0, 3.0), stats.t(5.0, 2.0, 3.0)),
    "rate": (Gamma(9.0, 3.0), stats.gamma(9.0, scale=1.0 / 3.0)),
}


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_is_the_density(name: str) -> None:
    posterior, truth = CURVES[name]
    found = density("kind", "text", NamedPosterior(posterior, "what it is"))
    assert_is_a_curve(found)
    np.testing.assert_allclose(found.y, truth.pdf(found.x), rtol=1e-6, atol=1e-12)
    assert np.trapezoid(found.y, found.x) == pytest.approx(1.0, abs=0.01), "it covers nearly all"
    assert found.mean == pytest.approx(truth.mean())
    assert found.interval == pytest.approx(truth.interval(0.95), rel=1e-6)
    assert found.note is None


@pytest.mark.parametrize(
    "posterior", [Beta(0.35, 0.35), Beta(12.35, 0.35), Beta(0.35, 5000.0), Gamma(0.2, 3.0), StudentT(0.5, 0.0, 1.0)]
)
def test_a_density_without_bound_is_cut_off(posterior: Any) -> None:
    found = density("kind", "text", NamedPosterior(posterior, "what it is", "first"))
    assert_is_a_curve(found)
    within = [place for place, x in enumerate(found.x) if posterior.quantile(0.3) < x < posterior.quantile(0.7)]
    assert len(within) >= 5, "the middle is drawn"
    np.testing.assert_allclose([found.y[place] for place in within], posterior.density([found.x[p] for p in within]))
    cut = not isinstance(posterior, StudentT)
    assert found.note == ("first; the density is unbounded: the curve is cut off" if cut else "first")
    assert (max(found.y) < posterior.density(found.x).max()) == cut


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> ModelCache:
    room = MailWorker(
        tmp_path_factory.mktemp("mails"), learner={"name": "SpamFilter", "parameters": {"buckets": 2**22}}
    )
    extra = {"id": "x", "label": "ham", "text": "cheap bread", "sender": "offer@shop.example", "subject": "lunch"}
    room.work(*mails(20), extra)
    return ModelCache(room.settings)


@pytest.mark.parametrize(
    ("kind", "text", "meaning", "counts"),
    [
        ("word", "pills", 'the word "pills"', (10, 0)),
        ("word", " Cheap ", 'the word "cheap"', (10, 1)),
        ("word", "buy", 'the word "buy"', (10, 10)),
        ("word", "Cheap  Pills", 'the pair "cheap pills"', (10, 0)),
        ("pair", "cheap bread", 'the pair "cheap bread"', (0, 1)),
        ("subject: word", "cheap", 'the word "cheap" in subject', (10, 0)),
        ("subject: word", "lunch", 'the word "lunch" in subject', (0, 11)),
        ("word", "zebra", 'the word "zebra"', (0, 0)),
        ("sender", "offer@shop.example", 'the sender "offer@shop.example"', (10, 1)),
        ("sender", "Bob <OFFER@shop.example>", 'the sender "offer@shop.example"', (10, 1)),
        ("sender", "@office.example", 'the sender "@office.example"', (0, 10)),
        ("sender", "office.example", 'the sender "@office.example"', (0, 10)),
        ("sender", "nobody@shop.example", 'the sender "nobody@shop.example"', (0, 0)),
        ("host", "shop.example", 'the host "shop.example"', (10, 0)),
        ("host", "https://Shop.example/y?z#1", 'the host "shop.example"', (10, 0)),
        ("host", "other.example", 'the host "other.example"', (0, 0)),
        ("field", "subject", 'the field "subject"', (10, 11)),
    ],
)
def test_posteriors_of_a_mail_filter(
    models: ModelCache, kind: str, text: str, meaning: str, counts: tuple[int, int]
) -> None:
    spam, ham = counts
    found = models.posterior(kind, text)
    assert_is_a_curve(found)
    assert found.meaning == f"probability of spam among mails with {meaning}"
    assert (found.seen, found.seen_towards) == (spam + ham, spam)
    truth = stats.beta(0.35 + spam, 0.35 + ham)
    assert found.mean == pytest.approx(truth.mean())
    assert found.interval == pytest.approx(truth.interval(0.95), abs=1e-9)
    assert found.family == f"Beta({0.35 + spam:g}, {0.35 + ham:g})"
    new = "no labelled mail had it: this is the prior"
    assert (new in (found.note or "")) == (spam + ham == 0)


def test_every_feature_of_an_explanation_has_a_posterior() -> None:
    learner = SpamFilter(buckets=2**22)
    for label in ("spam", "spam", "ham"):
        learner.learn_one(MAIL, label)
    shares = learner.explain(MAIL, top=1000).shares
    kinds = {share.kind for share in shares}
    assert {"word", "pair", "sender", "host", "header: host", "network", "field", "fields", "from: word"} <= kinds
    for share in shares:
        found = density_of(learner, share.kind, share.text)
        assert (found.seen, found.seen_towards) == (3, 2), share
        assert f'"{share.text}"' in found.meaning


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("word", "three words here", "this filter does not read 'three words here' as one word"),
        ("word", "", "no posterior of word '': ask about a word, a sender, a host"),
        ("word", "\n\t", "ask about a word"),
        ("word", "x" * 201, "ask about a word"),
        ("colour", "red", "no posterior of colour 'red'"),
        ("a\nb: word", "red", "no posterior of a b: word 'red'"),
        ("sender", "<script>", "as one sender"),
        ("sender", "\u202e", "'⟨U+202E⟩' as one sender"),
        ("host", "@", "'@' as one host"),
        ("weight", "zebra", "no posterior of a weight of 'zebra': there are gram counts, word counts,"),
    ],
)
def test_features_of_which_a_mail_filter_has_no_posterior(
    models: ModelCache, kind: str, text: str, message: str
) -> None:
    with pytest.raises(NoPosterior) as caught:
        models.posterior(kind, text)
    assert message in str(caught.value)
    assert caught.value.code == "no-posterior"


def test_a_filter_that_does_not_look_at_senders() -> None:
    learner = SpamFilter(members=("word counts", "structure counts"), buckets=2**12)
    learner.learn_one("From: ann@office.example\n\nlunch", "ham")
    assert density_of(learner, "word", "lunch").seen == 1
    with pytest.raises(NoPosterior, match="this filter does not use senders: its members are word counts, struct"):
        density_of(learner, "sender", "ann@office.example")


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
            found = density_of(learner, "weight", text)
            assert found.mean == pytest.approx(weights[name].mean)
            assert found.interval == pytest.approx(weights[name].interval(0.95))
            assert (found.note, density_of(learner, "feature", text).x) == (None, found.x)
        assert density_of(learner, "weight", "colour = red").meaning == 'weight of "colour = red"'
        new = density_of(learner, "weight", "zebra")
        assert new.note == "no labelled event had it: this is the prior"
        assert new.interval == pytest.approx(stats.norm(0.0, 0.5**-0.5).interval(0.95))
    unknown = BayesianLinearRegression(4.0, 0.3, noise="unknown", noise_degrees=2.5)
    unknown.learn_one({"x": 1.0}, 2.0)
    assert density_of(unknown, "weight", "x").family.startswith("StudentT(degrees 3.5, location ")
    hashed = BayesianLinearRegression(0.7, 0.5, buckets=32)
    assert density_of(hashed, "weight", "zebra").note is None


def test_weights_of_a_fusion() -> None:
    fusion = LogOddsFusion((BernoulliNB(), MultinomialNB()))
    found = density_of(fusion, "weight", "MultinomialNB")
    weight = fusion.weights()["MultinomialNB"]
    assert isinstance(weight, Normal)
    assert found.mean == weight.mean
    assert found.interval == pytest.approx(weight.interval())
    with pytest.raises(NoPosterior, match="there are none"):
        density_of(LogOddsFusion((BernoulliNB(),), method="averaging"), "weight", "BernoulliNB")


def test_naive_bayes() -> None:
    words: list[Any] = [BernoulliNB(prior=Beta(0.5, 2.0)), MultinomialNB(prior_count=0.5), PoissonNB(prior=Gamma(2, 3))]
    for learner in words:
        learner.learn_one({"pills": 2, "now": 1}, "spam")
        learner.learn_one({"pills": 1}, "spam")
        learner.learn_one({"lunch": 1}, "ham")
    present, share, often = (density_of(learner, "word", "pills") for learner in words)
    assert (present.meaning, present.family) == ('probability that "pills" is in an event of spam', "Beta(2.5, 2)")
    assert (share.meaning, share.family) == ('share of "pills" among all words of spam', "Beta(3.5, 2)")
    assert (often.meaning, often.family) == ('how often "pills" is in an event of spam', "Gamma(shape 5, rate 5)")
    for learner in words:
        assert density_of(learner, "word", "pills").note is None
        assert str(density_of(learner, "word", "zebra").note).startswith("no labelled event had it")


@pytest.mark.parametrize("kind", [GaussianNB, GaussianDiscriminant])
def test_the_mean_of_a_number_in_a_class(kind: Any) -> None:
    prior = NormalInverseGamma(0.5, 0.3, 2.0, 3.0)
    learner = kind(prior=prior, classes=("no", "yes"))
    for value, label in ((1.0, "yes"), (2.0, "yes"), (9.0, "no")):
        learner.learn_one({"x": value}, label)
    found = density_of(learner, "feature", "x = 7.5")
    truth = prior.update_many((1.0, 2.0)).mean_marginal()
    assert found.meaning == 'mean of "x" in yes'
    assert found.mean == pytest.approx(truth.mean)
    assert found.interval == pytest.approx(truth.interval())


def test_categories() -> None:
    learner = CategoricalNB(prior_count=0.2)
    for outlook, windy, label in (("sunny", True, "no"), ("rainy", False, "yes"), ("sunny", False, "yes")):
        learner.learn_one({"outlook": outlook, "windy": windy}, label)
    found = density_of(learner, "feature", "outlook = sunny")
    assert (found.meaning, found.family) == ("probability of outlook = sunny in yes", "Beta(1.2, 1.2)")
    assert density_of(learner, "feature", "windy = True").family == "Beta(0.2, 2.2)"
    for text in ("outlook", "outlook = foggy", "zebra = 1"):
        with pytest.raises(NoPosterior, match="a category is a feature with its value; known are "):
            density_of(learner, "feature", text)
    with pytest.raises(NoPosterior, match="with buckets no names are kept"):
        density_of(trained_clone(CategoricalNB(buckets=64)), "feature", "a = 1")


def test_beta_bernoulli_posteriors() -> None:
    learner = BetaBernoulli(on="sender", prior=Beta(2.0, 3.0), classes=("ham", "spam"))
    for label in ("spam", "ham", "ham"):
        learner.learn_one({"sender": "bob"}, label)
    for text in ("bob", "sender = bob"):
        found = density_of(learner, "feature", text)
        assert (found.meaning, found.family) == ("probability of spam where sender = bob", "Beta(3, 5)")
        assert (found.seen, found.seen_towards, found.note) == (3, 1, None)
    assert density_of(learner, "feature", "eve").note == "no labelled event had it: this is the prior"
    number = BetaBernoulli(on="port")
    number.learn_one({"port": 25}, True)
    assert density_of(number, "feature", "25").family == "Beta(2, 1)"
    assert density_of(BetaBernoulli(), "feature", "anything").meaning == "probability of true"


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_density_for_each_of_its_kinds(name: str) -> None:
    learner = trained_clone(LEARNERS[name])
    before = LEARNERS[name].clone()
    for kind in kinds_of(type(learner)):
        for one in (learner, before):
            for text in ("a", "b = 1", "c = True", "MultinomialNB", "intercept", "\x00"):
                with suppress(NoPosterior):
                    assert_is_a_curve(density_of(one, kind, text))
    with pytest.raises(NoPosterior, match=f"no (belief|posterior).*colour|{type(learner).__name__} has no posterior"):
        density_of(learner, "colour", "red")


def test_learners_without_posteriors() -> None:
    assert kinds_of(GramRegression) == ()
    with pytest.raises(NoPosterior, match="GramRegression has no posterior of a word: it keeps none that can be drawn"):
        density_of(GramRegression(), "word", "pills")
    with pytest.raises(NoPosterior, match="this BernoulliNB has not learned any label yet"):
        density_of(BernoulliNB(), "word", "pills")


def test_scipy_stats_is_not_needed(tmp_path: Path) -> None:
    code = "import sys, stream_bayes.web.services.model_cache; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path).returncode == 0
