"""Base of the multinomial and the Poisson model: counts of words, and the vocabulary."""

from __future__ import annotations

import numpy as np

from stream_bayes.errors import UnlearnError
from stream_bayes.features import Batch
from stream_bayes.kernels.common.csr import Rows, residue
from stream_bayes.kernels.naive_bayes.word_counts import WordCounts
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.naive_bayes.base import NaiveBayes, table_of, vocabulary_size
from stream_bayes.typing import FloatArray
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

    def _refresh(self) -> None:
        self._vocabulary_size = vocabulary_size(self._evidence.cells)

    def _check_rest(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        messages = self._evidence.class_weight[label]
        words = self._evidence.class_total[label]
        words_left = words - weight * float(np.sum(rows.values))
        if messages - weight < residue(messages) and words_left > residue(words):
            message = "this would leave words of a label without a message they came in: this event was never learned"
            raise UnlearnError(message)
