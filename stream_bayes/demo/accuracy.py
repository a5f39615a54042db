"""Scores of the predictions against the true labels, which the worker does not know."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.events import Prediction
from stream_bayes.records import Record
from stream_bayes.typing import BoolArray, FloatArray

WINDOW = 1000
EDGES = (0.05, 0.2, 0.5, 0.8, 0.95)
"""Edges of the calibration bins."""
_LEAST = 1e-300


class ProbabilityBin(NamedTuple):
    """A calibration bin: mails of similar probability."""

    predicted: float
    """Mean predicted probability of spam."""
    observed: float
    """Fraction that was spam."""
    mails: int


class PredictionScores:
    """Predictions in order of arrival, with the true labels.

    Parameters
    ----------
    truth
        The true labels by id; other mails are counted but not scored.
    """

    def __init__(self, truth: Mapping[str, str]) -> None:
        self._truth = truth
        self._spam: list[bool] = []
        self._log_odds: list[float] = []
        self._ids: set[str] = set()
        self.predictions = 0

    def add(self, records: Iterable[Record]) -> None:
        """Add the predictions in these records."""
        for record in records:
            prediction = Prediction.model_validate_json(record.value)
            self.predictions += 1
            self._ids.add(prediction.id)
            label = self._truth.get(prediction.id)
            probabilities = prediction.probabilities or {}
            if label is not None:
                self._spam.append(label == "spam")
                # Both are needed, since the smaller one has the higher relative precision.
                spam = max(probabilities.get("spam", 0.5), _LEAST)
                ham = max(probabilities.get("ham", 0.5), _LEAST)
                self._log_odds.append(math.log(spam) - math.log(ham))

    @property
    def distinct(self) -> int:
        """Number of mails with a prediction."""
        return len(self._ids)

    def arrays(self) -> tuple[BoolArray, FloatArray]:
        """Return whether each mail with a known label is spam, and its log-odds."""
        return np.array(self._spam, dtype=np.bool_), np.array(self._log_odds)

    def area(self, last: int | None = None) -> float:
        """Return (1-ROCA)% of all or the last mails; NaN before both labels have occurred."""
        spam, log_odds = self.arrays()
        start = 0 if last is None else max(len(spam) - last, 0)
        return one_minus_roca_percent(spam[start:], log_odds[start:])

    def calibration(self) -> list[ProbabilityBin]:
        """Return the non-empty calibration bins."""
        spam, log_odds = self.arrays()
        probability = expit(log_odds)
        bin_numbers = np.digitize(probability, EDGES)
        chosen = [bin_numbers == number for number in range(len(EDGES) + 1)]
        return [
            ProbabilityBin(float(probability[rows].mean()), float(spam[rows].mean()), int(rows.sum()))
            for rows in chosen
            if rows.any()
        ]
