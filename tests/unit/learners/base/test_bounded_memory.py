"""What must not grow: hashed learners, coins beyond their capacity, names that were never learned."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from stream_bayes import Batch, BernoulliNB, Beta, BetaBernoulli, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB
from stream_bayes.learners.base import columns
from stream_bayes.testing import frozen

GOLDEN_BUCKETS = [525052, 289302, 49142, 1004718, 772959, 603245, 1026146, 548838]
HASHED = [BernoulliNB, MultinomialNB, PoissonNB, CategoricalNB, GaussianNB]


def size(model: Any) -> int:
    return sum(array.nbytes for array in model.state().arrays.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", HASHED)
def test_hashed_state_has_a_fixed_size(kind: Any) -> None:
    model = kind(buckets=256, classes=("ham", "spam"))
    model.learn_one({"first": 1}, "ham")
    before = size(model)
    for number in range(3000):
        model.learn_one({f"word {number}": 1, (number, "pair"): 1}, ("ham", "spam")[number % 2])
    assert size(model) == before


@pytest.mark.parametrize("kind", [BernoulliNB, MultinomialNB, PoissonNB, GaussianNB])
def test_without_collisions_hashing_changes_nothing(kind: Any) -> None:
    named = kind()
    hashed = kind(buckets=2**16)
    names = [f"w{number}" for number in range(40)]
    columns = hashed._vocabulary.lookup(names)
    assert len(set(columns.tolist())) == len(names), "these names must not collide for the comparison"
    generator = np.random.default_rng(1)
    for number in range(60):
        x = {name: int(generator.integers(1, 4)) for name in names if generator.random() < 0.3}
        for model in (named, hashed):
            model.learn_one(x, ("ham", "spam")[number % 2])
    for name in names:
        one = named.predict_proba_one({name: 2})
        two = hashed.predict_proba_one({name: 2})
        assert one == pytest.approx(two, rel=1e-12)
        assert named.posterior(name, "spam") == hashed.posterior(name, "spam")


def test_names_that_share_a_bucket_share_their_count() -> None:
    model = MultinomialNB(buckets=2)
    model.learn_one({"a": 1, "b": 2, "c": 3}, "spam")
    assert model._evidence.cells.sum() == 6
    present = BernoulliNB(buckets=2)
    present.learn_one({"a": 1, "b": 2, "c": 3, "d": 1, "e": 1}, "spam")
    assert present._evidence.cells.max() == 1, "a bucket is in a message once, however many of its words are"


def test_a_batch_of_buckets_needs_no_names() -> None:
    batch = Batch.from_arrays([0, 2, 3], [7, 1, 7], [1.0, 2.0, 1.0])
    model = MultinomialNB(buckets=8)
    loop = MultinomialNB(buckets=8)
    predictions = model.test_then_train(batch, ["spam", "ham"])
    loop.test_then_train(Batch.from_arrays([0, 2], [7, 1], [1.0, 2.0]), ["spam"])
    assert predictions.probabilities_of(1) == loop.predictive_many(
        Batch.from_arrays([0, 1], [7], [1.0])
    ).probabilities_of(0)
    assert model._evidence.cells[7].tolist() == [1.0, 1.0]


def test_hashes_are_the_same_in_every_process() -> None:
    """Snapshots outlive processes, so Python's salted hash() would not do: these numbers are for ever."""
    model = BernoulliNB(buckets=2**20)
    names = ["cheap", "grüße", ("subject", "pills"), 7, 2.5, True, None, "\udce4"]
    assert model._vocabulary.lookup(names).tolist() == GOLDEN_BUCKETS


