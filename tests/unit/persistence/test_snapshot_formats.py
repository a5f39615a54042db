"""Snapshots written by every format version so far still load, and say what they said.

    python -m tests.unit.persistence.test_snapshot_formats

writes the files of the present version for learners that have none yet; a file that is there is never written again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import Learner
from stream_bayes.persistence import snapshot
from stream_bayes.testing import answer, events, taught
from tests.support.learners import LEARNERS

FOLDER = Path(__file__).parents[2] / "golden"
PROBE = {"a": 1.0, "b": 2.0, ("d", 1): 1.0}


def path_of(name: str, version: int = snapshot.VERSION) -> Path:
    return FOLDER / f"{name.replace(' ', '_')}.v{version}.safetensors"


def said(model: Any) -> list[float]:
    predictive = model.predictive_one(PROBE)
    answered = answer(model, PROBE)
    answers = answered.values() if isinstance(answered, dict) else [answered]
    return [*answers, predictive.variance, *predictive.interval(0.9)]


def write_missing() -> None:
    """Write the files that are not there, and what their learners say."""
    answers = json.loads((FOLDER / "answers.json").read_text()) if (FOLDER / "answers.json").exists() else {}
    for name in LEARNERS:
        if not path_of(name).exists():
            model = taught(LEARNERS[name], events(LEARNERS[name], 12))
            model.save(path_of(name))
            answers[path_of(name).name] = said(model)
    (FOLDER / "answers.json").write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_file_of_this_version(name: str) -> None:
    assert path_of(name).exists(), "run: python -m tests.unit.persistence.test_snapshot_formats"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.safetensors")), ids=lambda path: path.name)
def test_old_snapshots_load_and_predict_the_same(path: Path) -> None:
    expected = json.loads((FOLDER / "answers.json").read_text())[path.name]
    assert said(Learner.load(path)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


if __name__ == "__main__":
    write_missing()
