"""Gradient learners written down densely and eagerly, every weight shrunk at every event, to compare ours with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stream_bayes.learners.gradient import LogisticRegression, PoissonRegression, SoftmaxRegression
from stream_bayes.typing import BoolArray, FloatArray

KINDS = {"logistic": LogisticRegression, "softmax": SoftmaxRegression, "poisson": PoissonRegression}
STEPS = ("constant", "inverse-root", "adagrad")
CLASSES = ("a", "b", "c")


def sparse_stream(kind: str, count: int, seed: int) -> tuple[FloatArray, BoolArray, list[Any], FloatArray]:
    """Events of twelve features, each there with probability 0.3; targets and weights."""
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(count, 12)) * generator.choice([0.5, 1.0, 2.0], 12)
    there: BoolArray = generator.random((count, 12)) < 0.3
    targets: list[Any] = generator.integers(0, 4, count).tolist()
    if kind != "poisson":
        labels = (False, True) if kind == "logistic" else CLASSES
        targets = [labels[target % len(labels)] for target in targets]
    return np.where(there, matrix, 0.0), there, targets, generator.choice([0.5, 1.0, 2.0], count)


def as_dicts(matrix: FloatArray, there: BoolArray) -> list[dict[str, float]]:
    """Only the features that are there."""
    rows = zip(matrix, there, strict=True)
    return [{f"x{j}": float(row[j]) for j in np.flatnonzero(known)} for row, known in rows]


def one_hot(kind: str, target: Any) -> FloatArray:
    """The target as one number an output."""
    if kind == "softmax":
        return np.array([float(label == target) for label in CLASSES])
    return np.array([float(target)])


def softmax(margins: FloatArray) -> FloatArray:
    shares: FloatArray = np.exp(margins - margins.max())
    total: float = shares.sum()
    return shares / total


MEANS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "logistic": lambda margins: 1.0 / (1.0 + np.exp(-margins)),
    "softmax": softmax,
    "poisson": np.exp,
}


class Eager:
    """Dense weights; each event pays for each of them at once."""

    def __init__(self, kind: str, step: str, rate: float, l1: float, l2: float) -> None:
        outputs = len(CLASSES) if kind == "softmax" else 1
        self.kind = kind
        self.step = step
        self.rate = rate
        self.l1 = l1
        self.l2 = l2
        self.pulls = np.zeros((outputs, 12))
        self.thresholds = np.zeros((outputs, 12))
        self.offsets = np.zeros(outputs)
        self.seen = np.zeros(12, dtype=np.bool_)
        self.squares = np.zeros((outputs, 12))
        self.offset_squares = np.zeros(outputs)
        self.events = 0

    @property
    def weights(self) -> FloatArray:
        """The pulls, moved towards zero by the thresholds."""
        weights: FloatArray = np.sign(self.pulls) * np.maximum(np.abs(self.pulls) - self.thresholds, 0.0)
        return weights

    def learn(self, x: FloatArray, there: BoolArray, target: Any, w: float) -> None:
        """One step of every weight; a feature pays from its first event on."""
        self.events += 1
        self.seen |= there
        residual = w * (MEANS[self.kind](self.weights @ x + self.offsets) - one_hot(self.kind, target))
        gradient = residual[:, None] * x
        self.squares += gradient**2
        self.offset_squares += residual**2
        size: Any = {"constant": self.rate, "inverse-root": self.rate / np.sqrt(self.events)}.get(self.step)
        sizes = self.rate / np.sqrt(0.01 + self.squares) if size is None else size
        self.offsets -= (self.rate / np.sqrt(0.01 + self.offset_squares) if size is None else size) * residual
        kept = 1.0 / (1.0 + sizes * self.l2)
        self.pulls = (self.pulls - sizes * gradient) * kept
        self.thresholds = np.where(self.seen, (self.thresholds + sizes * self.l1) * kept, 0.0)
