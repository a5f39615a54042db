"""Gram regressions under odd hyper-parameters, and data for them."""

from __future__ import annotations

import numpy as np

from stream_bayes.learners.gram import GramRegression
from stream_bayes.typing import FloatArray

LEARNERS = {
    "plain": GramRegression(strength=0.3, noise_variance=2.5, noise_degrees=3.0),
    "no intercept": GramRegression(strength=4.0, noise_variance=0.2, noise_degrees=7.5, intercept=False),
    "hashed": GramRegression(strength=0.7, noise_variance=3.0, noise_degrees=2.5, buckets=64),
}


def taught(model: GramRegression, features: FloatArray, targets: FloatArray) -> GramRegression:
    """The model after one event a row, features named by their column."""
    for x, y in zip(features.tolist(), targets.tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), y)
    return model


def sample(count: int = 30, width: int = 4, seed: int = 0, offset: float = 0.0) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(count, width)) @ generator.normal(size=(width, width)) + offset
    return features, features @ generator.normal(size=width) + generator.normal(size=count) + offset
