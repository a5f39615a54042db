"""The engine against its rules written down once more, as plainly as possible: one event at a time, in plain dicts."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_bayes
from stream_bayes.active import Candidate
from stream_bayes.active.strategies import scores
from stream_bayes.active.uncertainty import expected_of, uncertainty_of
from stream_bayes.config import Settings
from stream_bayes.engine.label_requests import selector_for
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import DeadLetter, InputEvent, Label, LabelOutcome, LabelRequest, Observation, Prediction
from stream_bayes.mail.filter import SpamFilter
from tests.support.engines import KINDS, OBSERVATIONS, Stream, random_stream, run, settings_for, streams
from tests.support.label_requests import open_request_offsets

EXACT = ("BayesianLinearRegression", "MultinomialNB")
"""Those that take a wrong label back."""


class Reference:
    """What the design says of events, literally. Nothing is forgotten, only not looked at."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.kind = settings.learner.name
        self.learner: Any = getattr(stream_bayes, self.kind)(**settings.learner.parameters)
        self.observations: dict[int, Observation] = {}
        self.labels: dict[int, Any] = {}
        self.repeated: set[int] = set()
        self.end = self.learned = self.duplicates = self.clock = 0
        # Tested by itself; here it is told one thing after the other.
        self.selector = selector_for(settings.labels, 0, 1)
        self.said: list[tuple[Any, ...]] = []

    def take(self, arrival: InputEvent) -> None:
        record = arrival.record
        event = arrival.event
        self.clock = max(self.clock, record.timestamp)
        for place, _ in self.selector.expire(self.clock):
            self.said.append(("outcome", "expired", place))
        # An answer would be too old from this record on.
        end = record.offset + 1 if record.topic == OBSERVATIONS else self.end
        for place in [p for p in self.selector.requests if int(p) < end - self.settings.engine.label_history]:
            self.selector.close(place)
            self.said.append(("outcome", "expired", place))
        try:
            if isinstance(event, Observation):
                self.observe(record.topic, record.offset, event)
            elif isinstance(event, Label):
                self.label(event)
            else:
                raise event
        except StreamBayesError as problem:
            # An answer that is no label, or that the learner cannot take.
            about = self.meant_by(event) if problem.code == "bad-input" else None
            if about is not None and about in self.selector.requests:
                self.said.append(("outcome", "refused", about))
            self.said.append(("dead", record.topic, record.offset, problem.code))
        if record.topic == OBSERVATIONS:
            self.end = record.offset + 1

    def observe(self, topic: str, offset: int, event: Observation) -> None:
        if topic != OBSERVATIONS:
            raise EventError("wrong-topic", "")
        if re.fullmatch(rf"{OBSERVATIONS}-0-[0-9]+", event.id) and event.id != f"{OBSERVATIONS}-0-{offset}":
            raise EventError("bad-id", "")
        first = self.newest(event.id)
        if first is not None:
            self.observe_again(first, event)
            self.repeated.add(offset)
            return
        content = self.content(event)
        label = None
        problem = None
        try:
            label = None if event.label is None else self.checked(event.label)
        except EventError as refused:
            problem = refused
        answer, variance = self.predict(content)
        version = self.learned
        if label is not None:
            self.learn(content, label)
        self.observations[offset] = event
        self.labels[offset] = label
        self.said.append(("prediction", event.id, answer, variance, version))
        if problem is not None:
            self.said.append(("dead", topic, offset, problem.code))
        if label is None:
            self.maybe_ask(offset, event.id, content, answer, variance)

    def observe_again(self, first: int, event: Observation) -> None:
        """The same id: with the same content a duplicate, which may bring another label for the first one."""
        known = self.observations[first]
        if (event.content, event.subject, event.sender) != (known.content, known.subject, known.sender):
            raise EventError("id-reused", "")
        if event.label is None or (self.checked(event.label) == self.labels[first] and self.labels[first] is not None):
            self.duplicates += 1
        else:
            self.learn_late(first, Label(id=event.id, label=event.label))

    def maybe_ask(self, offset: int, name: str, content: Any, answer: Any, variance: float) -> None:
        predictive = self.learner.predictive_one(content)
        score = float(scores(self.selector.strategy, uncertainty_of(predictive))[0])
        candidate = Candidate(offset, score, expected_of(predictive), content, name)
        question = self.selector.request_reason(candidate, self.clock)
        self.selector.note(candidate, self.clock, question)
        if question is not None:
            left = self.selector.budget.left(self.clock)
            self.said.append(("request", name, answer, variance, left, question.audited is None))

    def label(self, event: Label) -> None:
        offset = self.meant(event)
        if self.too_old(offset):
            raise EventError("label-too-old", "")
        if offset not in self.observations:
            raise EventError("unknown-observation", "")
        if event.label == self.settings.labels.abstain_label:
            if offset in self.selector.requests:
                self.said.append(("outcome", "unsure", offset))
            self.selector.answered(offset, "", event.labeller, self.clock)
            return
        label = self.checked(event.label)
        before = self.labels[offset]
        if before is not None and label == before:
            self.selector.answered(offset, label, event.labeller, self.clock)
            return
        self.learn_late(offset, event)

    def learn_late(self, offset: int, event: Label) -> None:
        label = self.checked(event.label)
        before = self.labels[offset]
        if event.id != self.observations[offset].id:
            raise EventError("wrong-id", "")
        content = self.content(self.observations[offset])
        if before is not None and self.kind in EXACT:
            self.learner.unlearn_one(content, before)
        if before is not None and isinstance(self.learner, SpamFilter):
            self.learner.relearn_one(content, label)
            self.learned += 1
        else:
            self.learn(content, label, late=True)
        self.labels[offset] = label
        outcome = self.selector.answered(offset, label, event.labeller, self.clock)
        if before is not None or outcome != "unrequested":
            self.said.append(("outcome", outcome if before is None else "corrected", offset))

    def meant_by(self, event: object) -> int | None:
        if isinstance(event, Label):
            return self.meant(event)
        return self.newest(event.id) if isinstance(event, Observation) else None

    def meant(self, event: Label) -> int:
        if event.source is not None:
            if (event.source.topic, event.source.partition) != (OBSERVATIONS, 0):
                raise EventError("wrong-partition", "")
            offset = event.source.offset
            repeated = offset in self.repeated and not self.too_old(offset)
            found = self.newest(event.id) if repeated else None
            return offset if found is None else found
        newest = self.newest(event.id)
        place = re.fullmatch(rf"{OBSERVATIONS}-0-([0-9]+)", event.id)
        if newest is None and place is None:
            raise EventError("unknown-observation", "")
        return int(place[1]) if newest is None and place else newest or 0

    def newest(self, name: str) -> int | None:
        window = range(self.end - self.settings.engine.dedup_window, self.end)
        found = [o for o in window if o in self.observations and self.observations[o].id == name]
        return max(found, default=None)

    def too_old(self, offset: int) -> bool:
        return offset < self.end - self.settings.engine.label_history

    def content(self, event: Observation) -> Any:
        if self.kind == "SpamFilter":
            fields = {"subject": event.subject, "sender": event.sender, "text": event.text}
            return fields if event.subject or event.sender else event.content
        if event.features is not None:
            return event.features
        # The mails of these streams are plain texts with a subject.
        text = event.text if event.raw is None else event.raw.decode().partition("Subject: ")[2]
        return Counter(re.findall(r"[a-z]+", (text or "").lower()))

    def checked(self, label: Any) -> Any:
        if self.kind == "SpamFilter":
            good = label in ("ham", "spam")
        elif self.kind == "BayesianLinearRegression":
            good = type(label) in (int, float) and abs(label) <= 1e50
        else:
            good = isinstance(label, str) or label == int(label)
        if not good:
            raise EventError("bad-input", "")
        return label

    def predict(self, content: Any) -> tuple[Any, float]:
        predictive = self.learner.predictive_one(content)
        if self.kind == "BayesianLinearRegression":
            return predictive.mean, predictive.variance
        return self.learner.predict_proba_one(content), predictive.variance

    def learn(self, content: Any, label: Any, *, late: bool = False) -> None:
        if isinstance(self.learner, SpamFilter):
            self.learner.learn_one(content, label, remember=late)
        else:
            self.learner.learn_one(content, label)
        self.learned += 1


