"""The page of a worker on Kafka: the same, in several partitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from stream_bayes.events import encode
from tests.support.kafka_workers import Make
from tests.support.web_events import status
from tests.support.web_testbed import client, page, wait_until

if TYPE_CHECKING:
    from tests.support.broker import Broker

pytestmark = pytest.mark.broker


def mail(number: int) -> tuple[str, bytes]:
    return "emails", json.dumps({"id": f"id-{number}", "text": f"mail number {number} of many"}).encode()


def test_requests_of_all_partitions_are_answered_in_their_partition(make: Make) -> None:
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
            label_request: dict[str, Any] = http.post("/api/requests/next", json={"labeller": "ann"}).json()["request"]
            place = label_request["place"]
            assert label_request["spans"][0]["text"] == f"mail number {label_request['id'][3:]} of many"
            assert label_request["prediction"]["partition"] == place["partition"]
            path = f"/api/requests/{place['partition']}/{place['offset']}/label"
            response = http.post(path, json={"labeller": "ann", "label": "ham"})
            assert response.status_code == 200, response.text
            answered[place["partition"]].add(place["offset"])
        assert all(answered.values())
        scene.work()
        wait_until(
            lambda: sum(p["labels_learned"] for p in http.get("/api/status").json()["partitions"]) == open_before
        )
    scene.check()
    assert scene.letters(0) == scene.letters(1) == []


@pytest.mark.long
def test_the_page_survives_a_broker_restart(make: Make, killable_broker: Broker) -> None:
    scene = make(1, labels={"budget": 100, "similarity": 1.0})
    scene.feed([mail(number) for number in range(30)])
    scene.work()
    with page(scene.settings) as address, client(address) as http:
        label_request = http.post("/api/requests/next", json={"labeller": "ann"}).json()["request"]
        path = f"/api/requests/0/{label_request['place']['offset']}/label"
        body = {"labeller": "ann", "label": "ham"}
        killable_broker.kill()
        lost = http.post(path, json=body)
        assert (lost.status_code, lost.json()["code"]) == (503, "log-unavailable")
        wait_until(lambda: http.get("/readyz").status_code == 503)
        assert "cannot read the log" in http.get("/api/status").json()["summary"]
        assert http.get("/healthz").status_code == 200
        killable_broker.start()
        wait_until(lambda: http.get("/readyz").status_code == 200)
        wait_until(lambda: http.post(path, json=body).status_code == 200)
    # Whatever became of the first try, the label counts once.
    assert scene.work().processors[0].engine.model_version == 1
    scene.check()


def test_partitions_without_a_status_event(make: Make) -> None:
    scene = make(2)
    for topic in (scene.settings.topics.status, scene.settings.topics.label_requests, scene.emails, scene.labels):
        scene.create(topic)
    with page(scene.settings) as address, client(address) as http:
        assert http.get("/api/status").json()["partitions"] == []
    scene.log.append(scene.settings.topics.status, encode(status(0.0, group=scene.settings.group)), partition=0)
    scene.log.commit({})
    with page(scene.settings) as address, client(address) as http:
        assert [one["partition"] for one in http.get("/api/status").json()["partitions"]] == [0]
