"""The sum over absent words, kept without looking at them, against the sum over all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_bayes import BernoulliNB, Beta

PRIOR = Beta(0.7, 1.3)
Message = dict[str, Any]


def brute_force(history: list[tuple[Message, str, float]], x: Message) -> float:
    """log p(x | spam) - log p(x | ham) and the class prior, over the whole vocabulary, from the bare definition."""
    vocabulary = {word for message, _, weight in history for word in message if weight}
    scores = {}
    for label in ("spam", "ham"):
        own = [(message, weight) for message, known, weight in history if known == label]
        total = math.fsum(weight for _, weight in own)
        score = math.log(1.0 + total)
        for word in vocabulary:
            present = math.fsum(weight for message, weight in own if word in message)
            failures = PRIOR.failures + total - present
            mass = sum(PRIOR) + total
            score += math.log((PRIOR.successes + present if word in x else failures) / mass)
        scores[label] = score
    return scores["spam"] - scores["ham"]


def log_odds(model: BernoulliNB, x: Message) -> float:
    prediction = model.predict_proba_one(x)
    return math.log(prediction["spam"] / prediction["ham"])


def messages(count: int, seed: int) -> list[tuple[Message, str, float]]:
    """Words from very common to very rare, so that some are heavy and most are light."""
    generator = np.random.default_rng(seed)
    shares = 0.9 / np.arange(1, 121)
    stream = []
    for _ in range(count):
        words = np.flatnonzero(generator.random(120) < shares)
        label = "spam" if generator.random() < 0.4 else "ham"
        stream.append(({f"w{word}": 1 for word in words}, label, float(generator.integers(1, 3))))
    return stream


@pytest.mark.parametrize("fraction", [1.0, 0.37])
def test_equals_the_sum_over_the_vocabulary(fraction: float) -> None:
    """Whole weights go by the histogram of counts, fractions by power sums and a list of heavy words."""
    history = [(message, label, weight * fraction) for message, label, weight in messages(150, seed=1)]
    model = BernoulliNB(prior=PRIOR)
    for place, (message, label, weight) in enumerate(history):
        model.learn_one(message, label, w=weight)
        if place in (3, 20, 80, 149):
            probe = messages(1, seed=place)[0][0]
            assert log_odds(model, probe) == pytest.approx(brute_force(history[: place + 1], probe), abs=1e-11)


@pytest.mark.parametrize("fraction", [1.0, 0.37])
def test_unlearning_half_the_stream(fraction: float) -> None:
    """Unlearning makes light words heavy again: M shrinks under them."""
    history = [(message, label, weight * fraction) for message, label, weight in messages(200, seed=2)]
    model = BernoulliNB(prior=PRIOR)
    for message, label, weight in history:
        model.learn_one(message, label, w=weight)
    for message, label, weight in history[10:]:
        model.unlearn_one(message, label, w=weight)
    probe = messages(1, seed=9)[0][0]
    assert log_odds(model, probe) == pytest.approx(brute_force(history[:10], probe), abs=1e-10)


def test_forgetting_all_along() -> None:
    """Exponential forgetting: after each message all evidence shrinks by a little."""
    model = BernoulliNB(prior=PRIOR)
    history: list[tuple[Message, str, float]] = []
    for message, label, _ in messages(120, seed=3):
        model.forget(0.97)
        model.learn_one(message, label)
        history = [(old, known, weight * 0.97) for old, known, weight in history] + [(message, label, 1.0)]
    probe = messages(1, seed=9)[0][0]
    assert log_odds(model, probe) == pytest.approx(brute_force(history, probe), abs=1e-11)


def test_order_of_events_does_not_change_a_bit() -> None:
    """With whole counts everything is a sum of integers: any order, and any merge, gives the very same numbers."""
    stream = messages(300, seed=4)
    shuffled = [stream[place] for place in np.random.default_rng(5).permutation(300)]
    models = []
    for order in (stream, shuffled):
        model = BernoulliNB(prior=PRIOR, classes=("ham", "spam"))
        for message, label, weight in order:
            model.learn_one(message, label, w=weight)
        models.append(model)
    left = BernoulliNB(prior=PRIOR, classes=("ham", "spam"))
    right = BernoulliNB(prior=PRIOR, classes=("ham", "spam"))
    for place, (message, label, weight) in enumerate(stream):
        (left if place % 3 else right).learn_one(message, label, w=weight)
    left.merge(right)
    for message, _, _ in stream[:50]:
        ordered = dict(sorted(message.items()))
        assert models[0].predict_proba_one(ordered) == models[1].predict_proba_one(ordered)
        assert models[0].predict_proba_one(ordered) == left.predict_proba_one(ordered)


def test_counts_in_order_survive_any_moves() -> None:
    """Levels stay sorted, with the right number of words each, through thousands of moves up and down."""
    generator = np.random.default_rng(6)
    model = BernoulliNB(prior=PRIOR)
    learned: list[tuple[Message, str]] = []
    for _ in range(1500):
        if learned and generator.random() < 0.45:
            message, label = learned.pop(int(generator.integers(len(learned))))
            model.unlearn_one(message, label)
        else:
            message, label, _ = messages(1, seed=int(generator.integers(1 << 30)))[0]
            model.learn_one(message, label)
            learned.append((message, label))
    fresh = BernoulliNB(prior=PRIOR)
    for message, label in learned:
        fresh.learn_one(message, label)
    for code, known in enumerate(model._labels):
        size = model._levels.size[code]
        counts = model._levels.counts[code, :size]
        words = model._levels.words[code, :size]
        assert (np.diff(counts) > 0).all()
        cells = model._evidence.cells[:, code]
        expected = np.unique(cells[cells > 0], return_counts=True)
        np.testing.assert_array_equal(counts[words > 0], expected[0])
        np.testing.assert_array_equal(words[words > 0], expected[1])
        assert fresh.class_posterior()[known] == model.class_posterior()[known]
    assert log_odds(model, learned[0][0]) == pytest.approx(log_odds(fresh, learned[0][0]), abs=1e-12)
