"""Distribution of a vector, such as the weights of a linear regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from stream_bayes.errors import InputError
from stream_bayes.posteriors.base import VectorPosterior
from stream_bayes.posteriors.gaussian import Normal
from stream_bayes.typing import FloatArray
from stream_bayes.validation import array, check_draws, non_negative, positive, refuse, tail_beyond

_SYMMETRY_SLACK = 1e-8


def covariance_matrix(what: str, values: ArrayLike, size: int) -> FloatArray:
    """Return the matrix made exactly symmetric, or refuse it."""
    matrix = array(what, values, 2)
    if matrix.shape != (size, size):
        raise refuse(what, f"of shape {(size, size)}, as the mean is {size} long", matrix.shape)
    if np.abs(matrix - matrix.T).max() > _SYMMETRY_SLACK * np.abs(matrix).max():
        raise refuse(what, "symmetric", matrix)
    matrix = 0.5 * (matrix + matrix.T)
    matrix.setflags(write=False)
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as cause:
        raise refuse(what, "positive definite", matrix) from cause
    return matrix


def whitened(factor: NDArray[Any], rows: FloatArray, centre: FloatArray) -> FloatArray:
    """Return L^-1 (row - centre) of each row, one per column: its length is the Mahalanobis distance, L L' = S."""
    solution: FloatArray = solve_triangular(factor, (rows - centre).T, lower=True, check_finite=False)
    return solution


def mahalanobis(rows: FloatArray, centre: FloatArray, scale: FloatArray) -> float | FloatArray:
    """Return the Mahalanobis distance sqrt((x - m)' S^-1 (x - m)) of a vector, or of each row of an array."""
    flat = rows.reshape(-1, rows.shape[-1])
    distances = np.linalg.norm(whitened(np.linalg.cholesky(scale), flat, centre), axis=0)
    return distances.reshape(rows.shape[:-1]) if rows.ndim > 1 else float(distances[0])


def coordinates(indices: int | Sequence[int], size: int) -> NDArray[np.int64]:
    """Return some of the coordinates as an array, or refuse what is not there or comes twice."""
    chosen = np.atleast_1d(np.asarray(indices))
    known = set(chosen.tolist()) & set(range(size))
    if chosen.dtype.kind not in "iu" or len(known) < chosen.size:
        raise refuse("indices", f"different whole numbers from 0 to {size - 1}", indices)
    return chosen.astype(np.int64)


class _MvNormalFields(NamedTuple):
    mean: FloatArray
    """Centre, read-only."""
    covariance: FloatArray
    """Covariance matrix, read-only."""


