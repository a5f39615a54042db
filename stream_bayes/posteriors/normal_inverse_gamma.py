"""Normal-inverse-gamma distribution: the posterior of mean and variance of normal observations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

from stream_bayes.errors import InputError
from stream_bayes.notebook_html import Html
from stream_bayes.posteriors.base import Quantiles
from stream_bayes.posteriors.gaussian import UNIT_NORMAL_ENTROPY, StudentT
from stream_bayes.posteriors.rates import Gamma, unit_gamma_entropy
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_draws, each, finite, non_negative, numbers_or_infinities, positive, refuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _NormalInverseGammaFields(NamedTuple):
    mean: float
    """Centre of the distribution of the mean."""
    strength: float
    """How many observations the distribution of the mean is worth."""
    shape: float
    """Shape of the distribution of the precision: half as many observations as it is worth."""
    scale: float
    """Scale of the distribution of the variance: half the sum of squares seen."""


class NormalInverseGamma(Quantiles, _NormalInverseGammaFields):
    """Normal-inverse-gamma distribution: the posterior of the mean mu and the variance s2 of normal observations.

    mu given s2 is N(mean, s2 / strength), s2 is InverseGamma(shape, scale). `mean`, `median`, `mode`,
    `variance`, `cdf`, `quantile` and `interval` speak of mu, `expected_variance` of s2, `entropy`, `density` and
    `sample` of both.
    An observation x makes mean m + (x - m) / (k + 1), strength k + 1, shape a + 1/2 and
    scale b + k (x - m)^2 / (2 (k + 1)).

    Examples
    --------
    >>> posterior = NormalInverseGamma(mean=1, strength=2, shape=3, scale=4).update(4)
    >>> posterior
    NormalInverseGamma(mean=2, strength=3, shape=3.5, scale=7)
    >>> posterior.expected_variance, round(posterior.predictive().variance, 4)
    (2.8, 3.7333)
    """

    __slots__ = ()

    def __new__(cls, mean: float, strength: float, shape: float, scale: float) -> Self:
        """Check that strength, shape and scale are above 0."""
        centre = finite("mean", mean)
        weight = positive("strength", strength)
        return super().__new__(cls, centre, weight, positive("shape", shape), positive("scale", scale))

    def update(self, observation: float) -> Self:
        """Return the posterior after one observation."""
        return self.update_many((observation,))

    def update_many(self, observations: Iterable[float]) -> Self:
        """Return the posterior after several observations."""
        values = each(finite, "observation", observations, InputError)
        average = math.fsum(x / len(values) for x in values)
        scatter = math.fsum((x - average) * (x - average) for x in values)
        return self.update_moments(len(values), average, scatter)

    def update_moments(self, count: float, mean: float, scatter: float) -> Self:
        """Return the posterior after `count` observations with this mean and sum of squares around it."""
        n = non_negative("count", count, InputError)
        average = finite("mean", mean, InputError)
        spread = non_negative("scatter", scatter, InputError)
        if n == 0.0:
            return self
        strength = self.strength + n
        shift = average - self.mean
        scale = self.scale + 0.5 * (spread + shift * shift * n * (self.strength / strength))
        return type(self)(self.mean + shift * (n / strength), strength, self.shape + 0.5 * n, scale)

    @property
    def mode(self) -> float:
        """The most probable mean."""
        return self.mean

    @property
    def variance(self) -> float:
        """The variance of the distribution of the mean, infinite for a shape of 1 or less."""
        return self.mean_marginal().variance

    @property
    def expected_variance(self) -> float:
        """The expected variance of an observation around the mean, infinite for a shape of 1 or less."""
        return self.scale / (self.shape - 1.0) if self.shape > 1.0 else math.inf

    @property
    def entropy(self) -> float:
        """The joint differential entropy of mean and variance in nats."""
        psi = float(digamma(self.shape))
        variance = unit_gamma_entropy(self.shape) - 2.0 * psi + math.log(self.scale)
        return variance + UNIT_NORMAL_ENTROPY + 0.5 * (math.log(self.scale) - psi - math.log(self.strength))

    def mean_marginal(self) -> StudentT:
        """Return the distribution of the mean alone."""
        return StudentT(2.0 * self.shape, self.mean, math.sqrt(self.scale / self.shape / self.strength))

    def precision_marginal(self) -> Gamma:
        """Return the distribution of the precision 1 / s2 alone."""
        return Gamma(self.shape, self.scale)

    def log_density(self, x: ArrayLike) -> Any:
        """Return the natural logarithm of the joint density at (mean, variance), or at each such row of an array."""
        rows = numbers_or_infinities("x", x, InputError)
        if rows.ndim == 0 or rows.shape[-1] != 2:
            raise refuse("x", "a mean and a variance, or an array of such rows", x, InputError)
        mean = rows[..., 0]
        variance = rows[..., 1]
        with np.errstate(all="ignore"):
            spread = self.scale + 0.5 * self.strength * (mean - self.mean) ** 2
            constant = self.shape * math.log(self.scale) - float(gammaln(self.shape)) + 0.5 * math.log(self.strength)
            value = constant - 0.5 * math.log(2.0 * math.pi) - (self.shape + 1.5) * np.log(variance) - spread / variance
        value = np.where(variance > 0.0, value, -np.inf)
        return value if value.ndim else float(value)

    def density(self, x: ArrayLike) -> Any:
        """Return the joint density at (mean, variance), or at each such row of an array."""
        value = self.log_density(x)
        with np.errstate(all="ignore"):
            return np.exp(value) if isinstance(value, np.ndarray) else float(np.exp(value))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the marginal density of the mean with its 90 % interval.

        It is drawn into `ax`, or without one into the current axes. Needs matplotlib, the extra `plots`.
        """
        return self.mean_marginal().plot(ax)

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the parameters, and the marginal density of the mean."""
        return self._card(self.mean_marginal())

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self.mean_marginal()._cdf(x)

    def _lower(self, tail: FloatArray) -> FloatArray:
        return self.mean_marginal()._lower(tail)

    def _upper(self, tail: FloatArray) -> FloatArray:
        return self.mean_marginal()._upper(tail)

    def predictive(self) -> StudentT:
        """Return the distribution of the next observation; its noise is the expected variance."""
        scale = math.sqrt(self.scale / self.shape * (1.0 + 1.0 / self.strength))
        return StudentT(2.0 * self.shape, self.mean, scale, self.expected_variance)

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws, one per row: mean, variance."""
        size, generator = check_draws(size, generator)
        variance = self.scale / generator.gamma(self.shape, 1.0, size)
        mean = self.mean + np.sqrt(variance / self.strength) * generator.standard_normal(size)
        return np.column_stack((mean, variance))
