"""Shutdown of the demo: the worker ends with it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import COMMAND, ENVIRONMENT, PATIENCE
from tests.support.demo_processes import start_demo, wait_for_a_worker, workers_of
from tests.support.tiers import short_first


@pytest.mark.parametrize("number", short_first([signal.SIGINT, signal.SIGTERM]))
def test_a_signal_ends_the_demo_and_its_worker(tmp_path: Path, number: int) -> None:
    with start_demo(tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        wait_for_a_worker(tmp_path)
        while b" mails " not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == b"stream-bayes: stopped", "before it may stand that kernels are compiled"
    assert b"Traceback" not in errors
    assert b"exactly one" not in output
    assert not workers_of(tmp_path), "no worker is left behind"


@pytest.mark.long
def test_ctrl_c_while_the_worker_compiles_ends_both(tmp_path: Path) -> None:
    # Machine code for another kind of processor is nowhere yet.
    environment = {**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_CPU_NAME": "generic"}
    command = [*COMMAND, "demo", "--json", "--folder", str(tmp_path / "demo")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        wait_for_a_worker(tmp_path / "demo")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (130, b"")
    assert errors.endswith(b"stream-bayes: stopped\n")
    assert b"Traceback" not in errors
    assert not workers_of(tmp_path / "demo")
