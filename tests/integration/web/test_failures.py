"""The page when things are not as they should be: labellers in each other's way, logs and workers that are gone."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from stream_bayes.events import Observation
from stream_bayes.web.services.labeling_service import LabelingService
from stream_bayes.web.services.observation_view import RenderedObservation, shown_of
from tests.support.commands import PATIENCE
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


def test_a_lease_that_is_over_comes_back(testbed: WebTestBed) -> None:
    short = testbed.settings.model_copy(update={"web": testbed.settings.web.model_copy(update={"lease": "1s"})})
    with page(short) as address, client(address) as http:
        wait_until_rescored(http)
        first = take_request(http, "ann")
        assert take_request(http, "bob")["place"] != first["place"]
        wait_until(lambda: http.get("/api/requests").json()["taken"] == 0)
        assert take_request(http, "bob")["place"] == first["place"]
        held = http.post(f"{path_of(first)}/hold", json={"labeller": "ann"})
        assert (held.status_code, held.json()["code"]) == (409, "taken")


def test_fifty_labellers_at_once_never_get_the_same(http: httpx.Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(
                lambda n: http.post("/api/requests/next", json={"labeller": f"l{n}"}).json()["question"], range(50)
            )
        )
    places = [json.dumps(question["place"]) for question in answers if question is not None]
    assert len(places) == len(set(places)) == http.get("/api/requests").json()["open"]


def test_questions_of_before_are_known_after_a_restart(testbed: WebTestBed) -> None:
    with page(testbed.settings) as address, client(address) as http:
        count = http.get("/api/requests").json()["open"]
        question = take_request(http)
        submit_label(http, question, "spam")
    with page(testbed.settings) as address, client(address) as http:
        # The worker has not read it yet.
        assert http.get("/api/requests").json()["open"] == count - 1
        assert http.get("/api/changes", params={"labeller": "ann"}).json()["mine"] == 1


def test_a_page_without_a_worker_says_what_to_do(tmp_path: Path) -> None:
    testbed = WebTestBed(tmp_path)
    with page(testbed.settings) as address, client(address) as http:
        state = http.get("/api/status").json()
        assert not state["healthy"]
        assert "stream-bayes run --log sqlite:///" in state["summary"]
        assert http.post("/api/requests/next", json={"labeller": "ann"}).json()["question"] is None
        missing = http.post("/api/predict", json={"text": "hello"})
        assert (missing.status_code, missing.json()["code"]) == (404, "no-model")


def test_a_mail_that_retention_removed_can_still_be_seen_as_a_question(testbed: WebTestBed) -> None:
    with testbed.open() as log:
        log.trim(log.end_offsets("emails"))
    with page(testbed.settings) as address, client(address) as http:
        question = take_request(http)
        assert "retention" in question["missing"]
        assert question["pieces"] == []


def test_several_partitions(tmp_path: Path) -> None:
    testbed = WebTestBed(tmp_path, 2)
    mails = [(f"m{n}", b"Subject: %d\n\nbody of %d" % (n, n)) for n in range(60)]
    testbed.send(mails[::2], 0)
    testbed.send(mails[1::2], 1)
    testbed.work()
    with page(testbed.settings) as address, client(address) as http:
        seen = set()
        for _ in range(http.get("/api/requests").json()["open"]):
            question = take_request(http)
            seen.add(question["place"]["partition"])
            assert submit_label(http, question, "spam").status_code == 200
        assert seen == {0, 1}
        for partition in (0, 1):
            assert {label["source"]["partition"] for label in testbed.labels(partition)} == {partition}


def test_a_log_that_is_gone_is_told_and_found_again(testbed: WebTestBed) -> None:
    aside = testbed.path.with_name("aside.db")
    with page(testbed.settings) as address, client(address) as http:
        question = take_request(http)
        testbed.path.rename(aside)
        wait_until(lambda: http.get("/readyz").status_code == 503)
        assert "stream_bayes_web_log_up 0.0\n" in http.get("/metrics").text
        assert "cannot read the log" in http.get("/api/status").json()["summary"]
        lost = submit_label(http, question, "spam")
        assert lost.status_code == 503
        assert str(testbed.path) not in lost.text
        aside.rename(testbed.path)
        wait_until(lambda: http.get("/readyz").status_code == 200)
        assert submit_label(http, question, "spam").status_code == 200
    assert len(testbed.labels()) == 1


def test_another_log_in_its_place_is_not_taken_for_it(testbed: WebTestBed, tmp_path: Path) -> None:
    other = WebTestBed(tmp_path / "other")
    with page(testbed.settings) as address, client(address) as http:
        testbed.path.unlink()
        other.path.rename(testbed.path)
        wait_until(lambda: "another log" in (http.get("/api/status").json()["log_problem"] or ""))


def test_a_worker_that_fell_silent_has_a_lag_that_nobody_knows(
    testbed: WebTestBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with testbed.working(), page(testbed.settings) as address, client(address) as http:
        wait_until(lambda: http.get("/api/status").json()["healthy"])
        assert http.get("/api/status").json()["partitions"][0]["lag"] == 0
        assert "stream_bayes_worker_up 1.0\n" in http.get("/metrics").text
        monkeypatch.setattr("stream_bayes.web.services.labeling_service._GRACE", -1.0)
        state = http.get("/api/status").json()
        assert (state["healthy"], state["partitions"][0]["lag"]) == (False, None)
        assert "has been silent" in state["summary"]
        assert "stream_bayes_worker_up 0.0\n" in http.get("/metrics").text


def test_item12_a_clean_stop_is_announced(testbed: WebTestBed) -> None:
    with page(testbed.settings) as address, client(address) as http:
        with testbed.working():
            wait_until(lambda: http.get("/api/status").json()["healthy"])
            assert http.get("/api/status").json()["stopped_at"] is None
        wait_until(lambda: http.get("/api/status").json()["stopped_at"] is not None)
        state = http.get("/api/status").json()
        at = datetime.fromisoformat(state["stopped_at"]).astimezone(UTC)
        assert not state["healthy"]
        assert state["summary"].startswith(f"The worker was stopped at {at:%H:%M} UTC.")
        assert state["partitions"][0]["stopped"]
        assert "stream_bayes_worker_up 0.0\n" in http.get("/metrics").text


def test_item12_the_line_of_changes_says_of_how_many(testbed: WebTestBed) -> None:
    with page(testbed.settings) as address, client(address) as http:
        question = take_request(http)
        submit_label(http, question, testbed.truth[question["id"]])
        testbed.work()
        wait_until(lambda: http.get("/api/changes").json()["error_after"] is not None)
        changes = http.get("/api/changes").json()
        assert (changes["today"], changes["compared"], changes["error_after_of"]) == (1, 1, 1)
        assert (changes["error_before"], changes["error_before_of"]) == (None, 0)


def test_item12_a_missing_model_does_not_tell_where_checkpoints_are(tmp_path: Path) -> None:
    testbed = WebTestBed(tmp_path)
    with page(testbed.settings) as address, client(address) as http:
        for partition in (None, 3):
            answer = http.post("/api/predict", json={"text": "hello", "partition": partition})
            assert (answer.status_code, answer.json()["code"]) == (404, "no-model")
            assert str(testbed.settings.checkpoint_folder) not in answer.text
            assert str(tmp_path) not in answer.text


def test_two_people_of_one_name_have_two_questions(http: httpx.Client) -> None:
    first = take_request(http, session_id="desk")
    second = take_request(http, session_id="sofa")
    assert first["place"] != second["place"]
    body = {"labeller": "ann", "session_id": "sofa", "label": "spam"}
    assert http.post(f"{path_of(first)}/label", json=body).json()["code"] == "taken"


def test_the_session_says_what_the_learner_is(http: httpx.Client, tmp_path: Path) -> None:
    session = http.get("/api/session").json()
    assert (session["mail"], session["numbers"]) == (True, False)
    assert "word" in session["kinds"]
    numbers = WebTestBed(tmp_path / "numbers", learner={"name": "BayesianLinearRegression", "parameters": {}})
    with page(numbers.settings) as address, client(address) as other:
        session = other.get("/api/session").json()
        assert (session["mail"], session["numbers"], session["kinds"]) == (False, True, [])


def _repeated(unit: bytes, size: int) -> bytes:
    """So many bytes of it."""
    return (unit * (size // len(unit) + 1))[:size]


_HTML_HEAD = b"Subject: s\nContent-Type: text/html\n\n"
_MIXED_HEAD = b"Content-Type: multipart/mixed; boundary=b\n\n"
_HOSTILE_MAILS: dict[str, Callable[[int], bytes]] = {
    "userinfo": lambda size: _HTML_HEAD + b"<a href='http://" + b"@" * size + b":x:'>y</a>",
    "userinfos": lambda size: _HTML_HEAD + b"<a href='http://" + _repeated(b"a@", size) + b":x:'>y</a>",
    "tags": lambda size: _HTML_HEAD + _repeated(b"<", size),
    "links": lambda size: _HTML_HEAD + _repeated(b"<a href='http://a.example/b'>c</a> ", size),
    "elements": lambda size: _HTML_HEAD + _repeated(b"<div>", size),
    "comments": lambda size: _HTML_HEAD + _repeated(b"<!--", size),
    "styles": lambda size: _HTML_HEAD + _repeated(b"<p style='color:white;font-size:0'>a</p>", size),
    "open-styles": lambda size: _HTML_HEAD + _repeated(b"<p style='font-size:0'>a", size),
    "seen-styles": lambda size: _HTML_HEAD + _repeated(b"<td style='color:red'>a</td>", size),
    "pictures": lambda size: _HTML_HEAD + _repeated(b"<img alt=a>", size),
    "areas": lambda size: _HTML_HEAD + _repeated(b"<area href=//b.example alt=a>", size),
    "forms": lambda size: _HTML_HEAD + _repeated(b"<form action=//b.example>a<input value=x>", size),
    "entities": lambda size: _HTML_HEAD + _repeated(b"&amp;&#x41;&", size),
    "addresses": lambda size: b"Subject: s\n\n" + _repeated(b"http://a@b.example/x ", size),
    "words": lambda size: b"Subject: s\n\n" + b" ".join(b"w%x" % (n * 7919) for n in range(size // 8)),
    "word": lambda size: b"Subject: s\n\n" + b"a" * size,
    "marks": lambda size: (
        b"Content-Type: text/plain; charset=utf-8\n\n" + _repeated("\u0430\u0301\u200b ".encode(), size)
    ),
    "header": lambda size: _repeated(b"Received: from a by b\n", size) + b"\nx",
    "encoded-words": lambda size: b"Subject: " + _repeated(b"=?utf-8?b?YQ==?= ", size) + b"\n\nx",
    "parts": lambda size: _MIXED_HEAD + _repeated(b"--b\n\nx\n", size),
    "nested-parts": lambda size: b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (depth, depth) for depth in range(size // 60)
    ),
    "quoted-printable": lambda size: (
        b"Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n" + _repeated(b"=3C=\n", size)
    ),
}
_MAX_CPU_SECONDS = 0.1


@pytest.mark.parametrize("learner", ["SpamFilter", "MultinomialNB"])
def test_item08_no_hostile_mail_holds_the_interpreter_for_100_ms(tmp_path: Path, learner: str) -> None:
    """The CPU time of the thread that answers, so that the load of the machine does not count; the best of several."""
    service = WebTestBed(tmp_path, learner={"name": learner, "parameters": {"buckets": 2**12}})
    service.send_generated(60)
    service.work()
    with LabelingService(service.settings) as office:
        wait_until(lambda: office.store.ready)
        queued = office.store.queue.waiting()[0]
        office.observation_view.request_body(queued).model_dump_json()
        too_long: dict[tuple[str, int], float] = {}
        for size in (240_000, 1 << 20, 4 << 20):
            for name, made in _HOSTILE_MAILS.items():
                observation = Observation(id="hostile", raw=made(size))
                seconds = math.inf
                for _ in range(5):
                    begin = time.thread_time()
                    shown = shown_of(observation)
                    opinion = office.models.predict(observation, 0)
                    sheet = RenderedObservation(observation, shown, 0)
                    question = office.observation_view.body_of(queued, sheet, opinion)
                    question.model_dump_json()
                    seconds = min(seconds, time.thread_time() - begin)
                    if seconds < _MAX_CPU_SECONDS:
                        break
                else:
                    too_long[name, size] = round(seconds, 3)
        assert too_long == {}


def test_item08_a_hostile_mail_does_not_keep_the_page_from_answering(tmp_path: Path) -> None:
    head = b"Subject: s\nContent-Type: text/html\n\n<a href='http://"
    mails = [head + b"@" * 250_000 + b":x:'>y</a>", head + b"a@" * 400_000 + b":x:'>y</a>"]
    testbed = WebTestBed(tmp_path)
    testbed.send([(f"mail-{number}", raw) for number, raw in enumerate(mails)])
    testbed.work()
    with page(testbed.settings) as address, client(address) as http, ThreadPoolExecutor(1) as pool:
        # The model is open, and its kernels are loaded.
        wait_until(lambda: http.post("/api/predict", json={"text": "hello"}).status_code == 200)
        places = [request["place"] for request in http.get("/api/requests").json()["requests"]]
        assert places
        for place in places:
            path = f"{address}/api/requests/{place['partition']}/{place['offset']}"
            asked = pool.submit(httpx.get, path, timeout=PATIENCE)
            # Asked at least once, also where the other answer has come already.
            assert http.get("/healthz").status_code == 200
            assert asked.result().status_code == 200
