"""Correlation matrices, factored in place."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.compiled import FloatArray, kernel

# The share of a feature's variance that those before it leave unexplained; less is rounding.
SMALLEST_PIVOT = 1e-13


@kernel
def factor(matrix: FloatArray, width: int, smallest: float) -> bool:
    """Write L, with L L' the correlations above the diagonal, on it and below; False when a pivot is too small."""
    for a in range(width):
        for b in range(a + 1):
            rest = 1.0 if a == b else matrix[b, a]
            for k in range(b):
                rest -= matrix[a, k] * matrix[b, k]
            if b < a:
                matrix[a, b] = rest / matrix[b, b]
            elif rest > smallest:
                matrix[a, a] = math.sqrt(rest)
            else:
                return False
    return True


@kernel
def least_unexplained(matrix: FloatArray, width: int) -> float:
    """The smallest share of a feature's variance that all others leave unexplained: 1 / diagonal of (L L')^-1.

    Unlike the pivots it does not depend on the order of the features.
    """
    most, solution = 1.0, np.empty(width)
    for column in range(width):
        squares = 0.0
        for a in range(column, width):
            rest = 1.0 if a == column else 0.0
            for b in range(column, a):
                rest -= matrix[a, b] * solution[b]
            solution[a] = rest / matrix[a, a]
            squares += solution[a] ** 2
        most = max(most, squares)
    return 1.0 / most


@kernel
def floor_eigenvalues(matrix: FloatArray, width: int) -> None:
    """Make correlations that contradict each other positive definite, and factor them; variances stay as they are.

    No eigenvalue is left below the size of the most negative one, which says how large the contradiction is.
    """
    whole = np.eye(width)
    for a in range(width):
        for b in range(a):
            whole[a, b] = whole[b, a] = matrix[b, a]
    values, vectors = np.linalg.eigh(whole)
    values = np.maximum(values, max(4.0 * width * SMALLEST_PIVOT, -values[0]))
    for a in range(width):
        for b in range(a + 1):
            whole[a, b] = (vectors[a] * values * vectors[b]).sum()
    for a in range(width):
        for b in range(a):
            matrix[b, a] = whole[a, b] / math.sqrt(whole[a, a] * whole[b, b])
    if not factor(matrix, width, 0.0):
        matrix[:width, :width] = np.eye(width)
