"""Who may come in: the token, the session's cookie, and how often one may be wrong."""

from __future__ import annotations

import ast
import inspect

import pytest

from stream_bayes.web.security import auth
from stream_bayes.web.security.auth import Authenticator, FailedAttempts, hosts_of, is_loopback, new_token
from tests.support.secured_app import TOKEN, Clock


def test_only_the_token_is_accepted() -> None:
    page = Authenticator(TOKEN)
    assert page.secured
    assert page.accepts(TOKEN)
    for other in ("", TOKEN[:-1], f"{TOKEN} ", TOKEN.upper(), "\ud800", "\0", "é" * 20, page.cookie, page.csrf):
        assert not page.accepts(other)


def test_only_the_cookie_of_this_process_is_accepted() -> None:
    page = Authenticator(TOKEN)
    other = Authenticator(TOKEN)
    assert page.accepts_cookie(page.cookie)
    for value in ("", TOKEN, other.cookie, page.cookie[:-1], page.csrf):
        assert not page.accepts_cookie(value)
    assert TOKEN not in page.cookie
    assert page.csrf != other.csrf


def test_without_a_token_no_token_is_accepted() -> None:
    page = Authenticator()
    assert not page.secured
    assert not any(page.accepts(text) or page.accepts_cookie(text) for text in ("", "None", page.cookie))
    assert page.accepts_csrf(page.csrf)
    assert not page.accepts_csrf("")


def test_secrets_are_compared_in_constant_time_only() -> None:
    tree = ast.parse(inspect.getsource(auth))
    bodies = {node.name: ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for name in ("accepts", "accepts_cookie", "accepts_csrf"):
        assert "_same(" in bodies[name]
        assert "==" not in bodies[name]
        assert " in " not in bodies[name]
    assert "hmac.compare_digest(_digest(one), _digest(other))" in bodies["_same"]


def test_ten_failures_within_a_minute_make_an_address_wait() -> None:
    clock = Clock()
    failures = FailedAttempts(clock)
    for _ in range(9):
        failures.add("10.0.0.1")
        clock.now += 5.0
    assert failures.seconds_to_wait("10.0.0.1") == 0
    failures.add("10.0.0.1")
    assert failures.seconds_to_wait("10.0.0.1") == 60
    assert failures.seconds_to_wait("10.0.0.2") == 0
    clock.now += 59.5
    assert failures.seconds_to_wait("10.0.0.1") == 1
    clock.now += 0.5
    assert failures.seconds_to_wait("10.0.0.1") == 0


def test_failures_that_come_slowly_are_forgiven() -> None:
    clock = Clock()
    failures = FailedAttempts(clock)
    for _ in range(50):
        failures.add("10.0.0.1")
        clock.now += 6.7
        assert failures.seconds_to_wait("10.0.0.1") == 0


def test_after_the_wait_failures_are_counted_from_zero() -> None:
    clock = Clock()
    failures = FailedAttempts(clock)
    for _ in range(10):
        failures.add("10.0.0.1")
    clock.now += 61.0
    failures.add("10.0.0.1")
    assert failures.seconds_to_wait("10.0.0.1") == 0
    for _ in range(9):
        failures.add("10.0.0.1")
    assert failures.seconds_to_wait("10.0.0.1") == 60


def test_neighbouring_ipv6_addresses_count_as_one() -> None:
    failures = FailedAttempts(Clock())
    for number in range(10):
        failures.add(f"2001:db8::{number:x}")
    assert failures.seconds_to_wait("2001:db8::ffff") == 60
    assert failures.seconds_to_wait("2001:db8:0:1::1") == 0
    for _ in range(10):
        failures.add("::ffff:10.0.0.1")
    assert failures.seconds_to_wait("10.0.0.1") == 60


def test_no_number_of_addresses_takes_more_memory() -> None:
    failures = FailedAttempts(Clock())
    for _ in range(10):
        failures.add("10.0.0.1")
    for number in range(999):
        failures.add(f"name-{number}")
    assert failures.seconds_to_wait("10.0.0.1") == 60
    for number in range(5000):
        failures.add(f"x{number}" * 1000)
    assert len(failures) == 1000
    assert max(map(len, failures._times)) <= 64


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        *(("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("LOCALHOST", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False), ("127.0.0.1.example", False)),
    ],
)
def test_loopback_hosts(host: str, answer: bool) -> None:
    assert is_loopback(host) is answer


def test_names_of_a_loopback_page() -> None:
    assert hosts_of("127.0.0.2") == {"localhost", "127.0.0.1", "[::1]", "127.0.0.2"}
    page = Authenticator(None, hosts_of("::1"))
    assert page.accepts_host("LocalHost")
    assert not page.accepts_host("localhost.example")
    assert Authenticator().accepts_host("anything")


def test_generated_tokens_differ_and_are_long() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) == 32
