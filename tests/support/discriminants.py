"""Discriminants under odd hyper-parameters, data for them, and ways to compare two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import NormalInverseGamma
from stream_bayes.learners.discriminant import GaussianDiscriminant
from stream_bayes.typing import FloatArray, IntArray

PRIOR = NormalInverseGamma(mean=0.3, strength=0.7, shape=1.6, scale=0.4)
NAMES = ("a", "b", "c", "d")

Event = tuple[dict[str, float], str, float]


def model_of(covariance: str = "full", predictive: str = "posterior", count: float = 0.6) -> GaussianDiscriminant:
    """A learner with no hyper-parameter at 1."""
    return GaussianDiscriminant(covariance, PRIOR, class_prior_count=count, predictive=predictive)


def sample(size: int) -> tuple[FloatArray, IntArray]:
    """Three classes of four correlated columns."""
    generator = np.random.default_rng(3)
    mix = np.array([[1.0, 0.8, 0.0, -0.3], [0.0, 0.6, 0.5, 0.2], [0.0, 0.0, 1.2, 0.9], [0.0, 0.0, 0.0, 0.4]])
    labels = generator.integers(3, size=size)
    values = generator.normal(size=(size, 4)) @ mix * (1.0 + 0.3 * labels[:, None])
    return values + np.outer(labels, (1.0, -0.5, 0.0, 0.8)) + (0.0, 3.0, 50.0, -1.0), labels


def events(values: FloatArray) -> list[dict[str, float]]:
    """Rows as dicts."""
    return [dict(zip(NAMES, row, strict=False)) for row in values.tolist()]


def taught(model: GaussianDiscriminant, stream: list[Event]) -> GaussianDiscriminant:
    """The model, after events with weights."""
    for x, y, w in stream:
        model.learn_one(x, y, w)
    return model


def trained(model: Any, values: FloatArray, labels: IntArray) -> Any:
    """The model, after rows with labels."""
    for x, y in zip(events(values), labels, strict=True):
        model.learn_one(x, y)
    return model


def assert_same(one: GaussianDiscriminant, other: GaussianDiscriminant, probes: list[dict[str, float]]) -> None:
    """Both give the same probabilities."""
    for x in probes:
        assert one.predict_proba_one(x) == pytest.approx(other.predict_proba_one(x), rel=1e-6, abs=1e-9)


def contents(model: GaussianDiscriminant) -> dict[str, bytes]:
    """The state as bytes."""
    return {name: array.tobytes() for name, array in model.state().arrays.items()}
