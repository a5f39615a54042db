"""The surprise of recent answers, and the urgency of further requests that follows from it."""

from __future__ import annotations

from typing import Any

from stream_bayes.persistence.scalars import stored_float, stored_int, stored_label, stored_list

# If answers are less surprising than this on average, the urgency is the square of their ratio to it.
SURPRISING = 0.3
LEAST = 0.02
# While all n answers are one label, the urgency is at least (ONE_LABEL_ANSWERS / n)^2: the other one must be found.
ONE_LABEL_ANSWERS = 12.0
# While labels other than the most frequent one are at least this share of the answers, the urgency is at least that.
MIXED = 0.25
MIXED_URGENCY = 0.4
# The weights of a new answer in the exponential moving averages of the surprise and of the shares of the labels.
_SURPRISE_WEIGHT = 0.2
_LABEL_WEIGHT = 0.1
_INITIAL = 0.5
# Rounding may take a share above 1.
_LARGEST_SHARE = 1.0 + 1e-9


class Surprise:
    """Moving averages of how improbable the answers were, and of the shares of the labels among them.

    The urgency is 1 while answers are surprising. It falls with their surprise, unless the labels are mixed. A stream
    that begins with a single class must not use up the budget before another class comes: its answers are neither
    surprising nor mixed. The urgency falls slowly then, since the other class may only be rare.

    >>> surprise = Surprise()
    >>> for _ in range(30): surprise.update("spam", surprise=0.03)
    >>> round(surprise.urgency, 3)
    0.16
    >>> surprise.update("ham", surprise=0.9)
    >>> for _ in range(60): surprise.update("spam", surprise=0.03)
    >>> round(surprise.urgency, 3)
    0.02
    """

    def __init__(self) -> None:
        self.urgency = 1.0
        """Between 0 and 1: the rate of requests relative to the full rate."""
        self._surprise = _INITIAL
        self._shares: dict[Any, float] = {}
        self._answers = 0

    @property
    def one_label(self) -> bool:
        """Whether all answers to requests so far are one label."""
        return len(self._shares) == 1

    def update(self, label: Any, surprise: float | None) -> None:
        """Add an answer whose predicted probability was 1 - surprise; if it is None, the label alone counts."""
        self._answers += 1
        if surprise is not None:
            self._surprise += _SURPRISE_WEIGHT * (surprise - self._surprise)
        shares = self._shares
        kept = 1.0 - _LABEL_WEIGHT
        first = {label: _INITIAL} if not shares else {}
        self._shares = {known: kept * share for known, share in (shares | first).items()}
        self._shares[label] = self._shares.get(label, 0.0) + _LABEL_WEIGHT
        self._update_urgency()

    def _update_urgency(self) -> None:
        others = 1.0 - max(self._shares.values(), default=_INITIAL)
        mixed = MIXED_URGENCY * min(others / MIXED, 1.0) ** 2
        alone = (ONE_LABEL_ANSWERS / self._answers) ** 2 if self.one_label else 0.0
        self.urgency = min(max((self._surprise / SURPRISING) ** 2, mixed, alone, LEAST), 1.0)

    def state(self) -> dict[str, Any]:
        """The averages, for a checkpoint."""
        shares = [[label, share] for label, share in self._shares.items()]
        return {"surprise": self._surprise, "shares": shares, "answers": self._answers}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        shares: dict[Any, float] = {}
        for entry in stored_list(state["shares"], "surprise.shares"):
            label, share = stored_list(entry, "surprise.shares", 2)
            shares[stored_label(label, "surprise.shares")] = stored_float(share, "surprise.shares", 0.0, _LARGEST_SHARE)
        self._surprise = stored_float(state["surprise"], "surprise.surprise", 0.0, 1.0)
        self._shares = shares
        self._answers = stored_int(state["answers"], "surprise.answers", min(len(shares), 1))
        self._update_urgency()
