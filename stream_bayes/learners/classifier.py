"""A classifier over columns: the way from dicts, labels and weights to a fold and back, written once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from stream_bayes.errors import EvidenceError, InputError
from stream_bayes.features import Batch, HashedVocabulary, Names, Vocabulary, open_vocabulary
from stream_bayes.features.values import FeatureName, Features, IntArray, category_row, numeric_row
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.rows import Joint, Rows, merge_duplicates
from stream_bayes.learners.arrays import padded
from stream_bayes.learners.incoming import check_events, check_kinds, kind_of, same_event
from stream_bayes.learners.label_learner import LabelLearner, check_batch, check_weight
from stream_bayes.learners.labels import Label, Labels, check_classes, check_label
from stream_bayes.learners.predictions import LabelPredictions
from stream_bayes.posteriors import LabelPredictive

MOST_UNLEARNED_NAMES = 1_000_000


class ColumnClassifier(LabelLearner):
    """Events as rows of columns, classes as codes; a subclass brings the evidence and the fold over it.

    Nothing is assigned until everything that can be refused has been looked at: first the values, the labels, the
    weights and the names, then names and labels are registered, room is made, and the fold runs.
    """

    _categorical: ClassVar[bool] = False
    """Whether the columns are (feature, value) cells."""

    def __init__(self, classes: tuple[Label, ...] | None, buckets: int | None) -> None:
        self.classes = None if classes is None else tuple(check_classes(classes))
        self.buckets = buckets
        self._labels = Labels(classes)
        self._vocabulary: Vocabulary | HashedVocabulary = open_vocabulary(buckets)
        # No part of the state: the last event, by content, and its columns, so that an event predicted and then learned
        # is encoded once; and the columns of the names that batches share.
        self._last_event: tuple[Features, Batch] | None = None
        self._last_columns: tuple[Batch, IntArray] | None = None
        self._batch_names = Names()
        self._batch_columns: tuple[Names, IntArray] | None = None

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
        if self._categorical:
            return Batch.from_categories(events)
        # Where names are hashed none are kept; else those that only came without a label must not pile up here.
        most = 2 * len(self._vocabulary) + MOST_UNLEARNED_NAMES
        if self.buckets is not None or len(self._batch_names) > most:
            self._batch_names = Names()
        return Batch.from_dicts(events, self._batch_names)

    def predict_proba_one(self, x: Features, **_: Any) -> dict[Label, float]:
        """The probability of each label known so far."""
        return self._predict(self._one(x)).probabilities_of(0)

    def predictive_one(self, x: Features) -> LabelPredictive:
        """The probabilities with their variance, from mean and variance of the latent log-odds."""
        return self._predict(self._one(x)).predictive(0)

    def predict_many(self, events: Batch | Iterable[Features]) -> LabelPredictions:
        """Predictions for many events; nothing is learned."""
        return self._predict(self._as_batch(events))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Add one event to the evidence of its class."""
        batch, label, weight = self._one(x), check_label(y), check_weight(w)
        self._learn(batch, [label if weight else None], np.array((weight,)), score=False)

    def test_then_train(
        self, events: Batch | Iterable[Features], y: Sequence[Any], w: Sequence[float] | None = None
    ) -> LabelPredictions:
        """Predict each row, then learn it, in one compiled pass."""
        batch = self._as_batch(events)
        joint = self._learn(batch, *check_batch(len(batch), y, w), score=True)
        return LabelPredictions.from_joint(tuple(self._labels), joint)

    def _predict(self, batch: Batch) -> LabelPredictions:
        labels = np.full(len(batch), -1, dtype=np.int64)
        rows = self._rows(batch, self._find(batch), labels, np.zeros(len(batch)))
        return LabelPredictions.from_joint(tuple(self._labels), self._run(batch, rows, score=True))

    def _learn(self, batch: Batch, y: Sequence[Label | None], weights: FloatArray, *, score: bool) -> Joint:
        found = self._find(batch)
        labels, new_labels = self._labels.codes(y)
        self._check_types(batch, labels)
        with self._all_or_nothing():
            self._labels.register(new_labels)
            found = self._register(batch, found, labels)
            self._reserve()
        return self._run(batch, self._rows(batch, found, labels, weights), score=score)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Where there is no memory for new names and labels, they were never registered."""
        names, labels = len(self._vocabulary), len(self._labels)
        try:
            yield
        except MemoryError as problem:
            wanted = f"{len(self._vocabulary)} features and {len(self._labels)} labels"
            self._vocabulary.truncate(names)
            self._labels.truncate(labels)
            self._last_columns = self._batch_columns = None
            message = f"no memory for {wanted} in a {type(self).__name__}; hash them (buckets=...) or drop some"
            raise EvidenceError(message) from problem

    def _run(self, batch: Batch, rows: Rows, *, score: bool) -> Joint:
        shape = (len(rows.labels) if score else 0, len(self._labels))
        joint = Joint(np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape[0], dtype=np.int64))
        self._fold(batch, rows, joint, score=score)
        return joint

    def _one(self, x: Features) -> Batch:
        if self._categorical:
            return Batch.of_row(category_row(x), categorical=True)
        if self._last_event is not None and same_event(self._last_event[0], x):
            return self._last_event[1]
        batch = Batch.of_row(numeric_row(x))
        self._last_event = (dict(x), batch)
        return batch

    def _as_batch(self, events: Batch | Iterable[Features]) -> Batch:
        if not isinstance(events, Batch):
            return self.batch(check_events(events))
        if events.categorical != self._categorical:
            message = f"this batch is not of the form a {type(self).__name__} takes: make it with its batch(events)"
            raise InputError(message)
        return events

    def _find(self, batch: Batch) -> IntArray:
        """The learner's column of each batch column, -1 where the name is new; refuses what could not be learned."""
        if self._last_columns is not None and self._last_columns[0] is batch:
            return self._last_columns[1]
        self._check_values(batch)
        if batch.names is None:
            return self._buckets_of(batch)
        if isinstance(batch.names, Names):
            return self._find_shared(batch, batch.names)
        found = self._vocabulary.lookup(batch.names)
        if len(found) == 0 or found.min() >= 0:
            self._last_columns = (batch, found)
        else:
            self._check_new(batch, batch.names, found)
        return found

    def _find_shared(self, batch: Batch, names: Names) -> IntArray:
        if self._batch_columns is None or self._batch_columns[0] is not names:
            self._batch_columns = (names, np.empty(0, dtype=np.int64))
        found: IntArray = self._batch_columns[1]
        if len(names) > len(found):
            # Twice as much as there was, so that a stream of new names copies each a few times and not every batch.
            found = padded(found, (max(len(names), 2 * len(found)),), fill=-1)
            self._batch_columns = (names, found)
        unknown = np.unique(batch.columns[found[batch.columns] < 0])
        if len(unknown):
            new = [names[number] for number in unknown]
            found[unknown] = self._vocabulary.lookup(new)
            self._check_new(batch, new, found[unknown])
        return found

    def _check_new(self, batch: Batch, names: Sequence[FeatureName], found: IntArray) -> None:
        """Refuse names that were not known and could not be learned."""
        self._vocabulary.check(names, found, batch.texts)

    def _check_types(self, batch: Batch, labels: IntArray) -> None:
        """Refuse a batch in which a feature changes its type, as the loop would: a labelled row fixes it."""
        if self.buckets is None and batch.texts and isinstance(batch.names, Names):
            used = {batch.names[number] for number in np.unique(batch.columns)}
            if not batch.texts.isdisjoint(used):
                check_kinds(batch, labels, {}, lambda name: kind_of(name, batch.texts))

    def _buckets_of(self, batch: Batch) -> IntArray:
        width = int(batch.columns.max(initial=-1)) + 1
        if self.buckets is None or width > self.buckets:
            message = f"this batch has no names and {width} buckets, the learner has buckets={self.buckets}"
            raise InputError(message)
        return np.arange(width, dtype=np.int64)

    def _register(self, batch: Batch, found: IntArray, labels: IntArray) -> IntArray:
        """Give columns to the new names of labelled rows, in the order a loop of learn_one would."""
        if batch.names is None or (self._last_columns is not None and self._last_columns[0] is batch):
            return found
        labelled = np.repeat(labels >= 0, np.diff(batch.row_starts))
        new, first = np.unique(batch.columns[labelled & (found[batch.columns] < 0)], return_index=True)
        if len(new):
            order = new[np.argsort(first)]
            found[order] = self._register_names(batch, [batch.names[number] for number in order])
        return found

    def _register_names(self, batch: Batch, names: list[Any]) -> IntArray:
        # A text feature stands in the names as (feature, text); only those of labelled rows are learned.
        texts = {name[0] for name in names if isinstance(name, tuple) and name[0] in batch.texts}
        return self._vocabulary.register(names, texts)

    def _rows(self, batch: Batch, found: IntArray, labels: IntArray, weights: FloatArray) -> Rows:
        columns = found[batch.columns] if isinstance(batch.names, Names) else found
        if batch.names is None:
            columns = batch.columns
        elif self.buckets is not None:
            starts, merged, values = np.empty_like(batch.row_starts), np.empty_like(columns), np.empty(len(columns))
            left = merge_duplicates(batch.row_starts, columns, batch.values, starts, merged, values)
            return Rows(starts, merged[:left], values[:left], labels, weights)
        return Rows(batch.row_starts, columns, batch.values, labels, weights)

    @property
    def _multiclass(self) -> bool:
        return True
