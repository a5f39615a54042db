"""Corrections: what was learned can be taken back in any order and weight, and learners of other types do not merge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river import base

from stream_bayes import BayesianLinearRegression, BetaBernoulli, CategoricalNB, GramRegression, MultinomialNB
from stream_bayes.errors import MergeError, StreamBayesError, UnlearnError
from stream_bayes.testing import answer, assert_close, events, frozen, targets, taught
from tests.support.learners import LEARNERS
from tests.support.tiers import short_each

ADDITIVE = [name for name, learner in LEARNERS.items() if learner.is_additive]
WITH_FEATURES = [name for name in ADDITIVE if not isinstance(LEARNERS[name], BetaBernoulli)]
FEATURES: tuple[Any, ...] = ("a", "b", "c", ("d", 1), "e")


def posteriors(model: Any) -> list[Any]:
    """Every posterior that can be asked for by name; a share among one value or one word has none."""
    if getattr(model, "prior", 1.0) is None or getattr(model, "prior_count", 1.0) == 0.0:
        return []
    if isinstance(model, BayesianLinearRegression):
        return list(model.weights().values())
    if isinstance(model, GramRegression):
        return [model.predictive_one(dict.fromkeys(FEATURES, 1.0))]
    if isinstance(model, BetaBernoulli):
        return [model.posterior(value) for value in ((None,) if model.on is None else (None, 0.0, 1, 2, 3))]
    names = FEATURES
    if isinstance(model, CategoricalNB):
        names = () if model.buckets else tuple(name for name in FEATURES if len(model.categories(name)) > 1)
    elif isinstance(model, MultinomialNB):
        names = FEATURES if model._vocabulary_size > 1 else ()
    return [model.posterior(name, label) for name in names for label in ("red", "green", "blue")]


@pytest.mark.parametrize("name", short_each(ADDITIVE, 3))
def test_large_weights_can_be_unlearned_in_any_order(name: str) -> None:
    """Sums of weights near 1e9 are rounded at 1e-7: what is left of them in another order is no reason to refuse."""
    generator = np.random.default_rng(1)
    learner = LEARNERS[name]
    for trial in range(20):
        stream = events(learner, 8, seed=trial)
        weights = (1e9 * generator.uniform(0.1, 1.0, len(stream))).tolist()
        model = learner.clone()
        for (x, y), w in zip(stream, weights, strict=True):
            model.learn_one(x, y, w)
        for place in generator.permutation(len(stream)):
            model.unlearn_one(*stream[place], weights[place])
            posteriors(model)
        for x, _ in stream:
            assert_close(answer(model, x), answer(learner.clone(), x))


@pytest.mark.parametrize("name", short_each(ADDITIVE, 3))
def test_posteriors_after_fractional_unlearning(name: str) -> None:
    """0.1 + 0.2 - 0.1 - 0.2 is not 0: a count of messages may end a rounding below that of a word in all of them."""
    generator = np.random.default_rng(2)
    learner = LEARNERS[name]
    for trial in range(10):
        stream = events(learner, 12, seed=trial)
        weights = generator.choice([0.1, 0.2, 0.3, 0.7, 1.1], len(stream)).tolist()
        model = learner.clone()
        for (x, y), w in zip(stream, weights, strict=True):
            model.learn_one(x, y, w)
        for place in generator.permutation(len(stream)):
            model.unlearn_one(*stream[place], weights[place])
            posteriors(model)
            assert model.predictive_one(stream[place][0]).variance >= 0.0


@pytest.mark.parametrize("name", WITH_FEATURES)
def test_a_feature_cannot_be_unlearned_from_events_without_features(name: str) -> None:
    """The class is known and there is no column at all, not even of another class."""
    model = LEARNERS[name].clone()
    label = targets(model)[0]
    model.learn_one({}, label)
    before = frozen(model)
    for x in ({"x": 1}, {"x": 1, "y": True}):
        with pytest.raises(UnlearnError):
            model.unlearn_one(x, label, w=0.5)
    assert frozen(model) == before
    model.unlearn_one({}, label)


@pytest.mark.parametrize("name", [name for name in WITH_FEATURES if isinstance(LEARNERS[name], base.Classifier)])
def test_a_feature_of_another_class_cannot_be_unlearned(name: str) -> None:
    model = LEARNERS[name].clone()
    model.learn_one({"x": 2}, "green")
    model.learn_one({}, "red")
    before = frozen(model)
    with pytest.raises(UnlearnError):
        model.unlearn_one({"x": 2}, "red")
    assert frozen(model) == before


@pytest.mark.parametrize(
    "learner",
    [
        MultinomialNB(prior_count=0.3),
        CategoricalNB(prior_count=0.2),
        BetaBernoulli(on="kind", classes=("ham", "spam")),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_text_and_a_number_do_not_merge(learner: Any) -> None:
    """A feature keeps its type in one stream, so it has one in the union of two."""
    texts = taught(learner, [({"kind": "x"}, "ham"), ({"kind": "y", "b": 1}, "spam")])
    numbers = taught(learner, [({"b": 2, "kind": 1}, "spam"), ({"only here": 1}, "ham")])
    for model, other in ((texts, numbers), (numbers, texts)):
        before = frozen(model), frozen(other)
        with pytest.raises(MergeError, match="'kind'") as caught:
            model.merge(other)
        assert caught.value.code == "cannot-merge"
        assert (frozen(model), frozen(other)) == before


@pytest.mark.parametrize("name", ADDITIVE)
def test_merged_events_can_be_unlearned(name: str) -> None:
    """The union has the evidence of every event of both."""
    learner = LEARNERS[name]
    first = events(learner, 12, seed=1)
    second = events(learner, 12, seed=2)
    model = taught(learner, first)
    model.merge(taught(learner, second))
    for x, y in second:
        model.unlearn_one(x, y)
    for x, _ in first:
        assert_close(answer(model, x), answer(taught(learner, first), x), 1e-8)
    with pytest.raises(StreamBayesError):
        model.unlearn_one(*first[0], w=100.0)
