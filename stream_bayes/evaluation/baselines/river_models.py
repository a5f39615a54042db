"""river's text classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stream_bayes.evaluation.baselines.base import Baseline, log_odds, text_of


class RiverNaiveBayes(Baseline):
    """river's `MultinomialNB` on `BagOfWords`.

    Notes
    -----
    A mail is its first 4,000 bytes, headers and body as they stand, decoded as latin-1. Mails are ranked by the joint
    log-likelihood, since the probabilities of most are 0 or 1 to the last digit; the score is 0 until both labels have
    come.

    Examples
    --------
    >>> baseline = RiverNaiveBayes()
    >>> mails = [b"Subject: cheap pills", b"Subject: lunch today", b"Subject: cheap"]
    >>> baseline.test_then_train(baseline.features(mails), ["spam", "ham", None]).log_odds.round(2)
    array([0.  , 0.  , 0.69])
    """

    def __init__(self) -> None:
        from river.feature_extraction import BagOfWords
        from river.naive_bayes import MultinomialNB

        self.name = "river-naive-bayes"
        self._words = BagOfWords()
        self._model = MultinomialNB()

    def features(self, mails: Sequence[bytes]) -> list[Any]:
        """The words of each mail and how often each comes."""
        return [self._words.transform_one(text_of(mail)) for mail in mails]

    def _test_then_train_one(self, mail: Any, spam: bool | None) -> float:
        # Without a word so far, river divides by how many there are.
        likelihood = self._model.joint_log_likelihood(mail) if self._model.n_terms else {}
        if spam is not None:
            self._model.learn_one(mail, spam)
        return float(likelihood[True] - likelihood[False]) if len(likelihood) == 2 else 0.0


class RiverLogistic(Baseline):
    """river's `LogisticRegression` on `TFIDF`, with the step that was best on mail.

    Notes
    -----
    A mail is its first 4,000 bytes, headers and body as they stand, decoded as latin-1. The step of the gradient is
    10: with river's own 0.01 it has hardly begun to learn after thousands of mails.

    Examples
    --------
    >>> baseline = RiverLogistic()
    >>> mails = [b"Subject: cheap pills", b"Subject: lunch today", b"Subject: cheap"]
    >>> baseline.test_then_train(baseline.features(mails), ["spam", "ham", None]).log_odds.round(2)
    array([0.  , 1.12, 1.97])
    """

    def __init__(self) -> None:
        from river.feature_extraction import TFIDF
        from river.linear_model import LogisticRegression
        from river.optim import SGD

        self.name = "river-logistic"
        self._model: Any = TFIDF() | LogisticRegression(optimizer=SGD(10.0))

    def features(self, mails: Sequence[bytes]) -> list[str]:
        """The text of each mail: what TFIDF makes of it depends on the mails before."""
        return [text_of(mail) for mail in mails]

    def _test_then_train_one(self, mail: str, spam: bool | None) -> float:
        score = log_odds(self._model.predict_proba_one(mail).get(True, 0.5))
        if spam is not None:
            self._model.learn_one(mail, spam)
        return score
