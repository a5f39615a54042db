"""Results of Gram regression: plain value objects, no part of the learner."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from stream_bayes.errors import EvidenceError, ParameterError
from stream_bayes.features import HashedVocabulary
from stream_bayes.features.values import FeatureName, Features, numeric_row
from stream_bayes.typing import FloatArray
from stream_bayes.validation import positive


@dataclass(frozen=True, eq=False)
class Sampling:
    """How the noise of the targets moves the weights of a linear fit."""

    root: FloatArray
    """A row for each weight: were the variance of the noise 1, their covariance matrix would be root root'."""
    means: FloatArray | None
    """Those of the features, where there is an intercept."""

    def covariance(self, count: float) -> FloatArray:
        """Covariances for noise of variance 1, the intercept first if there is one: it is y_mean - x_mean'w."""
        if self.means is None:
            return self.root @ self.root.T
        row = np.full((1, self.root.shape[1] + 1), 1.0 / math.sqrt(count))
        row[0, :-1] = -self.means @ self.root
        whole = np.vstack((row, np.pad(self.root, ((0, 0), (0, 1)))))
        covariance: FloatArray = whole @ whole.T
        return covariance


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
    count: float = 0.0
    """Sum of the weights of the events learned."""
    sampling: Sampling | None = field(default=None, repr=False, compare=False)
    """What the covariance follows from; None where the penalty allows no closed form."""

    @property
    def noise_variance(self) -> float:
        """The estimate of the variance of the noise without bias: residual_squares / (n - degrees of freedom - 1).

        Without an intercept nothing is subtracted for it. For least squares this is exact; for ridge it is too large by
        what the bias of the weights adds.
        """
        left = self.count - self.degrees_of_freedom - (self.sampling is not None and self.sampling.means is not None)
        if self.sampling is None or left <= 1e-9 * self.count:
            message = "no events are left to estimate the noise from: give noise_variance"
            raise EvidenceError(message)
        return self.residual_squares / left

    def covariance(self, noise_variance: float | None = None) -> FloatArray:
        """The covariance matrix of the estimated weights, the intercept first if there is one, over draws of the noise.

        noise_variance (X'X + k)^-1 X'X (X'X + k)^-1 for ridge of strength k, noise_variance (X'X)^-1 for least squares.
        The variance of the noise is estimated if not given. LASSO, elastic net and lp have none in closed form.
        """
        sampling = self._sampling()
        noise = self.noise_variance if noise_variance is None else positive("noise_variance", noise_variance)
        return noise * sampling.covariance(self.count)

    def standard_errors(self, noise_variance: float | None = None) -> dict[FeatureName, float]:
        """The standard error of each weight: the root of its variance in `covariance`."""
        errors = np.sqrt(self.covariance(noise_variance).diagonal())
        has_intercept = self._sampling().means is not None
        return dict(zip(self.weights, errors[int(has_intercept) :].tolist(), strict=True))

    def intercept_standard_error(self, noise_variance: float | None = None) -> float:
        """The standard error of the intercept, 0 where there is none."""
        if self._sampling().means is None:
            return 0.0
        return math.sqrt(float(self.covariance(noise_variance)[0, 0]))

    def log_likelihood(self, noise_variance: float | None = None) -> float:
        """The logarithm of p(targets | weights) with normal noise: -(n log(2 pi v) + residual_squares / v) / 2.

        Without a variance v, at the likeliest one, residual_squares / n.
        """
        return gaussian_log_likelihood(self.count, self.residual_squares, noise_variance)

    def _sampling(self) -> Sampling:
        if self.sampling is None:
            message = "LASSO, elastic net and lp fits have no covariance in closed form: take ridge, or no penalty"
            raise ParameterError(message)
        return self.sampling

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


class Subset(NamedTuple):
    """The features of one size under which least squares leaves the least."""

    names: tuple[FeatureName, ...]
    residual_squares: float


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Squared errors of events held out, for many strengths, the strongest first."""

    strengths: FloatArray
    errors: FloatArray
    """The mean squared error of each strength over all events held out."""
    standard_errors: FloatArray
    """How far each may be off, by how its folds differ."""
    fold_errors: FloatArray
    """fold_errors[strength, fold]: the mean squared error of one fold."""

    @property
    def best(self) -> float:
        """The strength of the least error."""
        return float(self.strengths[self.errors.argmin()])

    @property
    def one_standard_error(self) -> float:
        """The largest strength whose error is at most the least one and its standard error: the simplest as good."""
        place = int(self.errors.argmin())
        return float(self.strengths[np.argmax(self.errors <= self.errors[place] + self.standard_errors[place])])


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


def gaussian_log_likelihood(count: float, squares: float, noise_variance: float | None) -> float:
    """Log density of targets with that sum of squared errors, at the likeliest variance of the noise if none is given.

    -(n log(2 pi v) + squares / v) / 2.
    """
    if noise_variance is None and squares <= 0.0:
        message = "the fit leaves no noise: the likelihood has no maximum, give noise_variance"
        raise EvidenceError(message)
    noise = squares / count if noise_variance is None else positive("noise_variance", noise_variance)
    return 0.0 - 0.5 * (count * math.log(2.0 * math.pi * noise) + squares / noise)
