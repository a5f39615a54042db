"""Regressor: the base class of all learners that predict numbers, and the checks of targets."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, overload

import numpy as np
from river import base

from stream_bayes.errors import InputError
from stream_bayes.features import Batch
from stream_bayes.features.values import Features
from stream_bayes.learners.base.input_checks import LARGEST_NUMBER, Events, frame_table
from stream_bayes.learners.base.labels import Many, array_of, check_batch
from stream_bayes.learners.base.learner import Learner
from stream_bayes.learners.base.number_predictions import NumberPredictions, Predictive
from stream_bayes.typing import FloatArray
from stream_bayes.validation import finite


class Regressor(Learner, base.MiniBatchRegressor):
    """A learner that predicts numbers.

    The events of a batch are called `X` in the calls that river has (`learn_many`, `predict_many`), so that its
    pipelines can name them, and `events` in all others.
    """

    @overload
    def predict_one(self, x: Features, with_dist: Literal[False] = False) -> float: ...

    @overload
    def predict_one(self, x: Features, with_dist: Literal[True]) -> Predictive: ...

    def predict_one(self, x: Features, with_dist: bool = False) -> float | Predictive:
        """The mean of the posterior predictive; the predictive itself if `with_dist`, as in river."""
        return self.predictive_one(x) if with_dist else self._mean_one(x)

    def _mean_one(self, x: Features) -> float:
        """The mean of the posterior predictive."""
        return self.predictive_one(x).mean

    @abstractmethod
    def predictive_one(self, x: Features) -> Predictive:
        """The posterior predictive of the target: mean, and variance split into noise and ignorance.

        Without a posterior all of it is noise, and the epistemic variance is 0.
        """

    @abstractmethod
    def predictive_many(self, events: Batch | Events) -> NumberPredictions:
        """Predictions for many events; nothing is learned."""

    @abstractmethod
    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn one event of target `y`, counted `w` times; all or nothing."""

    @abstractmethod
    def batch(self, events: Events) -> Batch:
        """Events as a batch of the form this learner takes; it may share the memory of a matrix (see `Batch`)."""

    def learn_many(self, X: Batch | Events, y: Many, w: Many | None = None) -> None:
        """Learn each row whose target is not None: the same bits as a loop of `learn_one`, all or nothing."""
        self.test_then_train(X, y, w)

    def predict_many(self, X: Batch | Events) -> Any:
        """The mean of each row.

        A series of the library of the data frame with its index; an array for anything else.
        """
        means = self.predictive_many(X).mean
        table = frame_table(X)
        return means if table is None else table.series(means)

    @abstractmethod
    def test_then_train(self, events: Batch | Events, y: Many, w: Many | None = None) -> NumberPredictions:
        """For each row in order: predict it, then learn it if its target is not None.

        The numbers are those of a loop of `predict_one` and `learn_one`, bit for bit, for every batch size.
        """


def check_target(y: Any) -> float:
    """The target of one event."""
    if type(y) is float and -LARGEST_NUMBER <= y <= LARGEST_NUMBER:
        return y
    target = finite("target", y, InputError)
    if abs(target) > LARGEST_NUMBER:
        message = f"a target lies between -{LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}; got {target:g}"
        raise InputError(message)
    return target


def check_targets(events: int, y: Any, w: Any) -> tuple[FloatArray, FloatArray]:
    """The targets and weights of a batch, one each an event; NaN where there is no target, or no weight."""
    numbers = array_of(y)
    if w is None and isinstance(numbers, np.ndarray) and numbers.dtype.kind in "iuf" and numbers.shape == (events,):
        targets = np.array(numbers, dtype=np.float64)  # in one piece: the caller's may be a column, or read-only
        if np.abs(targets).max(initial=0.0) <= LARGEST_NUMBER:  # False where one is NaN
            return targets, np.ones(events)
    known, weights = check_batch(events, y, w)
    return np.array([np.nan if target is None else check_target(target) for target in known]), weights
