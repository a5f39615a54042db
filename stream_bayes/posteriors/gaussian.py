"""Normal and Student's t distribution of one real number, as posterior or predictive."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from scipy.special import betaln, digamma, ndtr, ndtri, stdtr, stdtrit

from stream_bayes.errors import InputError
from stream_bayes.posteriors.base import ScalarPosterior
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_draws, each, finite, non_negative, positive, refuse

UNIT_NORMAL_ENTROPY = 0.5 * math.log(2.0 * math.pi * math.e)
_ROUNDING = 1.0 + 1e-9


class _NormalFields(NamedTuple):
    mean: float
    """Centre."""
    variance: float
    """Total variance, noise included."""
    noise_variance: float = 0.0
    """The part of the variance that is noise; 0 for a posterior, above 0 for a prediction."""


class Normal(ScalarPosterior, _NormalFields):
    """Normal distribution: the posterior of a mean with known noise, or the predictive of an observation.

    Precisions add: an observation x with noise variance n makes 1/v' = 1/v + 1/n and m' = v' (m/v + x/n).

    Examples
    --------
    >>> posterior = Normal(10, 4).update(16, noise_variance=9)
    >>> round(posterior.mean, 3), round(posterior.variance, 3)
    (11.846, 2.769)
    >>> round(posterior.predictive(9).variance, 3)
    11.769
    """

    __slots__ = ()

    def __new__(cls, mean: float, variance: float, noise_variance: float = 0.0) -> Self:
        """Check that the variance is above 0 and not below its noise part."""
        plain = type(mean) is type(variance) is type(noise_variance) is float
        if plain and 0.0 <= noise_variance <= variance < math.inf and variance > 0.0 and -math.inf < mean < math.inf:
            return tuple.__new__(cls, (mean, variance, noise_variance))  # measured: a third of the time of the checks
        total = positive("variance", variance)
        noise = non_negative("noise_variance", noise_variance)
        if noise > total:
            raise refuse("noise_variance", f"at most the variance {total!r}", noise_variance)
        return super().__new__(cls, finite("mean", mean), total, noise)

    def update(self, observation: float, noise_variance: float) -> Self:
        """Return the posterior after one observation with known noise."""
        return self.update_many((observation,), noise_variance)

    def update_many(self, observations: Iterable[float], noise_variance: float) -> Self:
        """Return the posterior after several observations with the same known noise."""
        values = each(finite, "observation", observations, InputError)
        noise = positive("noise_variance", noise_variance)
        if not values:
            return self
        noise /= len(values)
        gain = self.variance / (self.variance + noise)
        average = math.fsum(x / len(values) for x in values)
        return type(self)(self.mean + gain * (average - self.mean), gain * noise)

    @property
    def mode(self) -> float:
        """The most probable value, which is the mean."""
        return self.mean

    @property
    def entropy(self) -> float:
        """The differential entropy in nats."""
        return UNIT_NORMAL_ENTROPY + 0.5 * math.log(self.variance)

    @property
    def epistemic_variance(self) -> float:
        """The part of `variance` that more data would remove."""
        return self.variance - self.noise_variance

    @property
    def aleatoric_variance(self) -> float:
        """The part of `variance` that would stay if the mean were known."""
        return self.noise_variance

    def _cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(ndtr((x - self.mean) / self.std))

    def _lower(self, tail: FloatArray) -> FloatArray:
        return self.mean + math.sqrt(self.variance) * np.asarray(ndtri(tail))

    def _upper(self, tail: FloatArray) -> FloatArray:
        return self.mean - math.sqrt(self.variance) * np.asarray(ndtri(tail))

    def _log_density(self, x: FloatArray) -> FloatArray:
        deviation = math.sqrt(self.variance)
        return -0.5 * ((x - self.mean) / deviation) ** 2 - math.log(deviation) - 0.5 * math.log(2.0 * math.pi)

    def predictive(self, noise_variance: float) -> Normal:
        """Return the distribution of the next observation, wider than the posterior by its noise."""
        noise = non_negative("noise_variance", noise_variance)
        return Normal(self.mean, self.variance + noise, noise)

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws."""
        size, generator = check_draws(size, generator)
        return generator.normal(self.mean, math.sqrt(self.variance), size)


