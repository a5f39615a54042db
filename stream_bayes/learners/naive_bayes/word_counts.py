"""Base of the multinomial and the Poisson model: counts of words, and the vocabulary."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import gammaln

from stream_bayes.errors import UnlearnError
from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName
from stream_bayes.kernels.common.csr import Rows, residue
from stream_bayes.kernels.naive_bayes.word_counts import WordCounts
from stream_bayes.learners.base.generative_classifier import as_event
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.naive_bayes.base import NaiveBayes, table_of, vocabulary_size
from stream_bayes.typing import FloatArray, IntArray
from stream_bayes.validation import check_scale


class WordCountNB(NaiveBayes):
    """Naive Bayes whose evidence is the uses of each word in each class."""

    _evidence: WordCounts
    _evidence_kind = WordCounts

    def __init__(
        self, prior_count: float, class_prior_count: float, classes: tuple[Label, ...] | None, buckets: int | None
    ) -> None:
        super().__init__(class_prior_count, classes, buckets)
        check_scale("prior", prior_count)
        self._table: FloatArray = table_of(prior_count)
        self._vocabulary_size = 0

    def _known_amounts(self, rows: Rows) -> FloatArray:
        """The uses of the words of a row that are in the vocabulary."""
        known = rows.columns >= 0
        amounts: FloatArray = rows.values[known][self._evidence.cells[rows.columns[known]].any(axis=1)]
        return amounts

    def _log_base(self, rows: Rows) -> float:
        return -float(gammaln(self._known_amounts(rows) + 1.0).sum())

    def _draw_events(self, code: int, count: int, random: np.random.Generator) -> list[dict[FeatureName, Any]]:
        names = self._kept_names()
        used = np.flatnonzero(self._used())
        events = []
        for _ in range(count):
            uses = self._draw_uses(code, self._evidence.cells[used, code], random)
            places = np.flatnonzero(uses).tolist()
            values = {names[used[place]]: int(uses[place]) for place in places}
            events.append(as_event(values, self._vocabulary.texts))
        return events

    @abstractmethod
    def _draw_uses(self, code: int, uses: FloatArray, random: np.random.Generator) -> IntArray:
        """Draw the uses of each word in one message, from those in all messages of the class."""

    def _refresh(self) -> None:
        self._vocabulary_size = vocabulary_size(self._evidence.cells)

    def _check_rest(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        messages = self._evidence.class_weight[label]
        words = self._evidence.class_total[label]
        words_left = words - weight * float(np.sum(rows.values))
        if messages - weight < residue(messages) and words_left > residue(words):
            message = "this would leave words of a label without a message they came in: this event was never learned"
            raise UnlearnError(message)
