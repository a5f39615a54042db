"""A fusion keeps every promise of a learner, and its clones know nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    Batch,
    BernoulliNB,
    Beta,
    BetaBernoulli,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
)
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.learners.fusion import LogOddsFusion
from stream_bayes.learners.gradient import LogisticRegression
from stream_bayes.testing import events, frozen, refused, taught
from tests.support.contract_cases import our_cases, river_cases
from tests.support.kernels import entries

COLOURS = ("red", "green")
WORDS = BernoulliNB(prior=Beta(0.3, 2.5), class_prior_count=0.5)
SENDER = BetaBernoulli(on="a", prior=Beta(2.5, 0.7))

FUSIONS: dict[str, LogOddsFusion] = {
    "stack": LogOddsFusion((WORDS, SENDER), prior_precision=3.0),
    "average": LogOddsFusion(
        (MultinomialNB(prior_count=0.3), GaussianNB(), CategoricalNB(prior_count=0.2, classes=COLOURS[::-1])),
        method="averaging",
        calibration="beta",
        calibration_precision=3.0,
        classes=COLOURS,
    ),
    "gradient": LogOddsFusion(
        (LogisticRegression(step="constant", rate=0.05), SENDER, LogisticRegression(l1=0.01, buckets=64)),
        prior_precision=0.5,
        largest_log_odds=4.0,
    ),
    "nested": LogOddsFusion(
        (
            LogOddsFusion((MultinomialNB(), WORDS.clone({"buckets": 64})), calibration="beta", largest_log_odds=2.5),
            GaussianDiscriminant(covariance="shared"),
            PoissonNB(),
        ),
        calibration="none",
        prior_precision=0.2,
    ),
}


@pytest.mark.parametrize(("name", "check"), our_cases(FUSIONS, first=["nested"]))
def test_our_contract(name: str, check: Callable[[Any], None]) -> None:
    check(FUSIONS[name].clone())


@pytest.mark.parametrize(
    ("name", "check"), river_cases({name: FUSIONS[name] for name in ("stack", "gradient", "nested")}, first=["nested"])
)
def test_river_contract(name: str, check: Callable[[Any], None]) -> None:
    assert not FUSIONS[name]._unit_test_skips()
    check(FUSIONS[name].clone())


@pytest.mark.parametrize("name", FUSIONS)
def test_a_clone_carries_no_data(name: str) -> None:
    """However the taught fusion came about and is cloned: the members, their prototypes and all stages are fresh."""
    fresh = frozen(FUSIONS[name])
    stream = events(FUSIONS[name])
    model = taught(FUSIONS[name], stream)
    restored = LogOddsFusion.from_state(model.state())
    for one in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), restored, model.clone().clone()):
        clone = one.clone()
        assert frozen(clone) == fresh
        assert repr(clone) == repr(FUSIONS[name])
        assert pickle.dumps(clone.learners) == pickle.dumps(FUSIONS[name].clone().learners)
        assert clone.reliability().events == 0.0
        assert len(pickle.dumps(clone)) == len(pickle.dumps(FUSIONS[name].clone()))
        for learner, mine in zip(clone.learners, clone.members.values(), strict=True):
            assert frozen(learner) == frozen(learner.clone())
            assert frozen(mine) == frozen(mine.clone())
    for member in model.members.values():
        assert frozen(member) != frozen(member.clone())
    # Not even when the prototypes have learned outside of the fusion.
    model.learners[-1].learn_one(*stream[0])
    assert frozen(model.clone()) == fresh
    assert frozen(model.clone(include_attributes=True)) == frozen(model)


def test_clone_with_new_parameters() -> None:
    model = taught(FUSIONS["stack"], events(FUSIONS["stack"]))
    other = model.clone({"method": "averaging", "learners": (SENDER, WORDS, GaussianNB()), "classes": (True, False)})
    assert [type(learner).__name__ for learner in other.learners] == ["BetaBernoulli", "BernoulliNB", "GaussianNB"]
    assert (other.method, other._get_params().keys()) == ("averaging", model._get_params().keys())


def test_members_given_are_prototypes() -> None:
    """They are never taught, and what they had learned is left to them."""
    given = taught(WORDS.clone({"classes": (True, False)}), [({"x": 1}, True), ({"y": 1}, False)])
    before = frozen(given)
    model = LogOddsFusion((given, SENDER))
    assert frozen(model.members["BernoulliNB"]) == frozen(given.clone())
    model.learn_one({"x": 1}, True)
    assert (frozen(given), frozen(SENDER)) == (before, frozen(SENDER.clone()))
    assert model.learners[0] is not given
    # Those without classes get the fusion's, and answer with both from the start.
    assert LogOddsFusion((WORDS,), classes=COLOURS).members["BernoulliNB"].predict_proba_one({}) == {
        "red": 0.5,
        "green": 0.5,
    }


def test_a_type_that_changes_within_a_batch() -> None:
    """Each event could be learned by itself: only the second after the first is refused, and then both are."""
    model = taught(LogOddsFusion((BernoulliNB(), BetaBernoulli(on="z"), CategoricalNB())), [({"a": 1.0}, True)])
    for turn in ([{"new": 1.0}, {"new": "text"}], [{"z": "text"}, {"z": 1.0}]):
        refused(model, partial(model.test_then_train, turn, [True, False]), InputError)
        model.predictive_many(turn)


def test_labels_and_weights_are_checked_before_any_member() -> None:
    model = taught(FUSIONS["average"], events(FUSIONS["average"]))
    for labels, weights in ((["red", "blue"], None), (["red"], None), (["red", "red"], [1.0, -1.0]), (5, None)):
        refused(model, partial(model.test_then_train, [{"a": 1.0}, {}], labels, weights), InputError)
    refused(model, partial(model.learn_one, {"a": 1.0}, "blue"), InputError)
    refused(model, partial(model.test_then_train, 3, []), InputError)


def test_forms_of_a_batch() -> None:
    """A plain batch goes to every member as it is; one that the fusion makes holds what each of them takes."""
    stream = [({"a": 1.0, "b": 2.0}, True), ({"b": 1.0}, False), ({"a": 3.0}, None)]
    listed = [x for x, _ in stream]
    labels = [y for _, y in stream]
    numeric = LogOddsFusion((WORDS, GaussianNB()))
    mixed = FUSIONS["stack"].clone()
    whole = numeric.clone()
    parts = numeric.clone()
    whole.test_then_train(Batch.from_dicts(listed), labels)
    parts.test_then_train(parts.batch(iter(listed)), labels)
    assert frozen(whole) == frozen(parts)
    refused(mixed, partial(mixed.test_then_train, Batch.from_dicts(listed), labels), InputError)
    three = LogOddsFusion((WORDS, SENDER, GaussianNB())).batch(listed)
    refused(mixed, partial(mixed.test_then_train, three, labels), InputError)
    matrix = Batch.from_matrix(np.array([[1.0, 0.0], [0.0, 3.0]]), ["a", "b"])
    assert len(numeric.predictive_many(matrix)) == 2
    assert len(mixed.test_then_train([], [])) == 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"learners": ()},
        {"learners": WORDS},
        {"learners": (WORDS, BernoulliNB)},
        {"learners": (WORDS.clone({"classes": ("a", "b")}),)},
        {"learners": (WORDS.clone({"classes": (False, True, "maybe")}),)},
        {"learners": (WORDS,) * 257},
        {"classes": (True,)},
        {"classes": (True, False, "maybe")},
        {"method": "voting"},
        {"calibration": "isotonic"},
        {"calibration": None},
        {"prior_precision": 0.0},
        {"prior_precision": 1e-9},
        {"calibration_precision": -1.0},
        {"calibration_precision": float("nan")},
        {"largest_log_odds": 0.0},
        {"largest_log_odds": 1e4},
    ],
    ids=" ".join,
)
def test_bad_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        LogOddsFusion(**{"learners": (WORDS,), **parameters})


def test_names_of_members() -> None:
    model = LogOddsFusion((WORDS, SENDER, WORDS), "averaging")
    assert list(model.weights()) == list(model.members) == ["BernoulliNB", "BetaBernoulli", "BernoulliNB 2"]
    assert list(LogOddsFusion((SENDER,)).weights()) == ["BetaBernoulli", "intercept"]


def test_one_machine_code_version_each() -> None:
    for fusion in FUSIONS.values():
        labels = list(fusion.classes)
        model = fusion.clone()
        model.learn_one({"a": 1, "b": 2}, labels[0])
        model.test_then_train([{"a": np.float32(2)}, {}], [labels[1], None], [1, 0.5])
        LogOddsFusion.from_state(model.state()).weights()
        model.predictive_one({"a": 1})
    for name, kernel in entries().items():
        assert len(kernel.signatures) <= 1, f"{name} was compiled for {kernel.signatures}"
