"""A count with a known rate (Poisson)."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from stream_bayes.posteriors.base import Decidable, Quantiles
from stream_bayes.posteriors.checked import FloatArray, positive, whole
from stream_bayes.posteriors.rates import smallest_count


class _PoissonFields(NamedTuple):
    rate: float
    """The expected count."""


class Poisson(Quantiles, Decidable[float], _PoissonFields):
    """Distribution of a count whose rate is known: mean and variance are the rate, and nothing is ignorance.

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
        """Return the natural logarithm of the probability of a count."""
        k = whole("count", count)
        return k * math.log(self.rate) - self.rate - float(gammaln(k + 1.0))

    def pmf(self, count: int) -> float:
        """Return the probability of a count."""
        return math.exp(self.log_pmf(count))

    def _lower(self, tail: float) -> float:
        return smallest_count(lambda count: bool(gammaincc(count + 1.0, self.rate) >= tail))

    def _upper(self, tail: float) -> float:
        return smallest_count(lambda count: bool(gammainc(count + 1.0, self.rate) <= tail))

    def sample(self, generator: np.random.Generator, size: int = 1) -> FloatArray:
        """Return `size` draws."""
        return generator.poisson(self.rate, size).astype(np.float64)
