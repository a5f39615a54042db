"""The page of a worker on Kafka: the same, in several partitions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kafka_workers import Make, make
from tests.webs import client, page, until

__all__ = ["make"]

pytestmark = pytest.mark.broker


def mail(number: int) -> tuple[str, bytes]:
    return "emails", json.dumps({"id": f"id-{number}", "text": f"mail number {number} of many"}).encode()


def test_questions_of_all_partitions_are_answered_where_they_were_asked(make: Make) -> None:
    scene = make(
        2, labels={"budget": 40, "similarity": 1.0}, learner={"name": "SpamFilter", "parameters": {"buckets": 2**10}}
    )
    for partition in (0, 1):
        scene.feed([mail(number) for number in range(partition, 60, 2)], partition)
    scene.work()
    with page(scene.settings) as address, client(address) as http:
        open_before = http.get("/api/requests").json()["open"]
        answered: dict[int, set[int]] = {0: set(), 1: set()}
        while open_before > sum(map(len, answered.values())):
            question: dict[str, Any] = http.post("/api/requests/next", json={"labeller": "ann"}).json()["question"]
            place = question["place"]
            assert question["pieces"][0]["text"] == f"mail number {question['id'][3:]} of many"
            assert question["opinion"]["partition"] == place["partition"]
            path = f"/api/requests/{place['partition']}/{place['offset']}/label"
            said = http.post(path, json={"labeller": "ann", "label": "ham"})
            assert said.status_code == 200, said.text
            answered[place["partition"]].add(place["offset"])
        assert all(answered.values())
        scene.work()
        until(lambda: sum(p["labels_learned"] for p in http.get("/api/status").json()["partitions"]) == open_before)
    scene.check()
    assert scene.letters(0) == scene.letters(1) == []
