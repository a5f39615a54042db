"""A regression from end to end: events in a log, late targets, a correction, and the posterior that a batch gives."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from stream_bayes import BayesianLinearRegression
from stream_bayes.config import CheckpointSettings, CommitSettings, LearnerSettings, Settings
from stream_bayes.eventlog.memory import MemoryLog, MemoryStore
from stream_bayes.events import (
    DeadLetter,
    Label,
    LabelOutcome,
    LabelRequest,
    Observation,
    Prediction,
    decode_request,
    encode,
)
from stream_bayes.records import Source
from stream_bayes.runtime import Worker

PRIOR = 2.0
NOISE = 0.25
EVENTS = 120
WRONG = 40
"""The event whose target comes wrong first and is corrected later."""


class Case(NamedTuple):
    """One event of the stream, with its true target, and how it becomes known."""

    x: dict[str, float]
    y: float
    way: str
    """"with" the observation, later by "id", later by "source", or "never"."""


def cases() -> list[Case]:
    """Points of a plane with noise."""
    rng = random.Random(8)
    made = []
    for number in range(EVENTS):
        x = {"x": rng.gauss(0.0, 1.0), "z": rng.gauss(0.0, 3.0)}
        y = -0.3 + 0.5 * x["x"] - 1.5 * x["z"] + rng.gauss(0.0, 0.5)
        made.append(Case(x, y, "id" if number == WRONG else rng.choice(("with", "id", "source", "never"))))
    return made


def settings_in(folder: Path, *, commit: int) -> Settings:
    learner = LearnerSettings(
        name="BayesianLinearRegression", parameters={"prior_precision": PRIOR, "noise_variance": NOISE}
    )
    return Settings(learner=learner, checkpoint=CheckpointSettings(folder=folder), commit=CommitSettings(events=commit))


def written(store: MemoryStore) -> list[tuple[str, int]]:
    """Put the stream into a log, targets some events late; returns what is done with which event, in order."""
    stream = cases()
    order = []
    for number, case in enumerate(stream):
        label = case.y if case.way == "with" else None
        store.put("emails", encode(Observation(id=f"p{number}", features={**case.x}, label=label)))
        order.append(("with" if label is not None else "predict", number))
        late = number - 7
        if late >= 0 and stream[late].way in ("id", "source"):
            source = Source("emails", 0, late) if stream[late].way == "source" else None
            target = stream[late].y + 100.0 * (late == WRONG)
            store.put("labels", encode(Label(id=f"p{late}", label=target, source=source)))
            order.append(("learn", late))
    store.put("labels", encode(Label(id=f"p{WRONG}", label=stream[WRONG].y)))
    return order


def outputs(store: MemoryStore, topic: str, kind: Any) -> list[Any]:
    return [kind.model_validate_json(record.value) for record in store.records(topic)]


@pytest.fixture(params=[1, 1000])
def finished(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[MemoryStore, list[tuple[str, int]], Worker]:
    """A log after a worker with small or large batches, what was in it, and the worker."""
    store = MemoryStore(clock=count(1.0).__next__)
    order = written(store)
    with MemoryLog("group", ("emails", "labels"), store=store) as log:
        worker = Worker(settings_in(tmp_path, commit=request.param), log)
        worker.run(drain=True)
    return store, order, worker


def test_predictions_are_those_of_a_loop(finished: tuple[MemoryStore, list[tuple[str, int]], Worker]) -> None:
    store, order, _ = finished
    stream = cases()
    model = BayesianLinearRegression(prior_precision=PRIOR, noise_variance=NOISE)
    expected = []
    ignorance = []
    learned = 0
    for what, number in order:
        x, y, _ = stream[number]
        if what != "learn":
            said = model.predictive_one(x)
            expected.append((f"p{number}", said.mean, said.variance, learned))
            ignorance.append(said.epistemic_variance)
        if what != "predict":
            model.learn_one(x, y + 100.0 * (number == WRONG))
            learned += 1
    got = outputs(store, "predictions", Prediction)
    assert [(one.id, one.mean, one.variance, one.model_version) for one in got] == expected
    assert [one.epistemic_variance for one in got] == pytest.approx(ignorance, rel=1e-12)


def test_the_posterior_is_that_of_the_batch(finished: tuple[MemoryStore, list[tuple[str, int]], Worker]) -> None:
    _, _, worker = finished
    known = [case for number, case in enumerate(cases()) if case.way == "with" or is_learned(number, case)]
    x = np.array([[1.0, case.x["x"], case.x["z"]] for case in known])
    y = np.array([case.y for case in known])
    precision = PRIOR * NOISE * np.eye(3) + x.T @ x
    model = worker.processors[0].engine.model.learner
    assert isinstance(model, BayesianLinearRegression)
    weights = model.weights()
    means = [weights[name].mean for name in ("intercept", "x", "z")]
    variances = [weights[name].variance for name in ("intercept", "x", "z")]
    np.testing.assert_allclose(means, np.linalg.solve(precision, x.T @ y), rtol=1e-9)
    np.testing.assert_allclose(variances, NOISE * np.diag(np.linalg.inv(precision)), rtol=1e-9)


def is_learned(number: int, case: Case) -> bool:
    """Whether its target came before the stream ended."""
    return case.way in ("id", "source") and number < EVENTS - 7


def test_counts_and_requests_add_up(finished: tuple[MemoryStore, list[tuple[str, int]], Worker]) -> None:
    store, order, worker = finished
    engine = worker.processors[0].engine
    late = sum(what == "learn" for what, _ in order)
    assert engine.counts == {"predict": EVENTS, "learn": late, "correct": 1}
    assert engine.model_version == late + sum(what == "with" for what, _ in order) + 1
    events = [decode_request(record.value) for record in store.records("label-requests")]
    asked = [event for event in events if isinstance(event, LabelRequest)]
    unlabelled = {f"p{number}" for number, case in enumerate(cases()) if case.way != "with"}
    assert 0 < len(asked) == engine.selector.budget.used
    assert {request.id for request in asked} < unlabelled
    answered = {event.id for event in events if isinstance(event, LabelOutcome) and event.outcome == "answered"}
    learned = {f"p{number}" for number, case in enumerate(cases()) if is_learned(number, case)}
    assert answered == learned & {request.id for request in asked}
    assert {f"p{place}" for place in engine.selector.requests} == {request.id for request in asked} - answered
    assert [event.id for event in events if isinstance(event, LabelOutcome) and event.outcome == "corrected"] == [
        f"p{WRONG}"
    ]
    assert outputs(store, "dead-letters", DeadLetter) == []


def test_errors_are_of_the_predictions_when_the_observations_came(
    finished: tuple[MemoryStore, list[tuple[str, int]], Worker],
) -> None:
    store, order, worker = finished
    stream = cases()
    means = {one.id: one.mean for one in outputs(store, "predictions", Prediction)}
    # The wrong target was counted when it came; its correction is not counted again.
    errors = [
        abs(stream[number].y + 100.0 * (number == WRONG) - means[f"p{number}"])
        for what, number in order
        if what != "predict"
    ]
    figures = worker.processors[0].engine.metrics.target_figures()
    assert figures["labelled"] == len(errors)
    assert figures["mean_absolute_error"] == pytest.approx(np.mean(errors), rel=1e-12)
    assert figures["root_mean_squared_error"] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-12)
