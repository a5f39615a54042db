"""Data for Bayesian linear regressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from stream_bayes.typing import FloatArray

NAMES = ["a", "b", "c", "d"]


def data(count: int = 40, seed: int = 0, noise: float = 0.5) -> tuple[FloatArray, FloatArray]:
    """Events with a column of ones in front, and targets."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(count, len(NAMES))) * [0.3, 1.0, 2.0, 5.0]
    design = np.column_stack((np.ones(count), features))
    return design, design @ [0.5, -1.0, 2.0, 0.0, 0.3] + noise * generator.normal(size=count)


def taught(model: Any, design: FloatArray, targets: FloatArray) -> Any:
    for row, target in zip(design[:, 1:].tolist(), targets.tolist(), strict=True):
        model.learn_one(dict(zip(NAMES, row, strict=True)), target)
    return model
