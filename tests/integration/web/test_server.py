"""The server of the page with other applications: where it listens, what it logs, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest

from tests.support.commands import PATIENCE
from tests.support.tiers import short_first
from tests.support.web_processes import address, open_request, read_event, read_line, script, wait_for_exit


def test_a_generated_token_is_printed(tmp_path: Path) -> None:
    text = "serve(Starlette(), WebSettings(port=0), new_token='made-up')"
    with script(tmp_path, text) as process:
        address(process)
        code, _, errors = wait_for_exit(process, signal.SIGTERM)
    assert (code, errors) == (0, "Everybody needs this token, which is not shown again: made-up\n")


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("192.0.2.1", "192.0.2.1:0 is no address of this machine; choose another with --host"),
        ("a" * 64, "cannot listen on "),
    ],
)
def test_an_address_that_cannot_be_bound_is_an_error(tmp_path: Path, host: str, message: str) -> None:
    text = f"""
        try:
            serve(Starlette(), WebSettings(host={host!r}, port=0))
        except Exception as problem:
            print(type(problem).__name__, problem)
    """
    with script(tmp_path, text) as process:
        code, output, errors = wait_for_exit(process)
    assert (code, errors) == (0, "")
    assert output.startswith(f"ConfigError {message}")


@pytest.mark.long
def test_on_the_other_loopback_address(tmp_path: Path) -> None:
    with script(tmp_path, "serve(Starlette(), WebSettings(host='::1', port=0))") as process:
        url = address(process)
        assert url.startswith("http://[::1]:")
        assert httpx.get(url, trust_env=False, timeout=PATIENCE).status_code == 404
        assert wait_for_exit(process, signal.SIGTERM)[0] == 0


def test_an_application_that_cannot_start_is_an_error_and_no_trace(tmp_path: Path) -> None:
    text = """
        @asynccontextmanager
        async def lifespan(app):
            raise LogError("the log is not there")
            yield
        try:
            serve(Starlette(lifespan=lifespan), WebSettings(port=0))
        except LogError as problem:
            print(problem)
    """
    with script(tmp_path, text) as process:
        assert wait_for_exit(process) == (0, "the log is not there\n", "")


SLOW = """
    async def until_the_end(request):
        print("requested", flush=True)
        with suppress(OSError):
            while True:
                _, writer = await asyncio.open_connection(*request.scope["server"])
                writer.close()
                await asyncio.sleep(0.02)
        return PlainTextResponse("done")
    async def for_ever(request):
        print("requested", flush=True)
        await asyncio.sleep(1000)
    routes = [Route("/until-the-end", until_the_end), Route("/for-ever", for_ever)]
    serve(Starlette(routes=routes), WebSettings(port=0))
"""


def test_a_running_response_is_completed_at_shutdown(tmp_path: Path) -> None:
    # It answers only once no client can connect any more.
    with script(tmp_path, SLOW) as process, open_request(process, "/until-the-end") as connection:
        assert wait_for_exit(process, signal.SIGTERM) == (0, "", "")
        assert connection.recv(65536).endswith(b"done")


@pytest.mark.long
def test_an_endless_response_does_not_delay_shutdown(tmp_path: Path) -> None:
    with script(tmp_path, SLOW) as process, open_request(process, "/for-ever"):
        assert wait_for_exit(process, signal.SIGTERM) == (0, "", "")


def test_the_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    text = """
        @asynccontextmanager
        async def lifespan(app):
            yield
            print("leaving", flush=True)
            await asyncio.sleep(1000)
        serve(Starlette(lifespan=lifespan), WebSettings(port=0))
    """
    with script(tmp_path, text) as process:
        address(process)
        process.send_signal(signal.SIGINT)
        assert read_line(process) == "leaving\n"
        assert wait_for_exit(process, signal.SIGINT)[0] == 130


def test_on_a_public_address_the_host_name_and_a_warning_are_printed(tmp_path: Path) -> None:
    text = "serve(Starlette(), WebSettings(host='0.0.0.0', port=0), new_token='made-up')"
    with script(tmp_path, text) as process:
        assert address(process).startswith(f"http://{socket.gethostname()}:")
        warning, token = wait_for_exit(process, signal.SIGTERM)[2].splitlines()
    assert warning == "Plain HTTP: anybody on the network path can read the token"
    assert token.endswith(": made-up")


@pytest.mark.parametrize("as_json", short_first([True, False]))
def test_an_unexpected_error_is_logged_with_its_traceback(tmp_path: Path, as_json: bool) -> None:
    text = f"""
        from stream_bayes.web.security.auth import Authenticator
        from stream_bayes.web.api.app import secure
        async def fail(request):
            raise RuntimeError("what happened")
        app = secure(Starlette(routes=[Route("/", fail)]), Authenticator())
        serve(app, WebSettings(port=0), as_json={as_json})
    """
    with script(tmp_path, text) as process:
        url = read_event(process, "listening")["url"] if as_json else address(process)
        answer = httpx.get(url, trust_env=False, timeout=PATIENCE)
        assert (answer.status_code, answer.json()["code"]) == (500, "internal")
        assert "what happened" not in answer.text
        code, _, errors = wait_for_exit(process, signal.SIGTERM)
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
        serve(Starlette(), WebSettings(port=0))
    """
    with script(tmp_path, text) as process:
        url = httpx.URL(address(process))
        assert url.port is not None
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        soft = int(re.search(r"Max open files\s+(\d+)", limits)[1])  # type: ignore[index]
        connections = [socket.create_connection((url.host, url.port), PATIENCE) for _ in range(min(soft // 2, 400))]
        assert httpx.get(url, trust_env=False, timeout=PATIENCE).status_code == 404
        for connection in connections:
            connection.close()
        assert wait_for_exit(process, signal.SIGTERM)[0] == 0
    assert soft > 256
