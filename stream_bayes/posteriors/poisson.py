"""Poisson distribution of a count with a known rate."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammainc, gammaincc

from stream_bayes.posteriors.base import CountDistribution
from stream_bayes.posteriors.rates import HALF_LOG_TWO_PI, deviance, poisson_draws, smallest_counts, stirling_error
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_draws, positive


class _PoissonFields(NamedTuple):
    rate: float
    """The expected count."""


class Poisson(CountDistribution, _PoissonFields):
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

    def _log_pmf(self, k: float) -> float:
        if k == 0.0:
            return -self.rate
        return -stirling_error(k) - deviance(k, self.rate, k - self.rate) - HALF_LOG_TWO_PI - 0.5 * math.log(k)

    def _cdf(self, x: FloatArray) -> FloatArray:
        return np.where(x >= 0.0, gammaincc(np.floor(np.maximum(x, 0.0)) + 1.0, self.rate), 0.0)

    def _lower(self, tail: FloatArray) -> FloatArray:
        return smallest_counts(lambda count, least: bool(gammaincc(count + 1.0, self.rate) >= least), tail)

    def _upper(self, tail: FloatArray) -> FloatArray:
        return smallest_counts(lambda count, most: bool(gammainc(count + 1.0, self.rate) <= most), tail)

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws."""
        size, generator = check_draws(size, generator)
        return poisson_draws(np.full(size, self.rate), generator)
