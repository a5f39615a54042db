"""Base of the baselines: the loop over mails, the text of a mail, and probabilities as log-odds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_bayes.evaluation.filters import SPAM, FilterScores

CHARACTERS = 4000
"""The bytes of a mail that text classifiers use: measured, they rank better so than on whole raw mails."""

_SMALLEST = 1e-16
# Each byte below 33 becomes a space, and so do the two that have a meaning in Vowpal Wabbit's format.
_BLANKED = bytes(32 if code < 33 or code in b"|:" else code for code in range(256))


class Baseline(ABC):
    """A filter of another project, run mail by mail."""

    name: str
    max_bytes: int | None = CHARACTERS

    def features(self, mails: Sequence[bytes]) -> Sequence[Any]:
        """The input of the classifier for each mail."""
        return mails

    def test_then_train(self, features: Sequence[Any], labels: Sequence[str | None]) -> FilterScores:
        """Score each mail, then learn it if it has a label."""
        scores = [
            self._test_then_train_one(mail, None if label is None else label == SPAM)
            for mail, label in zip(features, labels, strict=True)
        ]
        return FilterScores(np.array(scores, dtype=np.float64), {})

    @abstractmethod
    def _test_then_train_one(self, mail: Any, spam: bool | None) -> float:
        """Return the log-odds of spam of one mail, then learn it unless `spam` is None."""

    def close(self) -> None:  # noqa: B027
        """Close files and end processes, if there are any."""


def text_of(mail: bytes) -> str:
    """The first 4,000 bytes of a mail, headers and body as they stand, as latin-1 text.

    >>> text_of(b"Subject: caf\\xe9")
    'Subject: café'
    """
    return mail[:CHARACTERS].decode("latin-1")


def words_of(mail: bytes, characters: int = CHARACTERS) -> str:
    """The text of a mail in one line, without the two characters that have a meaning in Vowpal Wabbit's format.

    >>> words_of(b"Subject: win|win\\n\\nnow")
    'Subject  win win  now'
    """
    return mail[:characters].translate(_BLANKED).decode("latin-1")


def log_odds(probability: float) -> float:
    """The log-odds of a probability, finite also for 0 and 1.

    >>> round(log_odds(0.75), 4), round(log_odds(0.0), 1), round(log_odds(1.0), 1)
    (1.0986, -36.8, 36.8)
    """
    return math.log(max(probability, _SMALLEST)) - math.log(max(1.0 - probability, _SMALLEST))
