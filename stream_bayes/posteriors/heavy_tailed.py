"""Distribution of a target with heavy-tailed noise around a line that is known as a normal."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr

from stream_bayes.posteriors.base import ScalarPosterior
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_draws, finite, non_negative, one_of, positive

NOISES = ("laplace", "student-t")

# The trapezoid rule in the logarithm of the noise's variance: steps, and the share of probability left out.
_STEP = 0.15
_DEPTH = 46.0
# Of a tail, the part of the noise that does not matter to it, and when a distance is found.
_LEAST_PART = 1e-13
_CLOSE = 1e-13
_MAX_STEPS = 100
_ROWS_AT_ONCE = 4096


class NoiseMixture(NamedTuple):
    """Noise as normals of random variance: Laplace has an exponential one, Student's t an inverse gamma."""

    log_probabilities: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, noise: str, scale: float, degrees: float) -> NoiseMixture:
        """The mixture in steps so fine that sums over it have ten digits."""
        shape = 1.0 if noise == "laplace" else 0.5 * degrees
        step = min(_STEP, 0.5 / math.sqrt(shape))
        u = np.arange(-_DEPTH / shape - math.sqrt(2.0 * _DEPTH / shape), math.log1p(60.0 / shape) + 1.0, step)
        # Of e^u times the mean of a Gamma(shape): the precision of t, or the variance of Laplace.
        logs = shape * (u - np.exp(u))
        logs -= logsumexp(logs)
        own = scale**2 * np.exp(-u) if noise == "student-t" else 2.0 * scale**2 * np.exp(u)
        return cls(logs, own)

    def tail_distance(self, tail: float, variances: FloatArray) -> FloatArray:
        """How far from its mean the sum of this noise and N(0, variance) must be, to have this probability beyond."""
        parts = [variances[first : first + _ROWS_AT_ONCE] for first in range(0, len(variances), _ROWS_AT_ONCE)]
        return np.concatenate([np.empty(0), *(self._distance(tail, part) for part in parts)])

    def _distance(self, tail: float, variances: FloatArray) -> FloatArray:
        """Newton's method on the logarithm of the tail, by bisection where it would leave the bracket."""
        if tail >= 0.5:
            return np.zeros(len(variances))
        kept = self.log_probabilities > math.log(_LEAST_PART * tail)
        weights = np.exp(self.log_probabilities[kept])
        deviations = np.sqrt(variances[:, None] + self.variances[kept])
        low = np.zeros(len(variances))
        high = np.sqrt(variances + self.variances[self.log_probabilities.argmax()])
        while (below := ndtr(-high[:, None] / deviations) @ weights > tail).any():
            low = np.where(below, high, low)
            high = np.where(below, 2.0 * high, high)
        distance: FloatArray = 0.5 * (low + high)
        for _ in range(_MAX_STEPS):
            z = distance[:, None] / deviations
            beyond = ndtr(-z) @ weights
            density = (np.exp(-0.5 * z * z) / deviations) @ weights / math.sqrt(2.0 * math.pi)
            low = np.where(beyond > tail, distance, low)
            high = np.where(beyond > tail, high, distance)
            with np.errstate(all="ignore"):
                moved = distance + np.log(beyond / tail) * beyond / density
            moved = np.where((moved > low) & (moved < high), moved, 0.5 * (low + high))
            steps = np.abs(moved - distance)
            distance = moved
            if (steps <= _CLOSE * distance).all():
                break
        return distance


def noise_variance(noise: str, scale: float, degrees: float) -> float:
    """The variance of the noise: 2 scale^2 of Laplace, scale^2 degrees / (degrees - 2) of Student's t, or infinite."""
    if noise == "laplace":
        return 2.0 * scale**2
    return scale**2 * degrees / (degrees - 2.0) if degrees > 2.0 else math.inf


