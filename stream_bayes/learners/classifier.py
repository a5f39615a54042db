"""A classifier over columns: the way from dicts, labels and weights to a fold and back, written once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from river import base

from stream_bayes.errors import InputError
from stream_bayes.features import Batch, HashedVocabulary, Vocabulary, open_vocabulary
from stream_bayes.features.values import Features, IntArray, category_row, numeric_row
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.rows import Joint, Rows, first_learned, merge_duplicates
from stream_bayes.learners.base import Learner
from stream_bayes.learners.labels import Label, Labels, check_label
from stream_bayes.learners.predictions import LabelPredictions
from stream_bayes.posteriors import LabelPredictive
from stream_bayes.posteriors.checked import non_negative


class LabelLearner(Learner, base.Classifier):
    """A learner that predicts labels: what every classifier of this package can be asked."""

    @abstractmethod
    def predict_proba_one(self, x: Features, **_: Any) -> dict[Label, float]:
        """The probability of each label known so far; empty before the first, unless `classes` declares them."""

    def predict_one(self, x: Features, **_: Any) -> Label | None:
        """The most probable label, None while none is known."""
        probabilities = self.predict_proba_one(x)
        return max(probabilities, key=probabilities.__getitem__, default=None)

    @abstractmethod
    def predictive_one(self, x: Features) -> LabelPredictive:
        """The posterior predictive of the label: probabilities, and their variance split into noise and ignorance."""

    @abstractmethod
    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn one event of label `y`, counted `w` times; all or nothing."""

    @abstractmethod
    def batch(self, events: Iterable[Features]) -> Batch:
        """Events as a batch of the form this learner takes."""

    @abstractmethod
    def test_then_train(
        self, events: Batch | Iterable[Features], y: Sequence[Any], w: Sequence[float] | None = None
    ) -> LabelPredictions:
        """For each row in order: predict it, then learn it if its label is not None.

        The same numbers as a loop of `predict_proba_one` and `learn_one`, bit for bit, for every batch size.
        """


