"""Every route of the API, as its own description lists them: who may come in, and what no request can break."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stream_bayes.web.schemas import DensityBody
from tests.support.commands import PATIENCE
from tests.support.web_testbed import WebTestBed, client, page
from tests.support.workers import events

TOKEN = "a-token-of-16-or-more"
DOCUMENT = "/api/openapi.json"
OPEN = {"/healthz", "/readyz"}
LOGIN = "/api/login"
ENDLESS = "/api/events"
POSTERIOR = "/api/posterior"
ONE_REQUEST = "/api/requests/{partition}/{offset}"
# What holds for every response. Whether a request is accepted depends on more than the schema (which labels are
# possible, that a text or a whole mail is given), so checks of acceptance show nothing.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance"
AND_SCHEMA = ("--checks", f"{CHECKS},response_schema_conformance")


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> WebTestBed:
    """A log with label requests and a checkpoint."""
    testbed = WebTestBed(tmp_path_factory.mktemp("testbed"))
    testbed.send_generated(60)
    testbed.work()
    return testbed


@pytest.fixture
def address(testbed: WebTestBed) -> Iterator[str]:
    """The address of a page with a token and without failed logins."""
    with page(testbed.settings, TOKEN) as found, client(found, TOKEN):
        yield found


@pytest.fixture
def operations(address: str) -> list[tuple[str, str]]:
    """Methods and paths of all routes."""
    with client(address, TOKEN) as http:
        paths: dict[str, dict[str, Any]] = http.get(DOCUMENT).json()["paths"]
    found = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    assert {("POST", LOGIN), ("GET", ENDLESS), ("POST", f"{ONE_REQUEST}/label"), ("GET", "/metrics")} <= set(found)
    return found


def filled(path: str) -> str:
    """A path with numbers for its parameters."""
    return re.sub(r"\{\w+\}", "0", path)


def test_every_route_needs_the_token(address: str, operations: list[tuple[str, str]]) -> None:
    others = [("GET", path) for path in ("/", "/static/core/main.js", "/static/no", DOCUMENT, "/docs", "/no")]
    with httpx.Client(base_url=address) as stranger:
        for method, path in [*operations, *others]:
            answer = stranger.request(method, filled(path), json=None if method == "GET" else {})
            assert answer.status_code == (200 if path in OPEN else 401), f"{method} {path}"
            if path not in OPEN:
                assert answer.json().keys() == {"code", "detail"}, f"{method} {path}"


def test_other_methods_need_the_token_too(address: str, operations: list[tuple[str, str]]) -> None:
    with httpx.Client(base_url=address) as stranger:
        for path in {path for _, path in operations} - OPEN:
            for method in ("HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "BREW"):
                assert stranger.request(method, filled(path)).status_code == 401, f"{method} {path}"


def test_a_wrong_token_is_refused(address: str, operations: list[tuple[str, str]]) -> None:
    with httpx.Client(base_url=address, headers={"authorization": f"Bearer {TOKEN[:-1]}"}) as stranger:
        closed = [(method, filled(path)) for method, path in operations if path not in OPEN]
        answers = [stranger.request(method, path).status_code for method, path in closed]
    # After some failures the address has to wait.
    assert answers == sorted(answers)
    assert set(answers) == {401, 429}


def test_with_the_token_everything_is_there(address: str) -> None:
    with client(address, TOKEN) as http:
        for path in ("/", "/static/core/main.js", DOCUMENT, "/metrics", "/api/status", "/api/charts", "/api/requests"):
            assert http.get(path).status_code == 200, path


def schemathesis(folder: Path, address: str, *options: str) -> str:
    """What schemathesis says of the page, of which it finds nothing wrong."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}{DOCUMENT}"]
    general = ["--header", f"Authorization: Bearer {TOKEN}", "--checks", CHECKS, "--warnings", "off", "--no-color"]
    # A limit for answers, so that one which does not end is a failure.
    bounds = ["--seed", "1", "--max-examples", "15", "--request-timeout", "20"]
    ended = subprocess.run(
        [*command, *general, *bounds, *options],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_no_request_breaks_the_server(tmp_path: Path, address: str, operations: list[tuple[str, str]]) -> None:
    # The news do not end, and after some logins that fail nothing is answered any more.
    without = [option for path in (LOGIN, ENDLESS, POSTERIOR) for option in ("--exclude-path", path)]
    result = schemathesis(tmp_path, address, *AND_SCHEMA, *without)
    assert f"Tested: {len(operations) - 3}" in result
    with client(address, TOKEN) as http:
        assert http.get("/readyz").json()["ready"]


@pytest.mark.long
def test_no_label_breaks_the_server_or_the_worker(tmp_path: Path, testbed: WebTestBed, address: str) -> None:
    """The same with the place of a label request. All records in the log can be decoded."""
    with client(address, TOKEN) as http:
        place = http.get("/api/requests").json()["requests"][0]["place"]
    fixed = [f'"path.{name}" = {value}' for name, value in place.items()]
    (tmp_path / "schemathesis.toml").write_text("\n".join(["[parameters]", *fixed, ""]))
    only = ("--include-path-regex", "requests/{partition}", "--report-har-path", "sent.har")
    assert "Tested: 5" in schemathesis(tmp_path, address, *AND_SCHEMA, *only)
    sent = json.loads((tmp_path / "sent.har").read_text())["log"]["entries"]
    held = [one for one in sent if one["request"]["url"].endswith("/renew") and one["response"]["status"] == 200]
    assert held, "no HTTP request has reached the label request"
    testbed.work()
    with testbed.open() as log:
        assert events(log, "dead-letters") == []


@pytest.mark.long
def test_no_login_breaks_the_server(tmp_path: Path, address: str) -> None:
    assert "Tested: 1" in schemathesis(tmp_path, address, *AND_SCHEMA, "--include-path", LOGIN)


@pytest.mark.long
def test_no_posterior_breaks_the_server(tmp_path: Path, address: str) -> None:
    """Without the schema of the answer: schemathesis turns a pair in it (prefixItems) into what it refuses then."""
    (tmp_path / "schemathesis.toml").write_text('[parameters]\n"query.kind" = "word"\n')
    assert "Tested: 1" in schemathesis(tmp_path, address, "--include-path", POSTERIOR)
    with client(address, TOKEN) as http:
        answer = http.get(POSTERIOR, params={"kind": "word", "text": "the"})
    assert DensityBody.model_validate_json(answer.content).text == "the"


NUMBERS = {"name": "BayesianLinearRegression"}, {"features": {"length": 2.0}}
ANY = {"name": "MultinomialNB"}, {"text": "a word"}


@pytest.mark.parametrize(
    ("scene", "label"),
    [
        (NUMBERS, "NaN"),
        (NUMBERS, "-1e999"),
        (NUMBERS, "9" * 400),
        (ANY, '""'),
        (ANY, '"\\ud800"'),
        (ANY, f'"{"long " * 100}"'),
        (ANY, "NaN"),
        (ANY, "9" * 400),
    ],
)
def test_invalid_labels_are_refused(tmp_path: Path, scene: tuple[dict[str, Any], dict[str, Any]], label: str) -> None:
    learner, observation = scene
    testbed = WebTestBed(tmp_path, learner=learner)
    with testbed.open() as log:
        log.append("emails", json.dumps({"id": "1", **observation}).encode(), partition=0)
        log.commit({})
    testbed.work()
    with page(testbed.settings) as address, client(address) as http:
        body = f'{{"labeller": "ann", "label": {label}}}'
        answer = http.post("/api/requests/0/0/label", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, testbed.labels()) == (422, [])
