"""The state of an engine as JSON and arrays, for checkpoints, and its restoration."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from stream_bayes.active.threshold import RECENT_SCORES
from stream_bayes.engine.engine import Engine
from stream_bayes.errors import SnapshotDamaged
from stream_bayes.learners import Learner, LearnerState
from stream_bayes.persistence.scalars import LARGEST_INT, stored_counts, stored_int
from stream_bayes.persistence.snapshot import DAMAGED, Arrays

_LEARNER = "learner."
_SELECTOR = "selector."


class Bookkeeping(NamedTuple):
    """The state of an engine without its learner: a copy that later events do not change."""

    scalars: dict[str, Any]
    """The scalars of the state, which are written as JSON."""
    arrays: Arrays


def bookkeeping_of(engine: Engine) -> Bookkeeping:
    """A copy of the state without the learner."""
    scalars = {
        "clock": engine.clock,
        "model_version": engine.model_version,
        "counts": dict(sorted(engine.counts.items())),
        "refused": dict(sorted(engine.refused.items())),
        "unknown_fields": engine.unknown_fields,
        "labels": engine.label_history.scalars(),
    }
    scalars["selector"], selector_arrays = engine.selector.state()
    own = {_SELECTOR + name: array for name, array in selector_arrays.items()}
    return Bookkeeping(
        scalars,
        {
            **engine.label_history.arrays(),
            **engine.dedup_window.arrays(),
            **engine.metrics.arrays(),
            **own,
        },
    )


def state_of(learner: Learner, kept: Bookkeeping) -> tuple[dict[str, Any], Arrays]:
    """The whole state as JSON and arrays; the learner may be a copy that was made with the bookkeeping."""
    state = learner.state()
    scalars = {**kept.scalars, "learner": {"class": state.kind, "parameters": state.parameters}}
    return scalars, {**kept.arrays, **{_LEARNER + name: array for name, array in state.arrays.items()}}


def learner_arrays(arrays: Arrays) -> Arrays:
    """The arrays of the learner in a checkpoint, by its own names."""
    return {name.removeprefix(_LEARNER): array for name, array in arrays.items() if name.startswith(_LEARNER)}


def learner_of(scalars: dict[str, Any], arrays: Arrays) -> Learner:
    """The learner in a checkpoint, with the parameters that it had; it owns the arrays from then on."""
    try:
        described = scalars["learner"]
        state = LearnerState(str(described["class"]), dict(described["parameters"]), learner_arrays(arrays))
    except (KeyError, TypeError, ValueError) as problem:
        message = f"the checkpoint does not describe a learner ({problem!r})"
        raise SnapshotDamaged(message) from problem
    return Learner.find_class(state.kind).from_state(state, copy=False)


def selector_state(scalars: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """The state of the selector in a checkpoint, for `LabelSelector.restore`; raises `KeyError` if there is none."""
    own = {name.removeprefix(_SELECTOR): array for name, array in arrays.items() if name.startswith(_SELECTOR)}
    return scalars["selector"], own


def restore(engine: Engine, scalars: dict[str, Any], arrays: Arrays) -> None:
    """Restore what `state_of` gave into a new engine with compatible settings."""
    learned = learner_arrays(arrays)
    try:
        # With the parameters of now, which may differ in what does not shape the state.
        engine.model.learner.restore(learned, copy=False)
        engine.clock = stored_int(scalars["clock"], "clock", -LARGEST_INT)
        engine.model_version = stored_int(scalars["model_version"], "model_version")
        engine.counts = Counter(stored_counts(scalars["counts"], "counts"))
        engine.refused = Counter(stored_counts(scalars["refused"], "refused"))
        engine.unknown_fields = stored_int(scalars["unknown_fields"], "unknown_fields")
        _check_types(arrays, bookkeeping_of(engine).arrays)
        engine.selector.restore(*selector_state(scalars, arrays))
        engine.label_history.restore(scalars["labels"], arrays)
        engine.dedup_window.restore(arrays)
        engine.metrics.restore(arrays)
        _check_shapes(arrays, bookkeeping_of(engine).arrays)
    except SnapshotDamaged as problem:
        message = f"the checkpoint does not make an engine: {problem}"
        raise SnapshotDamaged(message) from problem
    except DAMAGED as problem:
        message = f"the checkpoint does not make an engine: {problem!r}"
        raise SnapshotDamaged(message) from problem


def _check_types(stored: Arrays, fresh: Arrays) -> None:
    """Check the types of the selector's arrays before they are used; their sizes depend on what it has seen."""
    for name, array in fresh.items():
        if name.startswith(_SELECTOR) and (stored[name].dtype, stored[name].ndim) != (array.dtype, array.ndim):
            message = f"{name}: {stored[name].dtype}, where {array.dtype} belongs"
            raise SnapshotDamaged(message)


def _check_shapes(stored: Arrays, restored: Arrays) -> None:
    """Check that the engine gives back the arrays that it took: else they were damaged."""
    for name, array in restored.items():
        if name == _SELECTOR + RECENT_SCORES:
            continue  # checked by the selector, which starts without them where the strategy has changed
        own = stored[name]
        if (own.dtype, own.shape) != (array.dtype, array.shape):
            message = f"{name}: {own.dtype} of shape {own.shape}, where {array.dtype} of shape {array.shape} belongs"
            raise SnapshotDamaged(message)
