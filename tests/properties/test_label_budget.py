"""Engines never ask for more labels than they may: whatever comes, however often they start again, with any clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.config import LabelSettings, Settings
from stream_bayes.engine import BatchResult, Engine, ReplayDecisions
from stream_bayes.engine.state import bookkeeping_of, restore, state_of
from stream_bayes.errors import ConfigError
from stream_bayes.events import InputEvent, LabelRequest
from tests.support.engines import KINDS, Stream, fold, random_stream, run, settings_for
from tests.support.label_requests import open_request_offsets, replay_decisions, replayed_events

SPAM = KINDS["SpamFilter"]
PERIOD = 60_000


def mails(count: int, gaps: Sequence[int] = (1000,)) -> list[InputEvent]:
    """Mails of which no two look alike, without labels; the gaps between them are repeated, in milliseconds."""
    stream = Stream()
    clock = 0
    arrivals = []
    for number in range(count):
        stream.observe({"text": " ".join(f"word{number * step % 997}" for step in range(1, 30))}, None, f"m{number}")
    for number, arrival in enumerate(stream.arrivals):
        clock += gaps[number % len(gaps)]
        arrivals.append(arrival._replace(record=arrival.record._replace(timestamp=clock)))
    return arrivals


@settings(max_examples=12)
@given(
    budget=st.integers(0, 12),
    max_open_requests=st.integers(0, 4),
    partitions=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_engines_request_at_most_their_shares_of_the_budget(
    budget: int, max_open_requests: int, partitions: int, seed: int
) -> None:
    own = settings_for(SPAM, budget=budget, max_open_requests=max_open_requests)
    arrivals = random_stream(SPAM, seed, 60).arrivals
    asked = 0
    most_open = 0
    for part in range(partitions):
        engine = Engine(own, part, partitions)
        most = 0
        for arrival in arrivals:
            engine.process([arrival._replace(record=arrival.record._replace(partition=part))])
            most = max(most, len(engine.selector.requests))
        asked += engine.selector.budget.used
        most_open += most
    assert asked <= budget
    # One at a time is for each partition, if any.
    assert most_open <= max(max_open_requests, partitions if max_open_requests else 0)


def test_a_request_has_the_remaining_budget_and_its_strategy() -> None:
    engine = Engine(
        settings_for(SPAM, budget=20, max_open_requests=20, request_ttl="1h", audit_fraction=0.5, label_history=999)
    )
    outcome = fold(engine, mails(400), (40,))
    requests = [event for event in outcome.outputs if isinstance(event, LabelRequest)]
    assert [request.budget_left for request in requests] == list(range(19, 19 - len(requests), -1))
    assert [request.source.offset for request in requests] == list(outcome.requests) == open_request_offsets(engine)
    assert {request.strategy for request in requests} == {"variance", "audit"}
    for request, question in zip(requests, outcome.requests.values(), strict=True):
        assert (request.strategy == "audit") == (question.audited is not None)
        assert request.score <= request.variance


@pytest.mark.parametrize("gaps", [(1000,), (0, 0, 0, 0, 90_000), (1, 10**9), (30_000, 0), (0,)], ids=str)
def test_no_period_has_more_requests_than_its_limit(gaps: tuple[int, ...]) -> None:
    limits = {"budget": None, "per_period": 7, "period": "60s", "max_open_requests": 10_000, "request_ttl": "1h"}
    arrivals = mails(300, gaps)
    times = {arrival.record.offset: arrival.record.timestamp for arrival in arrivals}
    outcome = fold(Engine(settings_for(SPAM, **limits)), arrivals, (50,))
    asked = [times[offset] for offset in outcome.requests]
    assert asked
    for first, later in zip(asked, asked[7:], strict=False):
        assert later - first >= PERIOD
    both = fold(Engine(settings_for(SPAM, **{**limits, "budget": 9})), arrivals, (50,))
    assert 0 < len(both.requests) <= 9


Change = tuple[int, int | None]
CHANGES = st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 3)), min_size=1, max_size=4)
LONG = 600_000


@settings(max_examples=15)
@given(changes=CHANGES, lost=st.booleans(), seed=st.integers(0, 99))
def test_restarts_with_other_budgets_keep_to_each(changes: list[Change], lost: bool, seed: int) -> None:
    """Each time from a checkpoint, or silently from the beginning, as when all checkpoints are lost."""
    arrivals = mails(60 * len(changes))
    whole = BatchResult()
    state = None
    for number, (budget, per_period) in enumerate(changes):
        own = settings_for(
            SPAM, budget=budget, per_period=per_period, period="600s", max_open_requests=50, request_ttl="1h", seed=seed
        )
        engine = Engine(own)
        if state is not None and not lost:
            restore(engine, *state)
        elif number:
            fold(engine, replayed_events(arrivals[: 60 * number], whole), (17,), replay_decisions(whole))
        before = engine.selector.budget.used
        assert before == len(whole.requests)
        new = fold(engine, arrivals[60 * number : 60 * (number + 1)], (9,))
        whole.requests.update(new.requests)
        assert engine.selector.budget.used == len(whole.requests) <= max(budget, before)
        if per_period is not None:
            check_periods(arrivals, list(whole.requests), per_period, set(new.requests))
        state = saved(engine)


def check_periods(arrivals: list[InputEvent], asked: list[int], most: int, new: set[int]) -> None:
    """Each new question, with all that was asked in the period before it, also before a restart."""
    times = {arrival.record.offset: arrival.record.timestamp for arrival in arrivals}
    spans = zip(asked, asked[most:], strict=False) if most else ((offset, offset) for offset in asked)
    assert all(times[later] - times[first] >= LONG for first, later in spans if later in new)


def saved(engine: Engine) -> Any:
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    return json.loads(json.dumps(scalars, sort_keys=True)), {name: array.copy() for name, array in arrays.items()}


def test_a_budget_period_continues_after_a_restart() -> None:
    limits = {"budget": None, "per_period": 5, "period": "60s", "max_open_requests": 100, "request_ttl": "1h"}
    arrivals = mails(200, (1,))
    first = Engine(settings_for(SPAM, **limits))
    second = Engine(settings_for(SPAM, **limits))
    outcome = fold(first, arrivals[:100], (10,))
    assert len(outcome.requests) == 5
    restore(second, *saved(first))
    assert not fold(second, arrivals[100:], (10,)).requests


def test_near_duplicates_of_a_request_are_not_requested() -> None:
    stream = Stream()
    for number in range(25):
        stream.observe({"text": f"buy cheap pills from our shop today and save a lot of money {chr(97 + number)}"})
    engine, outcome = run(
        settings_for(SPAM, budget=30, max_open_requests=30, audit_fraction=0.0, request_ttl="1h", label_history=100),
        stream,
    )
    assert len(outcome.requests) == 1
    assert engine.selector.counts["suppressed"] > 0
    same, _ = run(
        settings_for(SPAM, budget=30, max_open_requests=30, audit_fraction=0.0, similarity=1.0, label_history=100),
        stream,
    )
    assert same.selector.budget.used > 1


def test_observations_that_have_a_label_are_no_candidates() -> None:
    stream = Stream()
    for number in range(30):
        stream.observe({"text": f"mail{number}"}, ("ham", "spam")[number % 2])
    engine, outcome = run(settings_for(SPAM, budget=30), stream)
    assert not outcome.requests
    assert engine.selector.budget.seen == 0


def test_an_unknown_strategy_is_a_bad_setting() -> None:
    with pytest.raises(ConfigError, match=r"^labels\.strategy: .*'epistemc'.*epistemic"):
        Engine(Settings(labels=LabelSettings(strategy="epistemc")))


def test_a_replay_without_decisions_requests_nothing() -> None:
    engine = Engine(settings_for(SPAM, budget=30, max_open_requests=30))
    outcome = fold(engine, mails(50), (10,), ReplayDecisions({}))
    assert (outcome.requests, outcome.outputs, engine.selector.budget.used) == ({}, [], 0)
    assert engine.selector.budget.seen == 50