def test_the_coin_longest_without_learning_is_dropped() -> None:
    model = BetaBernoulli(on="sender", prior=Beta(2, 3), capacity=2)
    for sender in ("ann", "bob", "ann", "eve"):
        model.learn_one({"sender": sender}, True)
    model.predict_one({"sender": "ann"})
    assert model.posterior("bob") == Beta(2, 3), "bob had gone longest without learning"
    assert model.posterior("ann") == Beta(4, 3)
    assert model.posterior("eve") == Beta(3, 3)
    room = len(model._counts)
    for number in range(500):
        model.learn_one({"sender": f"new {number}"}, False)
    assert len(model._slots) == 2
    assert len(model._counts) == room


def senders(model: BetaBernoulli, *names: str) -> BetaBernoulli:
    for name in names:
        model.learn_one({"sender": name}, True)
    return model


def test_unlearned_events_do_not_count_as_learned() -> None:
    """Learned and unlearned is as if it had never come: the coin keeps its place in the queue, and its evidence."""
    model, other = (BetaBernoulli(on="sender", prior=Beta(2, 3), capacity=2) for _ in range(2))
    senders(model, "ann", "bob", "bob")
    model.unlearn_one({"sender": "bob"}, True)
    senders(other, "ann", "bob")
    assert frozen(model) == frozen(other)
    for each in (model, other):
        senders(each, "eve")
        assert each.posterior("ann") == Beta(2, 3), "ann had gone longest without learning"
        assert each.posterior("bob") == each.posterior("eve") == Beta(3, 3)


def test_a_coin_that_came_and_went_changes_no_order() -> None:
    """A correction of the oldest coin does not make it the youngest: the next to be dropped is the same."""
    model = senders(BetaBernoulli(on="sender", prior=Beta(2, 3), capacity=2), "ann", "ann", "bob")
    model.unlearn_one({"sender": "ann"}, True)
    senders(model, "eve")
    assert model.posterior("ann") == Beta(2, 3)
    assert model.posterior("bob") == model.posterior("eve") == Beta(3, 3)


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_an_emptied_coin_frees_its_place(weight: float) -> None:
    """Without evidence it says what the prior says, so nothing need be dropped for the next one."""
    model = senders(BetaBernoulli(on="sender", prior=Beta(2, 3), capacity=2), "ann")
    for _ in range(3):
        model.learn_one({"sender": "bob"}, False, w=weight)
    for _ in range(3):
        model.unlearn_one({"sender": "bob"}, False, w=weight)
    senders(model, "eve")
    assert model.posterior("ann") == model.posterior("eve") == Beta(3, 3)
    assert model.posterior("bob") == Beta(2, 3)
    other = senders(BetaBernoulli(on="sender", prior=Beta(2, 3), capacity=2), "ann", "eve")
    assert frozen(model) == frozen(other) == frozen(BetaBernoulli.from_state(model.state()))
    senders(model, *(f"new {number}" for number in range(300)))
    assert len(model._slots) == 2
    assert len(model._counts) == len(other._counts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BernoulliNB, MultinomialNB, PoissonNB, GaussianNB, CategoricalNB])
def test_one_row_with_a_new_word_allocates_for_one_row(kind: Any) -> None:
    """Peaks of memory in bytes: with fifty thousand names known, one more is as cheap as with none."""
    model = kind(classes=("ham", "spam"))
    names = 50_000
    model.test_then_train([{f"{row} {word}": 1 for word in range(500)} for row in range(names // 500)], ["ham"] * 100)
    for number in range(3):
        model.test_then_train([{f"warm {number}": 1}], ["spam"])
    peaks = []
    for number in range(8):
        tracemalloc.start()
        model.test_then_train([{f"new {number}": 1, "0 1": 1}], ["spam"])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Arrays that grow double their room now and then: most events must not pay for all names.
    assert sorted(peaks)[4] < names, f"one event allocated {sorted(peaks)[4]} bytes"


def test_names_without_labels_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MAX_UNLEARNED_NAMES", 100)
    model = BernoulliNB(classes=("ham", "spam"))
    for number in range(50):
        model.test_then_train([{f"{number} {word}": 1 for word in range(20)}], [None])
    assert len(model._batch_names) <= 120
    assert len(model._vocabulary) == 0
