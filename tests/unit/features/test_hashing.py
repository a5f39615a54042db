"""Hashed names: equal names share a bucket whatever their type, corrections stay possible, and nothing is kept."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BernoulliNB,
    Beta,
    CategoricalNB,
    Gamma,
    GaussianNB,
    LogisticRegression,
    MultinomialNB,
    NormalInverseGamma,
    PoissonNB,
    PoissonRegression,
    SoftmaxRegression,
    hash_words,
)
from stream_bayes.errors import EvidenceError, ParameterError, SnapshotDamaged, UnlearnError
from stream_bayes.features.values import Category
from stream_bayes.testing import answer, assert_close, assert_same_answers, frozen
from tests.support.tiers import short_first

ONES = [1, 1.0, True, np.float64(1), np.int64(1), np.bool_(True)]
HASHED: list[Any] = [
    BernoulliNB(prior=Beta(0.3, 2.5), buckets=1024),
    MultinomialNB(prior_count=0.3, buckets=1024),
    PoissonNB(prior=Gamma(0.4, 2.0), buckets=1024),
    CategoricalNB(prior_count=0.2, buckets=1024),
    GaussianNB(prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0), buckets=1024),
]
hashed = pytest.mark.parametrize("learner", HASHED, ids=lambda learner: type(learner).__name__)


def categories(count: int, seed: int) -> list[tuple[dict[str, Any], str]]:
    """Events of four features, some missing, with texts and numbers."""
    generator = np.random.default_rng(seed)
    stream = []
    for _ in range(count):
        texts = {f"text {place}": "xyz"[generator.integers(3)] for place in range(2) if generator.random() < 0.7}
        numbers = {f"number {place}": int(generator.integers(4)) for place in range(2) if generator.random() < 0.7}
        stream.append((texts | numbers, ("ham", "spam")[generator.integers(2)]))
    return stream


@pytest.mark.parametrize("one", ONES, ids=repr)
def test_equal_names_share_a_bucket(one: Any) -> None:
    """1, 1.0 and True are one key to a dict, so they cannot be two features."""
    for name, other in ((1, one), ((("a", 1), "b"), (("a", one), "b")), ((1, "text"), (one, "text"))):
        vocabulary = HASHED[0]._vocabulary
        assert vocabulary.lookup([name]).tolist() == vocabulary.lookup([other]).tolist()
    assert vocabulary.lookup([1]) != vocabulary.lookup([1.5]) != vocabulary.lookup([2])


@pytest.mark.parametrize("one", [1, 1.0, np.float64(1), np.int64(1)], ids=repr)
def test_equal_values_share_a_bucket(one: Any) -> None:
    """A category is its value, not the type it came in; a boolean is another kind of value than a number."""
    model = CategoricalNB(prior_count=0.2, buckets=64)
    other = CategoricalNB(prior_count=0.2, buckets=64)
    for each, value in ((model, 1), (other, one)):
        each.learn_one({"a": 2}, "ham")
        each.learn_one({"a": value}, "spam")
    assert frozen(model) == frozen(other)
    assert answer(model, {"a": 1}) == answer(model, {"a": one})


@hashed
def test_batches_with_equal_names_of_other_types(learner: Any) -> None:
    """A batch numbers its names by a dict, where 1 and 1.0 are the same key."""
    rows: list[dict[Any, Any]] = [{1: 1}, {2: 1}, {1.0: 1}, {np.float64(2): 1, True: 1}]
    labels = ["ham", "spam", "ham", "spam"]
    loop = learner.clone()
    model = learner.clone()
    ones = learner.clone()
    result = []
    for x, y in zip(rows, labels, strict=True):
        result.append(answer(loop, x))
        loop.learn_one(x, y)
        ones.test_then_train([x], [y])
    predictions = model.test_then_train(rows, labels)
    assert [predictions.probabilities_of(row) for row in range(len(rows))] == result
    assert frozen(model) == frozen(loop) == frozen(ones)


@hashed
@pytest.mark.parametrize("asked", ONES, ids=repr)
@pytest.mark.parametrize("known", ONES, ids=repr)
def test_predicted_under_one_type_and_learned_under_another(learner: Any, asked: Any, known: Any) -> None:
    """The event before is remembered to save encoding it twice, and compares equal."""
    alone = learner.clone()
    model = learner.clone()
    alone.learn_one({known: 2.0}, "spam")
    model.predict_one({asked: 2.0})
    model.learn_one({known: 2.0}, "spam")
    assert frozen(model) == frozen(alone)


def test_corrections_of_categories_are_exact_without_collisions() -> None:
    """Where no two values share a bucket, hashing is another order of the columns and nothing else."""
    stream = categories(60, seed=1)
    mistakes = categories(30, seed=2)
    named = CategoricalNB(prior_count=0.3)
    model = CategoricalNB(prior_count=0.3, buckets=2**16)
    cells = {Category(name, "text" if isinstance(value, str) else "number", value)
             for x, _ in stream + mistakes for name, value in x.items()}  # fmt: skip
    for vocabulary, names in ((model._vocabulary, cells), (model._features, {cell.feature for cell in cells})):
        assert len(set(vocabulary.lookup(list(names)).tolist())) == len(names), "these names must not collide"
    for each in (named, model):
        for x, y in stream + mistakes:
            each.learn_one(x, y)
        for x, y in reversed(mistakes):
            each.unlearn_one(x, y)
    assert_same_answers(model, named, stream)
    fresh = CategoricalNB(prior_count=0.3, buckets=2**16)
    for x, y in stream:
        fresh.learn_one(x, y)
    assert_same_answers(model, fresh, stream)
    with pytest.raises(UnlearnError):
        model.unlearn_one({"text 0": "never"}, "spam")


@pytest.mark.parametrize("trial", short_first(range(200), 40))
def test_colliding_categories_can_be_unlearned(trial: int) -> None:
    """Values of several features in one bucket are no reason to refuse an event that was learned."""
    stream = categories(12, seed=trial)
    model = CategoricalNB(prior_count=0.3, class_prior_count=0.5, buckets=8, classes=("ham", "spam"))
    for x, y in stream:
        model.learn_one(x, y)
    for place in np.random.default_rng(trial).permutation(len(stream)):
        model.unlearn_one(*stream[place])
    assert model.class_posterior() == {"ham": 0.5, "spam": 0.5}
    for x, _ in stream:
        assert_close(answer(model, x), answer(model.clone(), x))


def test_hashed_categories_keep_no_names() -> None:
    """Constant memory for an unbounded stream: neither names nor types of features are remembered."""
    model = CategoricalNB(prior_count=0.3, buckets=64)
    for number in range(300):
        model.learn_one({f"feature {number}": number, "text": f"{number}"}, "spam")
    model.test_then_train([{f"other {number}": True} for number in range(50)], ["spam", None] * 25)
    assert not model._value_kinds


@pytest.mark.slow
@hashed
def test_batches_of_a_hashed_learner_keep_no_names(learner: Any) -> None:
    """Names are shared between batches to look each up once; hashed, they would pile up for ever."""
    model = learner.clone()
    past = []
    for number in range(4):
        batch = model.batch([{f"{number} {word}": 1 for word in range(20)}, {"always": 1}])
        assert len(batch.names) == 21
        model.test_then_train(batch, ["spam", None])
        past.append(weakref.ref(batch.names))
    del batch
    gc.collect()
    assert [names() for names in past[:-1]] == [None] * 3


@pytest.mark.parametrize("buckets", [2**33, 2**34, 2**40, 2**62, 2**63, 2**64, 2**2000, 0, 1, -2, 2.0, True])
def test_more_buckets_than_hashes_can_tell_apart(buckets: Any) -> None:
    """Refused by every learner, by the hashing of texts and in a snapshot alike."""
    kinds: tuple[Any, ...] = (LogisticRegression, SoftmaxRegression, PoissonRegression, BernoulliNB, CategoricalNB)
    for kind in kinds:
        with pytest.raises(ParameterError, match="buckets"):
            kind(buckets=buckets)
    with pytest.raises(ParameterError, match="buckets"):
        hash_words(["a"], buckets)
    state = LogisticRegression(buckets=64).state()
    with pytest.raises(SnapshotDamaged, match="buckets"):
        LogisticRegression.from_state(state._replace(parameters=state.parameters | {"buckets": buckets}))


@pytest.mark.long
def test_the_most_buckets() -> None:
    """Thousands of labels for each: there is no memory for that anywhere, and the error says so; texts need none."""
    columns = hash_words(["some words of a text"], 2**32).columns
    assert len(set(columns.tolist())) == 5
    assert 0 <= columns.min() <= columns.max() < 2**32
    model = SoftmaxRegression(buckets=2**32)
    labels = tuple(range(5000))
    with pytest.raises(EvidenceError, match="no memory"):
        model.test_then_train([{"a": 1.0}] * len(labels), labels)
    with pytest.raises(ParameterError, match="no memory for buckets=4294967296"):
        model.clone({"classes": labels})
    state = model.state()
    many = {"tuple": list(labels)}
    with pytest.raises(SnapshotDamaged, match="no memory"):
        SoftmaxRegression.from_state(state._replace(parameters=state.parameters | {"classes": many}))
