"""Running metrics: each prediction, as it was made, is compared with its label when that comes."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import IntArray

REMEMBERED = 2**20
"""Predictions kept until their labels come; labels of older ones are learned but not counted."""
CALIBRATION_BINS = 10
# Log-odds are counted in cells of 1/64 between -32 and 32; within a cell they tie.
_CELLS = 4096
_CELLS_A_UNIT = 64.0
_LARGEST = 31.99
_COUNT = 0
_RIGHT = 1
_SCORED = 2
_LOG_LOSS = 3
_ABSOLUTE = 4
_SQUARED = 5


class RunningMetrics:
    """Running metrics over the observations whose label is known; a corrected label is not counted again.

    For two labels: 1 - ROCA, log loss, calibration. For any labels: accuracy. For targets: absolute and squared error.
    """

    def __init__(self, remembered: int) -> None:
        size = min(remembered, REMEMBERED)
        self._scores = np.zeros(size)
        self._best = np.zeros(size, dtype=np.int32)
        self._cells = np.zeros((2, _CELLS), dtype=np.int64)
        self._bins = np.zeros((CALIBRATION_BINS, 3))
        self._sums = np.zeros(6)
        self._end = 0
        # Of the same memory: numpy's own way to a single figure takes three times as long.
        self._score_at = _view(self._scores)
        self._best_at = _view(self._best)
        self._cell_at = _view(self._cells)
        self._bin_at = _view(self._bins)
        self._sum_at = _view(self._sums)

    def remember(self, offset: int, score: float, best: int) -> None:
        """Keep a prediction: the log-odds of the second of two labels, NaN for more labels, or the mean.

        `best` is the index of the most probable label, -1 for none.
        """
        slot = offset % len(self._score_at)
        self._score_at[slot] = score
        self._best_at[slot] = best
        self._end = offset + 1

    def count_label(self, offset: int, label: int) -> None:
        """Count the label of an observation: its index in the predictions, -1 if they did not know it."""
        if not self._end - len(self._score_at) <= offset < self._end:
            return
        slot = offset % len(self._score_at)
        self._sum_at[_COUNT] += 1.0
        self._sum_at[_RIGHT] += self._best_at[slot] == label >= 0
        log_odds = self._score_at[slot]
        if not math.isnan(log_odds) and label in (0, 1):
            self._count_log_odds(max(min(log_odds, _LARGEST), -_LARGEST), label)

    def _count_log_odds(self, log_odds: float, label: int) -> None:
        probability = 1.0 / (1.0 + math.exp(-log_odds))
        self._cell_at[label, int((log_odds + _CELLS / _CELLS_A_UNIT / 2.0) * _CELLS_A_UNIT)] += 1
        tenth = min(int(probability * CALIBRATION_BINS), CALIBRATION_BINS - 1)
        self._bin_at[tenth, 0] += 1.0
        self._bin_at[tenth, 1] += probability
        self._bin_at[tenth, 2] += label
        self._sum_at[_SCORED] += 1.0
        self._sum_at[_LOG_LOSS] += math.log1p(math.exp(-log_odds if label else log_odds))

    def count_target(self, offset: int, target: float) -> None:
        """Count the target of an observation."""
        if self._end - len(self._score_at) <= offset < self._end:
            error = abs(target - self._score_at[offset % len(self._score_at)])
            self._sum_at[_COUNT] += 1.0
            self._sum_at[_ABSOLUTE] += error
            self._sum_at[_SQUARED] += error * error

    def label_figures(self) -> dict[str, float | None]:
        """All metrics of labels, None where nothing has been counted; the count of labels is an int."""
        sums = self._sum_at
        distance = sum(abs(p - y) for _, p, y in self._bins.tolist())
        return {
            "labelled": int(sums[_COUNT]),
            "accuracy": _over(sums[_RIGHT], sums[_COUNT]),
            "log_loss": _over(sums[_LOG_LOSS], sums[_SCORED]),
            "one_minus_roca_percent": one_minus_roca_percent(self._cells),
            "calibration_error": _over(distance, sums[_SCORED]),
        }

    def target_figures(self) -> dict[str, float | None]:
        """All metrics of targets, None where nothing has been counted; the count of targets is an int."""
        sums = self._sum_at
        squared = _over(sums[_SQUARED], sums[_COUNT])
        return {
            "labelled": int(sums[_COUNT]),
            "mean_absolute_error": _over(sums[_ABSOLUTE], sums[_COUNT]),
            "root_mean_squared_error": None if squared is None else math.sqrt(squared),
        }

    def calibration(self) -> list[tuple[float, float, int]]:
        """For each tenth of the predicted probabilities: their mean, the frequency of the second label, the count."""
        return [(p / count, label / count, int(count)) for count, p, label in self._bins.tolist() if count]

    def arrays(self) -> Arrays:
        """Copies of the slots in use and of the sums."""
        used = min(self._end, len(self._scores))
        return {
            "metric_scores": self._scores[:used].copy(),
            "metric_best": self._best[:used].copy(),
            "metric_cells": self._cells.copy(),
            "metric_bins": self._bins.copy(),
            "metric_sums": self._sums.copy(),
            "metric_end": np.array([self._end]),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take over what `arrays` gave."""
        self._end = int(arrays["metric_end"][0])
        used = min(self._end, len(self._scores))
        self._scores[:used] = arrays["metric_scores"]
        self._best[:used] = arrays["metric_best"]
        self._cells[...] = arrays["metric_cells"]
        self._bins[...] = arrays["metric_bins"]
        self._sums[...] = arrays["metric_sums"]


def one_minus_roca_percent(cells: IntArray) -> float | None:
    """The percentage of pairs of both labels that are ranked wrongly, ties for half; None before there is a pair."""
    first, second = cells.sum(axis=1).tolist()
    if not first or not second:
        return None
    below = np.cumsum(cells[1]) - cells[1]
    wrong = float(cells[0] @ (below + cells[1] / 2.0))
    return 100.0 * wrong / (float(first) * float(second))


def _view(array: NDArray[Any]) -> Any:
    # As Any: the type of a memoryview of floats cannot be written down.
    return memoryview(cast(Any, array))


def _over(total: float, count: float) -> float | None:
    return total / count if count else None
