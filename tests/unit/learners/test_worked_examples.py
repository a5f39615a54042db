"""Worked figures of the conjugate learners; each docstring is the hand computation."""

from __future__ import annotations

import math

import pytest

from stream_bayes import (
    BernoulliNB,
    Beta,
    BetaBernoulli,
    Gamma,
    GaussianNB,
    MultinomialNB,
    NormalInverseGamma,
    PoissonNB,
)
from tests.support.orienteering import FEATURES, orienteering


def test_coin_of_75_heads_and_60_tails() -> None:
    """Beta(2, 2) + 75 heads, 60 tails = Beta(77, 62); the maximum-likelihood share is 75 / 135 = 0.556."""
    model = BetaBernoulli(prior=Beta(2, 2))
    for outcome in [True] * 75 + [False] * 60:
        model.learn_one({}, outcome)
    assert model.posterior() == Beta(77, 62)
    assert model.predict_proba_one({})[True] == pytest.approx(77 / 139)


@pytest.mark.parametrize(("heads", "tails", "predictive", "mode"), [(2, 0, 4 / 6, 3 / 4), (55, 45, 57 / 104, 56 / 102)])
def test_small_and_large_data(heads: int, tails: int, predictive: float, mode: float) -> None:
    """With a = b = 2: predictive (2 + heads) / (4 + n), mode (1 + heads) / (2 + n)."""
    model = BetaBernoulli(prior=Beta(2, 2))
    model.test_then_train([{}] * (heads + tails), [True] * heads + [False] * tails)
    assert model.predictive_one({}).probabilities[True] == pytest.approx(predictive)
    assert model.posterior().mode == pytest.approx(mode)


def test_label_variance_of_a_coin_splits_exactly() -> None:
    """Beta(3, 1.5): p = 2/3, p(1-p) = 2/9; ignorance = ab / ((a+b)^2 (a+b+1)) = 4.5 / (20.25 x 5.5); noise the rest."""
    model = BetaBernoulli(prior=Beta(2, 0.5))
    model.learn_one({}, True)
    model.learn_one({}, False)
    predictive = model.predictive_one({})
    assert predictive.variance == pytest.approx(2 / 9)
    assert predictive.epistemic_variance == pytest.approx(4.5 / (20.25 * 5.5))
    assert predictive.aleatoric_variance == pytest.approx(2 / 9 - 4.5 / (20.25 * 5.5))


def test_orienteering_class_prior() -> None:
    """9 of 14 days were fit for orienteering: P(yes) = 9/14."""
    assert orienteering(0, 0).predict_proba_one({})["yes"] == pytest.approx(9 / 14)


def test_orienteering_outlook_given_play() -> None:
    """Of the 9 yes-days 2 were sunny, 4 overcast, 3 rainy; of the 5 no-days 3, 0, 2. Pseudo-counts add one each."""
    model = orienteering(1.0, 0)
    assert model.categories("outlook") == ["sunny", "overcast", "rainy"]
    assert model.posterior("outlook", "yes").concentration == (3, 5, 4)
    assert model.posterior("outlook", "no").concentration == (4, 1, 3)
    bare = orienteering(0, 0)
    for outlook, given_yes, given_no in (("sunny", 2 / 9, 3 / 5), ("overcast", 4 / 9, 0), ("rainy", 3 / 9, 2 / 5)):
        yes = 9 / 14 * given_yes
        no = 5 / 14 * given_no
        assert bare.predict_proba_one({"outlook": outlook})["yes"] == pytest.approx(yes / (yes + no))


def test_orienteering_rainy_day() -> None:
    """P(yes | rainy) = (9/14)(3/9) / (3/14 + (5/14)(2/5)) = 3/5, though rain is likelier given no: 2/5 > 3/9."""
    model = orienteering(0, 0)
    assert model.predict_proba_one({"outlook": "rainy"})["yes"] == pytest.approx(3 / 5)
    assert model.predict_one({"outlook": "rainy"}) == "yes"
    posterior = model.predict_proba_one({"outlook": "rainy"})
    assert posterior["no"] / 5 > posterior["yes"] / 9, "by likelihood alone it would be no"


