from __future__ import annotations

import gc
import subprocess
import sys
from collections import Counter

import pytest

from tests.soak.memory import MAX_GROWTH
from tests.soak.soak import SAMPLES, Report, soak, troubles
from tests.support.commands import ENVIRONMENT, PATIENCE, ROOT

# A short way begins with what is only taken once: modules, compiled code, rings that fill.
GENEROUS = 1.5


def test_twenty_thousand_events_are_all_accounted_for_and_memory_stays_within_bounds() -> None:
    numbers: list[int] = []
    report = soak(20_000, seed=2, passed=lambda number, _: numbers.append(number))
    assert troubles(report) == []
    assert len(report.memory) == len(numbers) == SAMPLES
    assert numbers == sorted(numbers)
    assert all(report.counted[name] for name in ("predict", "learn", "repeat", "duplicate", "refuse"))
    assert report.growth < GENEROUS


@pytest.mark.long
def test_events_leave_no_cycles_for_python_to_find() -> None:
    soak(1000, seed=3)
    gc.collect()
    gc.disable()
    try:
        soak(5000, seed=4)
        found = gc.collect()
    finally:
        gc.enable()
    # A batch that were held by what was refused of it would be thousands.
    assert found < 500


def test_memory_that_grows_by_a_little_with_every_part_is_noticed() -> None:
    flat = [100 + part % 3 for part in range(SAMPLES)]
    assert Report(flat, Counter(), Counter()).growth < MAX_GROWTH
    leaking = [memory + part // 4 for part, memory in enumerate(flat)]
    assert Report(leaking, Counter(), Counter()).growth > MAX_GROWTH


def test_missing_results_are_named() -> None:
    expected = Counter(predict=3, duplicate=1, refuse=1, label=2)
    counted = Counter(predict=3, predictions=2, duplicate=1, learn=1)
    found = troubles(Report([1], counted, expected))
    assert found == ["refuse: 0 and not 1", "labels: 1 and not 2", "2 predictions in the log of 3"]


@pytest.mark.long
def test_the_command_shows_memory_on_the_way_and_refuses_too_few_events() -> None:
    done = command("2000")
    assert done.stdout.count(" events  ") == SAMPLES
    assert "memory after the first tenth" in done.stdout
    assert done.returncode == (1 if "memory grows" in done.stderr else 0)
    refused = command("1")
    assert refused.returncode == 2
    assert "at least" in refused.stderr


def command(events: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.soak", "--events", events],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