class _StudentTFields(NamedTuple):
    degrees: float
    """Degrees of freedom: the fewer, the heavier the tails."""
    location: float
    """Centre of symmetry."""
    scale: float
    """Half-width parameter; the standard deviation is scale x sqrt(degrees / (degrees - 2))."""
    noise_variance: float = 0.0
    """The part of the variance that is noise; 0 for a posterior, infinite where it has no finite expectation."""


class StudentT(ScalarPosterior, _StudentTFields):
    """Student's t distribution: the posterior or predictive of a normal quantity with unknown variance.

    With 2 degrees of freedom or fewer the variance is infinite; with 1 or fewer the mean has no integral, and
    `mean` is the centre of symmetry.

    Examples
    --------
    >>> posterior = StudentT(degrees=5, location=2, scale=3)
    >>> posterior.mean, round(posterior.variance, 6), [round(end, 3) for end in posterior.interval(0.9)]
    (2.0, 15.0, [-4.045, 8.045])
    """

    __slots__ = ()

    def __new__(cls, degrees: float, location: float, scale: float, noise_variance: float = 0.0) -> Self:
        """Check that degrees and scale are above 0 and the noise is within the variance."""
        unbounded = positive("degrees", degrees) <= 2.0 and noise_variance == math.inf
        noise = math.inf if unbounded else non_negative("noise_variance", noise_variance)
        values = float(degrees), finite("location", location), positive("scale", scale), noise
        self = super().__new__(cls, *values)
        if noise > self.variance * _ROUNDING:
            raise refuse("noise_variance", f"at most the variance {self.variance!r}", noise_variance)
        return self

    @property
    def mean(self) -> float:
        """The centre."""
        return self.location

    @property
    def median(self) -> float:
        """The centre."""
        return self.location

    @property
    def mode(self) -> float:
        """The centre."""
        return self.location

    @property
    def variance(self) -> float:
        """The variance scale^2 degrees / (degrees - 2), infinite for 2 degrees or fewer."""
        return self.scale * self.scale * (self.degrees / (self.degrees - 2.0)) if self.degrees > 2.0 else math.inf

    @property
    def epistemic_variance(self) -> float:
        """The part of `variance` that more data would remove; infinite wherever `variance` is."""
        return self.variance - self.aleatoric_variance if self.degrees > 2.0 else math.inf

    @property
    def aleatoric_variance(self) -> float:
        """The part of `variance` that would stay if the mean were known: the expected noise."""
        return min(self.noise_variance, self.variance)

    @property
    def entropy(self) -> float:
        """The differential entropy in nats, by its series where the terms would cancel."""
        half = 0.5 * self.degrees
        r = 1.0 / self.degrees
        if self.degrees > 200.0:
            series = r + r**2 / 4.0 - r**3 / 6.0 - r**4 / 8.0 + 3.0 * r**5 / 10.0 + r**6 / 4.0
            return math.log(self.scale) + UNIT_NORMAL_ENTROPY + series
        digammas = (half + 0.5) * float(digamma(half + 0.5) - digamma(half))
        return math.log(self.scale) + digammas + 0.5 * math.log(self.degrees) + float(betaln(half, 0.5))

    def _cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(stdtr(self.degrees, (x - self.location) / self.scale))

    def _lower(self, tail: FloatArray) -> FloatArray:
        return self.location + self.scale * np.asarray(stdtrit(self.degrees, tail))

    def _upper(self, tail: FloatArray) -> FloatArray:
        return self.location - self.scale * np.asarray(stdtrit(self.degrees, tail))

    def _log_density(self, x: FloatArray) -> FloatArray:
        half = 0.5 * self.degrees
        far = 2.0 * np.log(np.abs(x - self.location) / self.scale) - math.log(self.degrees)
        unit = float(betaln(half, 0.5)) + 0.5 * math.log(self.degrees) + math.log(self.scale)
        return -(half + 0.5) * np.logaddexp(0.0, far) - unit

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws."""
        size, generator = check_draws(size, generator)
        return self.location + self.scale * generator.standard_t(self.degrees, size)