class _HeavyTailedFields(NamedTuple):
    mean: float
    """The centre: mean of the line, median and mode of the target."""
    epistemic_variance: float
    """Variance of the line."""
    noise: str
    """"laplace" or "student-t"."""
    noise_scale: float
    degrees: float = math.inf
    """Degrees of freedom of Student's t; of no meaning for Laplace noise."""


class HeavyTailed(ScalarPosterior, _HeavyTailedFields):
    """Predictive distribution of a robust regression: a normal line, and Laplace or Student's t noise around it.

    Examples
    --------
    >>> prediction = HeavyTailed(1.0, 0.25, "laplace", 2.0)
    >>> prediction.variance, round(prediction.cdf(3.0), 4)
    (8.25, 0.8102)
    >>> [round(end, 3) for end in HeavyTailed(0.0, 0.0, "student-t", 1.0, 4.0).interval(0.95)]
    [-2.776, 2.776]
    """

    __slots__ = ()

    def __new__(
        cls, mean: float, epistemic_variance: float, noise: str, noise_scale: float, degrees: float = math.inf
    ) -> Self:
        """Check that the parameters are finite, and the scales in range."""
        kind = one_of(noise, "noise", NOISES)
        own = math.inf if kind == "laplace" else positive("degrees", degrees)
        spread = non_negative("epistemic_variance", epistemic_variance)
        return super().__new__(cls, finite("mean", mean), spread, kind, positive("noise_scale", noise_scale), own)

    @property
    def aleatoric_variance(self) -> float:
        """The part of the variance that is noise; infinite for 2 degrees of freedom or fewer."""
        return noise_variance(self.noise, self.noise_scale, self.degrees)

    @property
    def variance(self) -> float:
        """The variance of the target, noise and ignorance together."""
        return self.aleatoric_variance + self.epistemic_variance

    @property
    def mode(self) -> float:
        """The most probable target: the mean of the line."""
        return self.mean

    @property
    def median(self) -> float:
        """The target with half of the probability on each side: the mean of the line."""
        return self.mean

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws."""
        size, generator = check_draws(size, generator)
        line = generator.normal(self.mean, math.sqrt(self.epistemic_variance), size)
        if self.noise == "laplace":
            return line + generator.laplace(0.0, self.noise_scale, size)
        return line + self.noise_scale * generator.standard_t(self.degrees, size)

    def _mixture(self) -> NoiseMixture:
        return NoiseMixture.of(self.noise, self.noise_scale, self.degrees)

    def _log_density(self, x: FloatArray) -> FloatArray:
        mixture = self._mixture()
        variances = self.epistemic_variance + mixture.variances
        squares = (x[..., None] - self.mean) ** 2 / variances
        parts = mixture.log_probabilities - 0.5 * (np.log(2.0 * math.pi * variances) + squares)
        density: FloatArray = logsumexp(parts, axis=-1)
        return density

    def _cdf(self, x: FloatArray) -> FloatArray:
        mixture = self._mixture()
        deviations = np.sqrt(self.epistemic_variance + mixture.variances)
        parts = mixture.log_probabilities + log_ndtr((x[..., None] - self.mean) / deviations)
        below: FloatArray = np.exp(logsumexp(parts, axis=-1))
        return below

    def _lower(self, tail: FloatArray) -> FloatArray:
        return self.mean - self._distances(tail)

    def _upper(self, tail: FloatArray) -> FloatArray:
        return self.mean + self._distances(tail)

    def _distances(self, tails: FloatArray) -> FloatArray:
        """How far from the mean each probability lies beyond; below 0 for more than a half."""
        mixture = self._mixture()
        spread = np.array((self.epistemic_variance,))
        found = [
            float(mixture.tail_distance(min(tail, 1.0 - tail), spread)[0]) * (1.0 if tail <= 0.5 else -1.0)
            for tail in tails.ravel().tolist()
        ]
        return np.array(found, dtype=np.float64).reshape(tails.shape)
