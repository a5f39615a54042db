"""How many labels may be asked for."""

from __future__ import annotations

from stream_bayes.errors import ParameterError
from stream_bayes.posteriors.checked import whole


class LabelBudget:
    """A number of labels in all, and a number of questions that may be open at once.

    Parameters
    ----------
    total
        Labels that may be asked for, ever.
    open_requests
        Questions without an answer, at most: a backlog must not flood those who answer.

    Examples
    --------
    >>> budget = LabelBudget(total=2, open_requests=10)
    >>> budget.spend()
    >>> budget.left, budget.may_ask(open_now=1), budget.may_ask(open_now=10)
    (1, True, False)
    """

    def __init__(self, total: int, open_requests: int) -> None:
        self.total = int(whole("total", total, ParameterError))
        self.open_requests = int(whole("open_requests", open_requests, ParameterError))
        self.used = 0
        """Labels asked for so far."""

    @classmethod
    def share(cls, total: int, open_requests: int, part: int, parts: int) -> LabelBudget:
        """The part that one of several partitions owns: together they have both numbers, and not one more."""
        own = (number // parts + (part < number % parts) for number in (total, open_requests))
        return cls(*own)

    @property
    def left(self) -> int:
        """Labels that may still be asked for; 0 too where the total was lowered below what is used."""
        return max(self.total - self.used, 0)

    def may_ask(self, open_now: int) -> bool:
        """Whether one more question is allowed, with so many open; changes nothing."""
        return self.used < self.total and open_now < self.open_requests

    def spend(self) -> None:
        """One label was asked for."""
        self.used += 1
