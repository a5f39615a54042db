"""How a stream is cut into batches changes nothing: neither what is said nor any bit of what is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.engine import history
from tests.support.engines import (
    KINDS,
    PLENTY,
    Stream,
    codes,
    comparable_state,
    encoded_result,
    random_stream,
    run,
    settings_for,
    streams,
)
from tests.support.label_requests import outcomes

CUTS = st.lists(st.integers(1, 12), min_size=1, max_size=6)
# Nothing, about two observations, all of them.
MEMORIES = (0, 2100, PLENTY)


MANY = {"budget": 50, "max_open_requests": 20, "per_period": 8, "period": "40s", "request_ttl": "30s"}


def check_same(name: str, stream: Stream, cuts: Sequence[int], memory: int, **sizes: Any) -> None:
    """One event at a time with all contents in memory, against these cuts with so much memory."""
    kind = KINDS[name]
    one_by_one, expected = run(settings_for(kind, **sizes), stream)
    cut, got = run(settings_for(kind, observation_cache_bytes=memory, **sizes), stream, cuts)
    assert encoded_result(got) == encoded_result(expected)
    assert comparable_state(cut) == comparable_state(one_by_one)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=20)
@given(data=st.data())
def test_cuts_do_not_matter(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams(KINDS[name]))
    check_same(name, stream, data.draw(CUTS), data.draw(st.sampled_from(MEMORIES)))


@pytest.mark.long
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("name", KINDS)
def test_cuts_of_a_long_stream_do_not_matter(name: str, memory: int) -> None:
    stream = random_stream(KINDS[name], seed=5, length=400)
    for cuts in ((1000,), (7, 1, 90)):
        check_same(name, stream, cuts, memory, label_history=100, dedup_window=50, **MANY)


@pytest.mark.parametrize("name", KINDS)
def test_the_streams_have_everything_in_them(name: str) -> None:
    kind = KINDS[name]
    stream = random_stream(kind, seed=5, length=400)
    engine, outcome = run(settings_for(kind, budget=60), stream)
    done = {"predict", "learn", "repeat", "unsure", "duplicate", "refuse"}
    corrected = {"BayesianLinearRegression", "MultinomialNB", "SpamFilter"}
    assert set(engine.counts) == (done | {"correct"} if name in corrected else done)
    decoding = {"empty-record", "not-json", "wrong-shape", "bad-id"}
    learning = {
        "bad-id",
        "bad-input",
        "id-reused",
        "wrong-topic",
        "unknown-observation",
        "label-too-old",
        "wrong-id",
        "wrong-partition",
    }
    assert set(codes(outcome)) == decoding | learning
    assert {question.audited is None for question in outcome.requests.values()} == {True, False}


def test_the_random_streams_have_every_outcome_of_a_request() -> None:
    found = set()
    for kind in KINDS.values():
        for seed in range(6):
            found |= set(outcomes(run(settings_for(kind, budget=60), random_stream(kind, seed, 400))[1]))
    ends = {(what, still_open) for _, what, still_open in found}
    closed = {(what, False) for what in ("answered", "late", "expired", "unsure", "corrected")}
    assert ends == closed | {("refused", True)}


@pytest.mark.parametrize("name", [name for name in KINDS if name != "SpamFilter"])
def test_an_event_refused_in_a_batch_does_not_affect_the_others(name: str) -> None:
    kind = KINDS[name]
    stream = Stream()
    for number in range(20):
        content = {"features": {"x": "a text" if number in (7, 8, 15) else 1.0}}
        stream.observe(content, kind.labels[0], f"p{number}")
    engine, outcome = run(settings_for(kind, label_history=100), stream, (1000,))
    assert [refused.offset for refused in outcome.rejected] == [7, 8, 15]
    assert engine.model_version == 17
    check_same(name, stream, (1000,), PLENTY)


@pytest.mark.parametrize("memory", MEMORIES)
def test_an_id_that_is_the_place_of_another_record(memory: int) -> None:
    stream = Stream()
    content = {"features": {"x": 1.0}}
    for name in (None, "p", "emails-0-1", "emails-0-9", "emails-0-4", None):
        stream.observe(content, None, name)
    stream.answer("a", "emails-0-1")
    stream.answer("a", "emails-0-4")
    assert codes(run(settings_for(KINDS["SoftmaxRegression"]), stream)[1]) == ["bad-id", "bad-id", "wrong-id"]
    check_same("SoftmaxRegression", stream, (6, 2), memory)


def test_the_most_labels_are_reached_at_the_same_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_MAX_DISTINCT_LABELS", 3)
    stream = Stream()
    content = {"features": {"x": 1.0}}
    first = stream.observe(content, "a", "p0")
    # Refused, so it takes no place.
    stream.answer("b", "somebody", first)
    for number, label in enumerate(("c", "a", "d", "e", "c"), start=1):
        stream.observe(content, label, f"p{number}")
    engine, outcome = run(settings_for(KINDS["MultinomialNB"]), stream, (100,))
    assert codes(outcome) == ["wrong-id", "too-many-labels"]
    assert engine.label_history.scalars()["labels"] == ["a", "c", "d"]
    check_same("MultinomialNB", stream, (100,), PLENTY)
