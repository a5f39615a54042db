"""Metrics of a pass: ranking, classification errors, losses and calibration, with bootstrap intervals.

    one_minus_roca_percent          100 (1 - area under the ROC curve): how often a ham ranks above a spam, in percent;
                                    a tie counts one half
    ham_error_percent               ham whose probability of spam was above the threshold, in percent of the ham
    spam_error_percent              spam whose probability was at the threshold or below, in percent of the spam
    lam_percent                     logistic average of these two: its logit is the mean of their logits; a rate without
                                    a logit, none or all of n, is taken as (errors + 1/2) / (n + 1)
    spam_error_at_ham_0_1_percent   spam lost at the lowest cut of the scores that costs at most 0.1 % of the ham; no
                                    interpolation, so with fewer than 1,000 ham it costs none
    log_loss                        mean of -ln of the probability given to what came
    brier                           mean of the squared difference of the probability and what came (1 or 0)
    calibration_error               mean distance of predicted from observed over 15 intervals of equal width, as
                                    `Reliability` of a fusion has it

A metric that does not exist, such as an error on spam where there was none, is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from stream_bayes.learners.fusion.reliability import CELLS
from stream_bayes.typing import BoolArray, FloatArray, IntArray

BINS = 15
REPLICATES = 400
SEED = 1
COVERAGE = 0.95
HAM_ERROR = 0.001
"""The ham error at which the spam error is read from the ROC curve."""


class Metrics(NamedTuple):
    """All metrics of one pass; smaller is better for each."""

    one_minus_roca_percent: float
    ham_error_percent: float
    spam_error_percent: float
    lam_percent: float
    spam_error_at_ham_0_1_percent: float
    log_loss: float
    brier: float
    calibration_error: float


_CALIBRATION_COLUMN = Metrics._fields.index("calibration_error")
NAMES = {
    "one_minus_roca_percent": "(1-ROCA)%",
    "ham_error_percent": "ham misclassified %",
    "spam_error_percent": "spam misclassified %",
    "lam_percent": "lam %",
    "spam_error_at_ham_0_1_percent": "spam lost at 0.1 % ham lost, %",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration_error": "calibration error (15 bins)",
}
"""The names of the metrics in tables."""


@dataclass(frozen=True)
class MetricsSummary:
    """The metrics of a pass with bootstrap intervals of 95 %."""

    messages: int
    """Messages with a label; others cannot be evaluated."""
    spam: int
    threshold: float
    """The probability above which a message is classified as spam."""
    values: Metrics
    low: Metrics
    high: Metrics


def all_metrics(spam: BoolArray, log_odds: FloatArray, threshold: float = 0.5) -> Metrics:
    """Every metric of these messages.

    >>> spam, log_odds = np.array([False, True, False, True]), np.array([-2.0, -1.0, -0.5, 3.0])
    >>> [round(value, 4) for value in all_metrics(spam, log_odds)]
    [25.0, 0.0, 50.0, 30.9017, 50.0, 0.4907, 0.1734, 0.3188]
    """
    return Outcomes(spam, log_odds, threshold).metrics(np.ones(len(spam)))


def summarise(
    spam: BoolArray, log_odds: FloatArray, *, threshold: float = 0.5, replicates: int = REPLICATES
) -> MetricsSummary:
    """All metrics with bootstrap intervals.

    Messages are resampled with replacement, both classes together. The interval lies between the 2.5 and the 97.5
    percentile of the replicates that have the metric. It measures the variation by the choice of messages. If there are
    no errors, no replicate has one, and the interval has no width. The calibration error is a sum of absolute values,
    which the noise of resampling increases: its replicates are shifted by the mean of this bias, to 0 at least.
    """
    values = all_metrics(spam, log_odds, threshold)
    outcomes = Outcomes(spam, log_odds, threshold)
    replicated = np.array([outcomes.metrics(counts) for counts in bootstrap_counts(len(spam), replicates)])
    low, high = _interval(_without_bias(replicated.reshape(-1, len(values)), values))
    return MetricsSummary(len(spam), int(spam.sum()), threshold, values, low, high)


def one_minus_roca_percent(spam: BoolArray, log_odds: FloatArray) -> float:
    """100 (1 - area under the ROC curve), without the other metrics.

    >>> one_minus_roca_percent(np.array([False, False, True, True]), np.array([0.0, 2.0, 2.0, 3.0]))
    12.5
    """
    return _one_minus_roca_percent(*Ranks(spam, log_odds).at_each_score(np.ones(len(spam))))


def bins_of(probability: FloatArray) -> IntArray:
    """The index of the interval of each probability, of 15 intervals.

    >>> bins_of(np.array([0.0, 0.25, 1.0]))
    array([ 0,  3, 14])
    """
    return np.minimum((probability * CELLS).astype(np.int64), CELLS - 1) // (CELLS // BINS)


class Ranks:
    """Messages sorted by score; equal scores have one rank."""

    def __init__(self, spam: BoolArray, log_odds: FloatArray) -> None:
        self.order: IntArray = np.argsort(log_odds)
        scores = log_odds[self.order]
        self._spam = spam[self.order]
        self._first = np.flatnonzero(np.append(True, scores[1:] != scores[:-1])[: len(scores)])

    def at_each_score(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The numbers of ham and of spam at each distinct score, from the lowest; `counts` weight the messages."""
        if not len(counts):
            return counts, counts
        times = counts[self.order]
        everything = np.add.reduceat(times, self._first)
        spams = np.add.reduceat(times * self._spam, self._first)
        return everything - spams, spams


