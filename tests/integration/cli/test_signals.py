"""SIGTERM and SIGINT from the first moment of a command on, and where SIGINT is inherited as ignored."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.signals import handle_signals
from tests.support.commands import COMMAND, ENVIRONMENT, ROOT
from tests.support.signals import LIMIT, SIGINT_IGNORED, wait_until_handled
from tests.support.web_processes import address
from tests.support.workers import feed, settings_in, stream, write_config

IMPORTING = b"importing\n"
# One long sleep would not end if the signal came just before the call: Python runs handlers between its instructions.
WAIT_FOR_A_SIGNAL = "import time\nwhile True:\n    time.sleep(0.01)\n"


@contextmanager
def stuck_in_an_import(folder: Path, module: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that imports a module until it is stopped."""
    (folder / f"{module}.py").write_text(f"import os\nos.write(1, {IMPORTING!r})\n{WAIT_FOR_A_SIGNAL}")
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{folder}:{ENVIRONMENT['PYTHONPATH']}"}
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == IMPORTING
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("module", ["typer", "numpy"])
@pytest.mark.parametrize("command", ["run", "web"])
def test_item00_a_service_that_is_still_imported_ends_in_good_order(
    log_folder: Path, command: str, module: str, number: signal.Signals
) -> None:
    with stuck_in_an_import(log_folder, module, command, "--log", "sqlite:///mail.db") as process:
        process.send_signal(number)
        output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, output) == (0, b"")
    assert errors == b"stream-bayes: stopped before it had begun\n"


def test_item00_ctrl_c_while_a_command_is_imported_ends_it_without_a_traceback(tmp_path: Path) -> None:
    with stuck_in_an_import(tmp_path, "typer", "tail", "predictions") as process:
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, output, errors) == (130, b"", b"stream-bayes: stopped\n")


def test_item00_a_worker_with_sigint_ignored_ends_on_sigterm_alone(tmp_path: Path) -> None:
    config = write_config(settings_in(tmp_path), tmp_path / "settings.toml")
    command = [*SIGINT_IGNORED, *COMMAND, "run", "--config", str(config)]
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr is not None
        while "recovered" not in worker.stderr.readline():
            assert worker.poll() is None
        worker.send_signal(signal.SIGINT)
        with SqliteLog(tmp_path / "log.db") as log:
            feed(log, stream(100))
        # It works on: a checkpoint says so.
        while "checkpoint  partition=0" not in worker.stderr.readline():
            assert worker.poll() is None
        worker.send_signal(signal.SIGTERM)
        _, errors = worker.communicate(timeout=LIMIT)
    assert worker.returncode == 0
    assert "stopped  events=" in errors.splitlines()[-1]


def test_item00_a_page_with_sigint_ignored_ends_on_sigterm_alone(log_folder: Path) -> None:
    command = [*SIGINT_IGNORED, *COMMAND, "web", "--log", "sqlite:///mail.db", "--port", "0"]
    with subprocess.Popen(
        command, cwd=log_folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        url = address(process)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        for _ in range(3):
            assert httpx.get(url, trust_env=False, timeout=LIMIT).status_code == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
    assert process.returncode == 0


def test_item00_handlers_leave_ignored_signals_alone_except_sigterm() -> None:
    numbers = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)

    def handler(*_: object) -> None: ...

    handle_signals(handler, *numbers)
    assert [signal.getsignal(number) for number in numbers] == [signal.SIG_IGN, signal.SIG_IGN, handler]


def test_processes_started_by_tests_can_be_interrupted() -> None:
    script = f"print('ready', flush=True)\n{WAIT_FOR_A_SIGNAL}"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == -signal.SIGINT


def test_item00_tests_have_the_signals_of_a_program_in_the_foreground_where_sigint_is_ignored() -> None:
    script = (
        "import signal\n"
        "from tests.conftest import pytest_configure\n"
        "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n"
        "pytest_configure()\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    command = [*SIGINT_IGNORED, sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "True"], done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    "chosen",
    [
        "tests/integration/cli/test_signals.py::test_processes_started_by_tests_can_be_interrupted",
        "tests/integration/demo/test_worker.py::test_a_worker_that_ends_early_is_an_error_that_names_its_log",
    ],
)
def test_item00_the_tests_pass_where_sigint_is_ignored(chosen: str) -> None:
    command = [*SIGINT_IGNORED, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", chosen]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_wait_until_handled_ends_with_the_process() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        wait_until_handled(process)
        assert process.wait(LIMIT) == 0
