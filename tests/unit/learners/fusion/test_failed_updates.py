"""A fusion learns in all its members or in none: without memory, without numbers, and whatever a class may raise."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import pytest

from stream_bayes import (
    Batch,
    BayesianLogisticRegression,
    BernoulliNB,
    BetaBernoulli,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    LogisticRegression,
    LogOddsFusion,
    MultinomialNB,
)
from stream_bayes.errors import EvidenceError, InputError, NumericalError, StreamBayesError
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.input_checks import Events
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.labels import Many
from stream_bayes.testing import frozen, refused, taught

STREAM: list[Any] = [({"a": 1.0, "b": 2.0}, True), ({"a": 2.0, "b": 1.0}, False)]


class Raising(GaussianNB):
    """Learns, and with a shared variance raises then when there is a feature of that name: all too late."""

    raised: Any = KeyboardInterrupt

    def test_then_train(self, events: Batch | Events, y: Many, w: Many | None = None) -> LabelPredictions:
        """Raise what no check can see beforehand."""
        predictions = super().test_then_train(events, y, w)
        names: Any = events.names if isinstance(events, Batch) else None
        if self.variance == "shared" and "raise" in [names[place] for place in range(len(names))]:
            raise self.raised
        return predictions


class Overflowing(Raising):
    """The same with an error of ours."""

    raised = NumericalError("the step overflows")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("x", "kind"),
    [
        ({"a": -1.0}, InputError),  # no count
        ({"a": "text"}, InputError),  # no number
        ({"a": 1e200}, InputError),  # no number whose square is one
        ({"b": True}, InputError),  # a number before, now a boolean category
        ({"raise": 1.0}, NumericalError),
    ],
    ids=str,
)
def test_an_event_that_one_member_refuses_is_learned_by_none(x: dict[str, Any], kind: type[StreamBayesError]) -> None:
    """Whatever the place of the member that refuses, alone and within a batch, and inside a fusion in the fusion."""
    members = (MultinomialNB(), Overflowing(), CategoricalNB(), BetaBernoulli(on="b"), Overflowing(variance="shared"))
    orders = [members[place:] + members[:place] for place in range(len(members))]
    inside = (LogOddsFusion(members[:3]), BernoulliNB(), LogOddsFusion(members[2:]))
    for order in (*orders, inside):
        model = taught(LogOddsFusion(order), STREAM)
        refused(model, partial(model.learn_one, x, True), kind)
        refused(model, partial(model.test_then_train, [STREAM[0][0], x, STREAM[1][0]], [True, False, True]), kind)
        assert frozen(model) == frozen(taught(LogOddsFusion(order), STREAM))


@pytest.mark.long
def test_no_memory_in_the_last_member() -> None:
    """The square of 3e5 names, and texts among them: no member keeps a name, a text or a step."""
    words: dict[str, Any] = {f"w{place}": 1.0 for place in range(300_000)}
    for members, words["from"] in (
        ((LogisticRegression(), BetaBernoulli(on="w1"), GaussianDiscriminant()), 1.0),
        ((LogOddsFusion((MultinomialNB(), BernoulliNB())), BayesianLogisticRegression()), "bob"),
    ):
        model = taught(LogOddsFusion(members), STREAM)
        refused(model, partial(model.learn_one, words, True), EvidenceError)
        refused(model, partial(model.test_then_train, [STREAM[0][0], words], [True, False]), EvidenceError)
        twin = taught(LogOddsFusion(members), STREAM)
        for each in (model, twin):
            each.learn_one({"from": 1.0, "w7": 3.0}, False)
        assert frozen(model) == frozen(twin)


@pytest.mark.parametrize("place", range(4))
def test_an_interrupted_event_is_learned_by_no_member(place: int) -> None:
    """A class from elsewhere may raise anything, even after it has learned: it and those before it are put back."""
    members: list[Classifier] = [Raising(), BayesianLogisticRegression(0.5, forgetting=0.9), BetaBernoulli(on="b")]
    members.insert(place, Raising(variance="shared"))
    model = taught(LogOddsFusion(tuple(members)), STREAM)
    before = frozen(model)
    held = model.members
    with pytest.raises(KeyboardInterrupt):
        model.learn_one({"raise": 1.0, "b": 3.0}, True)
    with pytest.raises(KeyboardInterrupt):
        model.test_then_train([STREAM[0][0], {"raise": 1.0}], [True, False])
    assert frozen(model) == before
    assert all(held[name] is member for name, member in model.members.items())


def test_only_members_that_may_fail_are_copied() -> None:
    """The last member of the package refuses before it learns, and no member after it refuses."""
    sure = (LogisticRegression(), BernoulliNB(), BetaBernoulli(), GaussianDiscriminant(), BayesianLogisticRegression())
    diagonal = BayesianLogisticRegression(covariance="diagonal", buckets=2**18)
    ageing = BayesianLogisticRegression(forgetting=0.9)
    for members, copied in (
        ((*sure, diagonal, diagonal, LogOddsFusion(sure)), []),
        ((ageing, *sure), []),
        ((ageing, diagonal, LogOddsFusion((ageing, *sure))), [0]),
        ((ageing, GaussianNB(), Raising()), [2]),
        ((Raising(), LogOddsFusion((Raising(),)), Raising()), [0, 2]),
    ):
        assert LogOddsFusion(members)._members._copied == copied


def test_a_feature_without_a_label_may_have_another_type_before() -> None:
    """What is prepared is not checked again: the boolean comes before the number is learned."""
    model = LogOddsFusion((CategoricalNB(), BetaBernoulli(on="z"), LogOddsFusion((CategoricalNB(),))))
    turn: list[Any] = [{"z": True}, {"z": 1.0}]
    whole = copy.deepcopy(model)
    loop = copy.deepcopy(model)
    whole.test_then_train(turn, [None, True])
    loop.learn_one(turn[1], True)
    assert frozen(whole) == frozen(loop)
    refused(whole, partial(whole.test_then_train, turn, [None, True]), InputError)
