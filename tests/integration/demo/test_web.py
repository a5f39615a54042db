"""The demo with a person as its labeller."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import PATIENCE
from tests.support.demo_processes import start_demo, workers_of
from tests.support.web_testbed import client, wait_until


def address_of(process: subprocess.Popen[bytes]) -> str:
    """Of the page, once it says so."""
    assert process.stderr is not None
    line = b""
    while b"The page is at" not in line:
        line = process.stderr.readline()
        assert line, "it has ended"
    return line.split()[-1].decode().rstrip("/")


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A process that is killed at the end of the context."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.terminate()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_requests_are_answered_on_the_page_and_a_signal_stops_both_gracefully(tmp_path: Path, number: int) -> None:
    with (
        start_demo(tmp_path, "--with-web", "--port", "0", "--json") as process,
        ended(process),
        client(address_of(process)) as http,
    ):
        wait_until(lambda: http.get("/api/requests").json()["open"] > 0)
        place = http.post("/api/requests/next", json={"labeller": "ann"}).json()["request"]["place"]
        path = f"/api/requests/{place['partition']}/{place['offset']}/label"
        assert http.post(path, json={"labeller": "ann", "label": "spam"}).status_code == 200
        wait_until(lambda: [one["labels_learned"] for one in http.get("/api/status").json()["partitions"]] == [1])
        process.send_signal(number)
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    done = json.loads(output)
    assert done["answered"] == 1
    assert done["mails"] >= done["predictions"] >= done["requested"] > 0
    assert not workers_of(tmp_path), "nothing is left behind"


@pytest.mark.long
def test_a_port_in_use_is_an_error(tmp_path: Path) -> None:
    with start_demo(tmp_path / "one", "--with-web", "--port", "0", "--json") as first, ended(first):
        port = address_of(first).rpartition(":")[2]
        with start_demo(tmp_path / "two", "--with-web", "--port", port) as second, ended(second):
            _, errors = second.communicate(timeout=PATIENCE)
        assert second.returncode == 2
        assert f"127.0.0.1:{port} is in use by another program; choose another with --port".encode() in errors
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE)
    assert not workers_of(tmp_path / "two")
