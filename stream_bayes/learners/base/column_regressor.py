"""A regressor over columns: the way from dicts, targets and weights to a fold and back, written once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from stream_bayes.features import Batch
from stream_bayes.features.values import Features, IntArray
from stream_bayes.kernels.common.csr import TargetRows
from stream_bayes.learners.base.columns import ColumnLearner, row_starts
from stream_bayes.learners.base.input_checks import LARGEST_NUMBER, Events, check_size
from stream_bayes.learners.base.labels import Many, check_weight
from stream_bayes.learners.base.number_predictions import NumberPredictions, Predictive
from stream_bayes.learners.base.regressor import Regressor, check_target, check_targets
from stream_bayes.typing import FloatArray

# The target and the weight of an event that is not learned.
_NO_TARGET = np.full(1, np.nan)
_NO_WEIGHT = np.zeros(1)


class ColumnRegressor(ColumnLearner, Regressor):
    """Events as rows of columns, targets as numbers; a subclass brings the evidence and the fold over it."""

    _bounds: ClassVar[tuple[float, float] | None] = (-LARGEST_NUMBER, LARGEST_NUMBER)

    @abstractmethod
    def _fold(self, rows: TargetRows, *, score: bool) -> NumberPredictions:
        """Score each row, then learn it where its target is known; nothing is scored where `score` is False."""

    def _mean_one(self, x: Features) -> float:
        return self._mean_of(*self._pairs(x))

    def predictive_one(self, x: Features) -> Predictive:
        """The posterior predictive of the target."""
        return self._predict(self._one(x)).predictive(0)

    def predictive_many(self, events: Batch | Events) -> NumberPredictions:
        """Predictions for many events; nothing is learned."""
        return self._predict(self._as_batch(events))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Add one event to the evidence."""
        columns, values = self._pairs(x)
        target = check_target(y)
        weight = check_weight(w)
        if weight and self._learn_pairs(columns, values, target, weight):
            return
        # What is new, or to be refused, takes the way that batches take.
        self._learn(self._one(x), np.array((target if weight else np.nan,)), np.array((weight,)), score=False)

    def learn_many(self, X: Batch | Events, y: Many, w: Many | None = None) -> None:
        """Learn each row whose target is not None in one compiled pass, without predicting any."""
        batch = self._as_batch(X)
        self._learn(batch, *check_targets(len(batch), y, w), score=False)

    def test_then_train(self, events: Batch | Events, y: Many, w: Many | None = None) -> NumberPredictions:
        """Predict each row, then learn it, in one compiled pass."""
        batch = self._as_batch(events)
        return self._learn(batch, *check_targets(len(batch), y, w), score=True)

    def _mean_of(self, columns: IntArray, values: FloatArray) -> float:
        """The mean of one event by its features, which may be new: the bits of a batch of one, but no batch."""
        row = TargetRows(row_starts(len(columns)), columns, values, _NO_TARGET, _NO_WEIGHT)
        return float(self._fold(row, score=True).mean[0])

    def _learn_pairs(self, columns: IntArray, values: FloatArray, target: float, weight: float) -> bool:
        """Learn one event without the making of a batch; False, and nothing done, if that takes one."""
        if not self._are_known(columns):
            return False
        row = TargetRows(row_starts(len(columns)), columns, values, np.array((target,)), np.array((weight,)))
        try:
            self._reserve()
            self._fold(row, score=False)
        except MemoryError as problem:
            raise self._no_memory() from problem
        return True

    def _predict(self, batch: Batch) -> NumberPredictions:
        unknown = np.full(len(batch), np.nan)
        return self._fold(self._rows(batch, self._find(batch), unknown, np.zeros(len(batch))), score=True)

    def _learn(self, batch: Batch, targets: FloatArray, weights: FloatArray, *, score: bool) -> NumberPredictions:
        found = self._find(batch)
        learned = ~np.isnan(targets)
        self._check_types(batch, learned)
        with self._all_or_nothing():
            if learned.any():
                found = self._register(batch, found, learned)
                self._reserve()
            return self._fold(self._rows(batch, found, targets, weights), score=score)

    def _rows(self, batch: Batch, found: IntArray, targets: FloatArray, weights: FloatArray) -> TargetRows:
        return TargetRows(*self._cells(batch, found), targets, weights)

    def _check_values(self, batch: Batch) -> None:
        check_size(batch.values)
