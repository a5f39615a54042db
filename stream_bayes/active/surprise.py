"""How much there is to learn from answers now, judged by the last ones."""

from __future__ import annotations

from typing import Any

from stream_bayes.persistence.scalars import stored_float, stored_label, stored_list

# Answers that surprise less than this, on average, teach little: questions become rarer by the square of it.
SURPRISING = 0.3
LEAST = 0.02
# So urgent it always is while labels other than the most frequent one are at least this share of the answers.
MIXED = 0.25
MIXED_URGENCY = 0.6
# How fast old answers are forgotten, in the surprise and in the shares of the labels.
_SURPRISES_FORGOTTEN = 0.2
_LABELS_FORGOTTEN = 0.1
_AT_FIRST = 0.5
# Rounding may take a share above 1.
_LARGEST_SHARE = 1.0 + 1e-9


class Surprise:
    """1 while answers are not what was expected; less the less they surprise, unless they are of several kinds.

    A stream that begins with one class alone must not eat the budget before the other comes: its answers are neither
    surprising nor mixed.

    >>> urgency = Urgency()
    >>> for _ in range(30): urgency.hear("spam", surprise=0.03)
    >>> round(urgency.value, 3)
    0.02
    """

    def __init__(self) -> None:
        self.value = 1.0
        """Between 0 and 1: the pace of the questions, as a part of the full one."""
        self._surprise = _AT_FIRST
        self._shares: dict[Any, float] = {}

    def hear(self, label: Any, surprise: float) -> None:
        """An answer came, and had been given the probability 1 - surprise."""
        self._surprise += _SURPRISES_FORGOTTEN * (surprise - self._surprise)
        shares = self._shares
        kept = 1.0 - _LABELS_FORGOTTEN
        first = {label: _AT_FIRST} if not shares else {}
        self._shares = {known: kept * share for known, share in (shares | first).items()}
        self._shares[label] = self._shares.get(label, 0.0) + _LABELS_FORGOTTEN
        self._judge()

    def _judge(self) -> None:
        others = 1.0 - max(self._shares.values(), default=_AT_FIRST)
        mixed = MIXED_URGENCY * min(others / MIXED, 1.0) ** 2
        self.value = min(max((self._surprise / SURPRISING) ** 2, mixed, LEAST), 1.0)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {"surprise": self._surprise, "shares": [[label, share] for label, share in self._shares.items()]}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        shares: dict[Any, float] = {}
        for entry in stored_list(state["shares"], "urgency.shares"):
            label, share = stored_list(entry, "urgency.shares", 2)
            shares[stored_label(label, "urgency.shares")] = stored_float(share, "urgency.shares", 0.0, _LARGEST_SHARE)
        self._surprise = stored_float(state["surprise"], "urgency.surprise", 0.0, 1.0)
        self._shares = shares
        self._judge()
