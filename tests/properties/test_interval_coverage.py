"""Are the intervals honest? Parameters from the learner's own prior, data from its own model, and the truth inside.

The latent log-odds have their exact posterior mean and variance; only the shape, taken for normal, is an approximation.
So of many true probabilities 95 in 100 should lie in their 95 % intervals; the bound leaves room for the shape
(measured: 0.92 to 0.96) and for 400 draws (standard error 0.011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stream_bayes import (
    BernoulliNB,
    Beta,
    CategoricalNB,
    Gamma,
    GaussianNB,
    MultinomialNB,
    NormalInverseGamma,
    PoissonNB,
)

Events = list[dict[Any, Any]]
World = tuple[Callable[[int], dict[Any, Any]], Callable[[dict[Any, Any], int], float]]
DRAWS = 400


def bernoulli(generator: np.random.Generator, words: int) -> World:
    theta = generator.beta(0.7, 2.0, (2, words))

    def event(label: int) -> dict[Any, Any]:
        return dict.fromkeys(np.flatnonzero(generator.random(words) < theta[label]).tolist(), 1)

    def log_likelihood(x: dict[Any, Any], label: int) -> float:
        present = np.isin(np.arange(words), list(x))
        return float(np.log(np.where(present, theta[label], 1 - theta[label])).sum())

    return event, log_likelihood


def multinomial(generator: np.random.Generator, words: int) -> World:
    theta = generator.dirichlet([0.7] * words, 2)

    def event(label: int) -> dict[Any, Any]:
        return {word: count for word, count in enumerate(generator.multinomial(6, theta[label]).tolist()) if count}

    return event, lambda x, label: float(sum(count * np.log(theta[label, word]) for word, count in x.items()))


def poisson(generator: np.random.Generator, words: int) -> World:
    rates = generator.gamma(1.5, 1 / 2.0, (2, words))

    def event(label: int) -> dict[Any, Any]:
        return {word: count for word, count in enumerate(generator.poisson(rates[label]).tolist()) if count}

    def log_likelihood(x: dict[Any, Any], label: int) -> float:
        return float(sum(count * np.log(rates[label, word]) for word, count in x.items()) - rates[label].sum())

    return event, log_likelihood


def categorical(generator: np.random.Generator, features: int) -> World:
    theta = generator.dirichlet([0.7] * 3, (2, features))

    def event(label: int) -> dict[Any, Any]:
        return {feature: int(generator.choice(3, p=theta[label, feature])) for feature in range(features)}

    return event, lambda x, label: float(sum(np.log(theta[label, feature, value]) for feature, value in x.items()))


def gaussian(generator: np.random.Generator, features: int) -> World:
    variance = 2.0 / generator.gamma(3.0, 1.0, (2, features))
    mean = generator.normal(0.5, np.sqrt(variance / 0.4))

    def event(label: int) -> dict[Any, Any]:
        return dict(enumerate(generator.normal(mean[label], np.sqrt(variance[label])).tolist()))

    def log_likelihood(x: dict[Any, Any], label: int) -> float:
        values = np.array(list(x.values()))
        return float((-0.5 * np.log(variance[label]) - (values - mean[label]) ** 2 / (2 * variance[label])).sum())

    return event, log_likelihood


CASES = {
    "BernoulliNB 3 words": (BernoulliNB(Beta(0.7, 2.0)), bernoulli, 3),
    "BernoulliNB 30 words": (BernoulliNB(Beta(0.7, 2.0)), bernoulli, 30),
    "MultinomialNB": (MultinomialNB(0.7), multinomial, 10),
    "PoissonNB": (PoissonNB(Gamma(1.5, 2.0)), poisson, 5),
    "CategoricalNB": (CategoricalNB(0.7), categorical, 4),
    "GaussianNB": (GaussianNB(NormalInverseGamma(0.5, 0.4, 3.0, 2.0)), gaussian, 3),
}


@pytest.mark.parametrize("events", [20, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CASES)
def test_true_probabilities_lie_in_their_intervals(name: str, events: int) -> None:
    learner, world, size = CASES[name]
    generator = np.random.default_rng(5)
    inside = 0
    for _ in range(DRAWS):
        event, log_likelihood = world(generator, size)
        share = generator.beta(1.0, 1.0)
        model = learner.clone({"classes": (0, 1)})
        labels = (generator.random(events) < share).astype(int).tolist()
        stream = [event(label) for label in labels]
        model.test_then_train(stream, labels)
        x = event(int(generator.random() < share))
        # What was never learned is not in the vocabulary: the truth is asked about the same words.
        seen = {name for past in stream for name in past}
        x = {name: value for name, value in x.items() if name in seen}
        odds = np.log(share / (1 - share)) + log_likelihood(x, 1) - log_likelihood(x, 0)
        low, high = model.predictive_one(x).interval(0.95, 1)
        inside += low <= 1 / (1 + np.exp(-odds)) <= high
    assert inside / DRAWS > 0.89
