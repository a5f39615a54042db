"""Questions whose terms change between runs: each ends once, and in silence as it ended when the events came."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.config import LabelSettings
from stream_bayes.engine import BatchResult, Engine
from stream_bayes.engine.label_requests import selector_for
from stream_bayes.engine.state import restore
from tests.support.engines import KINDS, Stream, comparable_state, fold, run, settings_for, streams
from tests.support.label_requests import open_request_offsets, outcomes, replay_decisions, replayed_events
from tests.support.workers import state

WORDS = KINDS["MultinomialNB"]
ASKING = {"label_history": 100, "dedup_window": 100, "budget": 50, "max_open_requests": 20, "audit_fraction": 0.0}
LONGEST = f"{2**53}ms"
SPANS = st.sampled_from(("1ms", "2s", "4s", "9s", "1h", LONGEST))
ENDS = ("answered", "expired", "unsure", "refused")


def one_question(later: int) -> Stream:
    """A question, and observations with labels a second apart."""
    stream = Stream()
    stream.observe({"features": {"x": 1.0, "z": 2.0}}, None, "p")
    for number in range(later):
        stream.observe({"features": {"y": 1.0}}, "b", f"later{number}")
    return stream


def again(engine: Engine, stream: Stream, outcome: BatchResult, then: Engine | None) -> BatchResult:
    """Events that came before, by a journal that says by which terms, or by one that does not."""
    terms = None if then is None else then.request_policy
    return fold(engine, replayed_events(stream.arrivals, outcome), (2,), replay_decisions(outcome, terms))


def going_on(engine: Engine, stream: Stream, begin: int) -> list[tuple[int, str, bool]]:
    """What becomes of questions from this event on."""
    return outcomes(fold(engine, stream.arrivals[begin:], (1,)))


def asking(**changes: Any) -> Any:
    return settings_for(WORDS, **{**ASKING, **changes})


def test_requests_overdue_by_a_shorter_ttl_are_closed_at_the_next_event() -> None:
    stream = one_question(6)
    first, outcome = run(asking(request_ttl="1h"), stream, (3,))
    engine = Engine(asking(request_ttl="4s"))
    assert outcomes(again(engine, stream, outcome, first)) == outcomes(outcome) == []
    assert comparable_state(engine) == comparable_state(first)
    stream.put("labels", b"{")
    stream.answer("a", "p")
    assert going_on(engine, stream, 7) == [(0, "expired", False), (0, "late", False)]


def test_an_expired_request_stays_closed_when_the_ttl_changes() -> None:
    stream = one_question(6)
    first, outcome = run(asking(request_ttl="4s"), stream, (3,))
    assert outcomes(outcome) == [(0, "expired", False)]
    engine = Engine(asking(request_ttl=LONGEST))
    again(engine, stream, outcome, first)
    assert (open_request_offsets(engine), comparable_state(engine)) == ([], comparable_state(first))
    stream.answer("a", "p")
    assert going_on(engine, stream, 7) == [(0, "late", False)]


def test_a_label_in_time_stays_so_when_the_ttl_changes() -> None:
    stream = one_question(6)
    stream.answer("a", "p")
    first, outcome = run(asking(request_ttl="1h"), stream, (3,))
    assert outcomes(outcome) == [(0, "answered", False)]
    engine = Engine(asking(request_ttl="1ms"))
    again(engine, stream, outcome, first)
    assert comparable_state(engine) == comparable_state(first)
    assert engine.selector.counts["expired"] == engine.selector.counts["late"] == 0


@pytest.mark.parametrize(("then", "now"), [(3, 100), (100, 3)])
def test_only_requests_beyond_the_label_history_are_closed(then: int, now: int) -> None:
    """Without a checkpoint another ring is allowed."""
    stream = one_question(6)
    first, outcome = run(asking(label_history=then, request_ttl="1h"), stream)
    engine = Engine(asking(label_history=now, request_ttl="1h"))
    again(engine, stream, outcome, first)
    assert open_request_offsets(engine) == open_request_offsets(first) == ([] if then == 3 else [0])
    stream.put("labels", b"{")
    assert going_on(engine, stream, 7) == ([] if then == 3 else [(0, "expired", False)])


def test_without_terms_those_of_now_hold() -> None:
    stream = one_question(6)
    _, outcome = run(asking(request_ttl="1h"), stream)
    for expires, count in (("4s", 1), ("1h", 0)):
        engine = Engine(asking(request_ttl=expires))
        assert outcomes(again(engine, stream, outcome, None)) == []
        assert engine.selector.counts["expired"] == count


@pytest.mark.slow
@settings(max_examples=60)
@given(stream=streams(WORDS), then=SPANS, now=SPANS)
def test_a_silent_pass_by_other_terms_ends_in_the_same_state(stream: Stream, then: str, now: str) -> None:
    first, outcome = run(settings_for(WORDS, request_ttl=then), stream, (5,))
    engine = Engine(settings_for(WORDS, request_ttl=now))
    again(engine, stream, outcome, first)
    assert comparable_state(engine) == comparable_state(first)


@pytest.mark.slow
@settings(max_examples=60)
@given(stream=streams(WORDS), spans=st.lists(SPANS, min_size=2, max_size=4), lost=st.lists(st.booleans(), min_size=4))
def test_each_request_has_one_outcome_or_is_open(stream: Stream, spans: list[str], lost: list[bool]) -> None:
    """Through restarts with other waits, from a checkpoint or by the journal from the beginning."""
    parts = len(spans)
    cuts = [len(stream.records) * part // parts for part in range(parts + 1)]
    runs: list[tuple[Stream, Engine, BatchResult]] = []
    for number, expires in enumerate(spans):
        engine = Engine(settings_for(WORDS, request_ttl=expires))
        if runs and not lost[number]:
            restore(engine, *state(runs[-1][1]))
        else:
            for part, before, outcome in runs:
                assert outcomes(again(engine, part, outcome, before)) == []
        if runs:
            assert comparable_state(engine) == comparable_state(runs[-1][1])
        part = Stream()
        part.records = stream.records[cuts[number] : cuts[number + 1]]
        runs.append((part, engine, fold(engine, part.arrivals, (3,))))
    asked = [offset for _, _, outcome in runs for offset in outcome.requests]
    ended = [place for _, _, said in runs for place, what, still in outcomes(said) if what in ENDS and not still]
    assert sorted(ended + open_request_offsets(runs[-1][1])) == sorted(asked)


def test_each_partition_may_ask_though_fewer_may_be_open_than_there_are() -> None:
    def places(most: int) -> list[int]:
        return [selector_for(LabelSettings(max_open_requests=most), part, 8).max_open_requests for part in range(8)]

    assert places(3) == [1] * 8
    assert places(0) == [0] * 8
    assert places(19) == [3, 3, 3, 2, 2, 2, 2, 2]
