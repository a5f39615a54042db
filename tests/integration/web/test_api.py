"""The API of the page, on a real server with a real log and a real worker."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.support.web_testbed import (
    WebTestBed,
    client,
    page,
    path_of,
    submit_label,
    take_request,
    wait_until,
    wait_until_rescored,
)


def test_a_request_has_the_mail_the_selection_and_the_prediction(http: httpx.Client) -> None:
    label_request = take_request(http)
    assert label_request["subject"]
    assert label_request["sender"]
    assert "".join(span["text"] for span in label_request["spans"]).strip()
    assert (label_request["choices"], label_request["abstain_label"], label_request["numbers"]) == (
        ["ham", "spam"],
        "unsure",
        False,
    )
    selection = label_request["selection"]
    prediction = label_request["prediction"]
    assert selection["variance"] == pytest.approx(
        selection["probabilities"]["ham"] * selection["probabilities"]["spam"]
    )
    assert 0.0 <= selection["epistemic_variance"] <= selection["variance"]
    low, high = selection["interval"]
    assert 0.0 <= low <= selection["probabilities"][selection["interval_of"]] <= high <= 1.0
    assert prediction["variance"] == pytest.approx(prediction["epistemic_variance"] + prediction["aleatoric_variance"])
    together = sum(reason["share"] for reason in prediction["reasons"]) + sum(prediction["rest"].values())
    assert together == pytest.approx(prediction["total"], abs=1e-6)
    assert label_request["lease_seconds"] == 300.0


def test_the_queue_is_by_score(http: httpx.Client) -> None:
    queue = wait_until_rescored(http)
    scores = [request["score"] for request in queue["requests"]]
    assert len(scores) == queue["open"] > 1
    assert scores == sorted(scores, reverse=True)
    assert take_request(http)["place"] == queue["requests"][0]["place"]
    again = http.get("/api/requests", params={"limit": 1}).json()
    assert (len(again["requests"]), again["leased"], again["requests"][0]["leased"]) == (1, 1, True)


def test_an_answer_is_in_the_log_at_once(http: httpx.Client, testbed: WebTestBed) -> None:
    label_request = take_request(http)
    answer = submit_label(http, label_request, "spam").json()
    (label,) = testbed.labels()
    assert (label["id"], label["label"], label["labeller"]) == (label_request["id"], "spam", "ann")
    assert label["source"] == {"topic": "emails", **label_request["place"]}
    probabilities = label_request["selection"]["probabilities"]
    predicted = max(probabilities, key=probabilities.__getitem__)
    assert (answer["predicted_label"], answer["differs"], answer["correction"]) == (
        predicted,
        predicted != "spam",
        False,
    )
    assert take_request(http)["place"] != label_request["place"]
    stats = http.get("/api/daily-stats", params={"labeller": "ann"}).json()
    assert (stats["today"], stats["mine"], stats["differed"]) == (1, 1, int(predicted != "spam"))


def test_the_same_answer_again_is_not_written_again(http: httpx.Client, testbed: WebTestBed) -> None:
    label_request = take_request(http)
    assert [submit_label(http, label_request, "ham").status_code for _ in range(3)] == [200] * 3
    assert len(testbed.labels()) == 1


def test_undo_writes_a_correction_that_the_worker_learns(http: httpx.Client, testbed: WebTestBed) -> None:
    label_request = take_request(http)
    submit_label(http, label_request, "spam")
    testbed.work()
    wait_until(lambda: http.get(path_of(label_request)).json()["answer"]["learned"])
    again = http.post(f"{path_of(label_request)}/reopen", json={"labeller": "ann"}).json()
    assert (again["answer"]["label"], again["place"]) == ("spam", label_request["place"])
    refused = submit_label(http, label_request, "unsure")
    assert (refused.status_code, refused.json()["code"]) == (409, "cannot-withdraw")
    assert submit_label(http, label_request, "ham").json()["correction"]
    assert [label["label"] for label in testbed.labels()] == ["spam", "ham"]
    testbed.work()
    outcomes = [event["outcome"] for event in testbed.label_requests() if event["type"] == "label-outcome"]
    assert outcomes == ["answered", "corrected"]
    wait_until(lambda: http.get("/api/daily-stats").json()["corrected"] == 1)


def test_two_labellers_and_an_answer_that_comes_too_late(http: httpx.Client) -> None:
    first = take_request(http, "ann")
    second = take_request(http, "bob")
    assert first["place"] != second["place"]
    refused = submit_label(http, first, "spam", "bob")
    assert (refused.status_code, refused.json()["code"]) == (409, "leased")
    assert submit_label(http, first, "spam", "ann").status_code == 200
    late = submit_label(http, first, "ham", "bob")
    assert (late.status_code, late.json()["code"]) == (409, "answered")
    mine = http.post(f"{path_of(first)}/reopen", json={"labeller": "bob"})
    assert (mine.status_code, mine.json()["code"]) == (409, "not-yours")


def test_skipping_releases_the_lease(http: httpx.Client) -> None:
    first = take_request(http)
    assert http.post(f"{path_of(first)}/release", json={"labeller": "ann"}).status_code == 204
    assert take_request(http, "bob")["place"] == first["place"]
    assert take_request(http, skip=[first["place"]])["place"] != first["place"]


def test_the_worker_learns_and_the_charts_move(testbed: WebTestBed) -> None:
    with page(testbed.settings) as address, client(address) as http:
        before = http.get("/api/charts").json()
        with testbed.working():
            for _ in range(4):
                label_request = take_request(http)
                assert submit_label(http, label_request, testbed.truth[label_request["id"]]).status_code == 200
            testbed.send_generated(40)
            wait_until(lambda: http.get("/api/charts").json()["curve"][-1]["labels"] >= 4)
            wait_until(lambda: http.get("/api/charts").json()["curve"][-1]["events"] >= 100)
            state = http.get("/api/status").json()
        after = http.get("/api/charts").json()
        assert len(after["curve"]) > len(before["curve"])
        assert after["histogram_of"] >= 100
        assert sum(bar["counts"]["answered"] for bar in after["scores"]) == 4
        assert (state["healthy"], state["summary"]) == (True, "The worker is running.")
        assert state["partitions"][0]["labels_learned"] == 4


def test_a_try_learns_nothing(http: httpx.Client, testbed: WebTestBed) -> None:
    raw = b64encode(b"From: a@b.example\nSubject: cheap pills\n\nbuy now").decode()
    first = http.post("/api/predict", json={"raw": raw}).json()
    assert http.post("/api/predict", json={"raw": raw}).json() == first
    assert first["reasons"] is not None
    assert first["label"] in ("ham", "spam")
    assert testbed.labels() == []
    text = http.post("/api/predict", json={"text": "buy now", "subject": "cheap"}).json()
    assert 0.0 <= text["interval"][0] <= text["interval"][1] <= 1.0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "a", "raw": "YQ=="},
        {"raw": "no base64!"},
        {"text": 5},
        {"text": "a", "colour": "red"},
        {"text": "a", "partition": -1},
    ],
)
def test_an_invalid_try_is_refused_with_a_reason(http: httpx.Client, body: dict[str, Any]) -> None:
    answer = http.post("/api/predict", json=body)
    assert answer.status_code == 422
    assert answer.json().keys() == {"code", "detail"}


def test_a_posterior_is_a_density(http: httpx.Client) -> None:
    answer = http.get("/api/posterior", params={"kind": "word", "text": "meeting"})
    assert answer.status_code == 200, answer.text
    density = answer.json()
    area = sum(
        (right - left) * (low + high) / 2
        for left, right, low, high in zip(density["x"], density["x"][1:], density["y"], density["y"][1:], strict=False)
    )
    assert density["interval"][0] < density["mean"] < density["interval"][1]
    assert len(density["x"]) == len(density["y"])
    # Nothing is learned yet: it is the prior, much of whose mass lies at the ends, where the curve is cut.
    assert "prior" in density["note"]
    assert 0.5 <= area <= 1.05
    unknown = http.get("/api/posterior", params={"kind": "planet", "text": "x"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "no-posterior")


def test_wrong_answers_are_refused(http: httpx.Client, testbed: WebTestBed) -> None:
    label_request = take_request(http)
    for label in ("eggs", 1, True, "Spam", 2**70):
        refused = submit_label(http, label_request, label)
        assert (refused.status_code, refused.json()["code"]) == (422, "bad-label"), label
    for nothing in ("", "x" * 300, None, ["spam"]):
        assert submit_label(http, label_request, nothing).status_code == 422
    for body in ({"labeller": "", "label": "spam"}, {"labeller": "a\nb", "label": "spam"}, {"label": "spam"}):
        assert http.post(f"{path_of(label_request)}/label", json=body).status_code == 422
    nowhere = http.post("/api/requests/0/999999/label", json={"labeller": "ann", "label": "spam"})
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "unknown")
    assert testbed.labels() == []


def test_the_abstain_label_closes_a_request_without_a_label(http: httpx.Client, testbed: WebTestBed) -> None:
    label_request = take_request(http)
    answer = submit_label(http, label_request, "unsure").json()
    assert (answer["differs"], answer["correction"]) == (None, False)
    testbed.work()
    outcomes = [event["outcome"] for event in testbed.label_requests() if event["type"] == "label-outcome"]
    assert outcomes == ["unsure"]
    assert http.get("/api/daily-stats").json()["abstained"] == 1


def test_changes_are_streamed_as_they_happen(http: httpx.Client) -> None:
    label_request = take_request(http)
    with http.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        first = json.loads(next(line for line in lines if line.startswith("data:")).removeprefix("data:"))
        submit_label(http, label_request, "spam")
        second = json.loads(next(line for line in lines if line.startswith("data:")).removeprefix("data:"))
        while second["open"] == first["open"]:
            second = json.loads(next(line for line in lines if line.startswith("data:")).removeprefix("data:"))
    assert second["version"] > first["version"]
    assert second["open"] == first["open"] - 1


def test_health_and_counters(http: httpx.Client) -> None:
    assert http.get("/healthz").json()["ready"]
    submit_label(http, take_request(http), "spam")
    metrics = http.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "stream_bayes_web_labels_sent_total 1.0\n" in metrics.text
    assert 'stream_bayes_events_total{group="stream-bayes",partition="0"} 60.0\n' in metrics.text


def test_a_request_has_the_time_of_its_record(http: httpx.Client) -> None:
    requested_at = datetime.fromisoformat(take_request(http)["selection"]["at"])
    assert abs((datetime.now(UTC) - requested_at).total_seconds()) < 60.0
