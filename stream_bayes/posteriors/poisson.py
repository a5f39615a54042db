"""Poisson distribution of a count with a known rate."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammainc, gammaincc

from stream_bayes.posteriors.base import Decidable, Quantiles
from stream_bayes.posteriors.rates import HALF_LOG_TWO_PI, deviance, smallest_count, stirling_error
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_draws, positive, whole

# From here on a draw is that of a normal, whose skewness is off by 1e-6; numpy's draws have a variance that is off by
# 1 % at 1e14, and there are none from 1e19 on.
_LARGE_RATE = 1e12


class _PoissonFields(NamedTuple):
    rate: float
    """The expected count."""


class Poisson(Quantiles, Decidable[float], _PoissonFields):
    """Poisson distribution: a count whose rate is known, so that all of its variance is noise.

    Examples
    --------
    >>> count = Poisson(3)
    >>> count.mean, count.variance, round(count.pmf(2), 4), count.interval(0.9)
    (3.0, 3.0, 0.224, (1.0, 6.0))
    """

    __slots__ = ()

    def __new__(cls, rate: float) -> Self:
        """Check that the rate is above 0."""
        return super().__new__(cls, positive("rate", rate))

    @property
    def mean(self) -> float:
        """The expected count."""
        return self.rate

    @property
    def mode(self) -> float:
        """The most probable count, the larger of two."""
        return float(math.floor(self.rate))

    @property
    def variance(self) -> float:
        """The variance of the count, which is its mean."""
        return self.rate

    @property
    def epistemic_variance(self) -> float:
        """The part of `variance` that more data would remove: none, the rate is known."""
        return 0.0

    @property
    def aleatoric_variance(self) -> float:
        """The part of `variance` that stays: all."""
        return self.rate

    def log_pmf(self, count: int) -> float:
        """Return the natural logarithm of the probability of a count.

        By the saddle point: no difference of large numbers is taken, so that all digits are there at any rate.
        """
        k = whole("count", count)
        if k == 0.0:
            return -self.rate
        return -stirling_error(k) - deviance(k, self.rate, k - self.rate) - HALF_LOG_TWO_PI - 0.5 * math.log(k)

    def pmf(self, count: int) -> float:
        """Return the probability of a count."""
        return math.exp(self.log_pmf(count))

    def _cdf(self, x: float) -> float:
        return float(gammaincc(np.floor(x) + 1.0, self.rate)) if x >= 0.0 else 0.0

    def _lower(self, tail: float) -> float:
        return smallest_count(lambda count: bool(gammaincc(count + 1.0, self.rate) >= tail))

    def _upper(self, tail: float) -> float:
        return smallest_count(lambda count: bool(gammainc(count + 1.0, self.rate) <= tail))

    def sample(self, generator: np.random.Generator, size: int = 1) -> FloatArray:
        """Return `size` draws."""
        generator, size = check_draws(generator, size)
        if self.rate > _LARGE_RATE:
            return np.rint(generator.normal(self.rate, math.sqrt(self.rate), size))
        return generator.poisson(self.rate, size).astype(np.float64)
