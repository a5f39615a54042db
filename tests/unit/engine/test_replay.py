"""Learning again without a word, and going on from a saved state."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.engine import BatchResult, Engine, ReplayDecisions
from stream_bayes.engine.state import bookkeeping_of, restore, state_of
from stream_bayes.errors import SnapshotDamaged
from stream_bayes.events import DeadLetter, InputEvent
from stream_bayes.persistence.snapshot import Arrays
from tests.support.engines import (
    KINDS,
    Kind,
    Stream,
    comparable_state,
    encoded_result,
    fold,
    random_stream,
    run,
    settings_for,
    streams,
)
from tests.support.label_requests import replay_decisions, replayed_events

CUTS = st.sampled_from(((1,), (1000,), (2, 5)))


def state(engine: Engine) -> tuple[dict[str, Any], Arrays]:
    """The state as a checkpoint has it: through JSON, which sorts names, in arrays of its own."""
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    return json.loads(json.dumps(scalars, sort_keys=True)), arrays


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_a_silent_pass_ends_in_the_same_state(name: str, data: st.DataObject) -> None:
    own = settings_for(KINDS[name])
    stream = data.draw(streams(KINDS[name]))
    loud, outcome = run(own, stream, data.draw(CUTS))
    silent = Engine(own)
    again = fold(
        silent,
        replayed_events(stream.arrivals, outcome),
        data.draw(CUTS),
        replay_decisions(outcome, loud.request_policy),
    )
    assert comparable_state(silent) == comparable_state(loud)
    assert again.requests == {}
    assert all(isinstance(event, DeadLetter) for event in again.outputs)
    assert again == replace(outcome, outputs=again.outputs, requests={})


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"budget": 0},
        {"budget": 1000, "max_open_requests": 1000},
        {"strategy": "margin", "seed": 3},
        {"audit_fraction": 0.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["SpamFilter", "BayesianLinearRegression"])
def test_a_replay_takes_the_decisions_of_the_first_run(name: str, other: dict[str, Any]) -> None:
    kind = KINDS[name]
    stream = random_stream(kind, seed=3, length=400)
    loud, outcome = run(settings_for(kind, budget=30), stream)
    assert loud.selector.budget.used == len(outcome.requests) > 2
    silent = Engine(settings_for(kind, **other))
    fold(silent, replayed_events(stream.arrivals, outcome), (40,), replay_decisions(outcome))
    ours = silent.selector.budget
    theirs = loud.selector.budget
    assert (ours.used, ours.audited, ours.seen) == (theirs.used, theirs.audited, theirs.seen)
    assert ours.left() == max((ours.total or 0) - theirs.used, 0)
    assert dict(silent.selector.counts - loud.selector.counts).keys() <= {"suppressed"}
    assert silent.selector.audit.estimate() == loud.selector.audit.estimate()
    assert silent.selector.labellers.figures() == loud.selector.labellers.figures()
    assert silent.selector.requests.state() == loud.selector.requests.state()


def test_an_abstention_stays_one_when_the_abstain_label_changes() -> None:
    kind = KINDS["MultinomialNB"]
    stream = Stream()
    for number in range(3):
        stream.observe({"features": {"x": 1 + number}}, None, f"p{number}")
    stream.answer("unsure", "p0")
    stream.answer("no idea", "p1")
    for unsure in ("unsure", "no idea", ""):
        loud, outcome = run(settings_for(kind, abstain_label=unsure), stream)
        assert len(outcome.abstentions) == (unsure != "")
        for now in ("unsure", "no idea", ""):
            silent = Engine(settings_for(kind, abstain_label=now))
            fold(silent, stream.arrivals, (10,), replay_decisions(outcome))
            assert comparable_state(silent) == comparable_state(loud)
    # A journal of before there was such an answer.
    before = Engine(settings_for(kind))
    fold(before, stream.arrivals, (10,), ReplayDecisions({}))
    assert before.model_version == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=12)
@given(data=st.data())
def test_saving_and_going_on_is_as_never_stopping(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    arrivals = data.draw(streams(kind)).arrivals
    stop = data.draw(st.integers(0, len(arrivals)))
    whole = Engine(settings_for(kind))
    expected = encoded_result(fold(whole, arrivals, (1,)))
    first = Engine(settings_for(kind))
    second = Engine(settings_for(kind, observation_cache_bytes=0))
    before = fold(first, arrivals[:stop], (3,))
    restore(second, *state(first))
    assert comparable_state(second) == comparable_state(first)
    after = going_on(second, arrivals, stop)
    assert [a + b for a, b in zip(encoded_result(before), encoded_result(after), strict=True)] == [*expected]
    assert comparable_state(second) == comparable_state(whole)


def going_on(engine: Engine, arrivals: list[InputEvent], begin: int) -> BatchResult:
    """The rest of a stream; earlier observations are found in the log."""
    observations = {a.record.offset: a.event for a in arrivals if a.record.topic == "emails"}
    rest = arrivals[begin:]
    found = {offset: observations[offset] for offset in engine.plan(rest).missing}
    return engine.process(rest, found)  # type: ignore[arg-type]


def test_a_state_shares_nothing_with_its_engine() -> None:
    kind = KINDS["MultinomialNB"]
    arrivals = random_stream(kind, seed=3, length=80).arrivals
    engine = Engine(settings_for(kind))
    other = Engine(settings_for(kind))
    fold(engine, arrivals[:40], (1,))
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    taken = comparable_state(engine)
    fold(engine, arrivals[40:], (1,))
    restore(other, scalars, arrays)
    assert comparable_state(other) == taken


def test_the_compatibility_key_has_the_settings_of_the_state() -> None:
    kind = KINDS["SpamFilter"]
    own = Engine(settings_for(kind)).compatibility_key
    assert own == Engine(settings_for(kind, budget=9, max_open_requests=9, strategy="margin")).compatibility_key
    assert own != Engine(settings_for(kind, label_history=9)).compatibility_key
    assert own != Engine(settings_for(kind), 0, 2).compatibility_key
    cheap = Kind(kind.name, {**kind.parameters, "false_positive_cost": 2.0}, (), ())
    small = Kind(kind.name, {"buckets": 2**11}, (), ())
    assert own == Engine(settings_for(cheap)).compatibility_key
    assert own != Engine(settings_for(small)).compatibility_key
    assert json.loads(json.dumps(own)) == own


# Damage: whatever a file may say, either it makes an engine or it is called damaged.

JUNK = st.sampled_from((None, -1, 2**70, 1.5, "x", [], {}, ["x", ["y"]], {"a": None}, True))


def mutated(array: np.ndarray[Any, Any], how: str) -> np.ndarray[Any, Any]:
    """The array with something wrong with it."""
    match how:
        case "shorter":
            return array.ravel()[: array.size // 2].copy()
        case "longer":
            return np.resize(array, array.size * 2 + 3)
        case "deeper":
            return array.reshape((1, *array.shape)).copy()
        case "of floats":
            return array.astype(np.float32)
        case "of bytes":
            return np.where(np.isnan(array), 0, array).astype(np.int8)
    return np.full_like(array, 255)


HOW = ("shorter", "longer", "deeper", "of floats", "of bytes", "all 255")


def damaged_state(kind: Kind, stream: Stream) -> tuple[dict[str, Any], Arrays]:
    return state(run(settings_for(kind), stream)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BayesianLinearRegression", "MultinomialNB", "SoftmaxRegression", "SpamFilter"])
def test_damaged_arrays_are_damaged(name: str) -> None:
    kind = KINDS[name]
    scalars, arrays = damaged_state(kind, random_stream(kind, seed=3, length=80))
    own = [key for key in arrays if not key.startswith("learner.")]
    for key in arrays:
        attempt(kind, scalars, {other: array for other, array in arrays.items() if other != key}, must_fail=key in own)
        for how in HOW:
            with np.errstate(all="ignore"):
                array = mutated(arrays[key], how)
            attempt(kind, scalars, {**arrays, key: array})
    for key in ("label_codes", "id_digests", "id_offsets", "metric_scores", "metric_best", "metric_cells"):
        attempt(kind, scalars, {**arrays, key: mutated(arrays[key], "longer")}, must_fail=True)
        attempt(kind, scalars, {**arrays, key: mutated(arrays[key], "shorter")}, must_fail=True)


@pytest.mark.slow
@settings(max_examples=100)
@given(junk=JUNK, data=st.data())
def test_damaged_scalars_are_damaged(junk: Any, data: st.DataObject) -> None:
    kind = KINDS["MultinomialNB"]
    scalars, arrays = damaged_state(kind, random_stream(kind, seed=3, length=40))
    key = data.draw(st.sampled_from(sorted(scalars)))
    attempt(kind, {**scalars, key: junk}, arrays)
    attempt(kind, {other: value for other, value in scalars.items() if other != key}, arrays, key != "learner")
    inner = data.draw(st.sampled_from(("end", "labels")))
    attempt(kind, {**scalars, "labels": {**scalars["labels"], inner: junk}}, arrays)


def attempt(kind: Kind, scalars: dict[str, Any], arrays: Arrays, must_fail: bool = False) -> None:
    """Nothing but SnapshotDamaged may come of it; what was taken is fit for use."""
    engine = Engine(settings_for(kind))
    if must_fail:
        with pytest.raises(SnapshotDamaged):
            restore(engine, scalars, arrays)
        return
    try:
        restore(engine, scalars, arrays)
    except SnapshotDamaged:
        return
    engine.label_history.label_of(engine.label_history.end - 1)
