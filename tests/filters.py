"""A spam filter and mails for the tests of the evaluation."""

from __future__ import annotations

import math
import signal
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from river.naive_bayes import MultinomialNB

from stream_bayes.evaluate.corpora import Mail
from stream_bayes.evaluate.filters import Scores


class RiverFilter:
    """river's naive Bayes as a filter, which writes down what it was asked to do."""

    name = "river"

    def __init__(self) -> None:
        self.model = MultinomialNB(alpha=0.5)
        self.calls: list[int] = []
        self.closed = 0

    def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
        return [Counter(mail.decode().split()) for mail in mails]

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> Scores:
        said = np.array([self.event(words, label) for words, label in zip(features, labels, strict=True)])
        self.calls.append(len(said))
        return Scores(said, {"half": 0.5 * said, "negative": -said})

    def event(self, words: Counter[str], label: str | None) -> float:
        said = self.model.predict_proba_one(words)
        if label is not None:
            self.model.learn_one(words, label)
        return math.log(said.get("spam", 0.5) + 1e-9) - math.log(said.get("ham", 0.5) + 1e-9)

    def close(self) -> None:
        self.closed += 1


def generated_mails(number: int = 120, *, unlabelled: int = 0) -> list[Mail]:
    """Generated mails of two kinds; every `unlabelled`-th has no label."""
    generator = np.random.default_rng(4)
    words = np.array(["money", "win", "lunch", "meet", "now", "you"])
    rates = {"spam": [5, 4, 1, 1, 2, 2], "ham": [1, 1, 4, 5, 2, 2]}
    mails = []
    for place in range(number):
        label = "spam" if generator.random() < 0.4 else "ham"
        weights = np.array(rates[label]) / 15.0
        text = " ".join(generator.choice(words, size=4, p=weights))
        known = label if not unlabelled or place % unlabelled else None
        mails.append(Mail(f"mail/{place}", known, text.encode()))
    return mails


class Contrary(RiverFilter):
    """Says the opposite of what it thinks."""

    name = "contrary"

    def event(self, words: Counter[str], label: str | None) -> float:
        return -super().event(words, label)


class Interrupted(RiverFilter):
    """Presses Ctrl-C itself when it has seen a message."""

    name = "interrupted"

    def event(self, words: Counter[str], label: str | None) -> float:
        if not self.model.class_counts:
            signal.raise_signal(signal.SIGINT)
        return super().event(words, label)


class Talkative(RiverFilter):
    """Says what is done with it."""

    def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
        print(len(mails), "mails")
        return super().features(mails)

    def close(self) -> None:
        print("closed")
