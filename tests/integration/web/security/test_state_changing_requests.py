"""What is written through the page: by whom it must be sent, as what, and how much of it."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import suppress
from threading import Event

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from stream_bayes.web.api.app import secure
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.http_messages import SESSION_COOKIE
from tests.support.app_server import Served, served
from tests.support.commands import PATIENCE
from tests.support.secured_app import (
    MAX_PREDICT,
    MOST,
    TOKEN,
    application,
    assert_no_http,
    raw_post,
    refused,
)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_every_write_needs_the_page_s_own_word(page: Served, open_access: Authenticator, method: str) -> None:
    word = {"X-CSRF-Token": open_access.csrf}
    with page.client() as browser:
        for path in ("/api/echo", "/healthz", "/nothing"):
            for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "x"}, {"Authorization": "Bearer x"}):
                refused(browser.request(method, path, json={}, headers=headers), 403, "csrf")
        refused(browser.request(method, "/api/echo", headers=[*word.items(), *word.items()]), 403, "csrf")
        assert browser.request(method, "/api/echo", json={}, headers=word).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "https://127.0.0.1:PORT"},
        {"Origin": "http://127.0.0.1:PORT.elsewhere.example"},
        {"Origin": "http://localhost:PORT"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": ""},
        {"Origin": "http://127.0.0.1:PORT", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_no_other_site_writes_even_with_that_word(client: httpx.Client, headers: dict[str, str]) -> None:
    port = str(client.base_url.port)
    given = {name: value.replace("PORT", port) for name, value in headers.items()}
    refused(client.post("/api/echo", json={}, headers=given), 403, "csrf")
    elsewhere = given.get("Sec-Fetch-Site") is not None
    assert client.get("/api/echo", headers=given).status_code == (403 if elsewhere else 200)


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_no_other_site_can_read_the_api(client: httpx.Client, secured: Served, site: str) -> None:
    headers = {"Sec-Fetch-Site": site}
    for path in ("/api/echo", "/api/events", "/api/openapi.json", "/api/nothing"):
        refused(client.get(path, headers=headers), 403, "csrf")
        assert client.head(path, headers=headers).status_code == 403
    # A link may lead to the page, and a program with the token is no other site.
    for path in ("/", "/static/a.js", "/healthz"):
        assert client.get(path, headers=headers).status_code == 200
    with secured.client(Authorization=f"Bearer {TOKEN}") as program:
        assert program.get("/api/echo", headers=headers).status_code == 200


@pytest.mark.parametrize("site", ["same-origin", "none"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_page_itself_writes_under_each_of_its_names(client: httpx.Client, site: str, host: str) -> None:
    name = f"{host}:{client.base_url.port}"
    headers = {"Host": name, "Origin": f"http://{name.lower()}", "Sec-Fetch-Site": site}
    assert client.post("/api/echo", json={}, headers=headers).status_code == 200
    assert client.get("/api/echo", headers=headers).status_code == 200


def test_two_origin_headers_are_refused(client: httpx.Client, page: Served) -> None:
    headers = [("Origin", page.url), ("Origin", page.url)]
    refused(client.post("/api/echo", json={}, headers=headers), 403, "csrf")


def with_https(place: Served, access: Authenticator, scheme: str) -> httpx.Response:
    """What is answered to a write that a proxy passes on from a page with HTTPS."""
    fields = {"X-Forwarded-Proto": scheme, "Origin": f"https://127.0.0.1:{place.port}", "X-CSRF-Token": access.csrf}
    with place.client(Cookie=f"{SESSION_COOKIE}={access.cookie}", **fields) as browser:
        return browser.post("/api/echo", json={})


def test_behind_a_proxy_with_https(
    page: Served, open_access: Authenticator, proxied: Served, access: Authenticator
) -> None:
    assert with_https(proxied, access, "https").status_code == 200
    for answer in (with_https(proxied, access, "http"), with_https(page, open_access, "https")):
        detail = refused(answer, 403, "csrf")
        assert "X-Forwarded-Proto" in detail
        assert "web.trusted_proxies" in detail


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonx"],
)
def test_writes_are_json(client: httpx.Client, kind: str) -> None:
    refused(client.post("/api/echo", content=b"{}", headers={"Content-Type": kind}), 415, "media-type")
    refused(client.post("/api/echo", content=b"", headers={"Content-Type": kind}), 415, "media-type")


def test_json_may_have_a_charset_and_nothing_needs_no_kind(client: httpx.Client) -> None:
    for kind in ("application/json", "Application/JSON; charset=utf-8"):
        assert client.post("/api/echo", content=b"{}", headers={"Content-Type": kind}).status_code == 200
    assert client.post("/api/echo").json() == {"bytes": 0, "method": "POST"}
    refused(client.post("/api/echo", content=b"{}"), 415, "media-type")
    twice = [("Content-Type", "application/json"), ("Content-Type", "text/plain")]
    refused(client.post("/api/echo", content=b"{}", headers=twice), 415, "media-type")


def chunks(size: int) -> Iterator[bytes]:
    """A body without a length."""
    for begin in range(0, size, 8192):
        yield b"x" * min(8192, size - begin)


@pytest.mark.parametrize(("path", "most"), [("/api/echo", MOST), ("/api/predict", MAX_PREDICT)])
def test_bodies_have_an_end_with_a_length_and_without(client: httpx.Client, path: str, most: int) -> None:
    kind = {"Content-Type": "application/json"}
    for content in (b"x" * most, chunks(most)):
        assert client.post(path, content=content, headers=kind).json()["bytes"] == most
    for content in (b"x" * (most + 1), chunks(most + 1), b"x" * (5 << 20), chunks(5 << 20)):
        assert str(most) in refused(client.post(path, content=content, headers=kind), 413, "too-large")


def test_a_read_may_not_bring_more_either(client: httpx.Client) -> None:
    assert client.request("GET", "/api/echo", content=b"x" * MOST).json()["bytes"] == MOST
    refused(client.request("GET", "/api/echo", content=b"x" * (MOST + 1)), 413, "too-large")


@pytest.mark.parametrize(
    "fields", [("Content-Length: 99999999999",), ("Content-Length: 70000", "Expect: 100-continue")]
)
def test_too_long_by_its_own_account(page: Served, open_access: Authenticator, fields: tuple[str, ...]) -> None:
    answer = page.say(raw_post(open_access.csrf, *fields))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer


def test_no_more_than_some_is_thrown_away(page: Served, open_access: Authenticator) -> None:
    with socket.create_connection(("127.0.0.1", page.port), PATIENCE) as connection:
        connection.sendall(raw_post(open_access.csrf, "Transfer-Encoding: chunked"))
        sent = 0
        part = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        with suppress(OSError):
            while sent < 1 << 30:
                connection.sendall(part)
                sent += 65536
    assert 16 << 20 < sent < 64 << 20


def test_a_body_that_does_not_come(open_access: Authenticator) -> None:
    with served(secure(application(open_access), open_access, body_seconds=0.5)) as place:
        answer = place.say(raw_post(open_access.csrf, "Content-Length: 10") + b"{")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.endswith(b'{"code":"timeout","detail":"What was sent did not arrive in time."}')


def test_a_client_that_leaves_in_the_middle(open_access: Authenticator, caplog: pytest.LogCaptureFixture) -> None:
    begun = Event()
    over = Event()
    passed_on = []

    async def behind(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            passed_on.append(scope["path"])
        await application(open_access)(scope, receive, send)

    guard = secure(behind, open_access)

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            begun.set()
        await guard(scope, receive, send)
        if scope["type"] == "http":
            over.set()

    with served(watched) as place:
        with socket.create_connection(("127.0.0.1", place.port), PATIENCE) as connection:
            connection.sendall(raw_post(open_access.csrf, "Content-Length: 10") + b"{")
            assert begun.wait(PATIENCE)
        assert over.wait(PATIENCE)
        # Once this is answered, the server has said all that it says of the other.
        with place.client() as browser:
            assert browser.get("/healthz").status_code == 200
    assert passed_on == ["/healthz"]
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


@pytest.mark.parametrize("path", ["/api/echo", "/healthz"])
def test_a_body_with_two_ends(page: Served, open_access: Authenticator, path: str) -> None:
    head = raw_post(open_access.csrf, "Content-Length: 4", "Transfer-Encoding: chunked")
    hidden = b"GET /api/echo HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = page.say(head.replace(b"/api/echo", path.encode()) + b"0\r\n\r\n" + hidden)
    assert_no_http(answer)
    assert answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    "fields", [("Content-Length: 1", "Content-Length: 2"), ("Content-Length: -1",), ("Content-Length: x",)]
)
def test_invalid_content_lengths_are_refused(page: Served, open_access: Authenticator, fields: tuple[str, ...]) -> None:
    assert_no_http(page.say(raw_post(open_access.csrf, *fields) + b"{}"))
