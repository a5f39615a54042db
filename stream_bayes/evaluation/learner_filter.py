"""A learner as a filter under evaluation: it is given the words of each mail, hashed."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from stream_bayes.engine.model_adapter import count_words, mail_text
from stream_bayes.evaluation.filters import HAM, SPAM, FilterScores
from stream_bayes.features import Batch, hash_words
from stream_bayes.learners import GaussianDiscriminant, GramRegression, LabelPredictions, Learner, NumberPredictions
from stream_bayes.learners.base.label_predictions import CERTAIN
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.base.regressor import Regressor
from stream_bayes.typing import FloatArray

BUCKETS = 2**20
"""The columns that words are hashed into."""
FEW_BUCKETS = 2**7
"""The same for a learner that keeps a number for each pair of columns."""


class LearnerFilter:
    """Any learner as a filter under evaluation, which scores and learns mails.

    A learner that hashes names is given hashed words. One that keeps a number for each pair of names is given the
    counts of a few buckets; the others words and counts, as by a worker. A regressor learns 1 for spam and 0 for ham,
    and its score is the log-odds that the number it predicts lies above a half.
    """

    def __init__(self, name: str, learner: Learner) -> None:
        self.name = name
        self._learner: Any = learner
        self._buckets: int | None = getattr(learner, "buckets", None)
        self._hashes_dicts = self._buckets is None and _keeps_pairs(learner)
        self._takes_batches = self._buckets is not None and not getattr(learner, "_categorical", False)
        self._labels = _labels_of(learner)

    def prepare(self) -> None:
        """Allocate the memory of the tables now, so that it does not count as the time of a mail."""
        self._learner.prefault()

    def features(self, mails: Sequence[bytes]) -> Any:
        """The words of each mail, as the learner takes them."""
        texts = list(map(mail_text, mails))
        if self._takes_batches:
            return hash_words(texts, self._buckets or BUCKETS)
        if self._hashes_dicts:
            return _rows_of(hash_words(texts, FEW_BUCKETS))
        return [count_words(text) for text in texts]

    def part(self, features: Any, begin: int, end: int) -> Any:
        """The features of a range of mails."""
        if not isinstance(features, Batch):
            return features[begin:end]
        starts = features.row_starts[begin : end + 1]
        pairs = slice(int(starts[0]), int(starts[-1]))
        return Batch(
            starts - starts[0], features.columns[pairs], features.values[pairs], names=None, buckets=features.buckets
        )

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> FilterScores:
        """Score each mail, then learn it if it has a label."""
        targets = [None if label is None else self._labels[label] for label in labels]
        predictions = self._learner.test_then_train(features, targets)
        if isinstance(predictions, NumberPredictions):
            return FilterScores(_above_half(predictions), {})
        return FilterScores(self._log_odds(predictions), {}, predictions)

    def _log_odds(self, predictions: LabelPredictions) -> FloatArray:
        """The log-odds of spam; 0 while only one label is known."""
        both = [self._labels[HAM], self._labels[SPAM]]
        if any(label not in predictions.labels for label in both):
            return np.zeros(len(predictions))
        ham, spam = (predictions.probabilities[:, predictions.labels.index(label)] for label in both)
        top = np.where(spam >= ham, predictions.log_odds, -predictions.log_odds)
        return np.where(np.isnan(ham + spam), 0.0, np.clip(top, -CERTAIN, CERTAIN))

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def make_learner(kind: type[Learner]) -> Learner:
    """A learner of default parameters that hashes names, if it can, into as many buckets as it has memory for."""
    learner = kind()
    if "buckets" not in signature(kind).parameters or getattr(learner, "buckets", None) is not None:
        return learner
    hashed: Any = kind
    made: Learner = hashed(buckets=FEW_BUCKETS if _keeps_pairs(learner) else BUCKETS)
    return made


def _keeps_pairs(learner: Learner) -> bool:
    """Whether the memory of a learner grows with the square of the number of its features."""
    return isinstance(learner, (GaussianDiscriminant, GramRegression)) or getattr(learner, "covariance", None) == "full"


def _labels_of(learner: Learner) -> dict[str, Label | float]:
    """What is learned for spam and ham: these labels, a learner's own two, or the numbers 1 and 0."""
    if isinstance(learner, Regressor):
        return {HAM: 0.0, SPAM: 1.0}
    classes = getattr(learner, "classes", None)
    if classes is None or {HAM, SPAM} <= set(classes):
        return {HAM: HAM, SPAM: SPAM}
    return {HAM: classes[0], SPAM: classes[-1]}


def _rows_of(batch: Batch) -> list[dict[int, float]]:
    """The rows of a batch as events, with the buckets for names."""
    columns = batch.columns.tolist()
    values = batch.values.tolist()
    starts = batch.row_starts.tolist()
    return [dict(zip(columns[begin:end], values[begin:end], strict=True)) for begin, end in pairwise(starts)]


def _above_half(predictions: NumberPredictions) -> FloatArray:
    """The log-odds that a predicted number lies above 1/2, by a normal distribution."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scores = (predictions.mean - 0.5) / np.sqrt(predictions.variance)
    finite = np.clip(np.nan_to_num(scores), -100.0, 100.0)
    log_odds: FloatArray = log_ndtr(finite) - log_ndtr(-finite)
    return log_odds
