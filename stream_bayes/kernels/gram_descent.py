"""LASSO and elastic net from the Gram matrix alone: coordinate descent over columns of unit length."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.compiled import BoolArray, FloatArray, kernel

# How often all coordinates are looked at, and how often the active ones are swept in between.
ROUNDS, SWEEPS = 10, 20
# Of a gradient, for each unit of the weights in it.
ROUNDING = 1e-14


@kernel
def shrink(slope: float, threshold: float) -> float:
    """The slope moved towards 0 by the threshold, and not past it."""
    if slope > threshold:
        return slope - threshold
    return slope + threshold if slope < -threshold else 0.0


@kernel
def violation(gradient: float, weight: float, lasso: float, ridge: float) -> float:
    """How far one coordinate is from the conditions of the minimum (Karush, Kuhn and Tucker)."""
    slope = gradient - ridge * weight
    if weight == 0.0:
        return max(abs(slope) - lasso, 0.0)
    return abs(slope - lasso) if weight > 0.0 else abs(slope + lasso)


@kernel
def refresh(gram: FloatArray, right: FloatArray, weights: FloatArray, gradient: FloatArray) -> None:
    """Write right - gram weights."""
    gradient[:] = right
    for j in range(len(weights)):
        if weights[j] != 0.0:
            row, weight = gram[j], weights[j]
            for i in range(len(row)):
                gradient[i] -= weight * row[i]


@kernel
def sweep(
    gram: FloatArray,
    lasso: FloatArray,
    ridge: FloatArray,
    active: BoolArray,
    weights: FloatArray,
    gradient: FloatArray,
) -> float:
    """Move every active coordinate to its minimum; returns the largest step."""
    largest = 0.0
    for j in range(len(weights)):
        if not active[j]:
            continue
        own = gram[j, j]
        moved = shrink(gradient[j] + own * weights[j], lasso[j]) / (own + ridge[j])
        step = moved - weights[j]
        if step != 0.0:
            weights[j] = moved
            row = gram[j]
            for i in range(len(row)):
                gradient[i] -= step * row[i]
            largest = max(largest, abs(step))
    return largest


@kernel
def descend(
    gram: FloatArray, right: FloatArray, lasso: FloatArray, ridge: FloatArray, tolerance: float, weights: FloatArray
) -> bool:
    """Minimise w'Gw/2 - w'r + sum lasso |w| + sum ridge w^2 / 2, from the weights given; False if it is still far.

    Columns have unit length or are 0. Sweeps go over the coordinates that are not 0, until they move less than the
    tolerance; then all are looked at, and those that violate the conditions of the minimum by more join.
    """
    gradient, active = np.empty(len(weights)), weights != 0.0
    for _ in range(ROUNDS):
        refresh(gram, right, weights, gradient)
        near = tolerance + ROUNDING * np.abs(weights).sum()
        worst = 0.0
        for j in range(len(weights)):
            if gram[j, j] > 0.0:
                misfit = violation(gradient[j], weights[j], lasso[j], ridge[j])
                worst = max(worst, misfit)
                active[j] = weights[j] != 0.0 or misfit > near
        if worst <= near:
            return True
        for _ in range(SWEEPS):
            if sweep(gram, lasso, ridge, active, weights, gradient) <= 0.1 * near:
                break
    return False
