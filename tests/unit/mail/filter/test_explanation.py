"""What a mail filter says moved its log-odds: the shares add up, and the names are those in the mail."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import linear_model, naive_bayes, optim
from scipy.special import digamma

from stream_bayes.errors import InputError
from stream_bayes.learners.fusion.weights import LogisticWeights
from stream_bayes.mail.features.batch import Mail
from stream_bayes.mail.filter import ExternalMember, SpamFilter
from stream_bayes.mail.filter.composition import ALL_MEMBERS, MEMBERS
from stream_bayes.mail.filter.explanation import (
    COUNTED_AGAINST,
    LESS_THAN_ALL,
    MORE_THAN_ALL,
    Contribution,
    Explanation,
    Knowledge,
    _FoundFeature,
    explain,
)
from stream_bayes.posteriors import Beta

SPAM_WORDS = ["pills", "prescription", "cheap", "Offer!", "$100", "winner", "now"]
HAM_WORDS = ["lunch", "meeting", "Größe", "report", "noon", "thanks", "agenda"]
BOTH_WORDS = ["the", "and", "please", "at", "re"]


def explained(model: SpamFilter, mail: Mail, top: int = 15) -> Explanation:
    batch = model.batch([mail])
    knowledge = Knowledge(model._evidence, model._memory)
    return explain(batch, model.predictive_many(batch), model.members, knowledge, model._fusion, top)


def generated(generator: np.random.Generator, spam: bool) -> str:
    own, host = (SPAM_WORDS, "shop.example.com") if spam else (HAM_WORDS, "lists.example.org")
    text = " ".join(generator.choice(own + BOTH_WORDS, 20))
    first, last = generator.integers(1, 9, 2)
    return (
        f"Received: from relay.{host} [10.{1 + spam}.{first}.{last}]\nReceived: by 192.168.0.{last}\n"
        f"From: User <user{first}@{host}>\nX-Mailer: {'Bulk' if spam else 'Pine'}\n"
        f"Subject: {' '.join(generator.choice(own, 3))}\n\n{text} http://www{last}.{host}/x\n{text}"
    )


def taught(model: SpamFilter, count: int = 60) -> SpamFilter:
    generator = np.random.default_rng(3)
    labels = (generator.random(count) < 0.4).tolist()
    mails = [generated(generator, spam) for spam in labels]
    model.learn_many(model.batch(mails), [model.classes[spam] for spam in labels])
    return model


def assert_adds_up(model: SpamFilter, mail: Mail, top: int = 15) -> Explanation:
    why = explained(model, mail, top)
    total = math.fsum([*(share.log_odds for share in why.shares), *why.rest.values()])
    assert why.log_odds == model.predictive_many([mail]).spam_log_odds[0]
    assert why.probability == model.predict_proba_one(mail)[model.classes[1]]
    assert total == pytest.approx(why.log_odds, rel=1e-9, abs=1e-12)
    return why


def shares_of(why: Explanation) -> dict[tuple[str, str], Contribution]:
    return {(share.kind, share.text): share for share in why.shares}


NUMBERS = ExternalMember("shape of the mail", naive_bayes.GaussianNB(), "numbers")


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"pairs": False, "text_bytes": 100, "head_bytes": 50, "tail_bytes": 0},
        {"buckets": 2**10},
        {"external_members": (NUMBERS,)},
        {"members": ("structure steps", "hosts"), "external_members": (NUMBERS, NUMBERS._replace(name="second"))},
        {"members": ("gram steps", "word steps")},
        *({"members": (name,)} for name in ALL_MEMBERS),
    ],
    ids=str,
)
def test_shares_add_up_to_the_log_odds(parameters: dict[str, Any]) -> None:
    model = taught(SpamFilter(**{"buckets": 2**14, **parameters}))
    generator = np.random.default_rng(8)
    for spam in (False, True, True):
        mail: Mail = generated(generator, spam)
        for top in (0, 4, 15, 10_000):
            why = assert_adds_up(model, mail, top)
            assert len(why.shares) <= top
        assert [abs(share.log_odds) for share in why.shares] == sorted(
            (abs(s.log_odds) for s in why.shares), reverse=True
        )
        assert not any(name.startswith("other ") for name in why.rest)
    for mail in (b"", "", "\n\n", "quite unseen words", b"\xff\xfe\x00", "Subject: x"):
        assert_adds_up(model, mail)


def test_the_light_preset_adds_up() -> None:
    model = taught(SpamFilter.light(buckets=2**12))
    why = assert_adds_up(model, generated(np.random.default_rng(5), spam=True), top=5)
    assert set(why.rest) == {"other words", "biases", "intercept"}
    assert {share.kind.split(": ")[-1] for share in why.shares} == {"word"}


def test_before_any_learning_nothing_moves_the_log_odds() -> None:
    why = assert_adds_up(SpamFilter(buckets=2**12), "Subject: hello\n\nworld")
    assert why == Explanation(0.0, 0.5, (), {"byte n-grams": 0.0, "biases": 0.0, "intercept": 0.0})


def test_a_word_of_both_classes_has_a_share_of_zero_and_a_posterior() -> None:
    model = SpamFilter(members=("word counts",), buckets=2**12)
    for label in model.classes:
        model.learn_one("buy", label)
    assert assert_adds_up(model, "buy zebra").shares == (Contribution("word", "buy", 0.0, Beta(1.35, 1.35)),)


def test_a_mail_without_known_features_has_only_biases_and_the_intercept() -> None:
    why = assert_adds_up(taught(SpamFilter(buckets=2**22)), "zzzzz qqqqq")
    assert why.shares == ()
    assert why.rest["byte n-grams"] == 0.0
    assert why.rest["intercept"] + why.rest["biases"] == pytest.approx(why.log_odds)


def test_clipped_inputs_and_large_counts_add_up() -> None:
    model = SpamFilter(buckets=2**14)
    words = " ".join(f"word{number}" for number in range(1900))
    spam = f"From: joe@spam.example.com\n\n{words} http://spam.example.com"
    for _ in range(5):
        model.learn_one(spam, "spam", w=1000)
        model.learn_one("From: ann@example.org\n\nlunch", "ham", w=800)
    said = model.predictive_many([spam])
    beyond = np.abs([MEMBERS[name].scale for name in ALL_MEMBERS] * said.member_log_odds[0]) > 10.0
    assert {"word counts", "senders"} <= {name for name, large in zip(ALL_MEMBERS, beyond, strict=True) if large}
    why = assert_adds_up(model, spam)
    assert shares_of(why)["sender", "joe@spam.example.com"].posterior == Beta(5000.35, 0.35)


def test_a_classifier_from_elsewhere_that_is_too_sure_is_clipped() -> None:
    sure = ExternalMember("sure", linear_model.LogisticRegression(optim.SGD(99.0)), "numbers")
    model = taught(SpamFilter(buckets=2**12, external_members=(sure,), classes=(False, True)))
    said = model.predictive_many(["pills"])
    assert abs(said.member_log_odds[0, -1]) > 10.0
    assert assert_adds_up(model, "pills").rest["sure"] != 0.0


def test_shares_of_classifiers_from_elsewhere_have_their_names() -> None:
    other = NUMBERS._replace(name="second")
    model = taught(SpamFilter(buckets=2**14, members=("hosts",), external_members=(NUMBERS, other)))
    mail = generated(np.random.default_rng(5), spam=True)
    rest = assert_adds_up(model, mail).rest
    weights = model.weights()
    assert set(rest) == {NUMBERS.name, "second", "intercept"}
    # They say the same, so their shares are to each other as their weights, and so is that of the intercept to its own.
    said = min(max(model.predictive_many([mail]).member_log_odds[0, 1], -10.0), 10.0)
    assert rest[NUMBERS.name] / rest["intercept"] == pytest.approx(
        weights[NUMBERS.name].mean * said / weights["intercept"].mean
    )
    assert rest["second"] / rest[NUMBERS.name] == pytest.approx(weights["second"].mean / weights[NUMBERS.name].mean)


def test_a_share_is_the_weighed_evidence_of_its_counts() -> None:
    model = SpamFilter(buckets=2**14, members=("word counts",), pairs=False)
    for _ in range(3):
        model.learn_one("pills offer", "spam")
    model.learn_one("offer lunch", "ham")
    why = assert_adds_up(model, "Pills, OFFER lunch new")

    def evidence(spam: int, ham: int) -> float:
        odds = float(digamma(spam + 0.35) - digamma(ham + 0.35)) + math.log(2 / 4)
        return odds * abs(odds) / (abs(odds) + 2.0)

    shares = shares_of(why)
    assert set(shares) == {("word", "pills"), ("word", "offer"), ("word", "lunch")}
    weight = model.weights()["word counts"].mean
    moderation = why.rest["intercept"] / model.weights()["intercept"].mean
    for text, spam, ham in (("pills", 3, 0), ("offer", 3, 1), ("lunch", 0, 1)):
        share = shares["word", text]
        assert share.log_odds == pytest.approx(
            moderation * weight * 0.2 * evidence(spam, ham) / math.sqrt(5.0), rel=1e-6
        )
        assert (share.posterior, share.spam, share.mails) == (Beta(spam + 0.35, ham + 0.35), spam, spam + ham)


def test_signs_and_counts_are_those_of_the_mails() -> None:
    model = SpamFilter(buckets=2**22)
    for _ in range(4):
        model.learn_one("From: joe@spam.example.com\nSubject: cheap pills\n\nno prescription the", "spam")
        model.learn_one("From: ann@example.org\nSubject: lunch\n\nshall we meet the", "ham")
    shares = shares_of(assert_adds_up(model, "From: joe@spam.example.com\nSubject: lunch\n\nno prescription the", 99))
    for name in (("word", "prescription"), ("pair", "no prescription"), ("sender", "joe@spam.example.com")):
        assert shares[name].log_odds > 0.0
        assert (shares[name].spam, shares[name].mails) == (4, 4)
    assert shares["subject: word", "lunch"].log_odds < 0.0
    assert shares["subject: word", "lunch"].posterior == Beta(0.35, 4.35)
    assert shares["field", "subject"].posterior == Beta(4.35, 4.35)


def test_a_host_that_two_members_look_at_has_one_share() -> None:
    mail = "see http://shop.example.com/x"
    model = SpamFilter(buckets=2**12, members=("structure counts", "hosts"))
    for _ in range(3):
        model.learn_one(mail, "spam")
        model.learn_one("see you", "ham")
    (share,) = assert_adds_up(model, mail).shares
    assert (share.kind, share.text, share.spam, share.mails) == ("host", "shop.example.com", 3, 3)


def test_nothing_is_learned() -> None:
    model = taught(SpamFilter(buckets=2**12))
    before = model.state()
    explained(model, "Subject: cheap pills")
    after = model.state()
    assert all(np.array_equal(before.arrays[name], after.arrays[name]) for name in before.arrays)


@pytest.mark.parametrize("top", [-1, 1.5, "3", True])
def test_a_top_that_is_no_number_is_refused(top: Any) -> None:
    with pytest.raises(InputError, match="top must be a whole number"):
        explained(SpamFilter(buckets=2**12), "x", top)


def test_it_reads_as_a_table() -> None:
    shares = (
        Contribution("word", "prescription", 1.32, Beta(12.35, 0.35)),
        Contribution("subject: pair", "a" * 70, -0.5, Beta(0.35, 3.35)),
    )
    shown = str(Explanation(-0.001, 0.49975, shares, {"intercept": -0.001, "byte n-grams": -0.82})).splitlines()
    assert shown[0] == "log-odds of spam +0.00, probability 0.4998"
    assert shown[1].split() == ["+1.32", "word", '"prescription"', "spam", "12", "of", "12"]
    assert shown[2].split() == ["-0.50", "subject:", "pair", f'"{"a" * 59}…"', "spam", "0", "of", "3"]
    assert shown[1].index("spam 12") == shown[2].index("spam 0")
    assert [line.split(maxsplit=1) for line in shown[3:]] == [["-0.82", "byte n-grams"], ["+0.00", "intercept"]]


@functools.cache
def taught_once() -> SpamFilter:
    return taught(SpamFilter(buckets=2**10))


PIECES = st.sampled_from(
    [b"From: ", b"a@b.cd ", b"\n", b"\r\n", b" ", b"http://x.yz/", b"Received: ", b"1.2.3.4 ", b"@", b"//", b"pills"]
)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(PIECES | st.binary(max_size=9), max_size=30).map(b"".join))
def test_any_bytes_are_explained(mail: bytes) -> None:
    assert_adds_up(taught_once(), mail)


def test_item11_a_share_against_its_counts_is_explained_in_words() -> None:
    """With fusion weights below 0 every word of spam speaks against spam."""
    model = taught(SpamFilter(buckets=2**12))
    mail = generated(np.random.default_rng(5), spam=True)
    batch = model.batch([mail])
    turned = LogisticWeights(-np.abs(model._fusion.mean()), 1.0)
    for fusion in (model._fusion, turned):
        knowledge = Knowledge(model._evidence, model._memory)
        why = explain(batch, model.predictive_many(batch), model.members, knowledge, fusion, 200)
        against = [share for share in why.shares if share.log_odds * (2 * share.spam - share.mails) < 0.0]
        assert [share for share in why.shares if share.note] == against
    words = [share for share in against if share.spam == share.mails >= 8]
    assert words
    assert {share.note for share in words} == {COUNTED_AGAINST}
    counts = f"spam {words[0].spam} of {words[0].mails}"
    assert f"{counts}, counted the other way, as other signs in the mail say the same already" in str(why)


def test_item11_a_share_that_is_rare_among_all_mails_is_explained_in_words() -> None:
    found = _FoundFeature("word", "lunch", -1.0, ham=10, spam=20)
    assert found.share(np.array([100.0, 10_000.0])).note == LESS_THAN_ALL
    assert found.share(np.array([100.0, 100.0])).note == COUNTED_AGAINST
    assert found._replace(log_odds=1.0, ham=20, spam=10).share(np.array([10_000.0, 100.0])).note == MORE_THAN_ALL
    assert found._replace(log_odds=1.0).share(np.array([100.0, 10_000.0])).note == ""


def test_an_explanation_in_the_form_that_all_learners_share() -> None:
    model = taught(SpamFilter(buckets=2**16, classes=(0, 1)))
    mail = generated(np.random.default_rng(5), spam=True)
    why = model.explain(mail, 7)
    shared = model.explain_event(mail, 7)
    assert (shared.towards, shared.total, shared.rest) == (1, why.log_odds, why.rest)
    assert len(shared.reasons) == 7
    for reason, share in zip(shared.reasons, why.shares, strict=True):
        assert (reason.kind, reason.text, reason.share) == (share.kind, share.text, share.log_odds)
        assert (reason.seen, reason.seen_towards, reason.note) == (share.mails, share.spam, share.note or None)