def test_orienteering_without_pseudo_counts() -> None:
    """(sunny, cool, high, true): yes 9/14 x 2/9 x 3/9 x 3/9 x 3/9 = .0053; no 5/14 x 3/5 x 1/5 x 4/5 x 3/5 = .0206."""
    day = dict(zip(FEATURES, ("sunny", "cool", "high", True), strict=True))
    yes = 9 / 14 * 2 / 9 * 3 / 9 * 3 / 9 * 3 / 9
    no = 5 / 14 * 3 / 5 * 1 / 5 * 4 / 5 * 3 / 5
    assert (round(yes, 4), round(no, 4)) == (0.0053, 0.0206)
    model = orienteering(0, 0)
    assert model.predict_proba_one(day)["yes"] == pytest.approx(yes / (yes + no))
    assert model.predict_one(day) == "no"


def test_orienteering_with_pseudo_counts_nothing_is_zero() -> None:
    """Overcast never came with no: 0/5 without pseudo-counts, (0 + 1) / (5 + 3) = 1/8 with one each."""
    assert orienteering(0, 0).predict_proba_one({"outlook": "overcast"})["no"] == 0.0
    yes = 9 / 14 * 5 / 12
    no = 5 / 14 * 1 / 8
    assert orienteering(1, 0).predict_proba_one({"outlook": "overcast"})["no"] == pytest.approx(no / (yes + no))


def test_orienteering_value_never_seen_counts_as_one_more() -> None:
    """Snow is a fourth outlook: yes 9/14 x 1/(9 + 4), no 5/14 x 1/(5 + 4)."""
    yes = 9 / 14 / 13
    no = 5 / 14 / 9
    assert orienteering(1, 0).predict_proba_one({"outlook": "snow"})["yes"] == pytest.approx(yes / (yes + no))


def test_bernoulli_counts_the_absent_words() -> None:
    """Prior Beta(0.5, 1.5). spam: {a, b}, {a}; ham: {c}. Vocabulary a, b, c; message {a}.

    spam: a (0.5+2)/4 = 5/8, b absent (1.5+2-1)/4 = 5/8, c absent 3.5/4 = 7/8; class (2+1)/(3+2) = 3/5.
    ham: a 0.5/3 = 1/6, b absent 2.5/3 = 5/6, c absent 1.5/3 = 1/2; class 2/5.
    """
    model = BernoulliNB(prior=Beta(0.5, 1.5))
    model.learn_one({"a": 1, "b": 1}, "spam")
    model.learn_one({"a": True}, "spam")
    model.learn_one({"c": 3}, "ham")
    spam = 3 / 5 * 5 / 8 * 5 / 8 * 7 / 8
    ham = 2 / 5 * 1 / 6 * 5 / 6 * 1 / 2
    assert model.predict_proba_one({"a": 1, "unknown": 1})["spam"] == pytest.approx(spam / (spam + ham), rel=1e-14)
    assert model.posterior("a", "spam") == Beta(2.5, 1.5)
    assert model.posterior("a", "ham") == Beta(0.5, 2.5)


def test_multinomial_posterior_predictive_knows_that_words_come_again() -> None:
    """Pseudo-count 0.5, classes spam (a a b) and ham (c): V = 3, so totals are 3 + 1.5 and 1 + 1.5.

    For (a a) plug-in: spam (2.5/4.5)^2, ham (0.5/2.5)^2.
    Posterior: spam 2.5 x 3.5 / (4.5 x 5.5), ham 0.5 x 1.5 / (2.5 x 3.5).
    """
    for predictive, spam, ham in (
        ("plug-in", (2.5 / 4.5) ** 2, (0.5 / 2.5) ** 2),
        ("posterior", 2.5 * 3.5 / (4.5 * 5.5), 0.5 * 1.5 / (2.5 * 3.5)),
    ):
        model = MultinomialNB(prior_count=0.5, predictive=predictive)
        model.learn_one({"a": 2, "b": 1}, "spam")
        model.learn_one({"c": 1}, "ham")
        assert model.predict_proba_one({"a": 2})["spam"] == pytest.approx(spam / (spam + ham), rel=1e-13)
        assert model.posterior("a", "spam") == Beta(2.5, 2.0)


def test_poisson_rate_is_uses_over_messages() -> None:
    """Gamma(2, 0.5) + 7 uses in 3 messages = Gamma(9, 3.5); with a vague prior the mean tends to 7 / 3."""
    model = PoissonNB(prior=Gamma(2.0, 0.5))
    for count in (4, 0, 3):
        model.learn_one({"cheap": count}, "spam")
    assert model.posterior("cheap", "spam") == Gamma(9, 3.5)
    vague = PoissonNB(prior=Gamma(1e-9, 1e-9))
    for count in (4, 0, 3):
        vague.learn_one({"cheap": count}, "spam")
    assert vague.posterior("cheap", "spam").mean == pytest.approx(7 / 3)


