"""Distribution of a target with heavy-tailed noise around a line that is known as a normal."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtri, stdtrit

from stream_bayes.posteriors.base import ScalarPosterior
from stream_bayes.posteriors.rates import HALF_LOG_TWO_PI, stirling_error
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_draws, finite, non_negative, one_of, positive

NOISES = ("laplace", "student-t")

_ROOT_HALF = math.sqrt(0.5)
# The trapezoid rule in the logarithm of the noise's precision, as in `kernels.linear.robust`: at most _STEP, and at
# most _SHARE of the width of a Gamma. What is left out is e^-_DEPTH of the whole.
_STEP = 0.25
_SHARE = 0.7
_DEPTH = 36.0
_NODES_AT_ONCE = 1 << 17
# When Newton's method for a quantile has ended.
_CLOSE = 1e-13
_MAX_STEPS = 100


def _log_half_erfcx(z: FloatArray) -> FloatArray:
    """ln(Phi(-z) e^(z^2 / 2)) for z >= 0."""
    logs: FloatArray = np.log(0.5 * erfcx(_ROOT_HALF * z))
    return logs


def _log_sum(parts: FloatArray, signs: FloatArray) -> FloatArray:
    """The logarithm of the sum of signs x e^parts over the first axis; the largest part is a positive one."""
    top = parts.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    total: FloatArray = np.log(np.tensordot(signs, np.exp(parts - top), 1)) + top
    return total


class NoisyLine(NamedTuple):
    """Distances of a target from its mean, where the line is N(mean, variance) and the noise has heavy tails.

    Notes
    -----
    With t = distance / sqrt(variance), c = sqrt(variance) / scale, phi and Phi of the normal, and Mills' ratio
    R(z) = Phi(-z) / phi(z), Laplace noise has the density phi(t) (R(c - t) + R(c + t)) / (2 scale) and the tail
    phi(t) (R(t) + R(c - t) / 2 - R(c + t) / 2). Student's t is a normal whose precision has a Gamma distribution:
    both are integrals over the logarithm of that precision, from where the noise reaches the distance.
    """

    noise: str
    scale: float
    degrees: float

    def logarithms(self, distance: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log density and log of the probability beyond it, of distances of 0 or more with a variance of the line each.

        To ten digits at any distance.
        """
        with np.errstate(all="ignore"):
            if self.noise == "laplace":
                return self._laplace(distance, variance)
            return self._student(distance, variance)

    def _laplace(self, distance: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        known = variance == 0.0
        deviation = np.sqrt(np.where(known, 1.0, variance))
        t = distance / deviation
        c = deviation / self.scale
        far = t > c
        central = -0.5 * t * t
        # Of phi(t) R(c - t): where it would overflow, phi is multiplied out.
        slope = -(distance / self.scale) * (1.0 - 0.5 * c / np.where(far, t, 1.0))
        near = np.where(far, slope + log_ndtr(t - c), central + _log_half_erfcx(np.maximum(c - t, 0.0)))
        beyond = central + _log_half_erfcx(c + t)
        density = np.logaddexp(near, beyond) - math.log(2.0 * self.scale)
        parts = np.stack((log_ndtr(-t), near, beyond))
        tail = _log_sum(parts, np.array([1.0, 0.5, -0.5]))
        alone = -distance / self.scale
        return (
            np.where(known, alone - math.log(2.0 * self.scale), density),
            np.where(known, alone - math.log(2.0), tail),
        )

    def _student(self, distance: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = self._log_precisions(distance, variance)
        step = min(_STEP, _SHARE / math.sqrt(0.5 * self.degrees + 0.5))
        count = math.ceil(float((high - low).max(initial=step)) / step) + 1
        rows = max(_NODES_AT_ONCE // count, 1)
        found = [
            self._integrals(
                distance[first : first + rows],
                variance[first : first + rows],
                np.linspace(low[first : first + rows], high[first : first + rows], count),
            )
            for first in range(0, len(distance), rows)
        ]
        if not found:
            return np.empty(0), np.empty(0)
        return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])

    def _log_precisions(self, distance: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Between which logarithms of the precision, times scale^2, the integrals are."""
        shape = 0.5 * self.degrees
        outlying = np.logaddexp(0.0, 2.0 * (np.log(distance) - math.log(self.scale)) - math.log(self.degrees))
        low = -outlying - _DEPTH / shape - math.sqrt(2.0 * _DEPTH / shape)
        high = np.full(len(distance), math.log1p((9.0 * math.sqrt(shape) + _DEPTH + 9.0) / shape))
        # Noise with a smaller deviation than this makes a negligible part of the density at the distance.
        least = distance / np.sqrt(2.0 * (shape * outlying + 2.0 * _DEPTH))
        deviation = np.sqrt(variance)
        bound = 2.0 * math.log(self.scale) - np.log(least - deviation) - np.log(least + deviation)
        return low, np.where(least > deviation, np.minimum(high, np.maximum(bound, low + _DEPTH / shape)), high)

    def _integrals(self, distance: FloatArray, variance: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        shape = 0.5 * self.degrees
        constant = 0.5 * math.log(shape) - HALF_LOG_TWO_PI - stirling_error(shape)
        deviation = np.hypot(np.sqrt(variance), np.exp(math.log(self.scale) - 0.5 * u))
        z = distance / deviation
        logs = shape * (u - np.expm1(u)) - 0.5 * z * z
        top = logs.max(axis=0)
        weights = np.exp(logs - top)
        whole = constant + top + np.log((u[-1] - u[0]) / (len(u) - 1))
        density = np.log((weights / deviation).sum(axis=0)) + whole - HALF_LOG_TWO_PI
        return density, np.log((weights * erfcx(_ROOT_HALF * z)).sum(axis=0)) + whole - math.log(2.0)

    def tail_distance(self, tail: FloatArray, variance: FloatArray) -> FloatArray:
        """How far from its mean the target must be, to have this probability of at most a half beyond; one for each.

        Newton's method on the logarithm of the tail, over the distance or over its logarithm, whichever is straighter.
        It begins beyond: the line or the noise alone is farther than its own quantile of half the probability.
        """
        with np.errstate(all="ignore"):
            own = math.log(0.5) - np.log(tail)
            alone = self.scale * (own + math.log(2.0) if self.noise == "laplace" else -stdtrit(self.degrees, tail / 2))
            start = alone - np.sqrt(variance) * ndtri(0.5 * tail)
            distance = np.where(tail < 0.5, start, 0.0)
            active = np.flatnonzero((tail < 0.5) & np.isfinite(start))
            low = np.zeros(len(distance))
            high = np.full(len(distance), np.inf)
            for _ in range(_MAX_STEPS):
                if not len(active):
                    break
                at = distance[active]
                density, beyond = self.logarithms(at, variance[active])
                excess = beyond - np.log(tail[active])
                low[active] = np.where(excess > 0.0, at, low[active])
                high[active] = np.where(excess > 0.0, high[active], at)
                steepness = np.exp(density - beyond)
                moved = np.where(at * steepness > 1.0, at * np.exp(excess / (at * steepness)), at + excess / steepness)
                within = (moved >= low[active]) & (moved <= high[active]) & np.isfinite(moved)
                half = np.where(np.isfinite(high[active]), 0.5 * (low[active] + high[active]), 2.0 * at)
                distance[active] = np.where(within, moved, half)
                active = active[np.isfinite(distance[active]) & (np.abs(distance[active] - at) > _CLOSE * at)]
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

    @property
    def _line(self) -> NoisyLine:
        return NoisyLine(self.noise, self.noise_scale, self.degrees)

    def _logarithms(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log density and log of the smaller tail at each number."""
        distance = np.abs(x - self.mean).ravel()
        infinite = np.isinf(distance)
        spread = np.full(len(distance), self.epistemic_variance)
        found = self._line.logarithms(np.where(infinite, 0.0, distance), spread)
        density, tail = (np.where(infinite, -np.inf, logs).reshape(x.shape) for logs in found)
        return density, tail

    def _log_density(self, x: FloatArray) -> FloatArray:
        return self._logarithms(x)[0]

    def _cdf(self, x: FloatArray) -> FloatArray:
        tail = self._logarithms(x)[1]
        return np.where(x <= self.mean, np.exp(tail), -np.expm1(tail))

    def _lower(self, tail: FloatArray) -> FloatArray:
        return self.mean - self._distances(tail)

    def _upper(self, tail: FloatArray) -> FloatArray:
        return self.mean + self._distances(tail)

    def _distances(self, tails: FloatArray) -> FloatArray:
        """How far from the mean each probability lies beyond; below 0 for more than a half."""
        flat = np.minimum(tails, 1.0 - tails).ravel()
        found = self._line.tail_distance(flat, np.full(len(flat), self.epistemic_variance)).reshape(tails.shape)
        return np.where(tails <= 0.5, found, -found)
