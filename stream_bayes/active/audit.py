"""The audit: an unbiased estimate of the accuracy, from labels of observations that were drawn at random.

Labels that are requested for their score say little about the accuracy: they are requested because they are hard. So a
few observations are drawn at random, each with a known probability. An answer that was drawn with probability p has the
weight 1 / p (inverse probability weighting).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from scipy.special import betaincinv

from stream_bayes import notebook_html
from stream_bayes.active.requests import ObservationKey
from stream_bayes.errors import InputError, SnapshotDamaged
from stream_bayes.notebook_html import Html
from stream_bayes.persistence.scalars import (
    stored_bool,
    stored_float,
    stored_int,
    stored_key,
    stored_label,
    stored_list,
)
from stream_bayes.validation import refuse, tail_beyond, truth

# The squared weights of less probable answers would not be finite.
_LEAST = 1e-100
# The number of answers whose expected label is kept, so that a correction reaches the estimate.
_MAX_SCORED = 10_000


class AuditEstimate(NamedTuple):
    """The accuracy over all observations so far, including those without a request, with its interval."""

    accuracy: float
    low: float
    high: float
    answers: int
    """The number of audited answers."""
    effective: float
    """The effective sample size: as many equally weighted answers would say as much; at most `answers`."""


class _Sums(NamedTuple):
    """Sums of the weights w of the answers so far, and of those with a wrong prediction."""

    weights: float = 0.0
    squares: float = 0.0
    wrong_weights: float = 0.0
    wrong_squares: float = 0.0
    largest: float = 0.0
    wrong: float = 0.0
    """The number of wrong predictions."""

    def plus(self, wrong: bool, weight: float) -> _Sums:
        more = self._replace(
            weights=self.weights + weight,
            squares=self.squares + weight * weight,
            largest=max(self.largest, weight),
        )
        return more.corrected(wrong=True, weight=weight) if wrong else more

    def corrected(self, *, wrong: bool, weight: float) -> _Sums:
        """The sums after the prediction for an answer of this weight has become wrong, or right."""
        sign = 1.0 if wrong else -1.0
        number = self.wrong + sign
        # Without wrong predictions the sums are exactly 0, whatever rounding has left.
        weights = self.wrong_weights + sign * weight if number else 0.0
        squares = self.wrong_squares + sign * weight * weight if number else 0.0
        return self._replace(wrong_weights=weights, wrong_squares=squares, wrong=number)

    @property
    def error(self) -> float:
        """The share of wrong predictions m = sum w e / sum w, with e = 1 where wrong (Hajek's estimate)."""
        return min(self.wrong_weights / self.weights, 1.0)

    @property
    def effective(self) -> float:
        """The effective sample size, (sum w)^2 / sum w^2."""
        return self.weights * self.weights / self.squares

    def bound(self, tail: float) -> float:
        """The quantile of a Beta with the mean m and the effective sample size.

        The variance of m is V = sum w^2 (e - m)^2 / (sum w)^2. If wrong predictions have larger weights than others,
        the effective sample size m (1 - m) / V is the smaller one.
        """
        error = self.error
        if error in (0.0, 1.0):
            return error
        spread = self.wrong_squares * (1.0 - 2.0 * error) + error * error * self.squares
        size = min(self.effective, error * (1.0 - error) * self.weights * self.weights / spread)
        return float(betaincinv(size * error, size * (1.0 - error), tail))


class Audit:
    """The accuracy from audited answers, each weighted by 1 / p, with an interval that holds when few are wrong.

    If all weights are equal, the interval is that of Clopper and Pearson. Otherwise each end is the quantile of a Beta
    with the mean and the effective sample size of the answers and of one more. This one has the largest weight so far;
    it is right for one end and wrong for the other. Missing answers are assumed to be right as often as the others: if
    hard observations stay unanswered, the estimate is too high.

    Examples
    --------
    >>> audit = Audit()
    >>> for right in (True, True, False, True):
    ...     audit.add(right, probability=0.1)
    >>> estimate = audit.estimate()
    >>> round(estimate.accuracy, 3), round(estimate.low, 3), round(estimate.high, 3), estimate.answers
    (0.75, 0.194, 0.994, 4)
    """

    def __init__(self) -> None:
        self.answers = 0
        """Audited answers so far."""
        self._sums = _Sums()
        self.scored: dict[ObservationKey, tuple[Any, float, bool]] = {}
        """For each audited observation: the expected label, the probability of the draw, and whether that was right."""

    def add(self, right: bool, probability: float) -> None:
        """Add an answer for an observation drawn with this probability, and whether its prediction was right."""
        wrong = not truth("right", right)
        if not _LEAST <= probability <= 1.0:
            raise refuse("probability", f"at least {_LEAST} and at most 1", probability, InputError)
        self._sums = self._sums.plus(wrong, 1.0 / probability)
        self.answers += 1

    def score(self, key: ObservationKey, expected: Hashable, label: Hashable, probability: float) -> None:
        """Add the first answer for an observation, with the label that was expected."""
        self.add(expected == label, probability)
        self.scored[key] = expected, probability, expected == label
        if len(self.scored) > _MAX_SCORED:
            del self.scored[next(iter(self.scored))]

    def correct(self, key: ObservationKey, label: Hashable) -> None:
        """Correct the label of an observation in `scored`."""
        expected, probability, right = self.scored[key]
        self.scored[key] = expected, probability, expected == label
        if right != (expected == label):
            self._sums = self._sums.corrected(wrong=right, weight=1.0 / probability)

    def estimate(self, mass: float = 0.95) -> AuditEstimate | None:
        """The accuracy so far with an interval of at least this coverage; None without answers."""
        tail = tail_beyond(mass) / 2.0
        sums = self._sums
        if not self.answers:
            return None
        best = sums.plus(False, sums.largest).bound(tail)
        worst = sums.plus(True, sums.largest).bound(1.0 - tail)
        error = sums.error
        effective = min(sums.effective, float(self.answers))
        return AuditEstimate(1.0 - error, 1.0 - max(worst, error), 1.0 - min(best, error), self.answers, effective)

    def summary(self) -> dict[str, object]:
        """The rows of the notebook card: the estimate of the accuracy and its 90 % interval."""
        estimate = self.estimate(notebook_html.MASS)
        if estimate is None:
            return {"accuracy": "no audited answer yet"}
        return {
            "accuracy": estimate.accuracy,
            "90 % interval": notebook_html.interval_text((estimate.low, estimate.high)),
            "audited answers": f"{estimate.answers:,}",
            "effective sample size": estimate.effective,
        }

    def figure(self) -> Html:
        """The estimate and its 90 % interval, drawn; empty without answers."""
        estimate = self.estimate(notebook_html.MASS)
        if estimate is None:
            return Html("")
        return notebook_html.interval_figure(estimate.low, estimate.accuracy, estimate.high)

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the accuracy with its interval."""
        return notebook_html.card(type(self).__name__, self.summary(), self.figure())

    def state(self) -> dict[str, Any]:
        """The sums and the kept answers, for a checkpoint."""
        scored = [[key, *entry] for key, entry in self.scored.items()]
        return {"answers": self.answers, "judged": scored, **self._sums._asdict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        entries = [stored_list(entry, "audit.judged", 4) for entry in stored_list(state["judged"], "audit.judged")]
        self.answers = stored_int(state["answers"], "audit.answers")
        self._sums = _Sums(*(stored_float(state[name], f"audit.{name}", least=0.0) for name in _Sums._fields))
        self.scored = {stored_key(key, "audit.judged"): _scored_of(*entry) for key, *entry in entries}
        if (self._sums.squares > 0.0) != (self.answers > 0):
            message = "audit.squares must be above 0 where there are answers, and 0 where there are none"
            raise SnapshotDamaged(message)


def _scored_of(expected: Any, probability: Any, right: Any) -> tuple[Any, float, bool]:
    name = "audit.judged"
    known = None if expected is None else stored_label(expected, name)
    return known, stored_float(probability, name, _LEAST, 1.0), stored_bool(right, name)
