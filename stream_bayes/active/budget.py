"""The label budget: limits on the number of label requests, and the rate at which they are spent."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

from stream_bayes import notebook_html
from stream_bayes.errors import ParameterError, SnapshotDamaged
from stream_bayes.notebook_html import Html
from stream_bayes.persistence.scalars import LARGEST_INT, stored_float, stored_int, stored_list
from stream_bayes.units import milliseconds
from stream_bayes.validation import finite, refuse, whole

# Of a limit Q after t messages, with u labels left, the rate of requests is u PACE / (t + HORIZON Q + SHORTEST). It
# does not need the length of the stream, and it never uses up the limit.
PACE = 1.5
HORIZON = 4.0
SHORTEST = 100.0
# If a length of N messages is expected, it is u PACE / (N - t): Q (1 - t / N)^PACE labels are left after t messages.
# A small part of the limit is requested at the start, when a learner knows nothing: this share of it, and at most this
# many labels. Of m such labels, m (1 - (1 + t / 2m)^-2) are requested after t messages.
START_SHARE = 0.03
START = 10.0
# The limit of a period is granted evenly over time. For bursts, this share of it or this number may be saved up.
SAVED_SHARE = 0.2
SAVED = 10.0
# With m messages a period and s labels saved up, the rate is PERIOD_PACE s / (m + SHORTEST): in the long run, all that
# the periods grant is used.
PERIOD_PACE = 10.0
# The audit is slower, so that it includes late messages too: 62 % of its share after 16 Q messages, 93 % after 300 Q.
AUDIT_PACE = 0.6
AUDIT_HORIZON = 4.0
MAX_AUDIT_RATE = 1.0 / AUDIT_HORIZON
"""An upper bound of `LabelBudget.audit_rate`."""
_MAX_TIMES = 10_000


class LabelBudget:
    """Limits on label requests: a number in total, a number within any span of one period, or both.

    The budget also sets the rate of requests, so that it lasts although the length of the stream is unknown. A reserve
    is kept for drift: it is spent as fast as the rest only while answers are surprising. An audit share is spent on
    observations drawn at random, from which the accuracy is estimated without bias.

    Parameters
    ----------
    total
        Labels that may be requested in total.
    per_period
        Labels that may be requested within any span of one period.
    period
        Its length: "1d", "12h", "30m", or seconds.
    reserve
        The share of the total that is spent at full pace only while answers are surprising, as in a drift.
    audit_fraction
        The share that is spent on random observations; rounded down to whole labels.
    expected_events
        The expected length of the stream, to pace `total` by; None if it is unknown. A rough guess is enough. Labels
        that are left when the stream goes on after that are spent as if no length were known.

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
        expected_events: int | None = None,
    ) -> None:
        if total is None and per_period is None:
            message = "a budget needs a limit: total, per_period or both"
            raise ParameterError(message)
        self.total = None if total is None else int(whole("total", total, ParameterError))
        self.per_period = None if per_period is None else int(whole("per_period", per_period, ParameterError))
        self.period = period
        self.reserve = _check_share("reserve", reserve)
        self.audit_fraction = _check_share("audit_fraction", audit_fraction)
        self.expected_events = None
        if expected_events is not None:
            self.expected_events = int(whole("expected_events", expected_events, ParameterError))
        self._period = milliseconds("period", period)
        # The part of each limit that is for the audit.
        self._audits = _part(self.audit_fraction, self.total)
        self._period_audits = _part(self.audit_fraction, self.per_period)
        self.used = 0
        """Labels requested so far."""
        self.audited = 0
        """Labels requested for the audit; they are part of `used`."""
        self.seen = 0
        """Messages so far."""
        # Kept without a limit for periods too: the settings may have one after the next start.
        capacity = max(self.per_period or 0, _MAX_TIMES)
        self._times = SlidingWindow(capacity)
        self._audit_times = SlidingWindow(capacity)
        # Messages so far, weighted by their urgency; and those of the last period, with exponential decay.
        self._age = 0.0
        self._flow = 0.0
        self._clock = 0
        # Labels that the period has granted and that have not been requested yet.
        self._saved = self._most_saved

    def share(self, part: int, parts: int) -> LabelBudget:
        """The part of the budget that one of several partitions owns; together they have exactly both limits.

        A partition that was added later (`part` is not below `parts`) has nothing.
        """

        def own(limit: int) -> int:
            return limit // parts + (part < limit % parts) if part < parts else 0

        total = None if self.total is None else own(self.total)
        per_period = None if self.per_period is None else own(self.per_period)
        expected = None if self.expected_events is None else -(-self.expected_events // parts)
        budget = LabelBudget(total, per_period, self.period, self.reserve, self.audit_fraction, expected)
        budget._audits = own(self._audits)
        budget._period_audits = own(self._period_audits)
        budget._saved = budget._most_saved
        return budget

    def left(self, clock: int = 0) -> int:
        """Labels that may still be requested now, under both limits."""
        left = [] if self.total is None else [self.total - self.used]
        if self.per_period is not None:
            left.append(self.per_period - self._recently(clock)[0])
        return max(min(left), 0)

    @property
    def spent_share(self) -> float | None:
        """The spent share of the labels in total that are not for the audit; None without such a limit."""
        if self.total is None:
            return None
        own = self.total - self._audits
        return min((self.used - self.audited) / own, 1.0) if own else 1.0

    def may_ask(self, clock: int = 0, *, audit: bool = False) -> bool:
        """Whether one more request is allowed; changes nothing. Labels of the audit are not used for other requests."""
        total = self.total
        per_period = self.per_period
        if total is not None and not _fits(total, self._audits, (self.used, self.audited), audit=audit):
            return False
        return per_period is None or _fits(per_period, self._period_audits, self._recently(clock), audit=audit)

    def rate(self, clock: int = 0, urgency: float = 1.0) -> float:
        """The share of the messages to request labels for now; it falls with the urgency, that of the reserve most."""
        share = 1.0
        if self.total is not None:
            own = self.total - self._audits
            start, start_rate = self._start(own, self._age)
            left = self._urgent(own, self.used - self.audited + start, urgency)
            expected = self.expected_events
            # The number of messages over which the labels that are left are spread.
            horizon = self._age + HORIZON * own + SHORTEST
            if expected is not None and self.seen < expected:
                horizon = expected - self.seen
            share = PACE * left / horizon + start_rate
            share = min(share, 1.0) if self.used - self.audited < own else 0.0
        if self.per_period is not None:
            share = min(share, urgency * PERIOD_PACE * max(self._saved, 0.0) / (self._flow + SHORTEST))
        return share

    @staticmethod
    def _start(own: int, seen: float) -> tuple[float, float]:
        """The labels of the start that are left after this number of messages, and how many the next message takes."""
        count = START_SHARE * own if START_SHARE * own < START else START
        if not count:
            return 0.0, 0.0
        share = 2.0 * count / (seen + 2.0 * count)
        next_share = 2.0 * count / (seen + 1.0 + 2.0 * count)
        left = count * share * share
        return left, left - count * next_share * next_share

    def _urgent(self, own: int, spent: float, urgency: float) -> float:
        """The labels that are left, weighted by the urgency of spending them."""
        # Conditions instead of max and min, for each message: 0.37 microseconds instead of 0.53 with `rate`.
        left = own - spent if own > spent else 0.0
        reserve = self.reserve * own
        kept = left if left < reserve else reserve
        return urgency * (left - kept + urgency * kept)

    def planned(self, seen: float) -> float | None:
        """The number of labels that are planned to be requested after this number of messages, at full urgency.

        The rate du/dt = PACE u / (t + HORIZON Q + SHORTEST) of the labels left, u, is solved for u, and likewise for
        the audit. The labels of the start are added. None if only a period
        limits the budget: periods are counted in time. After an expected length, all labels are planned to be spent.

        Examples
        --------
        >>> budget = LabelBudget(total=100)
        >>> [round(budget.planned(seen)) for seen in (0, 100, 1000, 10_000, 1_000_000)]
        [0, 26, 81, 98, 100]
        """
        if self.total is None:
            return None
        own = self.total - self._audits
        start = min(START_SHARE * own, START)
        if self.expected_events is None:
            begin = HORIZON * own + SHORTEST
            audit_begin = AUDIT_HORIZON * self.total
            left = math.pow(begin / (seen + begin), PACE)
            audits_left = math.pow(audit_begin / (seen + audit_begin), AUDIT_PACE) if audit_begin else 1.0
        else:
            rest = max(1.0 - seen / self.expected_events, 0.0) if self.expected_events else 0.0
            left = math.pow(rest, PACE)
            audits_left = rest
        requested = (own - start) * (1.0 - left) + start - self._start(own, seen)[0]
        return requested + self._audits * (1.0 - audits_left)

    def audit_rate(self, clock: int = 0) -> float:
        """The probability of requesting the label of the next message for the audit."""
        if not self.may_ask(clock, audit=True):
            return 0.0
        share = 1.0
        if self.total is not None:
            left = self._audits - self.audited
            share = AUDIT_PACE * left / (self.seen + AUDIT_HORIZON * self.total)
            if self.expected_events is not None and self.seen < self.expected_events:
                share = min(left / (self.expected_events - self.seen), MAX_AUDIT_RATE)
        if self.per_period is not None:
            left = self._period_audits - self._recently(clock)[1]
            share = min(share, left / (self._flow + AUDIT_HORIZON * self.per_period))
        return share

    def see(self, clock: int = 0, urgency: float = 1.0) -> None:
        """Count a message whose label could be requested; at low urgency the schedule advances slower."""
        self.seen += 1
        self._age += urgency
        if self.per_period is not None and clock > self._clock:
            elapsed = (clock - self._clock) / self._period if self.seen > 1 else 0.0
            self._flow *= math.exp(-elapsed)
            self._saved = min(self._saved + elapsed * self._own, self._most_saved)
            self._clock = clock
        self._flow += urgency

    def spend(self, clock: int = 0, *, audit: bool = False) -> None:
        """Count a request."""
        self.used += 1
        self.audited += audit
        self._times.add(clock)
        if audit:
            self._audit_times.add(clock)
        else:
            self._saved -= 1.0

    @property
    def _own(self) -> int:
        """The labels of a period that are not for the audit."""
        return (self.per_period or 0) - self._period_audits

    @property
    def _most_saved(self) -> float:
        return min(max(SAVED_SHARE * self._own, SAVED), float(self._own))

    def _recently(self, clock: int) -> tuple[int, int]:
        """The requests within the last period, and how many of them were for the audit."""
        begin = clock - self._period
        return self._times.count_after(begin), self._audit_times.count_after(begin)

    def summary(self) -> dict[str, object]:
        """The rows of the one-line text: the limits, and what was spent of them."""
        rows: dict[str, object] = {}
        if self.total is not None:
            rows["requested"] = f"{self.used:,} of {self.total:,} labels"
        if self.per_period is not None:
            recent = self._recently(self._clock)[0]
            period = self.period if isinstance(self.period, str) else f"{self.period:g} s"
            rows["in the last period"] = f"{recent:,} of {self.per_period:,} labels within {period}"
        rows["for the audit"] = f"{self.audited:,} of {self._audits or self._period_audits:,}"
        rows["messages"] = f"{self.seen:,}"
        return rows

    def __repr__(self) -> str:
        """How much of each limit was spent, in one line."""
        return notebook_html.one_line(type(self).__name__, self._all_rows())

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: how much of each limit was spent."""
        shares = {}
        if self.total is not None:
            shares["of the total"] = self.used / max(self.total, 1)
        if self.per_period is not None:
            shares["of the period"] = self._recently(self._clock)[0] / max(self.per_period, 1)
        return notebook_html.card(type(self).__name__, self._all_rows(), notebook_html.bars_figure(shares))

    def _all_rows(self) -> dict[str, object]:
        return {**self.summary(), "reserve": self.reserve, "audit fraction": self.audit_fraction}

    def state(self) -> dict[str, Any]:
        """The spent labels and the counters, for a checkpoint."""
        times = {"times": self._times.state(), "audit_times": self._audit_times.state()}
        return {
            **{"used": self.used, "audited": self.audited, "seen": self.seen},
            **{"age": self._age, "flow": self._flow, "clock": self._clock, "saved": self._saved, **times},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what was spent; the limits may have changed since."""
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
    """Whether one more request fits under a limit of which `audits` are for the audit."""
    used, audited = spent
    kept = audits - audited
    return used < limit and (kept > 0 if audit else used + max(kept, 0) < limit)


def _part(share: float, limit: int | None) -> int:
    """This share of a limit, rounded down; 29 % of 100 is 29, although the product is a little less in binary."""
    return 0 if limit is None else min(math.floor(share * limit + 1e-9), limit)


def _check_share(name: str, share: Any) -> float:
    number = finite(name, share)
    if not 0.0 <= number <= 1.0:
        raise refuse(name, "a share between 0 and 1", share)
    return number


class SlidingWindow:
    """The times of recent requests, to count those within a period; at least `capacity` of them are kept."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._times: list[int] = []

    def add(self, time: int) -> None:
        """Add a time; one before the last time counts as the last time."""
        self._times.append(max(time, self._times[-1]) if self._times else time)
        if len(self._times) >= 2 * self._capacity:
            del self._times[: -self._capacity]

    def count_after(self, time: int) -> int:
        """The number of times that are later than this one."""
        return len(self._times) - bisect_right(self._times, time)

    def state(self) -> list[int]:
        """The times, for a checkpoint."""
        return self._times[-self._capacity :]

    def restore(self, state: list[int]) -> None:
        """Restore the times that `state` returned."""
        times = [stored_int(time, "times", -LARGEST_INT) for time in stored_list(state, "times")]
        if times != sorted(times):
            message = "times must not decrease; those in the file do"
            raise SnapshotDamaged(message)
        self._times = times
