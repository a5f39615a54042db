"""The short chaos run on a real broker, which is killed too; the long one is `make chaos`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["--messages=2000", "--kills=3", "--brokers=1", "--rebalances=1", "--zombies=1", "--seed=1"]


@pytest.mark.long
@pytest.mark.broker
# For its reason to skip: the run has a broker of its own, and a process, since clients whose broker dies leak sockets.
@pytest.mark.usefixtures("killable_broker")
def test_two_workers_and_a_broker_that_are_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.chaos", "--log=kafka", f"--folder={tmp_path}", *SHORT]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for what in ("kills of a worker", "1 kills of the broker", "1 rebalances forced", "1 zombies"):
        assert what in done.stdout
    # Item 5: labels in another partition than their e-mail.
    forwarded = re.search(r"^(\d+) labels forwarded: each once$", done.stdout, re.MULTILINE)
    assert forwarded is not None
    assert int(forwarded[1]) > 0
    assert done.stdout.endswith("bit for bit\n")