def check_batch(events: int, labels: Sequence[Any], w: Sequence[float] | None) -> FloatArray:
    """The weights of a batch, once there is a label and a weight for each event."""
    try:
        weights = np.ones(len(labels)) if w is None else np.array(w, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.full(len(labels), np.nan)
    if not events == len(labels) == len(weights):
        message = f"{events} events, {len(labels)} labels and {len(weights)} weights: one each is needed"
        raise InputError(message)
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        message = "weights must be finite numbers, 0 or more"
        raise InputError(message)
    return weights


class ColumnClassifier(LabelLearner):
    """Events as rows of columns, classes as codes; a subclass brings the evidence and the fold over it.

    Nothing is assigned until everything that can be refused has been looked at: first the values, the labels, the
    weights and the names, then names and labels are registered, room is made, and the fold runs.
    """

    _categorical: ClassVar[bool] = False
    """Whether the columns are (feature, value) cells."""

    def __init__(self, classes: tuple[Label, ...] | None, buckets: int | None) -> None:
        self.classes = classes
        self.buckets = buckets
        self._labels = Labels(classes)
        self._vocabulary: Vocabulary | HashedVocabulary = open_vocabulary(buckets)
        # The last event and its columns, keyed by content, so that predicting an event and then learning it encodes
        # it once. No part of the state.
        self._last_event: tuple[Features, list[Any], Batch] | None = None
        self._last_columns: tuple[Batch, IntArray] | None = None

    @abstractmethod
    def _reserve(self) -> None:
        """Make room in the evidence for every registered name and label."""

    @abstractmethod
    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        """Score each row into `joint`, then learn it where its label is known."""

    def _check_values(self, batch: Batch) -> None:
        """Refuse values this learner cannot use."""

    def batch(self, events: Iterable[Features]) -> Batch:
        """Events as a batch of the form this learner takes."""
        return Batch.categories(events) if self._categorical else Batch.from_dicts(events)

    def predict_proba_one(self, x: Features, **_: Any) -> dict[Label, float]:
        """The probability of each label known so far."""
        return self._predict(self._one(x)).probabilities_of(0)

    def predictive_one(self, x: Features) -> LabelPredictive:
        """The probabilities with their variance, by the delta method on the posteriors of the parameters."""
        return self._predict(self._one(x)).predictive(0)

    def predict_many(self, events: Batch | Iterable[Features]) -> LabelPredictions:
        """Predictions for many events; nothing is learned."""
        return self._predict(self._as_batch(events))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Add one event to the evidence of its class."""
        batch = self._one(x)
        labels, new_labels = self._labels.codes((check_label(y),))
        self._learn(batch, labels, new_labels, np.array((non_negative("weight", w, InputError),)), score=False)

    def test_then_train(
        self, events: Batch | Iterable[Features], y: Sequence[Any], w: Sequence[float] | None = None
    ) -> LabelPredictions:
        """Predict each row, then learn it, in one compiled pass."""
        batch = self._as_batch(events)
        weights = check_batch(len(batch), y, w)
        labels, new_labels = self._labels.codes(y)
        return self._learn(batch, labels, new_labels, weights, score=True)

    def _predict(self, batch: Batch) -> LabelPredictions:
        self._check_values(batch)
        labels = np.full(len(batch), -1, dtype=np.int64)
        rows = self._rows(batch, self._find(batch), labels, np.zeros(len(batch)))
        return self._run(batch, rows, score=True)

    def _learn(
        self, batch: Batch, labels: IntArray, new_labels: list[Label], weights: FloatArray, *, score: bool
    ) -> LabelPredictions:
        self._check_values(batch)
        found = self._find(batch)
        self._labels.register(new_labels)
        rows = self._rows(batch, self._register(batch, found, labels), labels, weights)
        self._reserve()
        return self._run(batch, rows, score=score)

    def _run(self, batch: Batch, rows: Rows, *, score: bool) -> LabelPredictions:
        shape = (len(rows.labels) if score else 0, len(self._labels))
        joint = Joint(np.empty(shape), np.empty(shape))
        self._fold(batch, rows, joint, score=score)
        return LabelPredictions.from_joint(tuple(self._labels), joint)

    def _one(self, x: Features) -> Batch:
        if self._categorical:
            return Batch.of_row(category_row(x), categorical=True)
        if self._last_event is not None:
            known, names, batch = self._last_event
            if known == x and names == list(x):
                return batch
        batch = Batch.of_row(numeric_row(x))
        self._last_event = (dict(x), list(x), batch)
        return batch

    def _as_batch(self, events: Batch | Iterable[Features]) -> Batch:
        if not isinstance(events, Batch):
            return self.batch(events)
        if events.categorical != self._categorical:
            message = f"this batch is not of the form a {type(self).__name__} takes: make it with its batch(events)"
            raise InputError(message)
        return events

    def _find(self, batch: Batch) -> IntArray:
        """The learner's column of each batch column, -1 where the name is new."""
        if self._last_columns is not None and self._last_columns[0] is batch:
            return self._last_columns[1]
        if batch.names is None:
            return self._buckets_of(batch)
        found = self._vocabulary.lookup(batch.names)
        self._vocabulary.check(batch.names, found, batch.texts)
        if len(found) == 0 or found.min() >= 0:
            self._last_columns = (batch, found)
        return found

    def _buckets_of(self, batch: Batch) -> IntArray:
        width = int(batch.columns.max(initial=-1)) + 1
        if self.buckets is None or width > self.buckets:
            message = f"this batch has no names and {width} buckets, the learner has buckets={self.buckets}"
            raise InputError(message)
        return np.arange(width, dtype=np.int64)

    def _register(self, batch: Batch, found: IntArray, labels: IntArray) -> IntArray:
        """Give columns to the new names of labelled rows, in the order a loop of learn_one would."""
        if batch.names is None or len(found) == 0 or found.min() >= 0:
            return found
        order = first_learned(batch.row_starts, batch.columns, labels, len(found))
        learned = [batch.names[place] for place in order]
        # A text feature stands in the names as (feature, text); only those of labelled rows are learned.
        texts = {name[0] for name in learned if isinstance(name, tuple) and name[0] in batch.texts}
        found = found.copy()
        found[order] = self._vocabulary.register(learned, texts)
        return found

    def _rows(self, batch: Batch, found: IntArray, labels: IntArray, weights: FloatArray) -> Rows:
        columns = found[batch.columns]
        if self.buckets is None or batch.names is None:
            return Rows(batch.row_starts, columns, batch.values, labels, weights)
        starts, merged, values = (
            np.empty_like(batch.row_starts),
            np.empty_like(columns),
            np.empty(len(columns)),
        )
        left = merge_duplicates(batch.row_starts, columns, batch.values, starts, merged, values)
        return Rows(starts, merged[:left], values[:left], labels, weights)

    @property
    def _multiclass(self) -> bool:
        return True
