"""The example of the label loop: within its budget, its figures add up, and asking beats chance at the same pace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.examples import ROOT, numbers, rows, run


def test_label_loop(tmp_path: Path) -> None:
    lines = run("label_loop", tmp_path).splitlines()
    counts = {name: int(count) for name, count in re.findall(r"([a-z]+) (\d+)", lines[0])}
    assert counts["requested"] <= counts["budget"] == 100
    # The rest was never answered, or its answer would come after the last mail.
    assert 0.9 * counts["requested"] < counts["answered"] + counts["unsure"] < counts["requested"]
    ((asking, chance),) = rows(lines, "Wrong predictions")
    assert asking < chance
    ((truth, estimate),) = rows(lines, "Accuracy")
    assert truth == pytest.approx(1 - asking / 3000, abs=6e-4)
    answers, low, high = numbers(lines[3])
    assert 1 <= answers <= counts["audited"]
    assert low <= truth <= high
    assert low <= estimate <= high


def test_label_loop_is_short() -> None:
    assert len((ROOT / "examples" / "label_loop.py").read_text().splitlines()) < 80
