"""A classifier over columns: the way from dicts, labels and weights to a fold and back, written once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import numpy as np

from stream_bayes.errors import EvidenceError, NumericalError, StreamBayesError
from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName, Features, IntArray
from stream_bayes.kernels.common.class_scores import to_probabilities
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.learners.base.classifier import Classifier, Prepared, nothing_new
from stream_bayes.learners.base.columns import NO_NAMES, ColumnLearner, row_starts
from stream_bayes.learners.base.input_checks import Events
from stream_bayes.learners.base.label_predictions import LabelPredictions, check_answered
from stream_bayes.learners.base.labels import (
    LARGEST_WEIGHT,
    Label,
    Labels,
    Many,
    check_batch,
    check_classes,
    check_label,
    check_weight,
)
from stream_bayes.posteriors import LabelPredictive
from stream_bayes.typing import FloatArray

NO_LABEL = np.full(1, -1, dtype=np.int64)
"""The label of an event that is not learned."""
NO_WEIGHT = np.zeros(1)
"""Its weight."""


class ColumnClassifier(ColumnLearner, Classifier):
    """Events as rows of columns, classes as codes; a subclass brings the evidence and the fold over it."""

    def __init__(self, classes: tuple[Label, ...] | None, buckets: int | None) -> None:
        super().__init__(buckets)
        self.classes = None if classes is None else tuple(check_classes(classes))
        self._labels = Labels(classes)

    @abstractmethod
    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        """Score each row into `joint`, then learn it where its label is known."""

    def predict_proba_one(self, x: Features, **_: Any) -> dict[Label, float]:
        """The probability of each label known so far."""
        return self._labels.probabilities(self._score_one(x))

    def predict_one(self, x: Features, **_: Any) -> Label | None:
        """The most probable label, None while none is known."""
        return self._labels.most_probable(self._score_one(x))

    def predictive_one(self, x: Features) -> LabelPredictive:
        """The probabilities with their variance, from mean and variance of the latent log-odds."""
        return self._predict(self._one(x)).predictive(0)

    def predictive_many(self, events: Batch | Events) -> LabelPredictions:
        """Predictions for many events; nothing is learned."""
        return self._predict(self._as_batch(events))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Add one event to the evidence of its class."""
        code = self._labels.learned_code(y)
        if code >= 0 and type(w) is float and 0.0 < w <= LARGEST_WEIGHT and self._learn_known(x, code, w):
            return
        # What is new, or to be refused, takes the way that batches take.
        batch = self._one(x)
        label = check_label(y)
        weight = check_weight(w)
        self._learn(batch, [label if weight else None], np.array((weight,)), score=False)

    def learn_many(self, X: Batch | Events, y: Many, w: Many | None = None) -> None:
        """Learn each row whose label is not None in one compiled pass, without predicting any."""
        batch = self._as_batch(X)
        self._learn(batch, *check_batch(len(batch), y, w), score=False)

    def test_then_train(self, events: Batch | Events, y: Many, w: Many | None = None) -> LabelPredictions:
        """Predict each row, then learn it, in one compiled pass."""
        batch = self._as_batch(events)
        labels, weights = check_batch(len(batch), y, w)
        before = self._labels.mark()
        return self._predictions(self._learn(batch, labels, weights, score=True), before, labels)

    def _score_one(self, x: Features) -> Sequence[float]:
        """The probability of each class, NaN where it is not known: the bits of a batch of one, but no batch."""
        columns, values = self._pairs(x)
        return self._score_row(NO_NAMES, Rows(row_starts(len(columns)), columns, values, NO_LABEL, NO_WEIGHT))

    def _score_row(self, batch: Batch, row: Rows) -> list[float]:
        probabilities = np.empty((1, len(self._labels)))
        others = np.empty((3, 1))
        failures = to_probabilities(self._run(batch, row, score=True), probabilities, *others)
        check_answered(failures, 1)
        return cast(list[float], probabilities[0].tolist())

    def _learn_known(self, x: Features, label: int, weight: float) -> bool:
        """Learn one event without the making of a batch; False, and nothing done, if that takes one."""
        columns, values = self._pairs(x)
        if not self._are_known(columns):
            return False
        row = Rows(row_starts(len(columns)), columns, values, np.array((label,)), np.array((weight,)))
        self._learn_row(NO_NAMES, row)
        return True

    def _learn_row(self, batch: Batch, row: Rows) -> None:
        try:
            self._reserve()
            self._run(batch, row, score=False)
        except MemoryError as problem:
            raise self._no_memory() from problem

    def _predict(self, batch: Batch) -> LabelPredictions:
        labels = np.full(len(batch), -1, dtype=np.int64) if len(batch) != 1 else NO_LABEL
        weights = np.zeros(len(batch)) if len(batch) != 1 else NO_WEIGHT
        rows = self._rows(batch, self._find(batch), labels, weights)
        return self._predictions(self._run(batch, rows, score=True), self._labels.mark(), ())

    def _predictions(self, joint: Joint, before: Any, labels: Sequence[Label | None]) -> LabelPredictions:
        """The predictions of rows that had these labels, from their scores; `before` marks the labels known before."""
        return LabelPredictions.from_joint(tuple(self._labels), joint)

    def _learn(self, batch: Batch, y: Sequence[Label | None], weights: FloatArray, *, score: bool) -> Joint:
        found, labels, new_labels = self._look_up(batch, y)
        with self._all_or_nothing():
            found = self._admit(batch, found, labels, new_labels)
            return self._run(batch, self._rows(batch, found, labels, weights), score=score)

    def _look_up(self, batch: Batch, y: Sequence[Label | None]) -> tuple[IntArray, IntArray, list[Label]]:
        """Columns of the names, codes of the labels, and which of those are new; refuses what cannot be learned."""
        found = self._find(batch)
        labels, new_labels = self._labels.codes(y)
        self._check_types(batch, labels >= 0)
        return found, labels, new_labels

    def _admit(self, batch: Batch, found: IntArray, labels: IntArray, new_labels: Sequence[Label]) -> IntArray:
        """Register the names and labels of the rows to learn, and make room for them."""
        if not (labels >= 0).any():
            return found
        self._labels.register(new_labels)
        columns = self._register(batch, found, labels >= 0)
        self._reserve()
        return columns

    def _check_learnable(self, events: Batch, y: Sequence[Label | None]) -> None:
        self._look_up(self._as_batch(events), y)

    def _prepare(self, events: Batch, y: Sequence[Label | None], weights: FloatArray) -> Prepared[LabelPredictions]:
        before = self._labels.mark()
        take_back = partial(self._drop, len(self._vocabulary), self._vocabulary.texts, before)
        found, labels, new_labels = self._look_up(events, y)
        if not new_labels and self._last_columns is not None and self._last_columns[0] is events:
            known = self._rows(events, found, labels, weights)
            return Prepared(lambda: self._predictions(self._run_known(events, known), before, y), nothing_new)
        try:
            with self._all_or_nothing():
                rows = self._rows(events, self._admit(events, found, labels, new_labels), labels, weights)
        except BaseException:
            take_back()
            raise
        run = partial(self._run_prepared, events, rows, take_back)
        return Prepared(lambda: self._predictions(run(), before, y), take_back)

    def _run_known(self, batch: Batch, row: Rows) -> Joint:
        """Score and learn one event in which nothing is new, so that nothing is to be taken back if it is refused."""
        try:
            if row.labels[0] >= 0:
                self._reserve()
            return self._run(batch, row, score=True)
        except MemoryError as problem:
            raise self._no_memory() from problem

    def _run_prepared(self, batch: Batch, rows: Rows, take_back: Callable[[], None]) -> Joint:
        try:
            with self._all_or_nothing():
                return self._run(batch, rows, score=True)
        except StreamBayesError:
            take_back()
            raise

    def _drop(self, names: int, texts: Set[FeatureName], labels: Any) -> None:
        """Keep only the first names, and the labels up to a mark; nothing was learned of the others."""
        self._drop_names(names, texts)
        self._labels.reset(labels)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Context that unregisters new names and labels when there is no memory for them."""
        labels = self._labels.mark()
        try:
            with super()._all_or_nothing():
                yield
        except (EvidenceError, NumericalError):
            self._labels.reset(labels)
            raise

    def _run(self, batch: Batch, rows: Rows, *, score: bool) -> Joint:
        shape = (len(rows.labels) if score else 0, len(self._labels))
        joint = Joint(np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape[0], dtype=np.int64))
        self._fold(batch, rows, joint, score=score)
        return joint

    def _rows(self, batch: Batch, found: IntArray, labels: IntArray, weights: FloatArray) -> Rows:
        return Rows(*self._cells(batch, found), labels, weights)

    @property
    def _multiclass(self) -> bool:
        return True
