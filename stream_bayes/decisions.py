"""Decisions under a loss matrix: Bayes actions, and when a label is worth its price.

>>> losses = spam_losses(false_positive_cost=20, false_negative_cost=1)
>>> [decide({"spam": p, "ham": 1 - p}, losses, price=0.3).action for p in (0.1, 0.9, 0.999)]
['deliver', 'ask', 'quarantine']
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from stream_bayes.errors import InputError
from stream_bayes.posteriors.base import Value
from stream_bayes.validation import each, finite, non_negative, positive, probability_table, refuse

DELIVER: Final = "deliver"
QUARANTINE: Final = "quarantine"
ASK: Final = "ask"


class _DecisionFields(NamedTuple):
    action: Any
    """The chosen action."""
    risk: float
    """The expected loss of the action."""
    risks: Mapping[Any, float]
    """The expected loss of each possible action."""


class Decision(Value, _DecisionFields):
    """An action with its expected loss, and the expected losses of all possible actions.

    >>> Decision("deliver", 0.1, {"quarantine": 18.0, "deliver": 0.1})
    Decision(action='deliver', risk=0.1, risks={'quarantine': 18, 'deliver': 0.1})
    """

    __slots__ = ()

    def __new__(cls, action: Hashable, risk: float, risks: Mapping[Any, float]) -> Self:
        """Keep a read-only copy of the risks."""
        return super().__new__(cls, action, float(risk), MappingProxyType(dict(risks)))


def _names(what: str, values: Iterable[Hashable]) -> tuple[Hashable, ...]:
    names = tuple(values)
    if not names or len(set(names)) < len(names):
        raise refuse(what, "one or more different names", names)
    return names


class _LossMatrixFields(NamedTuple):
    labels: tuple[Any, ...]
    """The possible labels."""
    actions: tuple[Any, ...]
    """The possible actions. Of equally good actions the first is chosen."""
    losses: tuple[tuple[float, ...], ...]
    """The loss of each action (column) under each label (row)."""


class LossMatrix(Value, _LossMatrixFields):
    """The loss of each action under each label. The Bayes action has the least expected loss.

    >>> weather = LossMatrix(("rain", "sun"), ("umbrella", "none"), ((1, 5), (2, 0)))
    >>> weather.bayes_action({"rain": 0.4, "sun": 0.6})
    Decision(action='umbrella', risk=1.6, risks={'umbrella': 1.6, 'none': 2})
    >>> weather.threshold
    0.3333333333333333
    """

    __slots__ = ()

    def __new__(
        cls, labels: Iterable[Hashable], actions: Iterable[Hashable], losses: Iterable[Sequence[float]]
    ) -> Self:
        """Check that names are unique and that each label and action has a finite loss."""
        rows = _names("labels", labels)
        columns = _names("actions", actions)
        table = tuple(each(finite, "losses", row) for row in losses)
        if len(table) != len(rows) or any(len(row) != len(columns) for row in table):
            raise refuse("losses", f"{len(rows)} rows (labels) of {len(columns)} numbers (actions)", table)
        return super().__new__(cls, rows, columns, table)

    def _weights(self, probabilities: Mapping[Any, float]) -> list[float]:
        table = probability_table(probabilities, InputError)
        if not table or not set(self.labels).issuperset(table):
            raise refuse("probabilities", f"those of labels among {self.labels!r}", dict(table), InputError)
        return [table.get(label, 0.0) for label in self.labels]

    def bayes_action(self, probabilities: Mapping[Any, float]) -> Decision:
        """Return the action with the least expected loss: the sum over labels of probability x loss."""
        weights = self._weights(probabilities)
        columns = zip(*self.losses, strict=True)
        expected = (math.fsum(map(operator.mul, weights, column)) for column in columns)
        risks = dict(zip(self.actions, expected, strict=True))
        best = min(self.actions, key=risks.__getitem__)
        return Decision(best, risks[best], risks)

    def informed_risk(self, probabilities: Mapping[Any, float]) -> float:
        """Return the expected loss if the label is known before the action."""
        weights = self._weights(probabilities)
        return math.fsum(map(operator.mul, weights, map(min, self.losses)))

    def value_of_label(self, probabilities: Mapping[Any, float]) -> float:
        """Return the expected saving from knowing the label: risk of the best action - informed risk."""
        return max(self.bayes_action(probabilities).risk - self.informed_risk(probabilities), 0.0)

    @property
    def threshold(self) -> float:
        """The probability of the first label above which the first action is best. For two labels and two actions."""
        if len(self.labels) != 2 or len(self.actions) != 2:
            shape = len(self.labels), len(self.actions)
            raise refuse("labels and actions", "two and two for a threshold", shape)
        (first_right, first_wrong), (second_wrong, second_right) = self.losses
        for_first = first_wrong - first_right
        for_second = second_wrong - second_right
        if min(for_first, for_second) < 0.0 or for_first + for_second <= 0.0:
            raise refuse("losses", "least for the action of the label's place for a threshold", self.losses)
        return for_second / (for_first + for_second)


def spam_losses(false_positive_cost: float = 20.0, false_negative_cost: float = 1.0) -> LossMatrix:
    """Return the loss matrix of a mail filter: the costs of a ham in quarantine and of a delivered spam.

    Quarantine is best if p(spam) >= false_positive_cost / (false_positive_cost + false_negative_cost), the
    `threshold` of the matrix.
    """
    false_positive = positive("false_positive_cost", false_positive_cost)
    false_negative = positive("false_negative_cost", false_negative_cost)
    return LossMatrix(("spam", "ham"), (QUARANTINE, DELIVER), ((0.0, false_negative), (false_positive, 0.0)))


def decide(probabilities: Mapping[Any, float], losses: LossMatrix, price: float) -> Decision:
    """Return the Bayes action, or `ask` if the label is expected to save more than its price.

    The risk of `ask` is the price plus the expected loss once the label is known.
    """
    cost = non_negative("price", price)
    if ASK in losses.actions:
        raise refuse("actions", f"other than {ASK!r}, which is always possible", losses.actions)
    best = losses.bayes_action(probabilities)
    asking = cost + losses.informed_risk(probabilities)
    risks = {**best.risks, ASK: asking}
    if losses.value_of_label(probabilities) > cost:
        return Decision(ASK, asking, risks)
    return Decision(best.action, best.risk, risks)
