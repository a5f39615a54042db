"""The worker is not about mail alone: a regression on numbers whose targets come later, through crashes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes.config import Settings
from stream_bayes.eventlog.memory import ABORT, Aborted, MemoryLog, MemoryStore
from stream_bayes.learners.linear import BayesianLinearRegression
from stream_bayes.runtime import Worker
from tests.support.workers import INPUTS, assert_nothing_lost, events, saved_state, settings_in

COUNT = 300
PARAMETERS = {"prior_precision": 2.0, "noise_variance": 0.25}
# Of the weights of x and the constant: mean and covariance.
PRIOR = [["x", "intercept"], [2.0, 0.5], [[1.0, 0.1], [0.1, 0.5]]]


def points() -> list[tuple[dict[str, float], float]]:
    rng = random.Random(2)
    rows = [{"x": rng.gauss(0.0, 1.0), "z": rng.gauss(0.0, 1.0)} for _ in range(COUNT)]
    return [(row, 3.0 * row["x"] - 2.0 * row["z"] + 1.0 + rng.gauss(0.0, 0.5)) for row in rows]


def filled(store: MemoryStore) -> None:
    """Observations, their targets thirty later; every tenth target is wrong at first and corrected in the end."""
    rows = points()
    for number, (row, _) in enumerate(rows):
        store.put("emails", json.dumps({"id": f"p{number}", "features": row}).encode())
        if number >= 30:
            put_target(store, number - 30, rows[number - 30][1] + 5.0 * (number % 10 == 0))
        if number % 70 == 50:
            store.put(INPUTS[number % 2], ABORT)
    for number in range(COUNT - 30, COUNT):
        put_target(store, number, rows[number][1])
    for number in range(0, COUNT - 30, 10):
        put_target(store, number, rows[number][1])


def put_target(store: MemoryStore, number: int, target: float) -> None:
    store.put("labels", json.dumps({"id": f"p{number}", "label": target}).encode())


def worked(settings: Settings, store: MemoryStore) -> int:
    """Work until the end, through crashes; returns how many there were."""
    crashes = 0
    while True:
        with MemoryLog(settings.group, INPUTS, store=store) as log:
            try:
                Worker(settings, log).run(drain=True)
            except Aborted:
                crashes += 1
            else:
                return crashes


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("BayesianLinearRegression", PARAMETERS),
        ("BayesianLinearRegression", {**PARAMETERS, "prior": {"posterior": "WeightPrior", "fields": PRIOR}}),
        ("RobustRegression", {"noise": "laplace", "noise_scale": 0.4, "prior_precision": 2.0}),
        ("RobustRegression", {"noise_scale": 0.4, "degrees": 3.0, "prior_precision": 2.0, "covariance": "diagonal"}),
    ],
)
def test_a_regression_with_late_and_corrected_targets(tmp_path: Path, name: str, parameters: dict[str, Any]) -> None:
    settings = settings_in(
        tmp_path,
        learner={"name": name, "parameters": parameters},
        engine={"observation_cache_bytes": 5000},
        checkpoint={"events": 40},
    )
    store = MemoryStore()
    filled(store)
    assert worked(settings, store) == 4
    log = MemoryLog(store=store)
    assert_nothing_lost(settings, log)
    found = events(log, "predictions")
    assert len(found) == COUNT
    assert not events(log, "dead-letters")
    assert found[-1]["variance"] < found[0]["variance"]
    scalars = saved_state(settings)[1].scalars
    # A learner that cannot unlearn takes a corrected target for one more event.
    additive = name == "BayesianLinearRegression"
    learned = {"learn": COUNT, "correct": 27} if additive else {"learn": COUNT + 27}
    assert scalars["counts"] == {"predict": COUNT, **learned}
    assert found[-1]["mean"] == pytest.approx(points()[-1][1], abs=2.0)


def test_the_posterior_is_that_of_the_true_targets(tmp_path: Path) -> None:
    """Wrong targets were taken back exactly: what is left is what a learner of the right ones knows."""
    settings = settings_in(tmp_path, learner={"name": "BayesianLinearRegression", "parameters": PARAMETERS})
    store = MemoryStore()
    filled(store)
    worked(settings, store)
    with MemoryLog(settings.group, INPUTS, store=store) as log:
        worker = Worker(settings, log)
        worker.recover()
    direct = BayesianLinearRegression(prior_precision=2.0, noise_variance=0.25)
    for row, target in points():
        direct.learn_one(row, target)
    row = {"x": 0.3, "z": -0.7}
    learner = worker.processors[0].engine.model.learner
    assert isinstance(learner, BayesianLinearRegression)
    said = learner.predictive_one(row)
    expected = direct.predictive_one(row)
    np.testing.assert_allclose([said.mean, said.variance], [expected.mean, expected.variance], rtol=1e-9)
