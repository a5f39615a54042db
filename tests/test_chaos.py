"""The short chaos run; the long one is `make chaos`."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.play import play


def test_a_worker_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    summary = play(tmp_path, messages=10_000, kills=5, seed=1, say=said.append)
    assert "5 kills of the worker" in summary
    assert summary.endswith("bit for bit")
