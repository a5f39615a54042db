"""Data of the charts of a pass: curves and bins as arrays, and the worst mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from stream_bayes.evaluation.metrics import BINS, Ranks, bins_of, one_minus_roca_percent
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.typing import BoolArray, FloatArray, IntArray

POINTS = 120
WORST = 10
_SMALLEST_WINDOW = 20
_Z = 1.959964


class Curve(NamedTuple):
    """Points of a line."""

    x: FloatArray
    y: FloatArray


def learning_curve(run: PassResult) -> Curve:
    """(1-ROCA)% of the messages up to each of some places of the stream, where both labels have come."""
    ends = _places(1, len(run.spam), POINTS)
    areas = np.array([one_minus_roca_percent(run.spam[:end], run.log_odds[:end]) for end in ends])
    known = ~np.isnan(areas)
    return Curve(ends.astype(np.float64)[known], areas[known])


def error_window(messages: int) -> int:
    """How many messages the moving error rate looks back over: a twentieth of the stream, at least 20."""
    return min(max(messages // 20, _SMALLEST_WINDOW), max(messages, 1))


def error_curve(run: PassResult, threshold: float) -> Curve:
    """Messages misclassified in a window up to each place of the stream, in percent."""
    messages = len(run.spam)
    window = error_window(len(run.spam))
    sums = np.append(0.0, np.cumsum((run.log_odds > logit(threshold)) != run.spam))
    ends = _places(window, messages, 2 * POINTS)
    return Curve(ends.astype(np.float64), 100.0 * (sums[ends] - sums[ends - window]) / window)


def roc_curve(run: PassResult) -> Curve:
    """Ham error % and spam error % at every cut of the scores, from calling nothing spam; empty with one class only."""
    hams, spams = Ranks(run.spam, run.log_odds).at_each_score(np.ones(len(run.spam)))
    if not hams.any() or not spams.any():
        return Curve(np.zeros(0), np.zeros(0))
    lost, caught = (np.append(0.0, np.cumsum(counts[::-1])) for counts in (hams, spams))
    return Curve(100.0 * lost / lost[-1], 100.0 * (1.0 - caught / caught[-1]))


class Bins(NamedTuple):
    """Messages by their predicted probability; NaN where there were none."""

    counts: IntArray
    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    """End of the 95 % interval of the observed share (Wilson's)."""
    high: FloatArray


def reliability_bins(run: PassResult) -> Bins:
    """15 intervals of equal width: what was predicted there on average, and how often it was spam."""
    probability = expit(run.log_odds)
    cells = bins_of(probability)
    counts = np.bincount(cells, minlength=BINS)
    filled = np.where(counts > 0, counts, np.nan)
    predicted = np.bincount(cells, weights=probability, minlength=BINS) / filled
    observed = np.bincount(cells, weights=run.spam, minlength=BINS) / filled
    middle = (observed + _Z**2 / (2.0 * filled)) / (1.0 + _Z**2 / filled)
    half = _Z / (1.0 + _Z**2 / filled) * np.sqrt(observed * (1.0 - observed) / filled + (_Z / (2.0 * filled)) ** 2)
    # Rounding may put an end of the interval beyond a share of exactly 0 or 1.
    return Bins(counts, predicted, observed, np.minimum(middle - half, observed), np.maximum(middle + half, observed))


def worst_mistakes(run: PassResult, threshold: float = 0.5, count: int = WORST) -> tuple[list[int], list[int]]:
    """Places of the ham most surely called spam, and of the spam most surely passed, the worst first."""
    called = run.log_odds > logit(threshold)
    return _worst(run.log_odds, ~run.spam & called, count), _worst(-run.log_odds, run.spam & ~called, count)


def worst_ids(runs: Sequence[PassResult], threshold: float = 0.5, count: int = WORST) -> set[str]:
    """Ids of all messages that a report names: their subjects are what `write_report` wants to have."""
    return {run.ids[place] for run in runs for places in worst_mistakes(run, threshold, count) for place in places}


def _worst(badness: FloatArray, wrong: BoolArray, count: int) -> list[int]:
    places = np.flatnonzero(wrong)
    chosen: list[int] = places[np.argsort(-badness[places], kind="stable")[:count]].tolist()
    return chosen


def _places(first: int, last: int, count: int) -> IntArray:
    """Return at most this number of places of a stream, evenly from the first to the last; none of an empty stream."""
    return np.unique(np.linspace(first, last, count if last else 0).round().astype(np.int64))
