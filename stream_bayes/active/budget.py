"""How many labels may be asked for, and how fast."""

from __future__ import annotations

import math
from typing import Any

from stream_bayes.active.sliding_window import SlidingWindow
from stream_bayes.errors import ParameterError
from stream_bayes.persistence.scalars import LARGEST_INT, stored_float, stored_int
from stream_bayes.units import milliseconds
from stream_bayes.validation import finite, refuse, whole

# Of a limit Q after t messages, with u left, u PACE / (t + PATIENCE Q + SHORTEST) of the messages are asked about: no
# length of the stream is needed, and there is always some left.
PACE = 2.0
PATIENCE = 8.0
SHORTEST = 200.0
# A small part of the limit is asked for at the start, when a learner knows nothing: this share of it, and at most this
# many labels. Of m such labels, m (1 - (1 + t / 2m)^-2) are asked for by the time t messages have come.
START_SHARE = 0.03
START = 10.0
# What comes with each period comes evenly, and may be saved up for bursts to this share of it, or this number.
SAVED_SHARE = 0.2
SAVED = 10.0
# Of m messages a period and s saved up, PERIOD_PACE s / (m + SHORTEST) are asked about: in the long run all that comes.
PERIOD_PACE = 10.0
# The audit goes slower, so that late messages are in it too: of its share, 62 % after 16 Q messages, 93 % after 300 Q.
AUDIT_PACE = 0.6
AUDIT_PATIENCE = 4.0
_MAX_TIMES = 10_000


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
        The share of the total that is kept back for news and drift.
    audit_fraction
        The share that is drawn by chance; rounded down to whole labels.

    Examples
    --------
    >>> budget = LabelBudget(total=100, per_period=2, period="1h")
    >>> for minute in (0, 10): budget.spend(clock=minute * 60_000)
    >>> budget.left(clock=59 * 60_000), budget.may_ask(clock=59 * 60_000), budget.may_ask(clock=60 * 60_000)
    (0, False, True)
    """

    def __init__(
        self,
        total: int | None = None,
        per_period: int | None = None,
        period: str | float = "1d",
        reserve: float = 0.1,
        audit_fraction: float = 0.05,
    ) -> None:
        if total is None and per_period is None:
            message = "a budget needs a limit: total, per_period or both"
            raise ParameterError(message)
        self.total = None if total is None else int(whole("total", total, ParameterError))
        self.per_period = None if per_period is None else int(whole("per_period", per_period, ParameterError))
        self.period = period
        self.reserve = _check_share("reserve", reserve)
        self.audit_fraction = _check_share("audit_fraction", audit_fraction)
        self._period = milliseconds("period", period)
        # How many of either limit are for the audit.
        self._audits, self._period_audits = (
            _part(self.audit_fraction, limit) for limit in (self.total, self.per_period)
        )
        self.used = 0
        """Labels asked for so far."""
        self.audited = 0
        """Those of them that were drawn by chance."""
        self.seen = 0
        """Messages that came by."""
        # Kept without a limit for periods too: there may be one after the next start.
        most = max(self.per_period or 0, _MAX_TIMES)
        self._times = SlidingWindow(most)
        self._audit_times = SlidingWindow(most)
        # Messages that came by, each as urgent as it was then; and those of a period, the older ones counting less.
        self._age = 0.0
        self._flow = 0.0
        self._clock = 0
        # Of what comes evenly with a period, what has not been asked yet.
        self._saved = self._most_saved

    def share(self, part: int, parts: int) -> LabelBudget:
        """The part that one of several partitions owns: together they have both limits, and not one label more.

        What came later than these (`part` is not below `parts`) has nothing.
        """

        def own(limit: int) -> int:
            return limit // parts + (part < limit % parts) if part < parts else 0

        total, per_period = (None if limit is None else own(limit) for limit in (self.total, self.per_period))
        budget = LabelBudget(total, per_period, self.period, self.reserve, self.audit_fraction)
        budget._audits = own(self._audits)
        budget._period_audits = own(self._period_audits)
        budget._saved = budget._most_saved
        return budget

    def left(self, clock: int = 0) -> int:
        """Labels that may still be asked for now, under both limits."""
        left = [] if self.total is None else [self.total - self.used]
        if self.per_period is not None:
            left.append(self.per_period - self._recently(clock)[0])
        return max(min(left), 0)

    def may_ask(self, clock: int = 0, *, audit: bool = False) -> bool:
        """Whether one more question is allowed; changes nothing. What the audit has left is not for others."""
        total = self.total
        per_period = self.per_period
        if total is not None and not _fits(total, self._audits, (self.used, self.audited), audit=audit):
            return False
        return per_period is None or _fits(per_period, self._period_audits, self._recently(clock), audit=audit)

    def rate(self, clock: int = 0, urgency: float = 1.0) -> float:
        """Which share of the messages is worth a question now: less where little is urgent, of the reserve least."""
        share = 1.0
        if self.total is not None:
            own = self.total - self._audits
            start, start_rate = self._start(own, self._age)
            left = self._urgent(own, self.used - self.audited + start, urgency)
            share = PACE * left / (self._age + PATIENCE * own + SHORTEST) + start_rate
            share = min(share, 1.0) if self.used - self.audited < own else 0.0
        if self.per_period is not None:
            share = min(share, urgency * PERIOD_PACE * max(self._saved, 0.0) / (self._flow + SHORTEST))
        return share

    @staticmethod
    def _start(own: int, seen: float) -> tuple[float, float]:
        """How many labels of the start are left after this number of messages, and how many the next one takes."""
        count = START_SHARE * own if START_SHARE * own < START else START
        if not count:
            return 0.0, 0.0
        share = 2.0 * count / (seen + 2.0 * count)
        next_share = 2.0 * count / (seen + 1.0 + 2.0 * count)
        left = count * share * share
        return left, left - count * next_share * next_share

    def _urgent(self, own: int, chosen: float, urgency: float) -> float:
        """What is left, as far as it is urgent to spend it."""
        # Conditions instead of max and min, for each message: 0.37 microseconds instead of 0.53 with `rate`.
        left = own - chosen if own > chosen else 0.0
        spared = self.reserve * own
        kept = left if left < spared else spared
        return urgency * (left - kept + urgency * kept)

    def planned(self, seen: float) -> float | None:
        """How many labels the pace asks for by the time so many messages have come, were everything urgent.

        The pace, du/dt = PACE u / (t + PATIENCE Q + SHORTEST) of what is left, u, solved for u; the audit likewise; and
        the labels for the start.
        None where only periods limit it: they are counted in time, not in messages.

        >>> budget = LabelBudget(total=100)
        >>> [round(budget.planned(seen)) for seen in (0, 100, 1000, 10_000, 1_000_000)]
        [0, 20, 76, 99, 100]
        """
        if self.total is None:
            return None
        own = self.total - self._audits
        begin = PATIENCE * own + SHORTEST
        audit_begin = AUDIT_PATIENCE * self.total
        start = min(START_SHARE * own, START)
        asked = (own - start) * (1.0 - math.pow(begin / (seen + begin), PACE)) + start - self._start(own, seen)[0]
        left = math.pow(audit_begin / (seen + audit_begin), AUDIT_PACE) if audit_begin else 1.0
        return asked + self._audits * (1.0 - left)

    @property
    def most_audit_rate(self) -> float:
        """What `audit_rate` never exceeds."""
        return 1.0 / AUDIT_PATIENCE if self._audits or self._period_audits else 0.0

    def audit_rate(self, clock: int = 0) -> float:
        """The probability with which the next message is drawn for the audit."""
        if not self.may_ask(clock, audit=True):
            return 0.0
        share = 1.0
        if self.total is not None:
            left = self._audits - self.audited
            share = AUDIT_PACE * left / (self.seen + AUDIT_PATIENCE * self.total)
        if self.per_period is not None:
            left = self._period_audits - self._recently(clock)[1]
            share = min(share, left / (self._flow + AUDIT_PATIENCE * self.per_period))
        return share

    def see(self, clock: int = 0, urgency: float = 1.0) -> None:
        """One more message came by that could be asked about; time that is not urgent goes slower."""
        self.seen += 1
        self._age += urgency
        if self.per_period is not None and clock > self._clock:
            elapsed = (clock - self._clock) / self._period if self.seen > 1 else 0.0
            self._flow *= math.exp(-elapsed)
            self._saved = min(self._saved + elapsed * self._own, self._most_saved)
            self._clock = clock
        self._flow += urgency

    def spend(self, clock: int = 0, *, audit: bool = False) -> None:
        """One label was asked for."""
        self.used += 1
        self.audited += audit
        self._times.add(clock)
        if audit:
            self._audit_times.add(clock)
        else:
            self._saved -= 1.0

    @property
    def _own(self) -> int:
        """Of a period, what is not for the audit."""
        return (self.per_period or 0) - self._period_audits

    @property
    def _most_saved(self) -> float:
        return min(max(SAVED_SHARE * self._own, SAVED), float(self._own))

    def _recently(self, clock: int) -> tuple[int, int]:
        """What was asked within the last period, and how much of it by chance."""
        begin = clock - self._period
        return self._times.after(begin), self._audit_times.after(begin)

    def state(self) -> dict[str, Any]:
        """What was spent, as JSON."""
        times = {"times": self._times.state(), "audit_times": self._audit_times.state()}
        return {
            **{"used": self.used, "audited": self.audited, "seen": self.seen},
            **{"age": self._age, "flow": self._flow, "clock": self._clock, "saved": self._saved, **times},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what was spent, maybe under other limits."""
        used = stored_int(state["used"], "budget.used")
        self.audited = stored_int(state["audited"], "budget.audited", most=used)
        self.used = used
        self.seen = stored_int(state["seen"], "budget.seen")
        self._age = stored_float(state["age"], "budget.age", least=0.0)
        self._flow = stored_float(state["flow"], "budget.flow", least=0.0)
        self._clock = stored_int(state["clock"], "budget.clock", -LARGEST_INT)
        self._saved = min(stored_float(state["saved"], "budget.saved"), self._most_saved)
        self._times.restore(state["times"])
        self._audit_times.restore(state["audit_times"])


def _fits(limit: int, audits: int, spent: tuple[int, int], *, audit: bool) -> bool:
    """Whether one more fits under a limit, of which so many are for the audit."""
    asked, audited = spent
    kept = audits - audited
    return asked < limit and (kept > 0 if audit else asked + max(kept, 0) < limit)


def _part(share: float, limit: int | None) -> int:
    """So many of a limit, rounded down; 29 % of 100 are 29, though not in binary."""
    return 0 if limit is None else min(math.floor(share * limit + 1e-9), limit)


def _check_share(name: str, share: Any) -> float:
    number = finite(name, share)
    if not 0.0 <= number <= 1.0:
        raise refuse(name, "a share between 0 and 1", share)
    return number
