"""Reliability diagram: predicted probabilities against observed frequencies, bin by bin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stream_bayes.errors import ParameterError, shown
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.fusion.combination import fold_reliability
from stream_bayes.learners.fusion.weights import LARGEST_SUM
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import FloatArray
from stream_bayes.validation import whole

# Has many divisors, so a table of any usual number of bins can be read from it.
CELLS = 360
_ROUNDED_ONE = 1.0 + 1e-6


@dataclass(frozen=True)
class Reliability:
    """Probabilities of the second label as they were predicted, each before its event was learned.

    Examples
    --------
    >>> table = Reliability((30.0, 10.0), (0.2, 0.9), (0.3, 0.8), 0.15, 0.48)
    >>> round(table.expected_calibration_error, 3)
    0.1
    >>> print(table)
    predicted        events  mean   observed
    0.000 to 0.500       30  0.200     0.300
    0.500 to 1.000       10  0.900     0.800
    40 events, expected calibration error 0.1000, Brier score 0.1500, log loss 0.4800
    """

    counts: tuple[float, ...]
    """Events in each of equally wide intervals of the probability, by their weights."""
    predicted: tuple[float, ...]
    """Mean probability in each, NaN where there were none."""
    observed: tuple[float, ...]
    """How often the second label came in each, NaN where there were none."""
    brier_score: float
    """Mean of (y - p)^2, NaN before the first event."""
    log_loss: float
    """Mean of -log p(y), NaN before the first event."""

    @property
    def events(self) -> float:
        """All events, by their weights."""
        return math.fsum(self.counts)

    @property
    def expected_calibration_error(self) -> float:
        """The mean distance of predicted from observed, by the events of each interval."""
        rows = zip(self.counts, self.predicted, self.observed, strict=True)
        total = math.fsum(count * abs(predicted - observed) for count, predicted, observed in rows if count)
        return total / self.events if self.events else math.nan

    def __str__(self) -> str:
        bins = len(self.counts)
        lines = ["predicted        events  mean   observed"]
        for place, (count, mean, share) in enumerate(zip(self.counts, self.predicted, self.observed, strict=True)):
            if count:
                interval = f"{place / bins:.3f} to {(place + 1) / bins:.3f}"
                lines.append(f"{interval} {count:8.6g}  {mean:.3f}     {share:.3f}")
        error = self.expected_calibration_error
        losses = f"Brier score {self.brier_score:.4f}, log loss {self.log_loss:.4f}"
        return "\n".join([*lines, f"{self.events:g} events, expected calibration error {error:.4f}, {losses}"])


class ReliabilityRecord:
    """Sums from which a reliability diagram is computed, in constant memory."""

    def __init__(self) -> None:
        self._cells = np.zeros((CELLS, 3))
        self._losses = np.zeros(3)

    def fold(self, log_odds: FloatArray, outcomes: IntArray, weights: FloatArray) -> FloatArray:
        """The probabilities of both labels of each row, scored where its outcome is known."""
        probabilities = np.empty((len(log_odds), 2))
        fold_reliability(log_odds, outcomes, weights, self._cells, self._losses, probabilities)
        return probabilities

    def reliability(self, bins: int) -> Reliability:
        """The table with that many intervals."""
        count = int(whole("bins", bins, ParameterError))
        if count < 1 or CELLS % count:
            message = f"bins must be a divisor of {CELLS}, such as 10, 12, 15, 18 or 20; got {shown(bins)}"
            raise ParameterError(message)
        weight, predicted, observed = self._cells.reshape(count, -1, 3).sum(axis=1).T
        filled = np.where(weight > 0.0, weight, np.nan)
        events, squares, logs = self._losses.tolist()
        means = (squares / events, logs / events) if events else (math.nan, math.nan)
        rows = [tuple(values.tolist()) for values in (weight, predicted / filled, observed / filled)]
        return Reliability(rows[0], rows[1], rows[2], *means)

    def arrays(self) -> Arrays:
        """Copies for a snapshot."""
        return {"reliability": self._cells.copy(), "losses": self._losses.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what `arrays` gave."""
        cells = arrays["reliability"]
        losses = arrays["losses"]
        for new, old in ((cells, self._cells), (losses, self._losses)):
            if new.dtype != np.float64 or new.shape != old.shape or not ((new >= 0.0) & (new < LARGEST_SUM)).all():
                message = "the record of reliability must be sums of 0 or more, three an interval and three for all"
                raise ValueError(message)
        if (cells[:, 1:] > _ROUNDED_ONE * cells[:, :1]).any() or losses[1] > _ROUNDED_ONE * losses[0]:
            message = "the record of reliability has more predicted, observed or lost than events"
            raise ValueError(message)
        self._cells = np.ascontiguousarray(cells)
        self._losses = np.ascontiguousarray(losses)
