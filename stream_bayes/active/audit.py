"""How often the predictions are right, estimated without bias from answers that were drawn at random.

What is asked for its score says little about the accuracy: it is asked because it is hard. So a few observations are
drawn by chance alone, each with a known probability. An answer drawn with probability p speaks for 1 / p observations.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from scipy.special import betaincinv

from stream_bayes.active.requests import Place
from stream_bayes.errors import InputError, SnapshotDamaged
from stream_bayes.persistence.scalars import (
    stored_bool,
    stored_float,
    stored_int,
    stored_key,
    stored_label,
    stored_list,
)
from stream_bayes.validation import refuse, tail_beyond, truth

# The squares of the weights of less probable ones would leave the finite numbers.
_LEAST = 1e-100
# Of so many answers it is remembered what was expected, so that a correction reaches the estimate.
_MAX_JUDGED = 10_000


class AuditEstimate(NamedTuple):
    """The accuracy over all observations so far, those nobody asked about included, with its interval."""

    accuracy: float
    low: float
    high: float
    answers: int
    """Audited answers that it rests on."""
    effective: float
    """As many equally weighted answers would say as much; at most `answers`."""


class _Sums(NamedTuple):
    """Of the weights w of the answers so far, and of those that showed the prediction wrong."""

    weights: float = 0.0
    squares: float = 0.0
    wrong_weights: float = 0.0
    wrong_squares: float = 0.0
    largest: float = 0.0
    wrong: float = 0.0
    """How many showed the prediction wrong."""

    def plus(self, wrong: bool, weight: float) -> _Sums:
        more = self._replace(
            weights=self.weights + weight,
            squares=self.squares + weight * weight,
            largest=max(self.largest, weight),
        )
        return more.turned(wrong=True, weight=weight) if wrong else more

    def turned(self, *, wrong: bool, weight: float) -> _Sums:
        """One answer with this weight shows the prediction wrong now, or right after all."""
        sign = 1.0 if wrong else -1.0
        number = self.wrong + sign
        # With the last wrong one goes what rounding has left.
        weights = self.wrong_weights + sign * weight if number else 0.0
        squares = self.wrong_squares + sign * weight * weight if number else 0.0
        return self._replace(wrong_weights=weights, wrong_squares=squares, wrong=number)

    @property
    def error(self) -> float:
        """The share of wrong predictions m = sum w e / sum w, with e = 1 where wrong (Hajek's estimate)."""
        return min(self.wrong_weights / self.weights, 1.0)

    @property
    def effective(self) -> float:
        """(sum w)^2 / sum w^2."""
        return self.weights * self.weights / self.squares

    def bound(self, tail: float) -> float:
        """The quantile of a Beta with mean m, and as much evidence as there is effectively.

        The variance of m is V = sum w^2 (e - m)^2 / (sum w)^2. Where the wrong ones weigh more than others, the
        effective number m (1 - m) / V is the smaller one.
        """
        error = self.error
        if error in (0.0, 1.0):
            return error
        spread = self.wrong_squares * (1.0 - 2.0 * error) + error * error * self.squares
        size = min(self.effective, error * (1.0 - error) * self.weights * self.weights / spread)
        return float(betaincinv(size * error, size * (1.0 - error), tail))


class Audit:
    """The accuracy from audited answers, each weighed by 1 / p, with an interval that is honest when few are wrong.

    The interval is that of Clopper and Pearson where all weights are equal. Otherwise each end is the quantile of a
    Beta with the mean and the effective number of the answers and of one more, as heavy as the heaviest so far, that is
    right for the one end and wrong for the other. Answers that never come are taken to be right as often as those that
    do: where the hard ones stay unanswered, the estimate is too good.

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
        # For each place: what was expected, with which probability it was drawn, and if that was right.
        self._judged: dict[Place, tuple[Any, float, bool]] = {}

    def add(self, right: bool, probability: float) -> None:
        """An answer came for an observation drawn with this probability; was its prediction right?"""
        wrong = not truth("right", right)
        if not _LEAST <= probability <= 1.0:
            raise refuse("probability", f"at least {_LEAST} and at most 1", probability, InputError)
        self._sums = self._sums.plus(wrong, 1.0 / probability)
        self.answers += 1

    def judge(self, place: Place, expected: Hashable, label: Hashable, probability: float) -> None:
        """The first answer for the observation at this place, of which this label had been expected."""
        self.add(expected == label, probability)
        self._judged[place] = expected, probability, expected == label
        if len(self._judged) > _MAX_JUDGED:
            del self._judged[next(iter(self._judged))]

    def correct(self, place: Place, label: Hashable) -> None:
        """Another label stands for an observation now; nothing where it was not judged, or too long ago."""
        if place in self._judged:
            expected, probability, right = self._judged[place]
            self._judged[place] = expected, probability, expected == label
            if right != (expected == label):
                self._sums = self._sums.turned(wrong=right, weight=1.0 / probability)

    def estimate(self, mass: float = 0.95) -> AuditEstimate | None:
        """The accuracy so far, and an interval that covers it with at least this probability; None without answers."""
        tail = tail_beyond(mass) / 2.0
        sums = self._sums
        if not self.answers:
            return None
        best = sums.plus(False, sums.largest).bound(tail)
        worst = sums.plus(True, sums.largest).bound(1.0 - tail)
        error = sums.error
        effective = min(sums.effective, float(self.answers))
        return AuditEstimate(1.0 - error, 1.0 - max(worst, error), 1.0 - min(best, error), self.answers, effective)

    def state(self) -> dict[str, Any]:
        """All it knows, as JSON."""
        judged = [[place, *entry] for place, entry in self._judged.items()]
        return {"answers": self.answers, "judged": judged, **self._sums._asdict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Know what was known when `state` was taken."""
        entries = [stored_list(entry, "audit.judged", 4) for entry in stored_list(state["judged"], "audit.judged")]
        self.answers = stored_int(state["answers"], "audit.answers")
        self._sums = _Sums(*(stored_float(state[name], f"audit.{name}", least=0.0) for name in _Sums._fields))
        self._judged = {stored_key(place, "audit.judged"): _judged_of(*entry) for place, *entry in entries}
        if (self._sums.squares > 0.0) != (self.answers > 0):
            message = "audit.squares must be above 0 where there are answers, and 0 where there are none"
            raise SnapshotDamaged(message)


def _judged_of(expected: Any, probability: Any, right: Any) -> tuple[Any, float, bool]:
    name = "audit.judged"
    known = None if expected is None else stored_label(expected, name)
    return known, stored_float(probability, name, _LEAST, 1.0), stored_bool(right, name)
