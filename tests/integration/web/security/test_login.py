"""Logging in and out, and how often one may be wrong."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.http_messages import SESSION_COOKIE
from tests.support.app_server import Served
from tests.support.secured_app import (
    TOKEN,
    Clock,
    refused,
)


def test_logging_in_as_a_program_and_out(stranger: httpx.Client, access: Authenticator) -> None:
    answer = stranger.post("/api/login", json={"token": TOKEN})
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["set-cookie"] == f"{SESSION_COOKIE}={access.cookie}; Path=/; HttpOnly; SameSite=Strict"
    assert stranger.get("/metrics").status_code == 200
    refused(stranger.post("/api/logout"), 403, "csrf")
    answer = stranger.post("/api/logout", headers={"X-CSRF-Token": access.csrf})
    assert answer.status_code == 204
    assert answer.headers["set-cookie"] == f"{SESSION_COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    refused(stranger.get("/metrics"), 401, "token")


def test_logging_in_by_the_form(stranger: httpx.Client, secured: Served) -> None:
    browser = {"Origin": secured.url, "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
    wrong = stranger.post("/api/login", data={"token": "<script>"}, headers=browser)
    assert wrong.status_code == 401
    assert "This is not the token." in wrong.text
    assert "script>" not in wrong.text
    right = stranger.post("/api/login", data={"token": TOKEN}, headers=browser)
    assert (right.status_code, right.headers["location"]) == (303, "/")
    assert stranger.get("/").status_code == 200


def test_a_cookie_of_a_page_behind_https_stays_there(secured: Served, proxied: Served) -> None:
    for place, ending in ((proxied, "; SameSite=Strict; Secure"), (secured, "; SameSite=Strict")):
        with place.client(**{"X-Forwarded-Proto": "https"}) as browser:
            answer = browser.post("/api/login", json={"token": TOKEN})
        assert answer.headers["set-cookie"].endswith(ending)


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b"x", b"\xff", b'{"token": 5}', b'{"token": ""}', b'{"token": "a", "x": 1}', b'"' + b"x" * 99],
)
@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
def test_invalid_logins_are_refused(stranger: httpx.Client, access: Authenticator, body: bytes, kind: str) -> None:
    answer = stranger.post("/api/login", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert access.failures.seconds_to_wait("127.0.0.1") == 0


def test_a_form_with_two_tokens(stranger: httpx.Client) -> None:
    body = f"token={TOKEN}&token=x"
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert stranger.post("/api/login", content=body, headers=kind).status_code == 401


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://elsewhere.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_another_site_cannot_log_a_user_in(stranger: httpx.Client, headers: dict[str, str]) -> None:
    refused(stranger.post("/api/login", data={"token": TOKEN}, headers=headers), 403, "csrf")


def test_without_a_token_no_login_is_needed(page: Served) -> None:
    with page.client() as browser:
        answer = browser.post("/api/login", json={"token": "x"})
        assert (answer.status_code, "set-cookie" in answer.headers) == (204, False)
        refused(browser.post("/api/login", json={"token": 1}), 422, "invalid")


def attempts(browser: httpx.Client, address: str) -> list[Callable[[str], httpx.Response]]:
    """The ways to try a token from an address."""
    origin = {"X-Forwarded-For": address}
    return [
        lambda token: browser.get("/metrics", headers={**origin, "Authorization": f"Bearer {token}"}),
        lambda token: browser.post("/api/login", json={"token": token}, headers=origin),
        lambda token: browser.post("/api/login", data={"token": token}, headers=origin),
    ]


@pytest.mark.parametrize("way", [0, 1, 2])
def test_an_address_with_too_many_failures_must_wait(access: Authenticator, proxied: Served, way: int) -> None:
    clock = access.failures._clock
    assert isinstance(clock, Clock)
    with proxied.client() as browser:
        ways = attempts(browser, f"10.0.0.{way}")
        for _ in range(10):
            assert ways[way]("wrong").status_code == 401
        for attempt in ways:
            answer = attempt("wrong")
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
            assert "set-cookie" not in answer.headers
        refused(ways[0]("wrong"), 429, "too-many-failures")
        assert attempts(browser, "10.0.1.1")[0]("wrong").status_code == 401
        clock.now += 60.0
        assert ways[way]("wrong").status_code == 401


@pytest.mark.parametrize("way", [0, 1, 2])
def test_failed_logins_of_one_address_do_not_block_another(
    access: Authenticator, stranger: httpx.Client, way: int
) -> None:
    ways = attempts(stranger, "10.0.0.1")
    for _ in range(10):
        assert ways[way]("wrong").status_code == 401
    assert ways[way]("wrong").status_code == 429
    assert [attempt(TOKEN).status_code for attempt in ways] == [200, 204, 303]
    stranger.cookies.clear()
    assert stranger.get("/metrics").status_code == 401
    assert stranger.get("/healthz").status_code == 200
    stranger.cookies.set(SESSION_COOKIE, access.cookie)
    assert stranger.get("/metrics").status_code == 200


def test_forged_client_addresses_are_ignored(stranger: httpx.Client) -> None:
    answers = [attempts(stranger, f"10.0.0.{number}")[0]("wrong").status_code for number in range(15)]
    assert answers == [401] * 10 + [429] * 5


def test_only_the_last_address_added_by_the_proxy_counts(proxied: Served, access: Authenticator) -> None:
    with proxied.client() as browser:
        made_up = [attempts(browser, f"10.9.9.{number}, 10.7.7.7")[0]("wrong").status_code for number in range(15)]
    assert made_up == [401] * 10 + [429] * 5
    assert access.failures.seconds_to_wait("10.7.7.7") > 0
