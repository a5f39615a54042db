"""Classifier: the base class of all learners that predict labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from river import base

from stream_bayes.features import Batch
from stream_bayes.features.values import Features
from stream_bayes.learners.base.input_checks import Events, frame_table
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.labels import Label, Many
from stream_bayes.learners.base.learner import Learner
from stream_bayes.posteriors import LabelPredictive
from stream_bayes.typing import FloatArray

Answer = TypeVar("Answer")


class Prepared(NamedTuple, Generic[Answer]):
    """Events that are ready to be learned: what is new is registered, but nothing is known of it yet."""

    learn: Callable[[], Answer]
    """Predict each row, then learn it. Where it refuses nothing has changed, what was registered included."""
    take_back: Callable[[], None]
    """Do instead of `learn`: what was new is new again."""


class Classifier(Learner, base.MiniBatchClassifier):
    """A learner that predicts labels.

    The events of a batch are called `X` in the calls that river has (`learn_many`, `predict_many`,
    `predict_proba_many`), so that its pipelines can name them, and `events` in all others.
    """

    @abstractmethod
    def predict_proba_one(self, x: Features, **_: Any) -> dict[Label, float]:
        """The probability of each label known so far; empty before the first, unless `classes` declares them."""

    def predict_one(self, x: Features, **_: Any) -> Label | None:
        """The most probable label, None while none is known."""
        probabilities = self.predict_proba_one(x)
        return max(probabilities, key=probabilities.__getitem__, default=None)

    @abstractmethod
    def predictive_one(self, x: Features) -> LabelPredictive:
        """The posterior predictive of the label: probabilities, and their variance split into noise and ignorance.

        Without a posterior all of it is noise, and the epistemic variance is 0.
        """

    @abstractmethod
    def predictive_many(self, events: Batch | Events) -> LabelPredictions:
        """Predictions for many events; nothing is learned."""

    @abstractmethod
    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn one event of label `y`, counted `w` times; all or nothing."""

    @abstractmethod
    def batch(self, events: Events) -> Batch:
        """Events as a batch of the form this learner takes; it may share the memory of a matrix (see `Batch`)."""

    def learn_many(self, X: Batch | Events, y: Many, w: Many | None = None) -> None:
        """Learn each row whose label is not None: the same bits as a loop of `learn_one`, all or nothing."""
        self.test_then_train(X, y, w)

    def predict_many(self, X: Batch | Events) -> Any:
        """The most probable label of each row, None while none is known.

        A series of the library of the data frame with its index; an array for anything else.
        """
        labels = self.predictive_many(X).most_probable()
        table = frame_table(X)
        return labels if table is None else table.series(labels)

    def predict_proba_many(self, X: Batch | Events) -> Any:
        """The probability of each label, a column for each.

        A frame of the library of the data frame with its index; for anything else an array, its columns in the order of
        the labels of `predictive_many`.
        """
        predictions = self.predictive_many(X)
        table = frame_table(X)
        probabilities = np.nan_to_num(predictions.probabilities)
        return probabilities if table is None else table.frame(predictions.labels, probabilities)

    @abstractmethod
    def test_then_train(self, events: Batch | Events, y: Many, w: Many | None = None) -> LabelPredictions:
        """For each row in order: predict it, then learn it if its label is not None.

        The numbers are those of a loop of `predict_proba_one` and `learn_one`, bit for bit, for every batch size.
        """

    def _check_learnable(self, events: Batch, y: Sequence[Label | None]) -> None:
        """Refuse events that could not be learned, as far as is known without a change."""

    def _prepare(self, events: Batch, y: Sequence[Label | None], weights: FloatArray) -> Prepared[LabelPredictions]:
        """Register what is new in events that were checked, and make room for it.

        Where there is no memory for it that is refused, and nothing has changed.
        """
        return Prepared(partial(self.test_then_train, events, y, weights.tolist()), nothing_new)

    @property
    def _may_fail(self) -> bool:
        """Whether what was prepared may still be refused."""
        # Of ours only those that forget: what they no longer know grows until it is no number.
        return not self._is_ours() or getattr(self, "forgetting", 1.0) < 1.0


def nothing_new() -> None:
    """There is nothing to take back."""
