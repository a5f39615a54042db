"""The short chaos run; the long one is `make chaos`."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.killing import Killer
from tests.chaos.places import sqlite_place
from tests.chaos.play import play
from tests.chaos.scene import Scene


def test_a_worker_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    scene = Scene(tmp_path, sqlite_place(tmp_path), messages=10_000, seed=1)
    summary = play(scene, lambda scene: Killer(scene, kills=5), said.append)
    assert "5 kills of a worker" in summary
    assert summary.endswith("bit for bit")