def outputs_of(outputs: list[Any]) -> list[tuple[Any, ...]]:
    """What an engine said, in the words of the reference."""
    found: list[tuple[Any, ...]] = []
    for event in outputs:
        if isinstance(event, DeadLetter):
            found.append(("dead", event.topic, event.offset, event.code))
            continue
        if isinstance(event, LabelOutcome):
            found.append(("outcome", event.outcome, event.source.offset))
            continue
        answer = event.mean if event.probabilities is None else event.probabilities
        if isinstance(event, Prediction):
            found.append(("prediction", event.id, answer, event.variance, event.model_version))
        elif isinstance(event, LabelRequest):
            found.append(("request", event.id, answer, event.variance, event.budget_left, event.strategy != "audit"))
    return found


def check_same(name: str, stream: Stream, cuts: tuple[int, ...], **sizes: float) -> None:
    own = settings_for(KINDS[name], **sizes)
    engine, outcome = run(own, stream, cuts)
    reference = Reference(own)
    for arrival in stream.arrivals:
        reference.take(arrival)
    got = outputs_of(outcome.outputs)
    assert len(got) == len(reference.said)
    for ours, theirs in zip(got, reference.said, strict=True):
        assert ours[:2] + ours[4:] == theirs[:2] + theirs[4:]
        if ours[0] in ("dead", "outcome"):
            assert ours == theirs
        else:
            check_close(ours[2], theirs[2], ours[3], theirs[3])
    assert engine.model_version == reference.learned
    assert engine.counts["duplicate"] == reference.duplicates
    assert engine.selector.budget.used == reference.selector.budget.used
    assert open_request_offsets(engine) == [*reference.selector.requests]
    assert engine.selector.labellers.figures() == reference.selector.labellers.figures()
    assert engine.selector.audit.estimate() == reference.selector.audit.estimate()
    mine = engine.model.learner.state().arrays
    other = reference.learner.state().arrays
    assert {key: array.tobytes() for key, array in mine.items()} == {k: array.tobytes() for k, array in other.items()}


def check_close(answer: Any, expected: Any, variance: float, expected_variance: float) -> None:
    if isinstance(expected, dict):
        expected = {label if isinstance(label, str) else json.dumps(label): p for label, p in expected.items()}
    assert answer == expected
    assert variance == pytest.approx(expected_variance, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_the_engine_agrees_with_the_reference_model(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams(KINDS[name]))
    check_same(name, stream, data.draw(st.sampled_from(((1,), (1000,), (3, 8)))))


@pytest.mark.parametrize("name", KINDS)
def test_a_long_stream_by_the_rules(name: str) -> None:
    stream = random_stream(KINDS[name], seed=11, length=500)
    check_same(name, stream, (64,), label_history=100, dedup_window=50, budget=40, max_open_requests=10)
