"""Checks of every learner's state: taken, saved, restored, cloned, and the names in it."""

from __future__ import annotations

import copy
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.base.learner import Learner
from stream_bayes.testing.streams import Event, answer, events, frozen, refused, taught

_NAMES: tuple[Any, ...] = (
    1,
    1.0,
    True,
    None,
    "",
    ("a", np.int64(1)),
    ((("x",),),),
    np.str_("s"),
    (),
    float("nan"),
    b"x",
    frozenset(),
)


def check_restored_learner_goes_on_exactly(learner: Any) -> None:
    """`from_state(state())` continues as if nothing had happened, to the last bit."""
    stream = events(learner)
    model = taught(learner, stream[:20])
    _assert_goes_on_exactly(type(learner).from_state(model.state()), model, stream[20:])


def check_saved_learner_goes_on_exactly(learner: Any) -> None:
    """`load` after `save` gives the same learner, whichever class reads it, and it learns on to the same bits."""
    stream = events(learner)
    for reader in (type(learner), Learner):
        model = taught(learner, stream[:20])
        _assert_goes_on_exactly(_saved_and_loaded(model, reader), model, stream[20:])


def _saved_and_loaded(model: Any, reader: type[Learner]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "learner")
        return reader.load(Path(folder) / "learner")


def _assert_goes_on_exactly(restored: Any, model: Any, stream: list[Event]) -> None:
    assert type(restored) is type(model)
    assert frozen(restored) == frozen(model)
    new = ({"new after the restart": 1.0, "a": 17.0}, stream[0][1])
    for x, y in (new, *stream, new):
        assert answer(restored, x) == answer(model, x)
        restored.learn_one(x, y)
        model.learn_one(x, y)
    assert frozen(restored) == frozen(model)


def check_state_is_a_copy(learner: Any) -> None:
    """Learning on does not change a state taken before."""
    stream = events(learner)
    model = taught(learner, stream[:20])
    state = model.state()
    before = frozen(model)
    for x, y in stream[20:]:
        model.learn_one(x, y)
    assert frozen(type(learner).from_state(state)) == before


def check_clone_has_no_data(learner: Any) -> None:
    """A clone of a taught learner is a fresh one, and parameters are as they were given."""
    model = taught(learner, events(learner))
    assert frozen(model.clone()) == frozen(learner.clone())
    assert repr(model) == repr(learner)


def check_names_are_refused_or_kept(learner: Any) -> None:
    """Whatever a feature is called, the event is refused and changes nothing, or it is learned and can be saved.

    A batch of that one event does the same.
    """
    stream = events(learner)
    label = stream[0][1]
    past = taught(learner, stream)
    for name in _NAMES:
        for value in (2.0, "text"):
            x = {name: value, "e": 1.0}
            model = copy.deepcopy(past)
            batched = copy.deepcopy(past)
            if _is_refused(model, x, label):
                refused(batched, partial(batched.test_then_train, [x], [label]))
                continue
            batched.test_then_train([x], [label])
            assert frozen(batched) == frozen(model), f"{x} in a batch ends in another state than by itself"
            _assert_goes_on_exactly(_saved_and_loaded(model, type(learner)), model, [(x, label), *stream[:5]])


def _is_refused(model: Any, x: dict[Any, Any], label: Any) -> bool:
    before = frozen(model)
    try:
        model.learn_one(x, label)
    except StreamBayesError:
        assert frozen(model) == before, f"{x} was refused, and changed the state"
        return True
    return False
