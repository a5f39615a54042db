"""Gamma distribution of a rate, and the count it predicts (NegativeBinomial)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np
from scipy.special import betainc, betaincc, betaln, digamma, gammainc, gammainccinv, gammaincinv, gammaln, xlogy

from stream_bayes.errors import InputError
from stream_bayes.posteriors.base import CountDistribution, ScalarPosterior
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_draws, non_negative, positive, tail_beyond, whole

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_LARGEST_COUNT = 2**1000
# From here on a draw is that of a normal, whose skewness is off by 1e-6; numpy's draws have a variance that is off by
# 1 % at 1e14, and there are none from 1e19 on.
_LARGE_RATE = 1e12


def poisson_draws(rates: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Return a Poisson count of each rate."""
    normal = np.rint(generator.normal(rates, np.sqrt(rates)))
    return np.where(rates > _LARGE_RATE, normal, generator.poisson(np.minimum(rates, _LARGE_RATE)))


def unit_gamma_entropy(shape: float) -> float:
    """Return h(a) = a + ln G(a) + (1 - a) psi(a), the entropy of Gamma(a, 1); a series where terms cancel."""
    if shape < 200.0:
        return shape + float(gammaln(shape)) + (1.0 - shape) * float(digamma(shape))
    r = 1.0 / shape
    return 0.5 * math.log(2.0 * math.pi * math.e * shape) - r / 3.0 - r**2 / 12.0 - r**3 / 90.0 + r**4 / 120.0


def stirling_error(x: float) -> float:
    """Return ln G(x + 1) - ln(sqrt(2 pi x) (x / e)^x) for x > 0."""
    if x < 16.0:
        return math.lgamma(x + 1.0) - (x + 0.5) * math.log(x) + x - HALF_LOG_TWO_PI
    inverse = 1.0 / x / x
    rest = 1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse * (1.0 / 1680.0 - inverse / 1188.0))
    return (1.0 / 12.0 - inverse * rest) / x


def deviance(x: float, mean: float, difference: float) -> float:
    """Return x ln(x / mean) + mean - x, by a series where the two are near each other; `difference` is x - mean."""
    total = x + mean
    if abs(difference) >= 0.1 * total:
        return x * (math.log(x) - math.log(mean)) - difference
    # With v = (x - mean) / (x + mean) it is (x - mean) v + 2 x (v^3 / 3 + v^5 / 5 + ...).
    v = difference / total
    value = difference * v
    power = 2.0 * x * v
    order = 1.0
    while abs(power) > 1e-17 * value:
        power = power * v * v
        order = order + 2.0
        value += power / order
    return value


def smallest_counts(holds: Callable[[int, float], bool], tails: FloatArray) -> FloatArray:
    """Return for each tail the first of 0, 1, 2, ... for which a condition holds that stays true once it is."""
    counts = [_smallest_count(holds, tail) for tail in tails.ravel().tolist()]
    return np.array(counts, dtype=np.float64).reshape(tails.shape)


def _smallest_count(holds: Callable[[int, float], bool], tail: float) -> float:
    below = -1
    count = 0
    while count < _LARGEST_COUNT and not holds(count, tail):
        below = count
        count = 2 * count + 1
    while count - below > 1:
        middle = (below + count) // 2
        below, count = (below, middle) if holds(middle, tail) else (middle, count)
    return float(count)


class _NegativeBinomialFields(NamedTuple):
    shape: float
    """Shape of the Gamma distribution of the rate."""
    rate: float
    """Rate of the Gamma distribution of the rate."""
    exposure: float = 1.0
    """Exposure in which the count will be taken."""


