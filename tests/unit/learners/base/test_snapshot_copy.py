"""Images: copies to be looked at while a learner learns on; brought up to date in the memory they have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river.naive_bayes import GaussianNB as RiverGaussianNB

from stream_bayes import BernoulliNB, Learner, MultinomialNB, SpamFilter
from stream_bayes.errors import ParameterError, SnapshotError
from stream_bayes.learners.base.learner import LearnerState
from stream_bayes.testing import events, frozen, taught
from tests.support.learners import LEARNERS
from tests.support.spam_mails import SMALL, stream


@pytest.mark.parametrize("name", LEARNERS)
def test_an_image_is_the_learner_of_then(name: str) -> None:
    """To the last bit, whatever the copy was before; later learning does not touch it, nor the reverse."""
    some = events(LEARNERS[name], 20)
    others = events(LEARNERS[name], 30)[20:]
    model: Any = taught(LEARNERS[name], some[:10])
    copy = model.snapshot_copy()
    before = frozen(model)
    assert frozen(copy) == before
    for x, y in some[10:]:
        model.learn_one(x, y)
    assert frozen(copy) == before
    for x, y in others:
        copy.learn_one(x, y)
    now = frozen(model)
    model.copy_into(copy)
    assert frozen(copy) == frozen(model) == now
    for x, y in others:
        model.learn_one(x, y)
    assert frozen(copy) == now
    for x, y in others:
        copy.learn_one(x, y)
    assert frozen(copy) == frozen(model) != now


@pytest.mark.parametrize("other", [MultinomialNB(), BernoulliNB(class_prior_count=2.0), "no learner"], ids=str)
def test_something_else_is_no_image(other: Any) -> None:
    with pytest.raises(ParameterError, match="made by this learner's own snapshot_copy"):
        BernoulliNB().copy_into(other)


def memory_of(model: SpamFilter) -> list[Any]:
    return [*model._evidence, model._fusion.factor, model._fusion.target]


def test_an_image_of_a_filter_keeps_its_memory() -> None:
    mails, labels = stream(60, seed=2)
    model = SpamFilter(buckets=SMALL)
    copy = model.snapshot_copy()
    known = memory_of(copy)
    model.learn_many(mails, labels)
    model.copy_into(copy)
    for there, now, own in zip(known, memory_of(copy), memory_of(model), strict=True):
        assert there is now
        assert not np.shares_memory(now, own)
        np.testing.assert_array_equal(now.view(np.uint8), own.view(np.uint8))


def test_a_filter_with_classifiers_from_elsewhere_has_no_image() -> None:
    model = SpamFilter(buckets=SMALL, external_members=(("river", RiverGaussianNB(), "numbers"),))  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match=r"classifiers from elsewhere \(river\) cannot be saved"):
        model.snapshot_copy()


def test_a_state_may_be_taken_over_without_a_copy() -> None:
    model = BernoulliNB()
    model.learn_one({"a": 1}, True)
    state = model.state()
    before = frozen(model)
    taken: BernoulliNB = BernoulliNB.from_state(model.state(), copy=False)
    copied = Learner.from_state(LearnerState(*state))
    assert frozen(taken) == frozen(copied) == before
    taken.learn_one({"a": 1}, True)
    assert frozen(taken) != before
    assert frozen(Learner.from_state(state)) == before
