"""How far the metrics of a pass move when its messages are drawn again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stream_bayes.evaluation.metrics import Metrics, MetricsSummary, Outcomes, all_metrics
from stream_bayes.typing import BoolArray, FloatArray

REPLICATES = 400
SEED = 1
COVERAGE = 0.95
_CALIBRATION = Metrics._fields.index("calibration_error")


def summarise(
    spam: BoolArray, log_odds: FloatArray, *, threshold: float = 0.5, replicates: int = REPLICATES
) -> MetricsSummary:
    """All metrics with bootstrap intervals.

    Messages are drawn with replacement, both classes together; the interval lies between the 2.5 and the 97.5
    percentile, leaving out draws without the metric. It says how far chance in the choice of the messages may have
    moved the metric; where nothing went wrong, nothing can be drawn that did, and it has no width. The calibration
    error is a sum of absolute values, which the noise of drawing makes larger: its draws are moved back by the mean of
    that, to 0 at most.
    """
    values = all_metrics(spam, log_odds, threshold)
    outcomes = Outcomes(spam, log_odds, threshold)
    drawn = np.array([outcomes.metrics(counts) for counts in draws(len(spam), replicates)])
    low, high = _interval(_without_bias(drawn.reshape(-1, len(values)), values))
    return MetricsSummary(len(spam), int(spam.sum()), threshold, values, low, high)


def draws(messages: int, replicates: int) -> Iterator[FloatArray]:
    """How often each message comes in each replicate; always the same for so many messages."""
    generator = np.random.default_rng(SEED)
    for _ in range(replicates if messages else 0):
        places = generator.integers(0, messages, messages)
        yield np.bincount(places, minlength=messages).astype(np.float64)


def _without_bias(drawn: FloatArray, values: Metrics) -> FloatArray:
    errors = drawn[:, _CALIBRATION]
    if len(errors):
        drawn[:, _CALIBRATION] = np.maximum(errors - errors.mean() + values.calibration_error, 0.0)
    return drawn


def _interval(drawn: FloatArray) -> tuple[Metrics, Metrics]:
    tail = 50.0 * (1.0 - COVERAGE)
    columns = [column[~np.isnan(column)] for column in drawn.T]
    ends = [np.percentile(column, [tail, 100.0 - tail]) if len(column) else np.full(2, np.nan) for column in columns]
    return Metrics(*(float(low) for low, _ in ends)), Metrics(*(float(high) for _, high in ends))
