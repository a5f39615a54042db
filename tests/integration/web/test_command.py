"""`stream-bayes web` in a process of its own: how it starts, what it says, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import httpx
import pytest

from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE, Run
from tests.support.web_processes import TOKEN, address, command, read_event, started, wait_for_exit


def test_ctrl_c_once_ends_it_with_a_stream_open(log_folder: Path) -> None:
    with (
        command(log_folder) as process,
        httpx.Client(base_url=address(process), trust_env=False, timeout=PATIENCE) as client,
    ):
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200
        with client.stream("GET", "/api/events", timeout=PATIENCE) as events:
            lines = events.iter_lines()
            assert next(lines).startswith("event: ")
            code, output, errors = wait_for_exit(process, signal.SIGINT)
            # To its end: a stream that is cut would raise.
            assert all(isinstance(line, str) for line in lines)
    assert (code, output, errors) == (0, "", "")


def test_on_a_public_address_a_token_is_generated_and_shown_once(log_folder: Path) -> None:
    with command(log_folder, "--host", "0.0.0.0", "--json") as process:
        ready = read_event(process, "listening")
        found = re.fullmatch(r"http://(.+):([0-9]+)/", ready["url"])
        assert found
        assert found[1] == socket.gethostname()
        with httpx.Client(base_url=f"http://127.0.0.1:{found[2]}", trust_env=False, timeout=PATIENCE) as client:
            assert client.get("/").status_code == 401
            assert client.post("/api/login", json={"token": ready["token"]}).status_code == 204
            assert client.get("/api/session").json()["secured"]
        code, output, errors = wait_for_exit(process, signal.SIGTERM)
    assert (code, output) == (0, "")
    assert ready["token"] not in errors


def test_a_token_of_the_environment_is_required_and_not_shown(log_folder: Path) -> None:
    with command(log_folder, STREAM_BAYES__WEB__TOKEN=TOKEN) as process:
        url = address(process)
        with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client:
            assert client.get("/").status_code == 401
            assert client.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
            # A page with a token may be reached through a proxy.
            assert client.get("/healthz", headers={"Host": "mail.example"}).status_code == 200
        # Its port is taken while it is there.
        port = url.rstrip("/").rpartition(":")[2]
        taken = subprocess.run(
            [*COMMAND, "web", "--log", "sqlite:///mail.db", "--port", port],
            cwd=log_folder,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        message = f"stream-bayes: 127.0.0.1:{port} is in use by another program; choose another with --port\n"
        assert (taken.returncode, taken.stdout, taken.stderr) == (2, "", message)
        code, output, errors = wait_for_exit(process, signal.SIGINT)
    assert (code, output, errors) == (0, "", "")


def test_a_missing_log_is_an_error(tmp_path: Path, run: Run) -> None:
    code, output, errors = run("web", "--log", f"sqlite:///{tmp_path}/none.db")
    assert (code, output, errors) == (2, "", f"stream-bayes: there is no such log ({tmp_path}/none.db)\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", [("--port", "65536"), ("--port", "x"), ("--lease", "soon"), ("--token", "x")])
def test_impossible_options_are_refused(log_folder: Path, run: Run, option: tuple[str, str]) -> None:
    code, output, errors = run("web", "--log", f"sqlite:///{log_folder}/mail.db", *option)
    assert (code, output) == (2, "")
    assert option[0] in errors or "web.lease" in errors


@pytest.mark.parametrize("lease", ["0s", "0", "0.0 h"])
def test_a_lease_of_no_time(log_folder: Path, run: Run, lease: str) -> None:
    code, output, errors = run("web", "--log", f"sqlite:///{log_folder}/mail.db", "--lease", lease)
    message = f"stream-bayes: web.lease = {lease!r} (command line): must be longer than 0\n"
    assert (code, output, errors) == (2, "", message)


@pytest.mark.long
@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_without_the_extra_the_command_says_what_to_install(log_folder: Path, missing: str) -> None:
    text = f"""
        import sys
        sys.modules[{missing!r}] = None
        sys.argv = ["stream-bayes", "web", "--log", "sqlite:///mail.db"]
        from stream_bayes.cli import main
        main()
    """
    with started(log_folder, sys.executable, "-c", dedent(text)) as process:
        code, output, errors = wait_for_exit(process)
    assert (code, output) == (2, "")
    assert errors == "stream-bayes: the page needs the extra: pip install 'stream_bayes[web]'\n"
