"""A worker with nearest neighbours: labelled numbers through crashes, the window as that of a learner alone."""

from __future__ import annotations

import json
import random
from pathlib import Path

from stream_bayes.eventlog.memory import ABORT, Aborted, MemoryLog, MemoryStore
from stream_bayes.learners import NearestNeighbours
from stream_bayes.runtime import Worker
from tests.support.workers import INPUTS, assert_nothing_lost, events, settings_in

COUNT = 200
PARAMETERS = {"k": [1, 3, 9], "window": 50, "prior_count": 0.5}


def points() -> list[tuple[dict[str, float], str]]:
    rng = random.Random(4)
    rows = [{"x": rng.gauss(0.0, 1.0), "z": rng.gauss(0.0, 1.0)} for _ in range(COUNT)]
    return [(row, "in" if row["x"] ** 2 + row["z"] ** 2 < 1.4 else "out") for row in rows]


def test_a_worker_goes_on_with_its_window_after_a_crash(tmp_path: Path) -> None:
    settings = settings_in(
        tmp_path, learner={"name": "NearestNeighbours", "parameters": PARAMETERS}, checkpoint={"events": 30}
    )
    store = MemoryStore()
    direct = NearestNeighbours(k=(1, 3, 9), window=50, prior_count=0.5)
    expected = []
    for number, (row, label) in enumerate(points()):
        store.put("emails", json.dumps({"id": f"p{number}", "features": row, "label": label}).encode())
        expected.append(direct.predict_proba_one(row))
        direct.learn_one(row, label)
        if number % 60 == 40:
            store.put("emails", ABORT)
    crashes = 0
    while True:
        with MemoryLog(settings.group, INPUTS, store=store) as log:
            worker = Worker(settings, log)
            try:
                worker.run(drain=True)
            except Aborted:
                crashes += 1
            else:
                break
    assert crashes == 3
    log = MemoryLog(store=store)
    assert_nothing_lost(settings, log)
    found = events(log, "predictions")
    assert [prediction.get("probabilities") or {} for prediction in found] == expected
    learner = worker.processors[0].engine.model.learner
    assert isinstance(learner, NearestNeighbours)
    assert learner.log_evidence() == direct.log_evidence()
    assert learner.best_k == direct.best_k
