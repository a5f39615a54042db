"""What goes out: headers that make every answer safe, and failures that say nothing of themselves."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from contextlib import suppress

import httpx
import pytest
from starlette.types import Message

from stream_bayes.web.api.app import secure
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.http_messages import CONTENT_POLICY
from stream_bayes.web.server import HttpProtocol
from tests.support.app_server import Served, served
from tests.support.commands import PATIENCE
from tests.support.secured_app import SECRET, application, assert_no_http, refused, safe


def test_every_answer_has_its_safe_header(client: httpx.Client) -> None:
    for method, path, status in (
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/nothing", 404),
        ("GET", "/api/predict", 405),
        ("OPTIONS", "/", 405),
        ("GET", "/healthz", 200),
        ("GET", "/fail", 500),
        ("GET", "/api/echo/", 307),
    ):
        answer = client.request(method, path)
        assert answer.status_code == status
        assert safe(answer)
    assert "unsafe" not in CONTENT_POLICY


def test_headers_set_by_a_response_stay_and_files_have_an_etag(client: httpx.Client) -> None:
    answer = client.get("/weak")
    assert answer.headers.get_list("x-frame-options") == ["SAMEORIGIN"]
    assert answer.headers["cache-control"] == "no-cache"
    answer = client.get("/static/a.js")
    assert (answer.headers["cache-control"], answer.headers["etag"]) == ("no-cache", '"1"')
    assert answer.headers["content-security-policy"] == CONTENT_POLICY


@pytest.mark.parametrize(
    "content",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\r\n\r\n\r\n hello\r\n\r\n",
        b"GET / HTTP/9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * (1 << 20),
        b"GET /" + b"x" * (1 << 20),
    ],
)
def test_invalid_http_is_refused(page: Served, content: bytes) -> None:
    with socket.create_connection(("127.0.0.1", page.port), PATIENCE) as connection:
        with suppress(OSError):
            connection.sendall(content + b"\r\n\r\n")
        answer = b""
        while part := received(connection):
            answer += part
    assert_no_http(answer)


def received(connection: socket.socket) -> bytes:
    """What comes next; nothing once the other side is gone."""
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize("path", ["/healthz", "/healthz?" + "x" * (20 << 10)], ids=["fields", "query"])
def test_a_large_header_block_is_refused(page: Served, path: str) -> None:
    fields = "".join(f"x{number}: y\r\n" for number in range(4000 if path == "/healthz" else 1))
    answer = page.say(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
    assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    assert b"content-security-policy" in answer


def answered(connection: socket.socket) -> bool:
    """Whether a request on it is answered; False where it was closed before."""
    with suppress(OSError):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while not answer.endswith(b"}") and (part := received(connection)):
        answer += part
    return b"200 OK" in answer


def answered_twice(port: int) -> socket.socket:
    """A connection with two answers, longer apart than a head may take: each request begins another wait.

    On a busy machine not every request comes in time.
    """
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
        if answered(connection):
            time.sleep(0.7)
            if answered(connection):
                return connection
        connection.close()
    message = "no request was answered"
    raise AssertionError(message)


def is_closed_in_the_middle(connection: socket.socket) -> bool:
    """Whether the server closes it while a head comes that has no end."""
    connection.settimeout(0.05)
    for letter in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 300:
        try:
            connection.sendall(bytes([letter]))
            return not connection.recv(65536)
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def test_a_head_that_never_ends_is_not_waited_for(page: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpProtocol, "head_seconds", 0.5)
    assert page.say(b"") == b""
    with answered_twice(page.port) as connection:
        assert is_closed_in_the_middle(connection)


def test_no_upgrade(page: Served) -> None:
    fields = "Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13"
    answer = page.say(f"GET /api/echo HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_web_socket_is_closed_before_it_is_open(open_access: Authenticator) -> None:
    # This server has no library for them; another that runs the application may.
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    asyncio.run(secure(application(open_access), open_access)({"type": "websocket", "path": "/"}, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def wait_for(caplog: pytest.LogCaptureFixture, count: int) -> None:
    """Until so much was logged: the answer may be there before."""
    end = time.monotonic() + PATIENCE
    while len(caplog.records) < count and time.monotonic() < end:
        time.sleep(0.01)


def test_the_details_of_a_failure_are_only_logged(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    detail = refused(client.get("/fail"), 500, "internal")
    assert SECRET not in detail
    wait_for(caplog, 1)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("stream_bayes.web", logging.ERROR)
    assert record.exc_info is not None
    assert SECRET in str(record.exc_info[1])
    assert record.__dict__["fields"]["path"] == "'/fail'"


def test_an_answer_that_fails_in_the_middle_is_cut(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        client.get("/fail-late")
    wait_for(caplog, 1)
    assert [record.name for record in caplog.records].count("stream_bayes.web") == 1
    assert client.get("/healthz").status_code == 200


def test_internal_errors_have_a_generic_message(client: httpx.Client) -> None:
    refused(client.get("/broken"), 500, "internal")


def test_too_many_concurrent_requests_are_refused(open_access: Authenticator) -> None:
    with (
        served(secure(application(open_access), open_access, max_requests=0)) as place,
        place.client() as browser,
    ):
        for path in ("/", "/api/echo", "/metrics", "/healthz/"):
            answer = browser.get(path)
            refused(answer, 503, "busy")
            assert answer.headers["retry-after"] == "1"
        refused(browser.post("/healthz", json={}), 503, "busy")
        # Whoever watches the page must not take it for dead, and streams have a limit of their own.
        assert [browser.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        with browser.stream("GET", "/api/events") as events:
            assert events.status_code == 200


def test_too_many_streams(open_access: Authenticator) -> None:
    with (
        served(secure(application(open_access), open_access, max_streams=2)) as place,
        place.client() as browser,
    ):
        with browser.stream("GET", "/api/events"), browser.stream("GET", "/api/events"):
            answer = browser.get("/api/events")
            refused(answer, 503, "busy")
            assert answer.headers["retry-after"] == "1"
            assert browser.get("/api/echo").status_code == 200
        assert opened_again(browser)


def opened_again(browser: httpx.Client) -> bool:
    """Whether a stream can be opened, if not at once: the server must have seen that others were closed."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with browser.stream("GET", "/api/events") as events:
            if events.status_code == 200:
                return True
        time.sleep(0.01)
    return False


def test_as_many_as_there_is_room_for_one_after_another(open_access: Authenticator) -> None:
    with (
        served(secure(application(open_access), open_access, max_requests=1)) as place,
        place.client() as browser,
    ):
        for path, status in (("/api/echo", 200), ("/fail", 500), ("/nothing", 404), ("/", 200)):
            assert browser.get(path).status_code == status
