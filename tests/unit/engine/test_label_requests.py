"""What becomes of questions in an engine: each end, its event, its count; labellers, and the audit."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

import numpy as np
import pytest

from stream_bayes.engine import BatchResult, Engine
from stream_bayes.events import LabelOutcome, LabelRequest, Observation, Prediction
from stream_bayes.learners.base.classifier import Classifier
from tests.support.engines import KINDS, Kind, Stream, codes, comparable_state, fold, random_stream, run, settings_for
from tests.support.label_requests import open_request_offsets, outcomes, replay_decisions, replayed_events

WORDS = KINDS["MultinomialNB"]
SPAM = KINDS["SpamFilter"]
LINEAR = KINDS["BayesianLinearRegression"]
ASKING = {"label_history": 100, "dedup_window": 100, "budget": 1000, "max_open_requests": 20, "audit_fraction": 0.0}


def asked(count: int = 2) -> Stream:
    """Observations that are all asked about, since nothing is known; a second lies between them."""
    stream = Stream()
    for number in range(count):
        stream.observe({"features": {f"x{number}": 1.0, f"z{number}": 2.0}}, None, f"p{number}")
    return stream


def after(stream: Stream, kind: Kind = WORDS, **labels: Any) -> tuple[Engine, BatchResult]:
    """An engine that asks about all, after a stream; in silence and in other cuts it is the same."""
    own = settings_for(kind, **{**ASKING, **labels})
    engine, outcome = run(own, stream, (3,))
    silent = Engine(own)
    again = fold(
        silent, replayed_events(stream.arrivals, outcome), (1,), replay_decisions(outcome, engine.request_policy)
    )
    assert comparable_state(silent) == comparable_state(engine)
    assert not outcomes(again)
    return engine, outcome


def counts(engine: Engine) -> dict[str, int]:
    return {name: count for name, count in engine.selector.counts.items() if count}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_request_has_the_variance_and_interval_of_the_prediction(name: str) -> None:
    kind = KINDS[name]
    settings = settings_for(kind, **{**ASKING, "audit_fraction": 0.5})
    engine = Engine(settings)
    told = list[str | None]()
    for arrival in random_stream(kind, seed=3, length=200).arrivals:
        event = arrival.event
        learner = cast(Any, engine.model.learner.snapshot_copy())
        outputs = fold(engine, [arrival], (1,)).outputs
        for request in (output for output in outputs if isinstance(output, LabelRequest)):
            assert isinstance(event, Observation)
            predictive = learner.predictive_one(engine.model.prepare(event))
            (said,) = (output for output in outputs if isinstance(output, Prediction))
            assert (request.variance, request.epistemic_variance) == (said.variance, said.epistemic_variance)
            if not isinstance(learner, Classifier):
                assert (request.interval, request.interval_of) == (predictive.interval(0.95), None)
            else:
                table = learner.predict_proba_one(engine.model.prepare(event))
                label = list(table)[1] if len(table) == 2 else max(table, key=table.__getitem__, default=None)
                assert request.interval == predictive.interval(0.95, label)
                plain = label is None or isinstance(label, str)
                assert request.interval_of == (label if plain else json.dumps(label))
            told.append(request.interval_of)
    assert len(told) >= 5
    assert len(set(told)) >= {"SpamFilter": 1, "BayesianLinearRegression": 1}.get(name, 3)


def test_mails_are_requested_for_their_coverage_and_a_replay_counts_the_same() -> None:
    stream = Stream()
    words = np.random.default_rng(1)
    for number in range(900):
        source = f"list{number % 3}" if number < 600 or number % 2 else f"new{number // 100}"
        header = f"From: a@{source}.example\nTo: me@home.example\nList-Id: {source}\nDate: {number}\n"
        body = bytes(words.integers(97, 123, 90).astype(np.uint8)).decode()
        stream.observe({"raw": base64.b64encode(f"{header}\n{body}".encode()).decode()}, None, f"p{number}")
        stream.answer(("ham", "spam")[number % 2], f"p{number}")
    labels = {"budget": 100, "audit_fraction": 0.0, "coverage": 0.9}
    engine, outcome = after(stream, SPAM, **labels)
    assert counts(engine)["covered"] >= 2
    requests = [output for output in outcome.outputs if isinstance(output, LabelRequest)]
    assert {request.strategy for request in requests} == {"variance", "coverage"}
    assert all(request.probability is not None and 0.0 < request.probability <= 1.0 for request in requests)


def test_a_label_closes_its_request() -> None:
    stream = asked()
    stream.answer("a", "p0", labeller="ann")
    stream.answer("a", "p0", labeller="ann")
    engine, outcome = after(stream)
    assert (open_request_offsets(engine), outcomes(outcome)) == ([1], [(0, "answered", False)])
    assert counts(engine) == {"requested": 2, "answered": 1, "repeated": 1}
    event = outcome.outputs[-1]
    assert isinstance(event, LabelOutcome)
    assert (event.id, event.label, event.labeller, event.at.timestamp()) == ("p0", "a", "ann", 2.0)


def test_a_label_without_a_request_is_no_outcome() -> None:
    stream = asked()
    stream.answer("a", "p0")
    engine, outcome = after(stream, budget=0)
    assert (outcomes(outcome), counts(engine)) == ([], {"unrequested": 1})


def test_a_request_expires_and_its_late_label_is_learned() -> None:
    stream = asked(1)
    for number in range(5):
        stream.observe({"features": {"y": 1.0}}, "b", f"later{number}")
    stream.answer("a", "p0")
    stream.answer("a", "p0")
    engine, outcome = after(stream, request_ttl="4s")
    assert outcomes(outcome) == [(0, "expired", False), (0, "late", False)]
    expired = next(event for event in outcome.outputs if isinstance(event, LabelOutcome))
    assert (expired.id, expired.label, expired.at.timestamp()) == ("p0", None, 4.0)
    assert (engine.model_version, counts(engine)) == (6, {"requested": 1, "expired": 1, "late": 1, "repeated": 1})
    assert engine.selector.budget.used == 1, "its cost stays"


def test_a_request_expires_at_a_label_or_a_rejected_record_too() -> None:
    stream = asked(1)
    stream.put("labels", b"{")
    stream.put("labels", b"{", lead=3)
    _, outcome = after(stream, request_ttl="4s")
    assert outcomes(outcome) == [(0, "expired", False)]
    assert [type(event).__name__ for event in outcome.outputs[-2:]] == ["LabelOutcome", "DeadLetter"]


def test_a_label_at_the_expiry_of_its_request_is_late() -> None:
    stream = asked(1)
    stream.put("labels", b"{", lead=3)
    stream.answer("a", "p0")
    assert outcomes(after(stream, request_ttl="4s")[1]) == [(0, "expired", False), (0, "late", False)]
    assert outcomes(after(stream, request_ttl="5s")[1]) == [(0, "answered", False)]


def test_expired_requests_make_room_for_others() -> None:
    engine, outcome = after(asked(20), label_history=8, max_open_requests=3, request_ttl="1h")
    assert list(outcome.requests)[:3] == [0, 1, 2]
    gone = [place for place, what, _ in outcomes(outcome) if what == "expired"]
    assert gone[:3] == [0, 1, 2]
    assert all(place >= 12 for place in open_request_offsets(engine))
    assert counts(engine)["expired"] == len(gone)


@pytest.mark.parametrize("kind", [WORDS, LINEAR], ids=lambda kind: kind.name)
def test_the_abstain_label_closes_a_request_without_a_label(kind: Kind) -> None:
    stream = asked()
    stream.answer("unsure", "p0", labeller="ann")
    stream.answer("unsure", "p0", labeller="ann")
    engine, outcome = after(stream, kind)
    assert (outcomes(outcome), open_request_offsets(engine)) == ([(0, "unsure", False)], [1])
    assert (engine.model_version, engine.counts["unsure"], counts(engine)["unsure"]) == (0, 2, 1)
    assert outcome.abstentions == [("labels", 0), ("labels", 1)]
    assert engine.selector.budget.used == 2, "it has cost its place"
    assert engine.selector.labellers.figures() == {}


def test_a_label_after_unsure_is_late() -> None:
    stream = asked()
    stream.answer("unsure", "p0", labeller="ann")
    stream.answer("a", "p0", labeller="bob")
    engine, outcome = after(stream)
    assert outcomes(outcome) == [(0, "unsure", False), (0, "late", False)]
    assert engine.model_version == 1


def test_the_abstain_label_after_a_label_changes_nothing() -> None:
    stream = asked()
    stream.answer("a", "p0")
    stream.answer("unsure", "p0")
    engine, outcome = after(stream)
    assert (outcomes(outcome), engine.model_version) == ([(0, "answered", False)], 1)
    assert engine.label_history.label_of(0) == "a"


def test_unsure_about_nothing_is_a_dead_letter() -> None:
    stream = asked()
    stream.answer("unsure", "nobody")
    assert codes(after(stream)[1]) == ["unknown-observation"]


def test_where_unsure_is_a_label_it_is_learned() -> None:
    stream = asked()
    stream.answer("unsure", "p0")
    declared = Kind("MultinomialNB", {"classes": ("unsure", "sure")}, (), ())
    for engine, outcome in (
        after(stream, declared),
        after(stream, WORDS, abstain_label=""),
        after(stream, abstain_label=None),
    ):
        assert (outcomes(outcome), engine.model_version) == ([(0, "answered", False)], 1)


def test_a_second_label_is_a_correction_with_or_without_a_request() -> None:
    stream = asked()
    stream.observe({"features": {"y": 1.0}}, "a", "own")
    stream.answer("a", "p0", labeller="ann")
    stream.answer("b", "p0", labeller="bob")
    stream.answer("b", "own", labeller="bob")
    engine, outcome = after(stream)
    assert outcomes(outcome) == [(0, "answered", False), (0, "corrected", False), (2, "corrected", False)]
    assert counts(engine) == {"requested": 2, "answered": 1, "corrected": 2}


def test_an_invalid_label_leaves_its_request_open() -> None:
    stream = asked(1)
    stream.answer("much", "p0", labeller="ann")
    stream.answer(2.5, "p0")
    engine, outcome = after(stream, LINEAR)
    assert outcomes(outcome) == [(0, "refused", True), (0, "answered", False)]
    assert (codes(outcome), outcome.rejected[0].observation) == (["bad-input"], 0)
    assert (counts(engine), open_request_offsets(engine)) == ({"requested": 1, "refused": 1, "answered": 1}, [])


def test_a_label_for_a_removed_observation_closes_its_request() -> None:
    stream = asked(1)
    stream.answer("a", "p0")
    observed, answered = stream.arrivals
    own = settings_for(WORDS, **{**ASKING, "observation_cache_bytes": 0})
    engine = Engine(own)
    silent = Engine(own)
    first = engine.process([observed])
    outcome = engine.process([answered], {0: None})
    assert (outcomes(outcome), open_request_offsets(engine)) == ([(0, "refused", False)], [])
    silent.process([observed], None, replay_decisions(first))
    silent.process(replayed_events([answered], outcome), None, replay_decisions(outcome))
    assert comparable_state(silent) == comparable_state(engine)


def test_a_label_with_another_id_is_no_answer() -> None:
    stream = asked(1)
    stream.answer("a", "somebody", 0)
    engine, outcome = after(stream)
    assert (codes(outcome), outcomes(outcome), open_request_offsets(engine)) == (["wrong-id"], [], [0])


def test_each_labeller_is_judged_by_later_labels() -> None:
    stream = asked(4)
    for number, (first, second) in enumerate((("a", "a"), ("a", "a"), ("a", "b"))):
        stream.answer(first, f"p{number}", labeller="ann")
        stream.answer(second, f"p{number}", labeller="bob")
    stream.answer("a", "p3")
    figures = after(stream)[0].selector.labellers.figures()
    assert {name: (one["checked"], one["labels"]) for name, one in figures.items()} == {
        "ann": (3, 3),
        "bob": (0, 3),
        "unnamed": (0, 1),
    }
    # Beta(1, 1), twice borne out and once not.
    assert figures["ann"]["agreement"] == pytest.approx(3.0 / 5.0)
    assert 0.0 < figures["ann"]["low"] < 0.6 < figures["ann"]["high"] < 1.0


def test_the_audit_estimates_the_accuracy() -> None:
    stream = Stream()
    kind = SPAM
    for number in range(60):
        text = " ".join(f"w{number * step % 997}" for step in range(1, 30))
        stream.observe({"text": f"{text} {('lunch', 'pills')[number % 2] * 3}"}, None, f"p{number}")
        stream.answer(("ham", "spam")[number % 2], f"p{number}")
    labels = {"budget": 40, "audit_fraction": 1.0, "request_ttl": "1h"}
    engine, outcome = after(stream, kind, **labels)
    audited = [offset for offset, question in outcome.requests.items() if question.audited is not None]
    assert audited
    assert counts(engine)["audited"] == len(audited)
    estimate = engine.selector.audit.estimate()
    assert estimate is not None
    assert estimate.answers == len(audited)
    assert 0.0 <= estimate.low <= estimate.accuracy <= estimate.high <= 1.0


def test_a_target_is_no_audit_of_accuracy() -> None:
    stream = asked(5)
    for number in range(5):
        stream.answer(1.0, f"p{number}")
    engine, outcome = after(stream, LINEAR, audit_fraction=1.0)
    assert engine.selector.audit.estimate() is None
    assert {what for _, what, _ in outcomes(outcome)} <= {"answered"}
