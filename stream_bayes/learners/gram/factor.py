"""A factor of X'X: coordinates of columns and target that keep the digits sums of squares would lose."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from scipy.linalg import lapack, solve_triangular

from stream_bayes.kernels.gram.gram_rotations import independent
from stream_bayes.typing import FloatArray

# The share of a column's squares that others leave unexplained; rounding of the sums leaves as much of a dependent one.
SMALLEST_SHARE = 1e-12
# What rounding leaves of the squares of a target that the columns explain, as a share of them.
SMALLEST_RESIDUAL = 1e-14
# What rounding of the factor leaves of the length of a column that others explain.
SMALLEST_LENGTH = 1e-14


class Factor(NamedTuple):
    """Coordinates of columns and target in a common orthonormal basis of what the columns span."""

    columns: FloatArray
    """F, a row for each column, with F F' = X'X."""
    target: FloatArray
    """h, with F h = X'y."""
    residual: float
    """y'y - h'h: what no weights explain. Rounding may leave it below 0, and then makes up for that of h."""

    @property
    def lengths(self) -> FloatArray:
        """The Euclidean lengths of the columns; 1 for a column of zeros."""
        lengths = np.sqrt((self.columns**2).sum(axis=1))
        return np.where(lengths > 0.0, lengths, 1.0)


class Ridge(NamedTuple):
    """The fit of one strength k, with its uncertainty."""

    weights: FloatArray
    root: FloatArray
    """Lower triangular, with root' root = (X'X + k)^-1."""
    loss: float
    """The least |y - Xw|^2 + k |w|^2."""


def factored(matrix: FloatArray, right: FloatArray, squares: float) -> Factor:
    """Factor X'X by pivoted Cholesky of the correlations, so that the scales of the columns do not matter.

    It stops at the rank; columns that depend on others get their coordinates from them.
    """
    lengths = np.sqrt(np.where(matrix.diagonal() > 0.0, matrix.diagonal(), 1.0))
    if len(lengths) == 0:
        return Factor(np.zeros((0, 0)), np.zeros(0), squares)
    correlations = np.clip(matrix / lengths / lengths[:, None], -1.0, 1.0)
    lower, order, rank, _ = lapack.dpstrf(correlations, tol=SMALLEST_SHARE, lower=1)
    columns = np.empty((len(lengths), rank))
    columns[order - 1] = np.tril(lower)[:, :rank]
    first = order[:rank] - 1
    target = solve_triangular(columns[first], (right / lengths)[first], lower=True) if rank else np.zeros(0)
    residual = squares - float(target @ target)
    return Factor(columns * lengths[:, None], target, residual if abs(residual) > SMALLEST_RESIDUAL * squares else 0.0)


def with_means(centred: Factor, count: float, means: FloatArray, target_mean: float) -> Factor:
    """Add n mean mean' to X'X as one more direction of the basis: the mean event, which the others are centred on."""
    root = np.sqrt(count)
    columns = np.column_stack((root * means, centred.columns))
    return Factor(columns, np.concatenate(([root * target_mean], centred.target)), centred.residual)


def reduced(factor: Factor, limits: FloatArray) -> Factor:
    """A factor with no more rows than its rank: a column of which others leave its limit or less depends on them.

    The limits are shares of the squares of each column, so that the scales of the columns do not matter.
    """
    lengths = factor.lengths
    target = factor.target.copy()
    rows = np.ascontiguousarray(factor.columns / lengths[:, None])
    rank = independent(rows, target, limits, np.empty(len(rows), dtype=np.int64))
    beyond = target[rank:]
    return Factor(rows[:, :rank] * lengths[:, None], target[:rank], factor.residual + float(beyond @ beyond))


def ridge(factor: Factor, strength: float) -> Ridge:
    """Least squares of the factor with sqrt(k) I beneath it, by a QR decomposition that never forms X'X + k."""
    width, rank = factor.columns.shape
    stacked = np.zeros((rank + width, width + 1))
    stacked[:rank, :width] = factor.columns.T
    stacked[:rank, width] = factor.target
    np.fill_diagonal(stacked[rank:, :width], np.sqrt(strength))
    triangle = cast(FloatArray, np.linalg.qr(stacked, mode="r"))
    inverse = lapack.dtrtri(triangle[:width, :width])[0] if width else np.zeros((0, 0))
    rest = triangle[width:, width]
    loss = max(factor.residual + float(rest @ rest), 0.0)
    return Ridge(inverse @ triangle[:width, width], np.array(inverse.T, order="C"), loss)
