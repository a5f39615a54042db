"""Regressor: the base class of all learners that predict numbers, and the checks of targets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from river import base

from stream_bayes.errors import InputError
from stream_bayes.features import Batch
from stream_bayes.features.values import Features
from stream_bayes.learners.base.input_checks import LARGEST_NUMBER
from stream_bayes.learners.base.labels import Many, check_batch
from stream_bayes.learners.base.learner import Learner
from stream_bayes.learners.base.number_predictions import NumberPredictions, Predictive
from stream_bayes.typing import FloatArray
from stream_bayes.validation import finite


class Regressor(Learner, base.Regressor):
    """A learner that predicts numbers."""

    @abstractmethod
    def predict_one(self, x: Features) -> float:
        """The mean of the posterior predictive."""

    @abstractmethod
    def predictive_one(self, x: Features) -> Predictive:
        """The posterior predictive of the target: mean, and variance split into noise and ignorance.

        Without a posterior all of it is noise, and the epistemic variance is 0.
        """

    @abstractmethod
    def predictive_many(self, events: Batch | Iterable[Features]) -> NumberPredictions:
        """Predictions for many events; nothing is learned."""

    @abstractmethod
    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn one event of target `y`, counted `w` times; all or nothing."""

    @abstractmethod
    def batch(self, events: Iterable[Features]) -> Batch:
        """Events as a batch of the form this learner takes."""

    def learn_many(self, events: Batch | Iterable[Features], y: Many, w: Many | None = None) -> None:
        """Learn each row whose target is not None: the same bits as a loop of `learn_one`, all or nothing."""
        self.test_then_train(events, y, w)

    @abstractmethod
    def test_then_train(self, events: Batch | Iterable[Features], y: Many, w: Many | None = None) -> NumberPredictions:
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
    plain = w is None and type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (events,)
    if plain and np.abs(y).max(initial=0.0) <= LARGEST_NUMBER:  # False where one is NaN
        return np.array(y), np.ones(events)  # a copy in one piece: the caller's may be a column, or read-only
    known, weights = check_batch(events, y, w)
    return np.array([np.nan if target is None else check_target(target) for target in known]), weights
