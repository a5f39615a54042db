"""Checks of additive learners: merging, unlearning and forgetting."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from stream_bayes.errors import MergeError, ParameterError, UnlearnError
from stream_bayes.testing.streams import assert_same_answers, events, frozen, refused, taught


def check_order_does_not_matter(learner: Any) -> None:
    """Evidence is a sum: any order gives the same posterior."""
    stream = events(learner)
    shuffled = [stream[place] for place in np.random.default_rng(3).permutation(len(stream))]
    assert_same_answers(taught(learner, stream), taught(learner, shuffled), stream)


def check_merge_is_union(learner: Any) -> None:
    """Two learners merged are one that saw both streams."""
    first = events(learner, seed=4)
    second = events(learner, seed=5)
    extra = [({**x, "only here": 1.0}, y) for x, y in second]
    model = taught(learner, first)
    other = taught(learner, extra)
    before = frozen(other)
    model.merge(other)
    assert frozen(other) == before, "merging changed the other learner"
    assert_same_answers(model, taught(learner, first + extra), first + extra)
    empty = learner.clone()
    empty.merge(taught(learner, first))
    assert_same_answers(empty, taught(learner, first), first)


def check_merge_refuses_other_learners(learner: Any) -> None:
    """Learners of another class do not add up, nor do those with another number as a parameter."""
    stream = events(learner)
    model = taught(learner, stream)

    class Stranger(type(learner)):  # type: ignore[misc]
        """A subclass, which cannot be merged with its base class."""

    parameters = learner._get_params()
    refused(model, partial(model.merge, Stranger(**parameters)), MergeError)
    for name, value in parameters.items():
        try:
            other = type(learner)(**{**parameters, name: _doubled(value)})
        except ParameterError:
            continue  # twice as much is not allowed, so there is no such stranger
        if other._get_params()[name] != value:
            refused(model, partial(model.merge, taught(other, stream)), MergeError)


def _doubled(value: Any) -> Any:
    """Another parameter of the same kind, where it is a number or a tuple of them; else the same."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return 2 * value or type(value)(1)
    if isinstance(value, tuple) and all(isinstance(part, (int, float)) for part in value):
        return type(value)(*map(_doubled, value)) if hasattr(value, "_fields") else value
    return value


def check_unlearn_undoes_learn(learner: Any) -> None:
    """Taking an event back leaves the posterior as if it had never come."""
    stream = events(learner)
    extra = events(learner, 10, seed=6)
    model = taught(learner, stream + extra)
    for x, y in extra:
        model.unlearn_one(x, y)
    assert_same_answers(model, taught(learner, stream), stream)
    for x, y in stream:
        model.unlearn_one(x, y)
    assert_same_answers(model, learner.clone(), stream)


def check_unlearn_refuses_events_never_learned(learner: Any) -> None:
    """Check that an event that was never learned cannot be unlearned."""
    stream = events(learner)
    x, y = stream[0]
    fresh = learner.clone()
    refused(fresh, partial(fresh.unlearn_one, x, y), UnlearnError)
    model = taught(learner, stream)
    refused(model, partial(model.unlearn_one, x, y, w=1e6), UnlearnError)


def check_forget_scales_evidence(learner: Any) -> None:
    """Forgetting a share of everything is having learned it all with that weight; forgetting all is the prior."""
    stream = events(learner)
    half = taught(learner, stream)
    faint = learner.clone()
    half.forget(0.5)
    for x, y in stream:
        faint.learn_one(x, y, w=0.5)
    assert_same_answers(half, faint, stream)
    half.forget(1.0)
    assert_same_answers(half, faint, stream)
    half.forget(0.0)
    assert_same_answers(half, learner.clone(), stream)
    for factor in (-0.1, 1.1, math.nan):
        refused(half, partial(half.forget, factor))