class NegativeBinomial(CountDistribution, _NegativeBinomialFields):
    """Distribution of a Poisson count whose rate is Gamma(shape, rate).

    With m = shape / rate and e the exposure, variance = e m (noise) + e^2 m / rate (ignorance).

    >>> count = NegativeBinomial(shape=9, rate=3)
    >>> count.mean, count.variance, round(count.pmf(2), 4), count.interval(0.9)
    (3.0, 4.0, 0.2112, (0.0, 7.0))
    """

    __slots__ = ()

    def __new__(cls, shape: float, rate: float, exposure: float = 1.0) -> Self:
        """Check that all parameters are above 0."""
        fields = positive("shape", shape), positive("rate", rate)
        return super().__new__(cls, *fields, positive("exposure", exposure))

    @property
    def mean(self) -> float:
        """The expected count."""
        return self.exposure * (self.shape / self.rate)

    @property
    def variance(self) -> float:
        """The variance of the count, noise and ignorance together."""
        return self.aleatoric_variance + self.epistemic_variance

    @property
    def epistemic_variance(self) -> float:
        """The part of `variance` that more data would remove: that of exposure x rate."""
        return self.mean * (self.exposure / self.rate)

    @property
    def aleatoric_variance(self) -> float:
        """The part of `variance` that would stay if the rate were known: its Poisson part."""
        return self.mean

    @property
    def mode(self) -> float:
        """The most probable count, the larger of two: floor((shape - 1) exposure / rate), 0 for a shape below 1."""
        return float(math.floor(max(self.shape - 1.0, 0.0) * (self.exposure / self.rate)))

    def _log_pmf(self, k: float) -> float:
        none = -self.shape * math.log1p(self.exposure / self.rate)
        if k == 0.0:
            return none
        total = self.shape + k
        share = total / (1.0 + self.exposure / self.rate)
        rest = total / (1.0 + self.rate / self.exposure)
        if not (0.0 < share < math.inf and 0.0 < rest < math.inf):
            ways = -math.log(k + self.shape) - float(betaln(k + 1.0, self.shape))
            return ways + none - k * math.log1p(self.rate / self.exposure)
        # shape - total rate / (rate + exposure) in exact arithmetic: both may be 1e15 and differ by 1.
        rate = Fraction(self.rate)
        exposure = Fraction(self.exposure)
        difference = float((Fraction(self.shape) * exposure - Fraction(k) * rate) / (rate + exposure))
        log_pmf = stirling_error(total) - stirling_error(self.shape) - stirling_error(k)
        log_pmf -= deviance(self.shape, share, difference) + deviance(k, rest, -difference)
        return log_pmf + 0.5 * (math.log(self.shape) - math.log(total) - math.log(k)) - HALF_LOG_TWO_PI

    def _cdf(self, x: FloatArray) -> FloatArray:
        p = 1.0 / (1.0 + self.exposure / self.rate)
        return np.where(x >= 0.0, betainc(self.shape, np.floor(np.maximum(x, 0.0)) + 1.0, p), 0.0)

    def _lower(self, tail: FloatArray) -> FloatArray:
        p = 1.0 / (1.0 + self.exposure / self.rate)
        return smallest_counts(lambda count, least: bool(betainc(self.shape, count + 1.0, p) >= least), tail)

    def _upper(self, tail: FloatArray) -> FloatArray:
        p = 1.0 / (1.0 + self.exposure / self.rate)
        return smallest_counts(lambda count, most: bool(betaincc(self.shape, count + 1.0, p) <= most), tail)

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws."""
        size, generator = check_draws(size, generator)
        rates = self.exposure * (generator.gamma(self.shape, 1.0, size) / self.rate)
        return poisson_draws(rates, generator)


class _GammaFields(NamedTuple):
    shape: float
    """Events seen, those the prior pretends to have seen included."""
    rate: float
    """Exposure (time, messages, ...) in which they were seen."""


class Gamma(ScalarPosterior, _GammaFields):
    """Gamma distribution: the posterior of a positive number, such as the rate of a Poisson count.

    Gamma(a, b) with n events in an exposure e becomes Gamma(a + n, b + e).

    Examples
    --------
    >>> posterior = Gamma(2, 0.5).update_counts(total=7, exposure=2.5)
    >>> posterior
    Gamma(shape=9, rate=3)
    >>> posterior.mean, round(posterior.mode, 4), [round(end, 3) for end in posterior.interval(0.9)]
    (3.0, 2.6667, [1.565, 4.812])
    """

    __slots__ = ()

    def __new__(cls, shape: float, rate: float) -> Self:
        """Check that both parameters are above 0."""
        return super().__new__(cls, positive("shape", shape), positive("rate", rate))

    def update(self, count: int, exposure: float = 1.0) -> Self:
        """Return the posterior after a count of events in an exposure."""
        return self.update_counts(whole("count", count), exposure)

    def update_counts(self, total: float, exposure: float) -> Self:
        """Return the posterior after this number of events in this exposure. Fractions are allowed."""
        events = non_negative("total", total, InputError)
        more = non_negative("exposure", exposure, InputError)
        return type(self)(self.shape + events, self.rate + more)

    @property
    def mean(self) -> float:
        """The expected value, shape / rate."""
        return self.shape / self.rate

    @property
    def mode(self) -> float:
        """The most probable value, (shape - 1) / rate; 0 where the density only falls."""
        return max(self.shape - 1.0, 0.0) / self.rate

    @property
    def variance(self) -> float:
        """The variance, shape / rate^2."""
        return self.shape / self.rate / self.rate

    @property
    def entropy(self) -> float:
        """The differential entropy in nats: h(shape) - ln rate."""
        return unit_gamma_entropy(self.shape) - math.log(self.rate)

    def _cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(gammainc(self.shape, np.maximum(x, 0.0) * self.rate))

    def _lower(self, tail: FloatArray) -> FloatArray:
        return np.asarray(gammaincinv(self.shape, tail)) / self.rate

    def _upper(self, tail: FloatArray) -> FloatArray:
        return np.asarray(gammainccinv(self.shape, tail)) / self.rate

    def _log_density(self, x: FloatArray) -> FloatArray:
        inside = np.maximum(x, 0.0) * self.rate
        value = xlogy(self.shape - 1.0, inside) - inside - gammaln(self.shape) + math.log(self.rate)
        return np.where(x < 0.0, -np.inf, value)

    def hdi(self, mass: float = 0.95) -> tuple[float, float]:
        """Return the shortest interval that holds the mass; it starts at 0 where the density only falls."""
        outside = tail_beyond(mass)
        return self._shortest(outside) if self.shape > 1.0 else (0.0, self._between(outside, outside)[1])

    def predictive(self, exposure: float = 1.0) -> NegativeBinomial:
        """Return the distribution of the next Poisson count in the given exposure."""
        return NegativeBinomial(self.shape, self.rate, exposure)

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws."""
        size, generator = check_draws(size, generator)
        return generator.gamma(self.shape, 1.0, size) / self.rate
