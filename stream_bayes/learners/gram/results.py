"""Results of Gram regression: plain value objects, no part of the learner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from stream_bayes.features import HashedVocabulary
from stream_bayes.features.values import FeatureName, Features, numeric_row
from stream_bayes.typing import FloatArray


@dataclass(frozen=True)
class Fit:
    """The weights of one penalty and strength."""

    weights: dict[FeatureName, float]
    """By the name of the feature, or its bucket; one not named has none."""
    intercept: float
    degrees_of_freedom: float
    """How many weights the fit is worth; the intercept is not counted."""
    residual_squares: float
    """Sum of (y - prediction)^2 over the events learned."""
    buckets: int | None = None
    """Into how many buckets names are hashed; None where they are kept."""

    def predict(self, x: Features) -> float:
        """The intercept and the weighted sum of the features; one never learned counts for nothing."""
        row = numeric_row(x)
        names = row.names if self.buckets is None else HashedVocabulary(self.buckets).lookup(row.names).tolist()
        values = zip(names, row.values.tolist(), strict=True)
        return math.fsum([self.intercept, *(self.weights.get(name, 0.0) * value for name, value in values)])


@dataclass(frozen=True, eq=False)
class Path:
    """The weights of one penalty for many strengths, the strongest first."""

    names: list[FeatureName]
    """By column of `weights`."""
    strengths: FloatArray
    weights: FloatArray
    """weights[strength, feature]."""
    intercepts: FloatArray
    degrees_of_freedom: FloatArray
    residual_squares: FloatArray

    def __len__(self) -> int:
        return len(self.strengths)


class SelectionStep(NamedTuple):
    """One step of a selection."""

    name: FeatureName
    """The feature that joined, or left."""
    residual_squares: float
    """Sum of squares after it did."""


class EvidenceMaximum(NamedTuple):
    """The point at which the log evidence is largest."""

    prior_precision: float
    noise_variance: float
    log_evidence: float
    effective_weights: float
    """How many weights the data determine rather than the prior; the intercept is not counted."""


class BiasVariance(NamedTuple):
    """How far ridge predictions of one event are from the truth."""

    bias: float
    """On average over the noise of the targets learned."""
    variance: float
    """Around that average."""

    @property
    def squared_error(self) -> float:
        """Expected squared distance from the truth: bias^2 + variance."""
        return self.bias**2 + self.variance
