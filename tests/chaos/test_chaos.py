"""The short chaos run; the long one is `make chaos`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.chaos.killer import Killer
from tests.chaos.log_locations import sqlite_place
from tests.chaos.processes import Running
from tests.chaos.run import run_chaos
from tests.chaos.workspace import ChaosWorkspace


def test_a_worker_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    scene = ChaosWorkspace(tmp_path, sqlite_place(tmp_path), messages=5_000, seed=1)
    summary = run_chaos(scene, lambda scene: Killer(scene, kills=5), said.append)
    # One more where a worker had come too far to be killed at its start.
    kills = re.search(r"^(\d+) kills of a worker", summary, re.MULTILINE)
    assert kills is not None
    assert int(kills[1]) >= 5
    assert summary.endswith("bit for bit")


@pytest.mark.long
def test_item05_labels_are_forwarded_once_by_a_worker_that_is_killed(tmp_path: Path) -> None:
    said: list[str] = []
    scene = ChaosWorkspace(tmp_path, sqlite_place(tmp_path, partitions=3), messages=3_000, seed=1)
    summary = run_chaos(scene, lambda scene: Killer(scene, kills=3), said.append)
    count = sum(message.copy is not None for message in scene.script_of())
    assert count > 20
    assert f"{count:,} labels forwarded: each once" in summary.splitlines()
    assert summary.endswith("bit for bit")


def test_item00_a_worker_can_be_stopped_as_soon_as_it_was_started(tmp_path: Path) -> None:
    scene = ChaosWorkspace(tmp_path, sqlite_place(tmp_path), messages=100, seed=1)
    scene.prepare()
    for number in range(3):
        Running(scene, number).stop()
    Running(scene, 3, "--drain").work_to_the_end()
