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


def test_a_question_has_all_that_a_labeller_wants_to_see(http: httpx.Client) -> None:
    question = take_request(http)
    assert question["subject"]
    assert question["sender"]
    assert "".join(piece["text"] for piece in question["pieces"]).strip()
    assert (question["choices"], question["abstain_label"], question["numbers"]) == (["ham", "spam"], "unsure", False)
    asked = question["asked"]
    opinion = question["opinion"]
    assert asked["variance"] == pytest.approx(asked["probabilities"]["ham"] * asked["probabilities"]["spam"])
    assert 0.0 <= asked["epistemic_variance"] <= asked["variance"]
    low, high = asked["interval"]
    assert 0.0 <= low <= asked["probabilities"][asked["interval_of"]] <= high <= 1.0
    assert opinion["variance"] == pytest.approx(opinion["epistemic_variance"] + opinion["aleatoric_variance"])
    together = sum(reason["share"] for reason in opinion["reasons"]) + sum(opinion["rest"].values())
    assert together == pytest.approx(opinion["total"], abs=1e-6)
    assert question["lease_seconds"] == 300.0


def test_the_queue_is_by_score(http: httpx.Client) -> None:
    queue = wait_until_rescored(http)
    scores = [request["score"] for request in queue["requests"]]
    assert len(scores) == queue["open"] > 1
    assert scores == sorted(scores, reverse=True)
    assert take_request(http)["place"] == queue["requests"][0]["place"]
    again = http.get("/api/requests", params={"limit": 1}).json()
    assert (len(again["requests"]), again["take_request"], again["requests"][0]["taken"]) == (1, 1, True)


def test_an_answer_is_in_the_log_at_once(http: httpx.Client, testbed: WebTestBed) -> None:
    question = take_request(http)
    answer = submit_label(http, question, "spam").json()
    (label,) = testbed.labels()
    assert (label["id"], label["label"], label["labeller"]) == (question["id"], "spam", "ann")
    assert label["source"] == {"topic": "emails", **question["place"]}
    guess = max(question["asked"]["probabilities"], key=question["asked"]["probabilities"].__getitem__)
    assert (answer["guess"], answer["differs"], answer["correction"]) == (guess, guess != "spam", False)
    assert take_request(http)["place"] != question["place"]
    changes = http.get("/api/changes", params={"labeller": "ann"}).json()
    assert (changes["today"], changes["mine"], changes["differed"]) == (1, 1, int(guess != "spam"))


def test_the_same_answer_again_is_not_written_again(http: httpx.Client, testbed: WebTestBed) -> None:
    question = take_request(http)
    assert [submit_label(http, question, "ham").status_code for _ in range(3)] == [200] * 3
    assert len(testbed.labels()) == 1


def test_undo_writes_a_correction_that_the_worker_learns(http: httpx.Client, testbed: WebTestBed) -> None:
    question = take_request(http)
    submit_label(http, question, "spam")
    testbed.work()
    wait_until(lambda: http.get(path_of(question)).json()["answer"]["learned"])
    again = http.post(f"{path_of(question)}/reopen", json={"labeller": "ann"}).json()
    assert (again["answer"]["label"], again["place"]) == ("spam", question["place"])
    refused = submit_label(http, question, "unsure")
    assert (refused.status_code, refused.json()["code"]) == (409, "cannot-unsay")
    assert submit_label(http, question, "ham").json()["correction"]
    assert [label["label"] for label in testbed.labels()] == ["spam", "ham"]
    testbed.work()
    outcomes = [event["outcome"] for event in testbed.label_requests() if event["type"] == "label-outcome"]
    assert outcomes == ["answered", "corrected"]
    wait_until(lambda: http.get("/api/changes").json()["corrected"] == 1)


def test_two_labellers_and_an_answer_that_comes_too_late(http: httpx.Client) -> None:
    first = take_request(http, "ann")
    second = take_request(http, "bob")
    assert first["place"] != second["place"]
    refused = submit_label(http, first, "spam", "bob")
    assert (refused.status_code, refused.json()["code"]) == (409, "taken")
    assert submit_label(http, first, "spam", "ann").status_code == 200
    late = submit_label(http, first, "ham", "bob")
    assert (late.status_code, late.json()["code"]) == (409, "answered")
    mine = http.post(f"{path_of(first)}/reopen", json={"labeller": "bob"})
    assert (mine.status_code, mine.json()["code"]) == (409, "not-yours")


def test_skipping_lets_go(http: httpx.Client) -> None:
    first = take_request(http)
    assert http.post(f"{path_of(first)}/release", json={"labeller": "ann"}).status_code == 204
    assert take_request(http, "bob")["place"] == first["place"]
    assert take_request(http, skip=[first["place"]])["place"] != first["place"]


def test_the_worker_learns_and_the_charts_move(testbed: WebTestBed) -> None:
    with page(testbed.settings) as address, client(address) as http:
        before = http.get("/api/charts").json()
        with testbed.working():
            for _ in range(4):
                question = take_request(http)
                assert submit_label(http, question, testbed.truth[question["id"]]).status_code == 200
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
def test_what_cannot_be_tried_is_refused_with_a_reason(http: httpx.Client, body: dict[str, Any]) -> None:
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
    question = take_request(http)
    for label in ("eggs", 1, True, "Spam", 2**70):
        refused = submit_label(http, question, label)
        assert (refused.status_code, refused.json()["code"]) == (422, "bad-label"), label
    for nothing in ("", "x" * 300, None, ["spam"]):
        assert submit_label(http, question, nothing).status_code == 422
    for body in ({"labeller": "", "label": "spam"}, {"labeller": "a\nb", "label": "spam"}, {"label": "spam"}):
        assert http.post(f"{path_of(question)}/label", json=body).status_code == 422
    nowhere = http.post("/api/requests/0/999999/label", json={"labeller": "ann", "label": "spam"})
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "unknown")
    assert testbed.labels() == []


def test_unsure_closes_a_question_without_a_label(http: httpx.Client, testbed: WebTestBed) -> None:
    question = take_request(http)
    answer = submit_label(http, question, "unsure").json()
    assert (answer["differs"], answer["correction"]) == (None, False)
    testbed.work()
    outcomes = [event["outcome"] for event in testbed.label_requests() if event["type"] == "label-outcome"]
    assert outcomes == ["unsure"]
    assert http.get("/api/changes").json()["unsure"] == 1


def test_news_come_as_they_happen(http: httpx.Client) -> None:
    question = take_request(http)
    with http.stream("GET", "/api/events") as stream:
        lines = stream.iter_lines()
        first = json.loads(next(line for line in lines if line.startswith("data:")).removeprefix("data:"))
        submit_label(http, question, "spam")
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


def test_a_question_was_asked_when_it_came_to_the_log(http: httpx.Client) -> None:
    asked = datetime.fromisoformat(take_request(http)["asked"]["at"])
    assert abs((datetime.now(UTC) - asked).total_seconds()) < 60.0
