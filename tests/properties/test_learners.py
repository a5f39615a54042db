"""Hypothesis: what holds for every stream."""

from __future__ import annotations

import math
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import SpamFilter
from stream_bayes.testing import answer, answer_of, assert_close, frozen, targets
from tests.support.learners import LEARNERS, by_setting

NAMES = ("a", "b", "c", ("d", 1), "rare")
ADDITIVE = [name for name, learner in LEARNERS.items() if learner.is_additive]
# Dropping a coin forgets it, so no order, union or correction can bring it back. A plug-in normal of a constant feature
# is all or nothing: the last bit of a mean decides, and rounding decides that bit.
LOSSLESS = [name for name in ADDITIVE if name not in ("BetaBernoulli few coins", "GaussianNB plug-in")]
PROBES: list[dict[Any, Any]] = [{}, {"a": 1.0}, {"a": 2.0, "b": 3.0, ("d", 1): 1.0}, {"rare": 1.0, "new": 2.0}]


class Event(NamedTuple):
    x: dict[Any, float]
    label: int
    weight: float


values = st.sampled_from([0.0, 1.0, 2.0, 3.0, 7.0])
weights = st.sampled_from([1.0, 2.0, 0.5, 0.3])
streams = st.lists(
    st.builds(Event, st.dictionaries(st.sampled_from(NAMES), values), st.integers(0, 2), weights), max_size=12
)


def label_of(learner: Any, event: Event) -> Any:
    labels = targets(learner)
    return labels[event.label % len(labels)]


def weight_of(learner: Any, event: Event) -> float:
    """A mail is learned a whole number of times."""
    return math.ceil(event.weight) if isinstance(learner, SpamFilter) else event.weight


def taught(learner: Any, stream: list[Event]) -> Any:
    model = learner.clone()
    for event in stream:
        model.learn_one(event.x, label_of(learner, event), w=weight_of(learner, event))
    return model


def assert_same(one: Any, two: Any, tolerance: float = 1e-8) -> None:
    for x in PROBES:
        assert_close(answer(one, x), answer(two, x), tolerance)


@pytest.mark.parametrize("name", by_setting(LOSSLESS))
@settings(max_examples=12)
@given(stream=streams, random=st.randoms(use_true_random=False))
def test_order_does_not_matter(name: str, stream: list[Event], random: Any) -> None:
    shuffled = random.sample(stream, len(stream))
    assert_same(taught(LEARNERS[name], stream), taught(LEARNERS[name], shuffled))


@pytest.mark.parametrize("name", by_setting(LEARNERS))
@settings(max_examples=12)
@given(stream=streams, cuts=st.sets(st.integers(0, 12)), unknown=st.sets(st.integers(0, 12)))
def test_batches_are_the_loop_bit_for_bit(name: str, stream: list[Event], cuts: set[int], unknown: set[int]) -> None:
    learner = LEARNERS[name]
    labels = [None if place in unknown else label_of(learner, event) for place, event in enumerate(stream)]
    loop = learner.clone()
    said = []
    for event, label in zip(stream, labels, strict=True):
        said.append(answer(loop, event.x))
        if label is not None:
            loop.learn_one(event.x, label, w=weight_of(learner, event))
    model = learner.clone()
    answers = []
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    for begin, end in pairwise(edges):
        part = stream[begin:end]
        batch = model.batch([event.x for event in part])
        predictions = model.test_then_train(batch, labels[begin:end], [weight_of(learner, event) for event in part])
        answers += [answer_of(predictions, row) for row in range(len(part))]
    assert answers == said
    assert frozen(model) == frozen(loop)


@pytest.mark.parametrize("name", by_setting(LOSSLESS))
@settings(max_examples=12)
@given(first=streams, second=streams)
def test_merge_is_union(name: str, first: list[Event], second: list[Event]) -> None:
    model = taught(LEARNERS[name], first)
    model.merge(taught(LEARNERS[name], second))
    assert_same(model, taught(LEARNERS[name], first + second))


@pytest.mark.parametrize("name", by_setting(LOSSLESS))
@settings(max_examples=12)
@given(stream=streams, mistakes=streams, random=st.randoms(use_true_random=False))
def test_unlearn_undoes_learn(name: str, stream: list[Event], mistakes: list[Event], random: Any) -> None:
    learner = LEARNERS[name]
    model = taught(learner, stream + mistakes)
    for event in random.sample(mistakes, len(mistakes)):
        model.unlearn_one(event.x, label_of(learner, event), w=event.weight)
    assert_same(model, taught(learner, stream))


@pytest.mark.parametrize("name", by_setting([*LOSSLESS, "BetaBernoulli few coins"]))
@settings(max_examples=12)
@given(stream=streams, factor=st.sampled_from([0.0, 0.25, 0.9, 1.0]))
def test_forgetting_is_a_smaller_weight(name: str, stream: list[Event], factor: float) -> None:
    model = taught(LEARNERS[name], stream)
    model.forget(factor)
    if factor == 0.0:
        assert_same(model, LEARNERS[name].clone())
    else:
        assert_same(model, taught(LEARNERS[name], [event._replace(weight=event.weight * factor) for event in stream]))


@pytest.mark.parametrize("name", by_setting(LEARNERS))
@settings(max_examples=8)
@given(before=streams, after=streams)
def test_a_loaded_snapshot_continues_bit_for_bit(name: str, before: list[Event], after: list[Event]) -> None:
    learner = LEARNERS[name]
    model = taught(learner, before)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        restored = type(learner).load(Path(folder) / "model")
    for event in after:
        assert answer(restored, event.x) == answer(model, event.x)
        for each in (restored, model):
            each.learn_one(event.x, label_of(learner, event), w=weight_of(learner, event))
    assert frozen(restored) == frozen(model)