def test_poisson_counts_the_absent_words() -> None:
    """Prior Gamma(0.5, 2); spam: {a: 2}; ham: {b: 1}. Message {a: 1}: a predictive negative binomial, b absent.

    With shape A and rate B: P(1) = A (B/(B+1))^A / (B+1), P(0) = (B/(B+1))^A. B = 3 in both classes.
    spam: a A = 2.5, b A = 0.5; ham: a A = 0.5, b A = 1.5. Powers of 3/4: spam 3, ham 2.
    """
    model = PoissonNB(prior=Gamma(0.5, 2.0))
    model.learn_one({"a": 2}, "spam")
    model.learn_one({"b": 1}, "ham")
    spam = 2.5 * 0.75**3 / 4
    ham = 0.5 * 0.75**2 / 4
    assert model.predict_proba_one({"a": 1})["spam"] == pytest.approx(spam / (spam + ham), rel=1e-14)
    plug_in = PoissonNB(prior=Gamma(0.5, 2.0), predictive="plug-in")
    plug_in.learn_one({"a": 2}, "spam")
    plug_in.learn_one({"b": 1}, "ham")
    spam = 2.5 / 3 * math.exp(-3 / 3)
    ham = 0.5 / 3 * math.exp(-2 / 3)
    assert plug_in.predict_proba_one({"a": 1})["spam"] == pytest.approx(spam / (spam + ham), rel=1e-14)


def test_gaussian_posterior_by_hand() -> None:
    """Prior mean 1, strength 2, shape 3, scale 4; values 2, 4: n = 2, mean 3, scatter 2.

    strength 4, mean (2 x 1 + 2 x 3) / 4 = 2, shape 4, scale 4 + (2 + 2 x 2 / 4 x (3 - 1)^2) / 2 = 4 + (2 + 4) / 2 = 7.
    """
    model = GaussianNB(prior=NormalInverseGamma(1.0, 2.0, 3.0, 4.0))
    model.learn_one({"x": 2.0}, "a")
    model.learn_one({"x": 4.0}, "a")
    assert model.posterior("x", "a") == NormalInverseGamma(2.0, 4.0, 4.0, 7.0)
    assert model.posterior("x", "b") == NormalInverseGamma(1.0, 2.0, 3.0, 4.0)


def test_gaussian_predictive_is_student_t() -> None:
    """Class a has the posterior above: t with 8 degrees at 2, squared scale 7/4 x 5/4.

    Class b has had one event, without x: the prior speaks, t with 6 degrees at 1, squared scale 4/3 x 3/2.
    """
    model = GaussianNB(prior=NormalInverseGamma(1.0, 2.0, 3.0, 4.0), class_prior_count=1.0)
    model.learn_one({"x": 2.0}, "a")
    model.learn_one({"x": 4.0}, "a")
    model.learn_one({}, "b")
    posterior = model.posterior("x", "a").predictive()
    prior = model.posterior("x", "b").predictive()
    assert (posterior.degrees, posterior.location) == (8.0, 2.0)
    assert posterior.scale**2 == pytest.approx(7 / 4 * 5 / 4)
    a = 3 / 5 * posterior.density(3.5)
    b = 2 / 5 * prior.density(3.5)
    assert model.predict_proba_one({"x": 3.5})["a"] == pytest.approx(a / (a + b), rel=1e-13)


def test_shared_variance_gives_linear_log_odds() -> None:
    """Means 0 and 1, shared plug-in variance 1/2: weight (1 - 0) / (1/2) = 2, bias -(1 - 0) / (2 x 1/2) = -1."""
    model = GaussianNB(variance="shared", predictive="plug-in", class_prior_count=0.0)
    for mean, label in ((0.0, "a"), (1.0, "b")):
        for sign in (-1.0, 1.0):
            model.learn_one({"x": mean + sign * math.sqrt(0.5)}, label)
    for x in (-1.0, 0.5, 3.0):
        p = model.predict_proba_one({"x": x})["b"]
        assert math.log(p / (1 - p)) == pytest.approx(2 * x - 1, abs=1e-12)
