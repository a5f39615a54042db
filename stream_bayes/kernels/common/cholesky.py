"""Correlation matrices, factored in place."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import FloatArray

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
def add_square(matrix: FloatArray, width: int, vector: FloatArray) -> None:
    """Turn L into the factor of L L' + vector vector', by rotations that use the vector up.

    A large vector costs L the rounding of its entries, and not of their squares as the sum of the matrices would.
    """
    for a in range(width):
        length = math.hypot(matrix[a, a], vector[a])
        cosine = matrix[a, a] / length
        sine = vector[a] / length
        matrix[a, a] = length
        for b in range(a + 1, width):
            below = matrix[b, a]
            matrix[b, a] = cosine * below + sine * vector[b]
            vector[b] = cosine * vector[b] - sine * below


@kernel
def solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """The x with L L' x = right."""
    x = right.copy()
    width = len(right)
    for a in range(width):
        for b in range(a):
            x[a] -= matrix[a, b] * x[b]
        x[a] /= matrix[a, a]
    for a in range(width - 1, -1, -1):
        for b in range(a + 1, width):
            x[a] -= matrix[b, a] * x[b]
        x[a] /= matrix[a, a]
    return x


@kernel
def least_unexplained(matrix: FloatArray, width: int) -> float:
    """The smallest share of a feature's variance that all others leave unexplained: 1 / diagonal of (L L')^-1.

    Unlike the pivots it does not depend on the order of the features.
    """
    most = 1.0
    solution = np.empty(width)
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
def floor_eigenvalues(matrix: FloatArray, width: int, smallest: float = 0.0) -> None:
    """Make correlations that contradict each other positive definite, and factor them; variances stay as they are.

    No eigenvalue is left below the size of the most negative one, which says how large the contradiction is, nor below
    `smallest`.
    """
    whole = np.eye(width)
    for a in range(width):
        for b in range(a):
            whole[a, b] = whole[b, a] = matrix[b, a]
    if not np.isfinite(whole).all():  # eigh would raise
        matrix[:width, :width] = np.eye(width)
        return
    values, vectors = np.linalg.eigh(whole)
    values = np.maximum(values, max(4.0 * width * SMALLEST_PIVOT, smallest, -values[0]))
    for a in range(width):
        for b in range(a + 1):
            whole[a, b] = (vectors[a] * values * vectors[b]).sum()
    for a in range(width):
        for b in range(a):
            matrix[b, a] = whole[a, b] / math.sqrt(whole[a, a] * whole[b, b])
    if not factor(matrix, width, 0.0):
        matrix[:width, :width] = np.eye(width)
