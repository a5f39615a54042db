"""The budget of labels and the choice of questions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import LabelBudget, LabelSelector
from stream_bayes.engine import Engine
from stream_bayes.errors import ParameterError
from stream_bayes.events import LabelRequest
from tests.engines import KINDS, fold, random_stream, settings_for

SPAM = KINDS["SpamFilter"]


@given(total=st.integers(0, 10**12), open_requests=st.integers(0, 10**6), parts=st.integers(1, 300))
def test_the_shares_are_the_total(total: int, open_requests: int, parts: int) -> None:
    shares = [LabelBudget.share(total, open_requests, part, parts) for part in range(parts)]
    for whole, each in (
        (total, [share.total for share in shares]),
        (open_requests, [share.open_requests for share in shares]),
    ):
        assert sum(each) == whole
        assert each == sorted(each, reverse=True)
        assert max(each) - min(each) <= 1


@given(total=st.integers(0, 20), open_requests=st.integers(0, 5), answers=st.lists(st.booleans(), max_size=60))
def test_the_budget_is_never_exceeded(total: int, open_requests: int, answers: list[bool]) -> None:
    budget, open_now = LabelBudget(total, open_requests), 0
    for answer in answers:
        if budget.may_ask(open_now):
            budget.spend()
            open_now += 1
        elif answer and open_now:
            open_now -= 1
        assert budget.used <= total
        assert budget.used + budget.left == total
        assert open_now <= open_requests


@given(total=st.integers(0, 5), used=st.integers(0, 9), open_requests=st.integers(0, 5), open_now=st.integers(0, 9))
def test_asking_whether_one_may_ask_changes_nothing(total: int, used: int, open_requests: int, open_now: int) -> None:
    budget = LabelBudget(total, open_requests)
    budget.used = used
    before = vars(budget).copy()
    answers = {budget.may_ask(open_now) for _ in range(3)}
    assert answers == {used < total and open_now < open_requests}
    assert vars(budget) == before
    # A total that was lowered below what is used leaves nothing, and never less.
    assert budget.left == max(total - used, 0)


@pytest.mark.parametrize("bad", [-1, 1.5, "many", None])
def test_a_budget_is_a_whole_number(bad: object) -> None:
    with pytest.raises(ParameterError, match="total"):
        LabelBudget(total=bad, open_requests=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="open_requests"):
        LabelBudget(total=1, open_requests=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf, "much"])
def test_a_least_variance_is_a_number_from_zero_on(bad: object) -> None:
    with pytest.raises(ParameterError, match="least_variance"):
        LabelSelector(least_variance=bad)  # type: ignore[arg-type]


@given(least=st.floats(0.0, 1e6), variance=st.floats(0.0, allow_nan=False))
def test_questions_are_asked_from_the_least_variance_on(least: float, variance: float) -> None:
    selector = LabelSelector(least)
    assert selector.wants(variance) == (variance >= least)
    assert selector.wants(least)


@settings(max_examples=25, deadline=None)
@given(
    budget=st.integers(0, 12),
    open_requests=st.integers(0, 4),
    partitions=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_engines_ask_for_no_more_than_their_shares(budget: int, open_requests: int, partitions: int, seed: int) -> None:
    own = settings_for(SPAM, budget=budget, open_requests=open_requests, least_variance=0.0)
    arrivals = random_stream(SPAM, seed, 60).arrivals
    asked = 0
    for part in range(partitions):
        engine = Engine(own, part, partitions)
        for arrival in arrivals:
            moved = arrival._replace(record=arrival.record._replace(partition=part))
            engine.process([moved])
            assert len(engine.open_requests) <= engine.budget.open_requests
        asked += engine.budget.used
    assert asked <= budget


def test_a_request_says_what_is_left_and_why() -> None:
    engine = Engine(settings_for(SPAM, budget=3, open_requests=3, least_variance=0.2))
    outcome = fold(engine, random_stream(SPAM, 1, 40).arrivals, (40,))
    requests = [event for event in outcome.outputs if isinstance(event, LabelRequest)]
    assert [request.budget_left for request in requests] == [2, 1, 0]
    assert [request.source.offset for request in requests] == outcome.asked
    assert all(request.score == request.variance >= 0.2 for request in requests)
    assert {request.strategy for request in requests} == {LabelSelector.strategy}