class _Sums(NamedTuple):
    """Sums over the messages, in the order of the columns of the table that `Outcomes` keeps."""

    hams: float
    spams: float
    ham_errors: float
    spam_errors: float
    log_losses: float
    squared_errors: float


class Outcomes:
    """Labels and scores, prepared for metrics that count each message any number of times, as the bootstrap does.

    All metrics but those of the ROC curve follow from sums over the messages, one for each column of a table.
    """

    def __init__(self, spam: BoolArray, log_odds: FloatArray, threshold: float = 0.5) -> None:
        self._ranks = Ranks(spam, log_odds)
        called = log_odds > logit(threshold)
        against = np.where(spam, -log_odds, log_odds)
        losses = [np.logaddexp(0.0, against), expit(against) ** 2]
        self._table = np.column_stack([~spam, spam, ~spam & called, spam & ~called, *losses]).astype(np.float64)
        probability = expit(log_odds)
        self._bins = bins_of(probability)
        self._apart = probability - spam

    def metrics(self, counts: FloatArray) -> Metrics:
        """All metrics, with each message counted `counts` times."""
        sums = _Sums(*(counts @ self._table).tolist())
        messages = sums.hams + sums.spams
        ranks = self._ranks.at_each_score(counts)
        apart = np.bincount(self._bins, weights=counts * self._apart, minlength=BINS)
        return Metrics(
            _one_minus_roca_percent(*ranks),
            100.0 * _share(sums.ham_errors, sums.hams),
            100.0 * _share(sums.spam_errors, sums.spams),
            _lam_percent((sums.ham_errors, sums.hams), (sums.spam_errors, sums.spams)),
            _spam_error_at_ham_percent(*ranks),
            _share(sums.log_losses, messages),
            _share(sums.squared_errors, messages),
            _share(float(np.abs(apart).sum()), messages),
        )


def _one_minus_roca_percent(hams: FloatArray, spams: FloatArray) -> float:
    spams_below = np.cumsum(spams) - spams
    return 100.0 * _share(float(hams @ (spams_below + 0.5 * spams)), float(hams.sum() * spams.sum()))


def _spam_error_at_ham_percent(hams: FloatArray, spams: FloatArray) -> float:
    if not hams.sum() or not spams.sum():
        return math.nan
    # The k-th cut calls everything from the k-th score on spam, the last one nothing; ham errors fall with k.
    hams_above = np.append(np.cumsum(hams[::-1])[::-1], 0.0)
    lowest = int(np.argmax(hams_above <= HAM_ERROR * hams.sum()))
    return 100.0 * _share(float(spams[:lowest].sum()), float(spams.sum()))


def _lam_percent(ham: tuple[float, float], spam: tuple[float, float]) -> float:
    if not ham[1] or not spam[1]:
        return math.nan
    return float(100.0 * expit(0.5 * (_logit_rate(*ham) + _logit_rate(*spam))))


def _logit_rate(errors: float, total: float) -> float:
    if errors in (0.0, total):
        errors = errors + 0.5
        total = total + 1.0
    return math.log(errors / (total - errors))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def bootstrap_counts(messages: int, replicates: int) -> Iterator[FloatArray]:
    """The number of times each message is in each replicate; the same for the same number of messages."""
    generator = np.random.default_rng(SEED)
    for _ in range(replicates if messages else 0):
        places = generator.integers(0, messages, messages)
        yield np.bincount(places, minlength=messages).astype(np.float64)


def _without_bias(replicated: FloatArray, values: Metrics) -> FloatArray:
    errors = replicated[:, _CALIBRATION_COLUMN]
    if len(errors):
        replicated[:, _CALIBRATION_COLUMN] = np.maximum(errors - errors.mean() + values.calibration_error, 0.0)
    return replicated


def _interval(replicated: FloatArray) -> tuple[Metrics, Metrics]:
    tail = 50.0 * (1.0 - COVERAGE)
    columns = [column[~np.isnan(column)] for column in replicated.T]
    ends = [np.percentile(column, [tail, 100.0 - tail]) if len(column) else np.full(2, np.nan) for column in columns]
    return Metrics(*(float(low) for low, _ in ends)), Metrics(*(float(high) for _, high in ends))
