"""What the predictions are worth, by the labels that the demo knows and the worker does not."""

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
"""Between the bins of the calibration."""
_LEAST = 1e-300


class ProbabilityBin(NamedTuple):
    """Mails of similar probability."""

    said: float
    """Their mean probability of spam."""
    observed: float
    """The share that was spam."""
    mails: int


class PredictionScores:
    """Predictions in the order in which they came, each beside the truth.

    Parameters
    ----------
    truth
        The right labels by id; other mails are counted but not scored.
    """

    def __init__(self, truth: Mapping[str, str]) -> None:
        self._truth = truth
        self._spam: list[bool] = []
        self._log_odds: list[float] = []
        self._ids: set[str] = set()
        self.predictions = 0

    def add(self, records: Iterable[Record]) -> None:
        """Take predictions as they stand in the log."""
        for record in records:
            prediction = Prediction.model_validate_json(record.value)
            self.predictions += 1
            self._ids.add(prediction.id)
            label = self._truth.get(prediction.id)
            said = prediction.probabilities or {}
            if label is not None:
                self._spam.append(label == "spam")
                # Both, since the smaller of the two is the precise one.
                spam = max(said.get("spam", 0.5), _LEAST)
                ham = max(said.get("ham", 0.5), _LEAST)
                self._log_odds.append(math.log(spam) - math.log(ham))

    @property
    def distinct(self) -> int:
        """How many mails have a prediction."""
        return len(self._ids)

    def arrays(self) -> tuple[BoolArray, FloatArray]:
        """Spam or not, and the log-odds of it, of each mail whose label is known."""
        return np.array(self._spam, dtype=np.bool_), np.array(self._log_odds)

    def area(self, last: int | None = None) -> float:
        """(1-ROCA)% of all, or of the last so many; NaN before both labels have come."""
        spam, log_odds = self.arrays()
        begin = 0 if last is None else max(len(spam) - last, 0)
        return one_minus_roca_percent(spam[begin:], log_odds[begin:])

    def calibration(self) -> list[ProbabilityBin]:
        """Said and observed; bins without a mail are left out."""
        spam, log_odds = self.arrays()
        probability = expit(log_odds)
        places = np.digitize(probability, EDGES)
        chosen = [places == place for place in range(len(EDGES) + 1)]
        return [
            ProbabilityBin(float(probability[rows].mean()), float(spam[rows].mean()), int(rows.sum()))
            for rows in chosen
            if rows.any()
        ]
