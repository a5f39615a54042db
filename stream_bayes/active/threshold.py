"""The decision threshold of the selector: a moving quantile of recent scores, with a soft edge.

Only the order of scores matters. Any strictly increasing transformation of a score leads to the same decisions.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.errors import SnapshotDamaged
from stream_bayes.persistence.scalars import stored_float, stored_int
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import FloatArray

# A new score is ranked among the last HIGHER / rate scores, so that about HIGHER of them are above the cutoff. More of
# them would rank it more exactly; but scores fall while labels come, and those of long ago would say little.
HIGHER = 8.0
SHORTEST_WINDOW = 20
LONGEST_WINDOW = 2000
# The odds of being let through are (cutoff / tail) ** (1 / SOFTNESS), where `tail` is the share of higher scores.
SOFTNESS = 0.1
# A score that is let through lowers the logarithm of the cutoff by this much.
STEP = 0.2
# With a uniform tail, the share let through is the cutoff times x / sin(x) for x = pi * SOFTNESS.
_SHARE_PER_CUTOFF = math.pi * SOFTNESS / math.sin(math.pi * SOFTNESS)
# Above the upper bound every score is let through; below the lower bound no score is.
_LOWEST_CUTOFF = -30.0
_HIGHEST_CUTOFF = 1.0
# A smaller rate lets nothing through and moves nothing: a period budget that is spent has rates of 1e-18.
_SMALLEST_RATE = 1e-9
# Beyond it no rate leads to a cutoff within the bounds: the logarithm of the smallest positive number is -744.
_LARGEST_CORRECTION = 800.0
RECENT_SCORES = "recent_scores"
"""The name of the array of recent scores."""


class _Evaluation(NamedTuple):
    """The last evaluation, which the selector needs two or three times for each observation."""

    seen: int
    score: float
    tie: float
    rate: float
    probability: float


_NO_EVALUATION = _Evaluation(-1, 0.0, 0.0, 0.0, 0.0)


class Threshold:
    """Lets a given share of the scores through, the highest ones, by their rank in a sliding window.

    The tail probability of a new score is the smoothed p-value of conformal prediction,

        tail = (higher + tie (equal + 1)) / (n + 1),

    with the numbers of higher and of equal scores among the last n, and a uniform random number `tie`. Whatever the
    distribution of the scores, `tail` is uniform while their order is exchangeable: from the first score on, and also
    where all scores are equal. The score is let through with probability

        p = 1 / (1 + (tail / cutoff) ** (1 / SOFTNESS)),    ln cutoff = ln rate + correction,

    and the correction moves by STEP (rate - p): the share let through is the rate also while scores rise or fall. A
    burst of high scores is let through until the cutoff is below their tail probabilities. The soft edge keeps the
    requests from being all of one kind.
    """

    def __init__(self) -> None:
        self.seen = 0
        """The number of scores so far."""
        self.correction = 0.0
        """Added to the logarithm of the rate."""
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []
        self._last = _NO_EVALUATION

    def tail(self, score: float, tie: float) -> float:
        """The smoothed share of recent scores that are higher than this one, between 0 and 1."""
        scores = self._sorted
        right = bisect_right(scores, score)
        equal = right - bisect_left(scores, score, 0, right)
        count = len(scores)
        return (count - right + tie * (equal + 1)) / (count + 1)

    def probability(self, score: float, tie: float, rate: float) -> float:
        """The probability of letting a score through, where this share of the scores should be."""
        last = self._last
        if last.seen == self.seen and last.score == score and last.tie == tie and last.rate == rate:
            return last.probability
        probability = self._probability(score, tie, rate)
        self._last = _Evaluation(self.seen, score, tie, rate, probability)
        return probability

    def _probability(self, score: float, tie: float, rate: float) -> float:
        if rate < _SMALLEST_RATE:
            return 0.0
        if rate >= 1.0:
            return 1.0
        tail = self.tail(score, tie)
        if tail <= 0.0:
            return 1.0
        cutoff = math.log(rate / _SHARE_PER_CUTOFF) + self.correction
        cutoff = min(max(cutoff, _LOWEST_CUTOFF), _HIGHEST_CUTOFF)
        return 1.0 / (1.0 + math.exp((math.log(tail) - cutoff) / SOFTNESS))

    def follow(self, score: float, tie: float, rate: float) -> None:
        """Add a score to the window, and adjust the cutoff so that this share of the scores is let through."""
        if rate >= _SMALLEST_RATE:
            base = math.log(rate / _SHARE_PER_CUTOFF)
            correction = self.correction + STEP * (rate - self.probability(score, tie, rate))
            self.correction = min(max(correction, _LOWEST_CUTOFF - base), _HIGHEST_CUTOFF - base)
        self._recent.append(score)
        insort(self._sorted, score)
        self._shorten(rate)
        self.seen += 1

    def _shorten(self, rate: float) -> None:
        """Remove the oldest scores, at most two at a time: the window follows the rate gradually."""
        length = LONGEST_WINDOW
        if rate * LONGEST_WINDOW > HIGHER:
            length = max(int(HIGHER / rate), SHORTEST_WINDOW)
        for _ in range(min(len(self._recent) - length, 2)):
            oldest = self._recent.popleft()
            del self._sorted[bisect_left(self._sorted, oldest)]

    def state(self) -> dict[str, Any]:
        """The scalars, for a checkpoint."""
        return {"correction": self.correction, "seen": self.seen}

    def arrays(self) -> Arrays:
        """The recent scores, oldest first, for a checkpoint."""
        return {RECENT_SCORES: np.array(self._recent, dtype=np.float64)}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore what `state` and `arrays` returned."""
        scores: FloatArray = arrays[RECENT_SCORES]
        if len(scores) > LONGEST_WINDOW or not ((scores >= 0.0) & (scores < math.inf)).all():
            message = f"{RECENT_SCORES} must be at most {LONGEST_WINDOW} finite numbers from 0 on"
            raise SnapshotDamaged(message)
        self.correction = stored_float(
            state["correction"], "threshold.correction", -_LARGEST_CORRECTION, _LARGEST_CORRECTION
        )
        self.seen = stored_int(state["seen"], "threshold.seen", least=len(scores))
        self._recent = deque(scores.tolist())
        self._sorted = sorted(self._recent)
        self._last = _NO_EVALUATION