class MvNormal(VectorPosterior[FloatArray], _MvNormalFields):
    """Distribution of a vector w: N(mean, covariance).

    An observation y = x'w + noise makes the precision S^-1 + x x' / n: with g = S x / (x'S x + n) the mean is
    m + g (y - x'm) and the covariance S - g x'S.

    Examples
    --------
    >>> posterior = MvNormal([0, 0], [[0.5, 0], [0, 0.5]]).update([1, 1], 3, noise_variance=0.5)
    >>> posterior.mean.round(6), posterior.covariance.round(4).tolist()
    (array([1., 1.]), [[0.3333, -0.1667], [-0.1667, 0.3333]])
    >>> posterior.predictive([1, 0], noise_variance=0.5).epistemic_variance.__round__(4)
    0.3333
    """

    __slots__ = ()

    def __new__(cls, mean: ArrayLike, covariance: ArrayLike) -> Self:
        """Check that the covariance is symmetric and positive definite, and as long as the mean."""
        centre = array("mean", mean, 1)
        return super().__new__(cls, centre, covariance_matrix("covariance", covariance, centre.size))

    def update(self, x: ArrayLike, y: float, noise_variance: float) -> Self:
        """Return the posterior after one observation y of x'w with known noise."""
        return self.update_many(self._row(x)[None, :], [y], noise_variance)

    def update_many(self, rows: ArrayLike, answers: ArrayLike, noise_variance: float) -> Self:
        """Return the posterior after several observations, a row of `rows` and a number of `answers` each."""
        design = array("x", rows, 2, InputError)
        y = array("y", answers, 1, InputError)
        noise = positive("noise_variance", noise_variance)
        if design.shape != (y.size, self.mean.size):
            raise refuse("x", f"of shape {(y.size, self.mean.size)}", design.shape, InputError)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._after(design / math.sqrt(noise), y / math.sqrt(noise))

    def _after(self, design: FloatArray, y: FloatArray) -> Self:
        """Return the posterior after observations with unit noise.

        S' = L (I + L'X'X L)^-1 L' with S = L L': the matrix inverted has no eigenvalue below 1.
        """
        factor = np.linalg.cholesky(self.covariance)
        projected = design @ factor
        information = projected.T @ projected
        if not np.isfinite(information).all():
            raise refuse("x", "numbers whose squares are finite", design, InputError)
        inner = np.linalg.cholesky(np.eye(self.mean.size) + information)
        half = np.linalg.solve(inner, factor.T)
        shift = half.T @ np.linalg.solve(inner, projected.T @ (y - design @ self.mean))
        return type(self)(self.mean + shift, half.T @ half)

    def _row(self, x: ArrayLike) -> FloatArray:
        row = array("x", x, 1, InputError)
        if row.size != self.mean.size:
            raise refuse("x", f"a vector of {self.mean.size} numbers", row, InputError)
        return row

    def marginal(self, indices: int | Sequence[int]) -> MvNormal:
        """Return the distribution of some of the coordinates, in the order given."""
        chosen = coordinates(indices, self.mean.size)
        return MvNormal(self.mean[chosen], self.covariance[np.ix_(chosen, chosen)])

    @property
    def median(self) -> FloatArray:
        """The median of each coordinate, which is the mean."""
        return self.mean

    @property
    def mode(self) -> FloatArray:
        """The most probable vector, which is the mean."""
        return self.mean

    @property
    def variance(self) -> FloatArray:
        """The variance of each coordinate."""
        return np.diag(self.covariance)

    @property
    def std(self) -> FloatArray:
        """The standard deviation of each number."""
        return np.sqrt(self.variance)

    @property
    def entropy(self) -> float:
        """The differential entropy in nats, 1/2 ln det (2 pi e S)."""
        factor = np.linalg.cholesky(self.covariance)
        return float(np.log(np.diag(factor)).sum()) + 0.5 * self.mean.size * math.log(2.0 * math.pi * math.e)

    def interval(self, mass: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Return the equal-tailed credible interval of each coordinate on its own."""
        reach = -float(ndtri(tail_beyond(mass) / 2.0)) * np.sqrt(self.variance)
        return tuple(zip((self.mean - reach).tolist(), (self.mean + reach).tolist(), strict=True))

    def _marginals(self) -> list[Normal]:
        return [Normal(*pair) for pair in zip(self.mean.tolist(), self.variance.tolist(), strict=True)]

    def _log_density(self, rows: FloatArray) -> FloatArray:
        factor = np.linalg.cholesky(self.covariance)
        squares = (whitened(factor, rows, self.mean) ** 2).sum(axis=0)
        log_determinant = 2.0 * np.log(np.diag(factor)).sum()
        return np.asarray(-0.5 * (squares + log_determinant + self.mean.size * math.log(2.0 * math.pi)))

    @overload
    def mahalanobis(self, x: Sequence[float]) -> float: ...
    @overload
    def mahalanobis(self, x: ArrayLike) -> Any: ...
    def mahalanobis(self, x: ArrayLike) -> Any:
        """Return the Mahalanobis distance sqrt((x - m)' S^-1 (x - m)) of a vector, or of each row of an array.

        >>> MvNormal([1, 2], [[4, 0], [0, 9]]).mahalanobis([[3, 2], [1, 8]]).tolist()
        [1.0, 2.0]
        """
        return mahalanobis(self._finite_rows(x), self.mean, self.covariance)

    def predictive(self, x: ArrayLike, noise_variance: float) -> Normal:
        """Return the distribution of the next y at x: N(x'm, x'S x + noise)."""
        row = self._row(x)
        noise = non_negative("noise_variance", noise_variance)
        return Normal(float(row @ self.mean), float(row @ self.covariance @ row) + noise, noise)

    def sample(self, size: int = 1, generator: np.random.Generator | None = None) -> FloatArray:
        """Return `size` draws, one per row."""
        size, generator = check_draws(size, generator)
        factor = np.linalg.cholesky(self.covariance)
        return self.mean + generator.standard_normal((size, self.mean.size)) @ factor.T
