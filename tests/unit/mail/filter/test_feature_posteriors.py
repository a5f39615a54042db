"""Probability of spam among the mails with one feature: whatever explains a mail can be asked about."""

from __future__ import annotations

import pytest

from stream_bayes import SpamFilter
from stream_bayes.errors import NoPosterior
from stream_bayes.posteriors import Beta

MAIL = """\
Received: from relay.shop.example [10.1.2.3]
From: Offer <Offer@Shop.example>
Subject: cheap pills
X-Link: http://track.example/1

buy cheap pills at http://www.shop.example:80/x or ask help@desk.example
"""


def test_everything_that_explains_a_mail_can_be_asked_about() -> None:
    learner = SpamFilter(buckets=2**22)
    for label in ("spam", "spam", "ham"):
        learner.learn_one(MAIL, label)
    shares = learner.explain(MAIL, top=1000).shares
    kinds = {share.kind for share in shares}
    assert {"word", "pair", "sender", "host", "header: host", "network", "field", "fields", "from: word"} <= kinds
    for share in shares:
        found = learner.feature_posterior(share.kind, share.text)
        assert (found.seen, found.seen_towards) == (3, 2), share
        assert f'"{share.text}"' in found.meaning


def test_a_filter_that_does_not_look_at_senders() -> None:
    learner = SpamFilter(members=("word counts", "structure counts"), buckets=2**12)
    learner.learn_one("From: ann@office.example\n\nlunch", "ham")
    assert learner.feature_posterior("word", "lunch").seen == 1
    with pytest.raises(NoPosterior, match="this filter does not use senders: its members are word counts, struct"):
        learner.feature_posterior("sender", "ann@office.example")


def test_a_feature_that_no_mail_had_has_the_prior() -> None:
    learner = SpamFilter(buckets=2**22, classes=("1", True))
    learner.learn_one("Subject: lunch\n\npills", True)
    learner.learn_one("Subject: lunch\n\nzebra", "1")
    meaning = 'probability of true among mails with the word "lunch" in subject'
    assert learner.feature_posterior("subject: word", "Lunch") == (Beta(1.35, 1.35), meaning, None, 2, 1)
    unseen = learner.feature_posterior("word", "bread")
    assert unseen.note == "no labelled mail had it: this is the prior"
    assert (unseen.posterior, unseen.seen, unseen.seen_towards) == (Beta(0.35, 0.35), 0, 0)
