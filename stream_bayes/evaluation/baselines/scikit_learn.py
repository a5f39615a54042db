"""scikit-learn's online classifiers on hashed text."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from stream_bayes.evaluation.baselines.base import Baseline, text_of


class _HashedText(Baseline):
    """A classifier with `partial_fit` on the rows of a `HashingVectorizer`.

    A mail is its first 4,000 bytes, headers and body as they stand, decoded as latin-1.
    """

    def __init__(self, name: str, vectorizer: Any, classifier: Any) -> None:
        self.name = name
        self._vectorizer = vectorizer
        self._classifier = classifier
        self._classes = [False, True]

    def features(self, mails: Sequence[bytes]) -> list[Any]:
        """Each mail as a sparse row."""
        if not mails:
            return []
        rows = self._vectorizer.transform([text_of(mail) for mail in mails])
        return [rows[place] for place in range(len(mails))]

    def _test_then_train_one(self, mail: Any, spam: bool | None) -> float:
        score = self._score(mail)
        if spam is not None:
            self._classifier.partial_fit(mail, [spam], classes=self._classes)
        return score

    @abstractmethod
    def _score(self, mail: Any) -> float:
        """The log-odds of spam; 0 until the classifier has learned something."""


class SgdCharacters(_HashedText):
    """scikit-learn's `SGDClassifier(loss="log_loss")` on characters, four at a time, hashed to 2**20 columns.

    Examples
    --------
    >>> baseline = SgdCharacters()
    >>> mails = [b"Subject: cheap pills", b"Subject: lunch today", b"Subject: cheap"]
    >>> baseline.test_then_train(baseline.features(mails), ["spam", "ham", None]).log_odds.round(1)
    array([0. , 1.8, 0.2])
    """

    def __init__(self) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer
        from sklearn.linear_model import SGDClassifier

        vectorizer = HashingVectorizer(analyzer="char", ngram_range=(4, 4), n_features=2**20)
        super().__init__("sklearn-sgd", vectorizer, SGDClassifier(loss="log_loss"))

    def _score(self, mail: Any) -> float:
        return float(self._classifier.decision_function(mail)[0]) if hasattr(self._classifier, "coef_") else 0.0


class NaiveBayesWords(_HashedText):
    """scikit-learn's `MultinomialNB(alpha=0.01)` on counts of words, hashed to 2**18 columns.

    With its own alpha of 1 it ranks several times worse: most columns are empty, and each counts as if seen once.

    Examples
    --------
    >>> baseline = NaiveBayesWords()
    >>> mails = [b"Subject: cheap pills", b"Subject: lunch today", b"Subject: cheap"]
    >>> baseline.test_then_train(baseline.features(mails), ["spam", "ham", None]).log_odds.round(2)
    array([0.  , 0.  , 4.62])
    """

    def __init__(self) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer
        from sklearn.naive_bayes import MultinomialNB

        vectorizer = HashingVectorizer(alternate_sign=False, norm=None, n_features=2**18)
        super().__init__("sklearn-naive-bayes", vectorizer, MultinomialNB(alpha=0.01))

    def _score(self, mail: Any) -> float:
        if min(getattr(self._classifier, "class_count_", [0.0])) == 0.0:
            return 0.0
        ham, spam = self._classifier.predict_joint_log_proba(mail)[0]
        return float(spam - ham)
