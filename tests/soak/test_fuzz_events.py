from __future__ import annotations

import subprocess
import sys

import pytest

from stream_bayes.events import CODES
from tests.soak.fuzz_events import fuzz
from tests.support.commands import ENVIRONMENT, PATIENCE, ROOT


def test_a_thousand_random_and_mutated_records_are_events_or_known_errors() -> None:
    outcomes = fuzz(1000, seed=5)
    assert outcomes.total() == 1000
    assert set(outcomes) == {*CODES, "observation", "label"}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_seed_gives_the_same_records(seed: int) -> None:
    assert fuzz(200, seed) == fuzz(200, seed)


def test_the_command_shows_how_far_it_is_and_ends_well() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak.fuzz_events", "--records", "2000"],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stdout.count(" records  ") == 10
    assert "memory after the first tenth" in done.stdout
