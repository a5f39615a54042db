"""Multivariate Student's t distribution: the posterior of weights with unknown noise variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln, stdtrit

from stream_bayes.posteriors.base import VectorPosterior
from stream_bayes.posteriors.gaussian import StudentT
from stream_bayes.posteriors.multivariate import coordinates, covariance_matrix, mahalanobis, whitened
from stream_bayes.typing import FloatArray
from stream_bayes.validation import array, check_draws, positive, tail_beyond


class _MvStudentTFields(NamedTuple):
    degrees: float
    """Degrees of freedom: the fewer, the heavier the tails."""
    location: FloatArray
    """Centre of symmetry, read-only."""
    scale: FloatArray
    """Scale matrix, read-only; the covariance is scale x degrees / (degrees - 2)."""


class MvStudentT(VectorPosterior[FloatArray], _MvStudentTFields):
    """Multivariate Student's t distribution: a vector that is normal given an unknown variance.

    Examples
    --------
    >>> posterior = MvStudentT(degrees=6, location=[1, 2], scale=[[2, 1], [1, 2]])
    >>> posterior.covariance.tolist(), posterior.marginal(1)
    ([[3.0, 1.5], [1.5, 3.0]], MvStudentT(degrees=6, location=[2], scale=[[2]]))
    """

    __slots__ = ()

    def __new__(cls, degrees: float, location: ArrayLike, scale: ArrayLike) -> Self:
        """Check that the scale is symmetric and positive definite, and as long as the location."""
        centre = array("location", location, 1)
        return super().__new__(
            cls, positive("degrees", degrees), centre, covariance_matrix("scale", scale, centre.size)
        )

    @property
    def mean(self) -> FloatArray:
        """The centre."""
        return self.location

    @property
    def median(self) -> FloatArray:
        """The centre."""
        return self.location

    @property
    def mode(self) -> FloatArray:
        """The centre."""
        return self.location

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix, infinite for 2 degrees of freedom or fewer."""
        factor = self.degrees / (self.degrees - 2.0) if self.degrees > 2.0 else math.inf
        with np.errstate(invalid="ignore"):  # 0 x infinity: uncorrelated and unbounded
            covariance: FloatArray = self.scale * factor
        return covariance

    @property
    def variance(self) -> FloatArray:
        """The variance of each coordinate."""
        return np.diag(self.covariance)

    @property
    def std(self) -> FloatArray:
        """The standard deviation of each number."""
        return np.sqrt(self.variance)

    def marginal(self, indices: int | Sequence[int]) -> MvStudentT:
        """Return the distribution of some of the coordinates, in the order given."""
        chosen = coordinates(indices, self.location.size)
        return MvStudentT(self.degrees, self.location[chosen], self.scale[np.ix_(chosen, chosen)])

    def interval(self, mass: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return the equal-tailed credible interval of each coordinate on its own."""
        reach = -float(stdtrit(self.degrees, tail_beyond(mass) / 2.0)) * np.sqrt(np.diag(self.scale))
        return tuple(zip((self.location - reach).tolist(), (self.location + reach).tolist(), strict=True))

    def _marginals(self) -> list[StudentT]:
        scales = np.sqrt(np.diag(self.scale)).tolist()
        return [StudentT(self.degrees, *pair) for pair in zip(self.location.tolist(), scales, strict=True)]

    @overload
    def mahalanobis(self, x: Sequence[float]) -> float: ...
    @overload
    def mahalanobis(self, x: ArrayLike) -> Any: ...
    def mahalanobis(self, x: ArrayLike) -> Any:
        """Return the Mahalanobis distance under the scale matrix, of a vector or of each row of an array."""
        return mahalanobis(self._finite_rows(x), self.location, self.scale)

    def _log_density(self, rows: FloatArray) -> FloatArray:
        factor = np.linalg.cholesky(self.scale)
        size = self.location.size
        squares = (whitened(factor, rows, self.location) ** 2).sum(axis=0)
        half = 0.5 * (self.degrees + size)
        gamma = float(gammaln(0.5 * size) - betaln(0.5 * self.degrees, 0.5 * size))  # no difference of large terms
        constant = gamma - 0.5 * size * math.log(self.degrees * math.pi)
        return np.asarray(constant - np.log(np.diag(factor)).sum() - half * np.log1p(squares / self.degrees))

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws, one per row."""
        size, generator = check_draws(size, generator)
        normal = generator.standard_normal((size, self.location.size)) @ np.linalg.cholesky(self.scale).T
        draws: FloatArray = self.location + normal / np.sqrt(
            generator.chisquare(self.degrees, (size, 1)) / self.degrees
        )
        return draws
