"""How many labels may be asked for, and how fast."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from stream_bayes.durations import milliseconds
from stream_bayes.errors import ParameterError
from stream_bayes.posteriors.checked import finite, refuse, whole

# Of a limit Q after t messages, with u left, u PACE / (t + PATIENCE Q + SHORTEST) of the messages are asked about: no
# length of the stream is needed, and there is always some left.
PACE, PATIENCE, SHORTEST = 2.0, 8.0, 200.0
# The audit goes slower, so that late messages are in it too: of its share, 62 % after 16 Q messages, 93 % after 300 Q.
AUDIT_PACE, AUDIT_PATIENCE = 0.6, 4.0


class LabelBudget:
    """Limits that hold whatever comes: a number of labels in all, a number within any span of one period, or both.

    It also says which share of the messages is worth a question now, so that a budget lasts without anybody knowing how
    long the stream will be. A part is kept back for what is new: it goes as fast as the rest only while answers
    surprise. Another part is for questions drawn by chance, of which the accuracy can be estimated without bias.

    Parameters
    ----------
    total
        Labels that may be asked for, ever.
    per_period
        Labels that may be asked for within any span of one period.
    period
        Its length: "1d", "12h", "30m", or seconds.
    reserve
        The share that is kept back for news and drift.
    audit_share
        The share that is drawn by chance; rounded down to whole labels.

    Examples
    --------
    >>> budget = LabelBudget(total=100, per_period=2, period="1h")
    >>> for minute in (0, 10): budget.spend(clock=minute * 60_000)
    >>> budget.left(), budget.may_ask(clock=59 * 60_000), budget.may_ask(clock=60 * 60_000)
    (98, False, True)
    """

    def __init__(
        self,
        total: int | None = None,
        per_period: int | None = None,
        period: str | float = "1d",
        reserve: float = 0.1,
        audit_share: float = 0.05,
    ) -> None:
        if total is None and per_period is None:
            message = "a budget needs a limit: total, per_period or both"
            raise ParameterError(message)
        self.total = None if total is None else int(whole("total", total, ParameterError))
        self.per_period = None if per_period is None else int(whole("per_period", per_period, ParameterError))
        self.period = period
        self.reserve = _check_share("reserve", reserve)
        self.audit_share = _check_share("audit_share", audit_share)
        self._period = milliseconds("period", period)
        self.used = 0
        """Labels asked for so far."""
        self.audited = 0
        """Those of them that were drawn by chance."""
        self.seen = 0
        """Messages that came by."""
        # When the last questions were asked, and the last of the audit: no more than a period may hold.
        self._times: deque[int] = deque(maxlen=self.per_period or 0)
        self._audit_times: deque[int] = deque(maxlen=int(self.audit_share * (self.per_period or 0)))
        # Messages that came by, each as urgent as it was then; and those of a period, the older ones counting less.
        self._age, self._flow, self._clock = 0.0, 0.0, 0

    def share(self, part: int, parts: int) -> LabelBudget:
        """The part that one of several partitions owns: together they have both limits, and not one label more."""
        total, per_period = (
            None if limit is None else limit // parts + (part < limit % parts)
            for limit in (self.total, self.per_period)
        )
        return LabelBudget(total, per_period, self.period, self.reserve, self.audit_share)

    def left(self, clock: int = 0) -> int:
        """Labels that may still be asked for now; of a total, where there is one, ever."""
        if self.total is not None:
            return max(self.total - self.used, 0)
        assert self.per_period is not None
        return max(self.per_period - self._recent(self._times, clock), 0)

    def may_ask(self, clock: int = 0, *, audit: bool = False) -> bool:
        """Whether one more question is allowed; changes nothing. What the audit has left is not for others."""
        if self.total is not None and not self._fits(self.total, self.used, self.audited, audit=audit):
            return False
        return self.per_period is None or self._fits(self.per_period, *self._recently(clock), audit=audit)

    def _fits(self, limit: int, asked: int, audited: int, *, audit: bool) -> bool:
        kept = int(self.audit_share * limit) - audited
        return asked < limit and (kept > 0 if audit else asked + max(kept, 0) < limit)

    def rate(self, clock: int = 0, urgency: float = 1.0) -> float:
        """Which share of the messages is worth a question now: less where little is urgent, of the reserve least."""
        share = 1.0
        if self.total is not None:
            share = self._share(self.total, self.used - self.audited, self._age, urgency)
        if self.per_period is not None:
            asked, audited = self._recently(clock)
            share = min(share, self._share(self.per_period, asked - audited, self._flow, urgency))
        return share

    def _share(self, limit: int, chosen: int, seen: float, urgency: float) -> float:
        own = limit - int(self.audit_share * limit)
        # Conditions where max and min would do: this is for each message.
        left, spared = own - chosen if own > chosen else 0, self.reserve * own
        kept = left if left < spared else spared
        return urgency * PACE * (left - kept + urgency * kept) / (seen + PATIENCE * own + SHORTEST)

    @property
    def most_audit_rate(self) -> float:
        """What `audit_rate` never exceeds."""
        return self.audit_share / AUDIT_PATIENCE

    def audit_rate(self, clock: int = 0) -> float:
        """The probability with which the next message is drawn for the audit."""
        if not self.may_ask(clock, audit=True):
            return 0.0
        share = 1.0
        if self.total is not None:
            left = int(self.audit_share * self.total) - self.audited
            share = AUDIT_PACE * left / (self.seen + AUDIT_PATIENCE * self.total)
        if self.per_period is not None:
            left = int(self.audit_share * self.per_period) - self._recently(clock)[1]
            share = min(share, left / (self._flow + AUDIT_PATIENCE * self.per_period))
        return share

    def see(self, clock: int = 0, urgency: float = 1.0) -> None:
        """One more message came by that could be asked about; time that is not urgent goes slower."""
        self.seen += 1
        self._age += urgency
        if self.per_period is not None:
            self._flow = self._flow * math.exp((self._clock - clock) / self._period) + urgency
            self._clock = clock

    def spend(self, clock: int = 0, *, audit: bool = False) -> None:
        """One label was asked for."""
        self.used += 1
        self.audited += audit
        self._times.append(clock)
        if audit:
            self._audit_times.append(clock)

    def _recently(self, clock: int) -> tuple[int, int]:
        """What was asked within the last period, and how much of it by chance."""
        return self._recent(self._times, clock), self._recent(self._audit_times, clock)

    def _recent(self, times: deque[int], clock: int) -> int:
        """How many of these times are less than a period ago."""
        old = 0
        for time in times:
            if clock - time < self._period:
                break
            old += 1
        return len(times) - old

    def state(self) -> dict[str, Any]:
        """What was spent, as JSON."""
        times = {"times": list(self._times), "audit_times": list(self._audit_times)}
        return {
            **{"used": self.used, "audited": self.audited, "seen": self.seen},
            **{"age": self._age, "flow": self._flow, "clock": self._clock, **times},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what was spent, maybe under other limits."""
        self.used, self.audited, self.seen = int(state["used"]), int(state["audited"]), int(state["seen"])
        self._age, self._flow, self._clock = float(state["age"]), float(state["flow"]), int(state["clock"])
        self._times.extend(map(int, state["times"]))
        self._audit_times.extend(map(int, state["audit_times"]))


def _check_share(name: str, share: Any) -> float:
    number = finite(name, share)
    if not 0.0 <= number <= 1.0:
        raise refuse(name, "a share between 0 and 1", share)
    return number
