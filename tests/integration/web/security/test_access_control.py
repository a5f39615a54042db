"""What stands before the page: who is let in, and under which names it may be called."""

from __future__ import annotations

import httpx
import pytest

from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.http_messages import SESSION_COOKIE
from tests.support.app_server import Served
from tests.support.secured_app import (
    TOKEN,
    assert_no_http,
    refused,
    safe,
)


@pytest.mark.parametrize(
    "path", ["/", "/metrics", "/api/echo", "/api/openapi.json", "/static/a.js", "/nothing", "/api/login", "/healthz/"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
def test_without_the_token_nothing_is_served(stranger: httpx.Client, method: str, path: str) -> None:
    answer = stranger.request(method, path, headers={"X-CSRF-Token": "x"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="stream-bayes"'
    assert safe(answer)
    if method != "HEAD":
        assert "token" in refused(answer, 401, "token")


@pytest.mark.parametrize("path", ["/%68ealthz", "/healthz?x=1", "/healthz", "/readyz"])
def test_health_is_for_everybody(stranger: httpx.Client, path: str) -> None:
    assert stranger.get(path).status_code == 200


@pytest.mark.parametrize(
    "path", ["//healthz", "/healthz/../metrics", "/healthz%2f..%2fmetrics", "/HEALTHZ", "/healthz;"]
)
def test_paths_that_resemble_health_checks_need_the_token(secured: Served, path: str) -> None:
    answer = secured.say(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 401 ")


def test_a_bearer_needs_nothing_else(secured: Served) -> None:
    with secured.client(Authorization=f"bearer  {TOKEN}", Origin="https://elsewhere.example") as program:
        assert program.get("/metrics").status_code == 200
        assert program.post("/api/echo", json={}).json() == {"bytes": 2, "method": "POST"}
        assert safe(program.get("/nothing"))


@pytest.mark.parametrize(
    "value",
    ["Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN} x", "Bearer é", "Bearer\tx"],
)
def test_a_wrong_bearer(stranger: httpx.Client, value: str) -> None:
    raw = [(b"Authorization", value.encode())]
    refused(stranger.get("/metrics", headers=httpx.Headers(raw)), 401, "token")


def test_two_bearer_tokens_are_refused(stranger: httpx.Client, access: Authenticator) -> None:
    both = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer x")]
    refused(stranger.get("/metrics", headers=both), 401, "token")
    twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {TOKEN}")]
    refused(stranger.get("/metrics", headers=twice), 401, "token")
    # Nor does a valid cookie help a client with a wrong token.
    mixed = {"Authorization": "Bearer x", "Cookie": f"{SESSION_COOKIE}={access.cookie}"}
    refused(stranger.get("/metrics", headers=mixed), 401, "token")
    basic = {"Authorization": "Basic eDp5", "Cookie": f"{SESSION_COOKIE}={access.cookie}"}
    assert stranger.get("/metrics", headers=basic).status_code == 200


def test_the_cookie_among_others(stranger: httpx.Client, access: Authenticator) -> None:
    good = f"{SESSION_COOKIE}={access.cookie}"
    for line in (
        good,
        f"a=b; {good}",
        f"{SESSION_COOKIE}=planted; {good};",
        f"{good}; {SESSION_COOKIE}=x",
        f"x;;{good}",
    ):
        assert stranger.get("/metrics", headers={"Cookie": line}).status_code == 200
    assert stranger.get("/metrics", headers=[("Cookie", "a=b"), ("Cookie", good)]).status_code == 200
    for line in (f"{SESSION_COOKIE}={TOKEN}", f"x{good}", f"{SESSION_COOKIE}=", f"a={access.cookie}", f'a="{good}"'):
        refused(stranger.get("/metrics", headers={"Cookie": line}), 401, "token")
    assert access.failures.seconds_to_wait("127.0.0.1") == 0


def test_a_browser_without_a_token_gets_the_login_page(stranger: httpx.Client) -> None:
    answer = stranger.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert '<form method="post" action="/api/login">' in answer.text
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "'sha256-" in policy
    assert answer.headers["cache-control"] == "no-store"
    # The form would otherwise come with "Origin: null".
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "<script" not in answer.text
    refused(stranger.post("/", headers={"Accept": "text/html"}), 401, "token")


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:65535", "[::1]", "[::1]:80"])
def test_the_names_of_the_page(page: Served, host: str) -> None:
    with page.client(Host=host) as browser:
        assert browser.get("/").status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "elsewhere.example",
        "localhost.elsewhere.example",
        "127.0.0.1.example:80",
        "localhost.",
        "127.1",
        "[::2]",
        "0.0.0.0",
    ],
)
def test_a_rebound_host_name_is_refused(page: Served, host: str) -> None:
    with page.client(Host=host) as browser:
        for path in ("/", "/healthz", "/static/a.js"):
            refused(browser.get(path), 421, "host")


@pytest.mark.parametrize(
    "host",
    ["", "a b", "localhost:", "localhost:x", "localhost:999999", "me@localhost", "localhost/", "[::1", "<b>", "[]"],
)
def test_invalid_host_names_are_refused(page: Served, secured: Served, host: str) -> None:
    for place in (page, secured):
        answer = place.say(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b'"code":"host"' in answer


def test_a_request_without_a_host_or_with_two(page: Served) -> None:
    assert_no_http(page.say(b"GET / HTTP/1.1\r\n\r\n"))
    assert_no_http(page.say(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere.example\r\n\r\n"))
    assert page.say(b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert page.say(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    absolute = b"GET http://elsewhere.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert page.say(absolute).startswith(b"HTTP/1.1 404 ")


def test_with_a_token_any_host_name_is_accepted(secured: Served) -> None:
    with secured.client(Host="mail.example", Authorization=f"Bearer {TOKEN}") as program:
        assert program.get("/").status_code == 200
