"""Classifiers from elsewhere as members of the mail filter."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from river import base, feature_extraction, linear_model, neighbors, preprocessing, tree

from stream_bayes import BernoulliNB, ExternalMember, SpamFilter
from stream_bayes.errors import SnapshotError
from stream_bayes.mail.filter.external_members import as_features
from tests.support.spam_mails import SMALL, area, stream


def outsiders() -> tuple[ExternalMember, ...]:
    return (
        ExternalMember("neighbours", preprocessing.StandardScaler() | neighbors.KNNClassifier(), "numbers"),
        ExternalMember("tree", tree.HoeffdingTreeClassifier(), "numbers"),
        ExternalMember("words", feature_extraction.BagOfWords(on="text") | linear_model.LogisticRegression()),
        ExternalMember("ours", BernoulliNB(), "numbers"),
    )


@pytest.mark.slow
def test_any_classifier_of_river_takes_part() -> None:
    mails, labels = stream(80, 6)
    model = SpamFilter(buckets=SMALL, external_members=outsiders())
    loop = SpamFilter(buckets=SMALL, external_members=outsiders())
    said = model.test_then_train(mails, labels)
    single = []
    for mail, label in zip(mails, labels, strict=True):
        single.append(loop.predict_proba_one(mail)["spam"])
        loop.learn_one(mail, label)
    np.testing.assert_array_equal(said.probabilities[:, 1], single)
    assert list(model.weights())[-5:] == ["neighbours", "tree", "words", "ours", "intercept"]
    assert said.member_log_odds[40:, -4:].any(axis=0).all(), "each of them says something by then"
    assert area(labels[40:], said.spam_log_odds[40:]) > 0.95
    fresh = model.clone()
    assert fresh.predict_proba_one(mails[0]) == SpamFilter(
        buckets=SMALL, external_members=outsiders()
    ).predict_proba_one(mails[0])
    with pytest.raises(SnapshotError, match="neighbours"):
        model.state()


class Grumpy(linear_model.LogisticRegression):
    """Refuses to learn a mail with many links."""

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        if x["links"] > 2.0:
            message = "too many links"
            raise ValueError(message)
        super().learn_one(x, y, w)


def test_an_event_that_one_member_refuses_is_learned_by_none() -> None:
    model = SpamFilter(
        buckets=SMALL, external_members=(*outsiders()[:1], ExternalMember("grumpy", Grumpy(), "numbers"))
    )
    model.learn_one("see http://a.example.com", "spam")
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="too many links"):
        model.test_then_train(["lunch?", "http://a http://b http://c"], ["ham", "spam"])
    assert pickle.dumps(model) == before


class Oracle(base.Classifier):
    """Knows a word that only spam has."""

    def learn_one(self, x: Any, y: Any) -> None:
        """There is nothing to learn."""

    def predict_proba_one(self, x: Any, **_: Any) -> dict[Any, float]:
        spam = 0.99 if "pills" in x["text"] else 0.01
        return {True: spam, False: 1.0 - spam}


def test_the_score_of_an_external_member_counts_in_its_direction() -> None:
    model = SpamFilter(members=("hosts",), external_members=(ExternalMember("oracle", Oracle()),), buckets=SMALL)
    for _ in range(30):
        model.learn_one("pills", "spam")
        model.learn_one("lunch", "ham")
    said = model.predictive_many(["pills", "lunch"])
    np.testing.assert_allclose(said.member_log_odds[:, 1], [4.595, -4.595], atol=1e-3)
    assert said.spam_log_odds[0] > 1.0 > -1.0 > said.spam_log_odds[1]
    assert model.weights()["oracle"].mean > 0.0


def test_prototypes_are_never_taught() -> None:
    prototype = BernoulliNB(classes=(False, True))
    model = SpamFilter(external_members=(ExternalMember("ours", prototype, "numbers"),), buckets=SMALL)
    before = prototype.class_posterior()
    model.learn_one("pills", "spam")
    assert prototype.class_posterior() == before
    assert SpamFilter(external_members=model.external_members).predict_proba_one("pills") == {"ham": 0.5, "spam": 0.5}


def test_features_of_external_members() -> None:
    raw = (
        b"From: Ann <ann@example.org>\nSubject: caf=C3=A9\n again\nContent-Transfer-Encoding: quoted-printable\n\n"
        b"Buy NOW =\nat http://x.example, 50 % off! $ caf=C3=A9"
    )
    texts = as_features(raw, "texts")
    assert texts == {
        "subject": "caf=C3=A9 again",
        "sender": "Ann <ann@example.org>",
        "text": "\nBuy NOW at http://x.example, 50 % off! $ caf\u00e9\n",
    }
    numbers = as_features(raw, "numbers")
    assert numbers["links"] == 1.0
    assert numbers["money"] == pytest.approx(np.log1p(2))
    assert numbers["beyond ascii"] == pytest.approx(2 / len(texts["text"].encode()))
    assert as_features(b"", "numbers").keys() == numbers.keys()
