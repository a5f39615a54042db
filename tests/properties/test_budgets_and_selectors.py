"""Budgets and selectors keep to their limits and to their word, whatever the scores, the clock and the restarts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_bayes import LabelBudget, LabelSelector
from stream_bayes.active import Candidate, Expected, RequestReason
from stream_bayes.typing import FloatArray

PERIOD = 60_000
YEAR = 365 * 86_400_000
SCORES = st.sampled_from([0.0, 5e-324, 1e-300, 1e-9, 0.25, 1.0, 1e9, 1e300]) | st.floats(0.0, 1e300)
GAPS = st.sampled_from([0, 0, 1, 100, 5000, PERIOD - 1, PERIOD, YEAR, 30 * YEAR])
LIMITS = st.none() | st.integers(0, 8)


class Limits(NamedTuple):
    """Of one life of a selector, between two restarts."""

    total: int | None
    per_period: int | None
    max_open_requests: int = 100
    audit_fraction: float = 0.0

    def selector(self) -> LabelSelector:
        budget = LabelBudget(self.total, self.per_period, PERIOD / 1000, audit_fraction=self.audit_fraction)
        return LabelSelector(budget=budget, max_open_requests=self.max_open_requests, request_ttl="1h")


class Stream(NamedTuple):
    """Scores and gaps between observations, each over and over; of the questions some are answered."""

    scores: list[float]
    gaps: list[int]
    answered: int = 2
    """Each so manieth place, if it was asked about; 0 if none."""

    def candidates(self, count: int) -> Iterator[tuple[Candidate, int]]:
        clock = 0
        for place, (score, gap) in enumerate(islice(zip(cycle(self.scores), cycle(self.gaps), strict=False), count)):
            clock += gap
            yield Candidate(place, score, Expected("spam", 0.9), f"{place * 7919} is a number"), clock

    def step(self, selector: LabelSelector, candidate: Candidate, clock: int) -> RequestReason | None:
        """Ask or not, and answer."""
        selector.expire(clock)
        question = selector.request_reason(candidate, clock)
        selector.note(candidate, clock, question)
        place = int(candidate.key)
        if question is not None and self.answered and place % self.answered == 0:
            selector.answered(place, ("spam", "ham")[place % 3 == 0], "ann", clock)
        return question


lives = st.lists(
    st.builds(Limits, LIMITS, LIMITS, st.integers(0, 20), st.sampled_from([0.0, 0.05, 0.5, 1.0])).filter(
        lambda limits: limits.total is not None or limits.per_period is not None
    ),
    min_size=1,
    max_size=4,
)
streams = st.builds(
    Stream, st.lists(SCORES, min_size=1, max_size=8), st.lists(GAPS, min_size=1, max_size=6), st.integers(0, 3)
)


def saved(selector: LabelSelector) -> str:
    """All of its state, as text."""
    scalars, arrays = selector.state()
    return json.dumps([scalars, {name: array.tolist() for name, array in arrays.items()}], sort_keys=True)


def restarted(selector: LabelSelector, limits: Limits) -> LabelSelector:
    """Another one that goes on from its state, which went through JSON."""
    scalars, arrays = selector.state()
    new = limits.selector()
    new.restore(json.loads(json.dumps(scalars, sort_keys=True)), {name: one.copy() for name, one in arrays.items()})
    return new


def but_counts(selector: LabelSelector) -> Any:
    scalars, arrays = json.loads(saved(selector))
    return {name: value for name, value in scalars.items() if name != "counts"}, arrays


@settings(max_examples=150)
@given(stream=streams, lives=lives)
@example(Stream([0.0, 1e300], [0]), [Limits(8, 8), Limits(2, 1)])
def test_no_limit_is_ever_exceeded(stream: Stream, lives: list[Limits]) -> None:
    """By brute force: each question is the last of a span of one period, in which there are not too many."""
    selector = lives[0].selector()
    asked = list[int]()
    each = 60
    for place, (candidate, clock) in enumerate(stream.candidates(each * len(lives))):
        limits = lives[place // each]
        if place % each == 0:
            selector = restarted(selector, limits) if place else selector
        if stream.step(selector, candidate, clock) is None:
            continue
        asked.append(clock)
        assert len(selector.requests) <= limits.max_open_requests
        assert limits.total is None or len(asked) <= limits.total
        assert limits.per_period is None or recent(asked, clock) <= limits.per_period
    assert selector.budget.used == selector.counts["requested"] == len(asked)


@given(lives=lives, gaps=st.lists(GAPS, min_size=1, max_size=6), audits=st.lists(st.booleans(), min_size=1, max_size=3))
@example([Limits(None, 5), Limits(None, 2), Limits(None, 5)], [1], [False])
@example([Limits(None, 5, 0, 0.5), Limits(9, 0), Limits(None, 5, 0, 1.0)], [1], [True, False])
def test_requests_at_every_opportunity_stay_within_the_limits(
    lives: list[Limits], gaps: list[int], audits: list[bool]
) -> None:
    """Each life begins with what the one before had spent; limits that are raised again give back nothing."""
    state = None
    asked = list[int]()
    clock = 0
    for limits in lives:
        budget = limits.selector().budget
        if state is not None:
            budget.restore(json.loads(json.dumps(state, sort_keys=True)))
        for gap, audit in islice(zip(cycle(gaps), cycle(audits), strict=False), 30):
            clock += gap
            budget.see(clock)
            if budget.may_ask(clock, audit=audit):
                budget.spend(clock, audit=audit)
                asked.append(clock)
                assert limits.total is None or len(asked) <= limits.total
                assert limits.per_period is None or recent(asked, clock) <= limits.per_period
        state = budget.state()


def recent(times: list[int], clock: int) -> int:
    """How many of them lie in the span of one period that ends now."""
    return sum(clock - time < PERIOD for time in times)


@settings(max_examples=60)
@given(stream=streams, limits=lives, others=st.lists(SCORES, max_size=3))
def test_asking_whether_to_ask_changes_nothing(stream: Stream, limits: list[Limits], others: list[float]) -> None:
    asked = limits[0].selector()
    untouched = limits[0].selector()
    for candidate, clock in stream.candidates(60):
        before = saved(asked)
        first = asked.request_reason(candidate, clock)
        for score in others:
            asked.request_reason(candidate._replace(score=score, key="other"), clock + 1)
        for audit in (False, True):
            asked.budget.may_ask(clock, audit=audit)
        asked.budget.rate(clock)
        asked.budget.audit_rate(clock)
        asked.budget.left(clock)
        assert asked.request_reason(candidate, clock) == first
        assert saved(asked) == before
        asked.expire(clock)
        assert stream.step(asked, candidate, clock) == stream.step(untouched, candidate, clock)
    assert saved(asked) == saved(untouched)


@settings(max_examples=60)
@given(stream=streams, limits=lives, again=st.integers(1, 3), label=st.sampled_from(["spam", "ham", "unsure"]))
def test_a_repeated_label_changes_nothing(stream: Stream, limits: list[Limits], again: int, label: str) -> None:
    """But the counts of what came: not what is known, nor what will be asked."""
    once = limits[0].selector()
    often = limits[0].selector()
    late = list[int]()
    for candidate, clock in stream.candidates(90):
        question = stream._replace(answered=0).step(once, candidate, clock)
        assert stream._replace(answered=0).step(often, candidate, clock) == question
        late += [] if question is None else [int(candidate.key)]
        if len(late) > stream.answered:
            place = late.pop(0)
            outcome = once.answered(place, label, "ann", clock)
            assert often.answered(place, label, "ann", clock) == outcome
            repeated = {often.answered(place, label, "ann", clock) for _ in range(again)}
            assert repeated == {"unsure" if outcome == "unsure" else "repeated"}
        assert but_counts(once) == but_counts(often)


@settings(max_examples=60)
@given(stream=streams, limits=lives, ends=st.sets(st.integers(0, 119), max_size=6))
def test_a_restart_changes_nothing(stream: Stream, limits: list[Limits], ends: set[int]) -> None:
    through = limits[0].selector()
    again = limits[0].selector()
    for place, (candidate, clock) in enumerate(stream.candidates(120)):
        again = restarted(again, limits[0]) if place in ends else again
        assert stream.step(again, candidate, clock) == stream.step(through, candidate, clock)
    assert saved(again) == saved(through)


def test_labels_of_numpy_go_through_a_restart() -> None:
    limits = Limits(20, None)
    selector = limits.selector()
    assert selector.ask("first", {0: 0.4, 1: 0.6})
    assert selector.answered("first", np.int64(1)) == "answered"
    again = restarted(selector, limits)
    assert saved(again) == saved(selector)
    assert again.answered("first", np.int64(1)) == "repeated"


@given(total=st.none() | st.integers(0, 10**6), per_period=st.integers(0, 10**6), parts=st.integers(1, 64))
def test_the_shares_of_all_partitions_are_the_budget(total: int | None, per_period: int, parts: int) -> None:
    whole = LabelBudget(total, per_period, "2h", reserve=0.3, audit_fraction=0.2)
    shares = [whole.share(part, parts) for part in range(parts)]
    for name in ("total", "per_period"):
        limit = getattr(whole, name)
        own = [getattr(share, name) for share in shares]
        assert set(own) == {None} if limit is None else (sum(own), max(own) - min(own) < 2) == (limit, True)
    assert {(share.period, share.reserve, share.audit_fraction) for share in shares} == {("2h", 0.3, 0.2)}


DRAWN: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "equal": lambda draw, count: np.full(count, 0.25),
    "even": lambda draw, count: draw.random(count),
    "normal logarithm": lambda draw, count: np.exp(3.0 * draw.normal(size=count)),
    "a few far out": lambda draw, count: draw.pareto(0.5, count),
    "two values": lambda draw, count: np.where(draw.random(count) < 0.1, 1.0, 1e-9),
    "mostly nothing": lambda draw, count: np.where(draw.random(count) < 0.1, draw.random(count), 0.0),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_the_number_of_requests_is_close_to_the_sum_of_the_rates(kind: str) -> None:
    """The questions are about the sum of the rates, whatever the scale and the spread of the scores."""
    selector = LabelSelector(budget=LabelBudget(total=400, audit_fraction=0.0), max_open_requests=10**6)
    expected = 0.0
    for place, score in enumerate(DRAWN[kind](np.random.default_rng(1), 20_000).tolist()):
        expected = expected + selector.budget.rate()
        candidate = Candidate(place, score)
        selector.note(candidate, 0, selector.request_reason(candidate))
    print(f"{kind:<18} {selector.budget.used} questions; {expected:.0f} by the rates")
    assert selector.budget.used == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("kind", DRAWN)
def test_of_a_period_most_is_used(kind: str) -> None:
    """Where 20 times as many messages come as may be asked about; of 50 a day, and a message each 86 seconds."""
    limit = 50
    messages = 1000
    day = 86_400_000
    selector = LabelSelector(budget=LabelBudget(None, limit), max_open_requests=10**6)
    asked = []
    for place, score in enumerate(DRAWN[kind](np.random.default_rng(2), 20 * messages).tolist()):
        clock = place * day // messages
        candidate = Candidate(place, score)
        question = selector.request_reason(candidate, clock)
        selector.note(candidate, clock, question)
        asked += [clock] if question else []
    times = np.array(asked)
    most = max(np.count_nonzero((times > time - day) & (times <= time)) for time in times)
    daily = np.bincount(times // day, minlength=20)[2:]
    print(f"{kind:<18} {daily.mean():.1f} a day, at least {daily.min()}, of {limit}; at most {most} in a span")
    assert most <= limit
    assert daily.mean() > 0.75 * limit
