"""Streams to check learners with, and ways to compare two learners."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from river import base

from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.base.learner import Learner, LearnerState

Check = Callable[[Any], None]
Event = tuple[dict[Any, Any], Any]

_FEATURES = ("a", "b", "c", ("d", 1), "e")


def events(learner: Any, count: int = 40, seed: int = 1) -> list[Event]:
    """A stream this kind of learner can take: a few features, some missing; floats, ints and booleans."""
    generator = np.random.default_rng(seed)
    labels = targets(learner)
    stream = []
    for row in range(count):
        names = [name for name in _FEATURES if generator.random() < 0.8]
        x = {name: _value(name, row, int(generator.integers(0, 4))) for name in names}
        stream.append((x, labels[int(generator.integers(len(labels)))]))
    return stream


def _value(name: Any, row: int, number: int) -> Any:
    """A feature keeps its type, but a number may come as an int or as a float."""
    if name == "c":
        return number >= 2
    return number if name == "b" or (name == ("d", 1) and row % 2) else float(number)


def partly_labelled(learner: Any) -> list[Event]:
    """A stream where new names come without a label first, some of them with values of another type than later."""
    stream = [(x, None if row % 5 == 2 else y) for row, (x, y) in enumerate(events(learner))]
    label = targets(learner)[0]
    return [
        ({"early": True, 1.0: 1.0, "never labelled": 2.0}, None),
        *stream[:10],
        ({"early": 2.0, "later": 1, 1: 1.0}, label),
        ({"early": 3, "later": 2.0, "never labelled": 1.0}, None),
        *stream[10:],
        ({"later": 3.0, True: 2.0, "early": 2}, label),
    ]


def targets(learner: Any) -> list[Any]:
    """Labels or numbers the learner can be taught."""
    if isinstance(learner, base.Regressor):
        lowest = getattr(learner, "_least_target", -math.inf)
        return [max(target, lowest) for target in (0.5, -1.25, 3.0, 2.0)]
    return list(getattr(learner, "classes", None) or ("red", "green", "blue")[: 2 + learner._multiclass])


def taught(learner: Any, stream: list[Event]) -> Any:
    """A clone that has learned the stream."""
    model = learner.clone()
    for x, y in stream:
        model.learn_one(x, y)
    return model


def answer(model: Any, x: dict[Any, Any]) -> Any:
    """The prediction of the model for an event, in a form that can be compared."""
    return model.predict_proba_one(x) if isinstance(model, base.Classifier) else model.predict_one(x)


def answer_of(predictions: Any, row: int) -> Any:
    """The prediction for one row of a batch, in the form of `answer`."""
    return predictions.probabilities_of(row) if hasattr(predictions, "probabilities_of") else predictions.mean[row]


def frozen(model: Learner) -> tuple[Any, ...]:
    """The state as bytes: two learners are equal to the last bit when these are."""
    state: LearnerState = model.state()
    arrays = [(name, array.dtype.str, array.shape, array.tobytes()) for name, array in sorted(state.arrays.items())]
    return state.kind, repr(state.parameters), arrays


def assert_close(one: Any, two: Any, tolerance: float = 1e-9) -> None:
    """Answers agree up to rounding."""
    if isinstance(one, dict):
        assert set(one) == set(two), f"labels differ: {sorted(map(str, one))} and {sorted(map(str, two))}"
        for label, value in one.items():
            assert_close(value, two[label], tolerance)
    else:
        assert math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance), f"{one!r} is not {two!r}"


def assert_same_answers(one: Any, two: Any, stream: list[Event], tolerance: float = 1e-9) -> None:
    """Two models agree on every event of the stream."""
    for x, _ in stream:
        assert_close(answer(one, x), answer(two, x), tolerance)


def refused(model: Any, action: Callable[[], Any], kind: type[StreamBayesError] = StreamBayesError) -> None:
    """The action raises one of our errors, with a message, and leaves the state byte-equal."""
    before = frozen(model)
    result = "nothing: it was accepted, and should have been refused"
    try:
        action()
    except kind as problem:
        result = f"{kind.__name__}: {problem}"
    assert result.startswith(kind.__name__), result
    assert frozen(model) == before, "a refused update changed the state"
