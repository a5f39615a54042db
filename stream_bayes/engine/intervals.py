"""Credible intervals of predictions, and the label that is reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stream_bayes.learners import LabelPredictions, NumberPredictions
from stream_bayes.learners.base.labels import as_key
from stream_bayes.learners.base.number_predictions import Predictive
from stream_bayes.posteriors import LabelPredictive

MASS = 0.95
"""The probability mass of the intervals."""
_SPAM = "spam"


class CredibleInterval(NamedTuple):
    """An equal-tailed credible interval."""

    low: float
    high: float
    of: str | None
    """The label whose latent probability it is of, as a key in JSON; None for a number, or while no label is known."""


def credible_interval(predictions: LabelPredictions | NumberPredictions, row: int) -> CredibleInterval:
    """The interval of one prediction of a batch: of the probability of a label, or of a number."""
    return credible_interval_of(predictions.predictive(row))


def credible_interval_of(predictive: LabelPredictive | Predictive) -> CredibleInterval:
    """The interval of a single prediction."""
    if not isinstance(predictive, LabelPredictive):
        return CredibleInterval(*predictive.interval(MASS), None)
    label = reported_label(predictive.probabilities)
    return CredibleInterval(*predictive.interval(MASS, label), None if label is None else as_key(label))


def reported_label(probabilities: Mapping[Any, float]) -> Any:
    """The label whose interval is reported; None while there is none.

    It is the second of two labels, or "spam" if it is one of them; of more labels it is the most probable.
    """
    if len(probabilities) == 2:
        return _SPAM if _SPAM in probabilities else list(probabilities)[1]
    return max(probabilities, key=probabilities.__getitem__, default=None)
