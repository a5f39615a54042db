"""Checkpoints written by every format version so far still load, and hold what they held.

    python -m tests.unit.persistence.test_checkpoint_formats

writes those of the present version that are not there yet; a file that is there is never written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import Learner, SpamFilter
from stream_bayes.config import EngineSettings, LabelSettings, LearnerSettings, Settings
from stream_bayes.engine import Engine
from stream_bayes.engine.state import bookkeeping_of, restore, state_of
from stream_bayes.events import Prediction
from stream_bayes.learners.base.learner import LearnerState
from stream_bayes.persistence.checkpoint import CHECKPOINT, Checkpoint, read_checkpoint, write_checkpoint
from stream_bayes.persistence.compatibility import check_compatibility
from tests.support.engines import Stream

FOLDER = Path(__file__).parents[2] / "golden" / "checkpoints"
ANSWERS = FOLDER / "answers.json"
MAILS = [b"Subject: cheap pills\n\nbuy now, no prescription", b"Subject: lunch\n\nshall we meet at noon?"]
NUMBER = 1234


def every_type() -> Checkpoint:
    """An array of each type, and scalars of each kind."""
    kinds = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")
    arrays: dict[str, Any] = {kind: (np.arange(6).reshape(2, 3) % 5).astype(kind) for kind in kinds}
    arrays |= {"none": np.empty((0, 2)), "one": np.array(2.5)}
    compatibility_key = {
        "learner": {"name": "none", "parameters": {"prior": {"posterior": "Beta", "fields": [1, 2.5]}}}
    }
    scalars = {"large": 2**70, "small": 5e-324, "text": 'grüße 🙂 "quoted"\n', "nothing": None, "many": [1, [True, {}]]}
    return Checkpoint(compatibility_key, scalars, arrays)


def mail_filter() -> Checkpoint:
    """A learner that has learned."""
    model = SpamFilter(buckets=2**10, members=("word counts", "word steps"))
    model.learn_many(MAILS * 4, ["spam", "ham"] * 4)
    state = model.state()
    return Checkpoint({"learner": state.kind}, {"parameters": state.parameters}, state.arrays)


def settings_then() -> Settings:
    """Of the engines in the files."""
    learner = LearnerSettings(name="MultinomialNB", parameters={"prior_count": 0.5})
    sizes = EngineSettings(label_history=50, dedup_window=20)
    return Settings(learner=learner, engine=sizes, labels=LabelSettings(budget=40, max_open_requests=20))


def engine_with_requests() -> Checkpoint:
    """An engine with label requests, of which some are answered, and with rejected records."""
    stream = Stream()
    for number in range(30):
        text = "A: 1\nB: 2\nC: 3\nD: 4\n\n" + " ".join(f"w{number * step % 97}" for step in range(1, 12))
        stream.observe({"text": text}, ("ham", "spam")[number % 2] if number % 5 == 4 else None, f"p{number}")
        if number % 3 == 1:
            stream.answer(("ham", "spam")[number % 2], f"p{number - 1}")
    stream.put("labels", b"{")
    engine = Engine(settings_then())
    engine.process(stream.arrivals)
    scalars, arrays = state_of(engine.model.learner, bookkeeping_of(engine))
    return Checkpoint(engine.compatibility_key, scalars, arrays)


CHECKPOINTS: dict[str, Callable[[], Checkpoint]] = {
    "every_type": every_type,
    "mail_filter": mail_filter,
    "engine": engine_with_requests,
}


def path_of(name: str, version: int = CHECKPOINT.version) -> Path:
    return FOLDER / f"{name}.v{version}.safetensors"


def contents_of(checkpoint: Checkpoint) -> Any:
    """Everything as JSON; of a learner also its predictions."""
    found: dict[str, Any] = {"compatibility_key": checkpoint.compatibility_key, "scalars": checkpoint.scalars}
    if "model_version" in checkpoint.scalars:
        return found | {"engine": engine_contents(checkpoint)}
    if "parameters" in checkpoint.scalars:
        state = LearnerState(
            checkpoint.compatibility_key["learner"], checkpoint.scalars["parameters"], checkpoint.arrays
        )
        model: Any = Learner.from_state(state)
        return found | {"probabilities": [round(model.predict_proba_one(mail)["spam"], 9) for mail in MAILS]}
    arrays = {name: [str(array.dtype), array.tolist()] for name, array in checkpoint.arrays.items()}
    return found | {"arrays": arrays}


def engine_contents(checkpoint: Checkpoint) -> Any:
    """The state of the engine of a checkpoint, and its next prediction."""
    engine = Engine(settings_then())
    check_compatibility(Path("golden"), checkpoint.compatibility_key, engine.compatibility_key)
    restore(engine, checkpoint.scalars, checkpoint.arrays)
    stream = Stream()
    stream.ends["emails"] = 30
    stream.observe({"text": "w1 w2 w3"}, "ham", "next")
    first = engine.process(stream.arrivals).outputs[0]
    assert isinstance(first, Prediction)
    return {
        "requested": engine.selector.budget.used,
        "left": engine.selector.budget.left(),
        "waiting": list(engine.selector.requests),
        "counts": engine.counts,
        "figures": engine.metrics.label_figures(),
        "probabilities": {name: round(p, 9) for name, p in (first.probabilities or {}).items()},
    }


def write_missing() -> None:
    """Write the files that are not there, and what they hold."""
    FOLDER.mkdir(exist_ok=True)
    answers = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name, make in CHECKPOINTS.items():
        if not path_of(name).exists():
            write_checkpoint(path_of(name), NUMBER, make())
            answers[path_of(name).name] = contents_of(make())
    ANSWERS.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_there_is_a_file_of_this_version(name: str) -> None:
    assert path_of(name).exists(), "run: python -m tests.unit.persistence.test_checkpoint_formats"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.safetensors")), ids=lambda path: path.name)
def test_old_checkpoints_load_and_hold_the_same(path: Path) -> None:
    number, checkpoint = read_checkpoint(path)
    assert number == NUMBER
    assert json.loads(json.dumps(contents_of(checkpoint))) == json.loads(ANSWERS.read_text())[path.name]


if __name__ == "__main__":
    write_missing()
