"""The server of the page with other applications: where it listens, what it logs, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest

from tests.commands import PATIENCE
from tests.web_processes import (
    LONGEST_END,
    address,
    asked,
    ended,
    script,
    told,
)


def test_a_token_that_is_made_up_is_a_line_for_people_too(tmp_path: Path) -> None:
    text = "serve(Starlette(), '127.0.0.1', 0, made_up='made-up')"
    with script(tmp_path, text) as process:
        address(process)
        code, _, errors, _ = ended(process, signal.SIGTERM)
    assert (code, errors) == (0, "Everybody needs this token, which is not shown again: made-up\n")


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("192.0.2.1", 0, "192.0.2.1:0 is no address of this machine; choose another with --host"),
        ("a" * 64, 0, "cannot listen on "),
    ],
)
def test_where_nothing_can_listen(tmp_path: Path, host: str, port: int, message: str) -> None:
    text = f"""
        try:
            serve(Starlette(), {host!r}, {port})
        except Exception as problem:
            print(type(problem).__name__, problem)
    """
    with script(tmp_path, text) as process:
        code, output, errors, _ = ended(process)
    assert (code, errors) == (0, "")
    assert output.startswith(f"ConfigError {message}")


def test_on_the_other_loopback_address(tmp_path: Path) -> None:
    with script(tmp_path, "serve(Starlette(), '::1', 0)") as process:
        url = address(process)
        assert url.startswith("http://[::1]:")
        assert httpx.get(url, trust_env=False).status_code == 404
        assert ended(process, signal.SIGTERM)[0] == 0


def test_an_application_that_cannot_start_is_an_error_and_no_trace(tmp_path: Path) -> None:
    text = """
        @asynccontextmanager
        async def lifespan(app):
            raise LogError("the log is not there")
            yield
        try:
            serve(Starlette(lifespan=lifespan), "127.0.0.1", 0)
        except LogError as problem:
            print(problem)
    """
    with script(tmp_path, text) as process:
        assert ended(process)[:3] == (0, "the log is not there\n", "")


SLOW = """
    async def slow(request):
        await asyncio.sleep(float(request.query_params["seconds"]))
        return PlainTextResponse("done")
    serve(Starlette(routes=[Route("/", slow)]), "127.0.0.1", 0)
"""


def test_what_is_being_answered_is_answered_to_its_end(tmp_path: Path) -> None:
    with script(tmp_path, SLOW) as process, asked(address(process), 1.0) as connection:
        code, _, errors, seconds = ended(process, signal.SIGTERM)
        assert connection.recv(65536).endswith(b"done")
    assert (code, errors) == (0, "")
    assert seconds < LONGEST_END


def test_what_takes_for_ever_is_not_waited_for(tmp_path: Path) -> None:
    with script(tmp_path, SLOW) as process, asked(address(process), 1000.0):
        code, _, errors, seconds = ended(process, signal.SIGTERM)
    assert (code, errors) == (0, "")
    assert seconds < LONGEST_END


def test_the_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    text = """
        @asynccontextmanager
        async def lifespan(app):
            yield
            await asyncio.sleep(1000)
        serve(Starlette(lifespan=lifespan), "127.0.0.1", 0)
    """
    with script(tmp_path, text) as process:
        address(process)
        assert ended(process, signal.SIGINT, signal.SIGINT)[0] == 130


@pytest.mark.parametrize("as_json", [False, True])
def test_what_was_not_foreseen_is_in_the_log_with_its_trace(tmp_path: Path, as_json: bool) -> None:
    text = f"""
        from stream_bayes.web.access import Access
        from stream_bayes.web.guard import Guard
        async def fail(request):
            raise RuntimeError("what happened")
        app = Guard(Starlette(routes=[Route("/", fail)]), Access())
        serve(app, "127.0.0.1", 0, as_json={as_json})
    """
    with script(tmp_path, text) as process:
        url = told(process, "listening")["url"] if as_json else address(process)
        answer = httpx.get(url, trust_env=False)
        assert (answer.status_code, answer.json()["code"]) == (500, "internal")
        assert "what happened" not in answer.text
        code, _, errors, _ = ended(process, signal.SIGTERM)
    assert code == 0
    if as_json:
        (line,) = errors.splitlines()
        content = json.loads(line)
        assert (content["level"], content["event"], content["path"]) == ("error", "a request failed", "'/'")
        errors = content["trace"]
    assert "Traceback (most recent call last):" in errors
    assert errors.rstrip().endswith("RuntimeError: what happened")


def test_as_many_connections_as_the_system_allows(tmp_path: Path) -> None:
    text = """
        import resource
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        serve(Starlette(), "127.0.0.1", 0)
    """
    with script(tmp_path, text) as process:
        url = httpx.URL(address(process))
        assert url.port is not None
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        soft = int(re.search(r"Max open files\s+(\d+)", limits)[1])  # type: ignore[index]
        connections = [socket.create_connection((url.host, url.port), PATIENCE) for _ in range(min(soft // 2, 400))]
        assert httpx.get(url, trust_env=False).status_code == 404
        for connection in connections:
            connection.close()
        assert ended(process, signal.SIGTERM)[0] == 0
    assert soft > 256
