"""A spam filter and mails for the tests of the evaluation."""

from __future__ import annotations

import gzip
import json
import math
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from river.naive_bayes import MultinomialNB

from stream_bayes.evaluation.baselines.base import Baseline
from stream_bayes.evaluation.baselines.bogofilter import Bogofilter
from stream_bayes.evaluation.baselines.crm114 import Crm114
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.filters import FilterScores
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.evaluation.protocol import run as run_filter
from stream_bayes.evaluation.stream import Stream
from stream_bayes.mail.filter import SpamFilter

RIVER = "tests.support.mail_filters:RiverFilter"
SMALL = "tests.support.mail_filters:small_filter"

Command = Callable[..., tuple[int, str, str]]


class RiverFilter:
    """river's naive Bayes as a filter, which records its calls."""

    name = "river"

    def __init__(self) -> None:
        self.model = MultinomialNB(alpha=0.5)
        self.calls: list[int] = []
        self.closed = 0

    def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
        return [Counter(mail.decode().split()) for mail in mails]

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> FilterScores:
        log_odds = np.array([self.event(words, label) for words, label in zip(features, labels, strict=True)])
        self.calls.append(len(log_odds))
        return FilterScores(log_odds, {"half": 0.5 * log_odds, "negative": -log_odds})

    def event(self, words: Counter[str], label: str | None) -> float:
        probabilities = self.model.predict_proba_one(words)
        if label is not None:
            self.model.learn_one(words, label)
        return math.log(probabilities.get("spam", 0.5) + 1e-9) - math.log(probabilities.get("ham", 0.5) + 1e-9)

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


def small_filter() -> SpamFilter:
    """`SpamFilter` with small tables."""
    return SpamFilter(buckets=2**12)


class Contrary(RiverFilter):
    """Negates its scores."""

    name = "contrary"

    def event(self, words: Counter[str], label: str | None) -> float:
        return -super().event(words, label)


class Interrupted(RiverFilter):
    """Raises SIGINT itself when a stream begins."""

    name = "interrupted"
    times = 1

    def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
        for _ in range(self.times if len(mails) > 3 else 0):
            signal.raise_signal(signal.SIGINT)
        return super().features(mails)


class SecondChunk:
    """Blocks a filter before the second chunk of a stream until Ctrl-C is pressed."""

    def __init__(self) -> None:
        self._pressed, notified = os.pipe()
        os.set_blocking(notified, False)
        signal.set_wakeup_fd(notified)
        self._chunks = 0

    def await_ctrl_c(self, mails: Sequence[bytes]) -> None:
        """Wait for a signal, which may have come before. The few mails of a warm-up are no chunk."""
        self._chunks += len(mails) > 3
        if self._chunks == 2:
            os.read(self._pressed, 1)


class RiverUntilCtrlC(RiverFilter):
    """river's naive Bayes, which does not reach the end of a stream before Ctrl-C."""

    def __init__(self) -> None:
        super().__init__()
        self._second = SecondChunk()

    def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
        self._second.await_ctrl_c(mails)
        return super().features(mails)


class BaselineUntilCtrlC(Baseline):
    """Mixin of a baseline that does not reach the end of a stream before Ctrl-C."""

    def __init__(self) -> None:
        super().__init__()
        self._second = SecondChunk()

    def features(self, mails: Sequence[bytes]) -> Sequence[Any]:
        self._second.await_ctrl_c(mails)
        return super().features(mails)


class BogofilterUntilCtrlC(BaselineUntilCtrlC, Bogofilter):
    """Bogofilter, which waits for Ctrl-C."""


class Crm114UntilCtrlC(BaselineUntilCtrlC, Crm114):
    """CRM114, which waits for Ctrl-C."""


class Impatient(Interrupted):
    """Raises SIGINT twice."""

    times = 2


class Failing(RiverFilter):
    """Cannot stand a stream."""

    name = "failing"

    def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
        if len(mails) > 3:
            message = "out of luck"
            raise RuntimeError(message)
        return super().features(mails)


class FailingAtOnce(RiverFilter):
    """Cannot stand a single mail."""

    def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
        raise OSError(28, "No space left on device", str(len(mails)))


class Large(RiverFilter):
    """Takes 600 MB while it is there: more than the system may take back meanwhile, of libraries that are not used."""

    name = "large"

    def prepare(self) -> None:
        self.table = np.ones(75_000_000)


class Talkative(RiverFilter):
    """Says what is done with it."""

    def features(self, mails: Sequence[bytes]) -> list[Counter[str]]:
        print(len(mails), "mails")
        return super().features(mails)

    def close(self) -> None:
        print("closed")


def write(path: Path, mails: Sequence[Mail]) -> Path:
    """The mails as JSON lines; those without a label say so."""
    lines = [{"id": mail.id, "label": mail.label or "unlabelled", "text": mail.raw.decode()} for mail in mails]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()))
    return path


def passed(mails: Sequence[Mail], feedback: str = "immediate") -> PassResult:
    return run_filter(RiverFilter, Stream("generated", mails), feedback=feedback)
