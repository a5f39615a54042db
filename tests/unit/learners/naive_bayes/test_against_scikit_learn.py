"""Agreement with scikit-learn to 1e-9 on random data, after learning one event at a time in random order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import naive_bayes

from stream_bayes import BernoulliNB, Beta, CategoricalNB, GaussianNB, MultinomialNB

Rows = NDArray[Any]
LABELS = np.array(["ham", "maybe", "spam"])


def learned(model: Any, rows: Rows, labels: Rows, seed: int) -> Any:
    for place in np.random.default_rng(seed).permutation(len(rows)):
        model.learn_one(as_dict(rows[place]), labels[place])
    return model


def as_dict(row: Rows) -> dict[str, Any]:
    return {f"x{column}": value for column, value in enumerate(row.tolist())}


def assert_agreement(model: Any, oracle: Any, rows: Rows) -> None:
    expected = oracle.predict_proba(rows)
    for row, probabilities in zip(rows, expected, strict=True):
        prediction = model.predict_proba_one(as_dict(row))
        np.testing.assert_allclose(
            [prediction[label] for label in oracle.classes_], probabilities, rtol=1e-9, atol=1e-12
        )


@pytest.fixture(params=[0, 1])
def generator(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


@pytest.mark.parametrize("smoothing", [0.3, 1.0, 2.5])
def test_bernoulli(generator: np.random.Generator, smoothing: float) -> None:
    rows = (generator.random((200, 30)) < generator.random(30)).astype(float)
    labels = LABELS[generator.integers(3, size=200)]
    oracle = naive_bayes.BernoulliNB(alpha=smoothing).fit(rows, labels)
    model = learned(BernoulliNB(prior=Beta(smoothing, smoothing), class_prior_count=0.0), rows, labels, seed=5)
    assert_agreement(model, oracle, rows[:50])


@pytest.mark.parametrize("smoothing", [0.3, 1.0, 2.5])
def test_multinomial(generator: np.random.Generator, smoothing: float) -> None:
    rows = generator.poisson(generator.gamma(1.0, 1.0, 30), (200, 30)).astype(float)
    rows[0] += 1.0  # every column is used: our vocabulary is what was seen, the oracle's all columns
    labels = LABELS[generator.integers(3, size=200)]
    oracle = naive_bayes.MultinomialNB(alpha=smoothing).fit(rows, labels)
    model = MultinomialNB(prior_count=smoothing, class_prior_count=0.0, predictive="plug-in")
    assert_agreement(learned(model, rows, labels, seed=6), oracle, rows[:50])


@pytest.mark.parametrize("smoothing", [0.3, 1.0, 2.5])
def test_categorical(generator: np.random.Generator, smoothing: float) -> None:
    rows = generator.integers(4, size=(200, 6))
    labels = LABELS[generator.integers(3, size=200)]
    oracle = naive_bayes.CategoricalNB(alpha=smoothing).fit(rows, labels)
    model = CategoricalNB(prior_count=smoothing, class_prior_count=0.0)
    assert_agreement(learned(model, rows, labels, seed=7), oracle, rows[:50])


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gaussian(generator: np.random.Generator, offset: float) -> None:
    """Also with means far from zero, where sums of squares would lose their digits."""
    codes = generator.integers(3, size=200)
    rows = offset + generator.normal(codes[:, None] * 0.7, 0.5 + codes[:, None], (200, 5))
    oracle = naive_bayes.GaussianNB(var_smoothing=0.0).fit(rows, LABELS[codes])
    model = learned(GaussianNB(predictive="plug-in", class_prior_count=0.0), rows, LABELS[codes], seed=8)
    expected = oracle.predict_proba(rows[:50])
    # At an offset of 1e6 the data themselves carry ten digits fewer.
    tolerance = 1e-9 if offset == 0.0 else 1e-6
    for row, probabilities in zip(rows[:50], expected, strict=True):
        prediction = model.predict_proba_one(as_dict(row))
        np.testing.assert_allclose(
            [prediction[label] for label in LABELS], probabilities, rtol=tolerance, atol=tolerance
        )


def test_weights_are_sample_weights(generator: np.random.Generator) -> None:
    rows = (generator.random((100, 20)) < 0.3).astype(float)
    labels = LABELS[generator.integers(3, size=100)]
    weights = generator.gamma(1.0, 1.0, 100)
    oracle = naive_bayes.BernoulliNB(alpha=0.4).fit(rows, labels, sample_weight=weights)
    model = BernoulliNB(prior=Beta(0.4, 0.4), class_prior_count=0.0)
    for row, label, weight in zip(rows, labels, weights, strict=True):
        model.learn_one(as_dict(row), label, w=weight)
    assert_agreement(model, oracle, rows[:30])
