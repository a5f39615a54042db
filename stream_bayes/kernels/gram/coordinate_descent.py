"""LASSO and elastic net from a factor of the Gram matrix: coordinate descent over columns of unit length."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.gram.gram_rotations import dot
from stream_bayes.typing import BoolArray, FloatArray

# How often all coordinates are looked at, and how often the active ones are swept in between.
ROUNDS = 10
SWEEPS = 20
# Of a gradient, for each unit of the weights in it.
ROUNDING = 1e-14

FAR = 0
ROUNDED = 1
REACHED = 2


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
def refresh(columns: FloatArray, target: FloatArray, weights: FloatArray, rest: FloatArray) -> None:
    """Write what the weights leave of the target."""
    rest[:] = target
    for j in range(len(weights)):
        if weights[j] != 0.0:
            row = columns[j]
            weight = weights[j]
            for i in range(len(row)):
                rest[i] -= weight * row[i]


@kernel
def sweep(
    columns: FloatArray, lasso: FloatArray, ridge: FloatArray, active: BoolArray, weights: FloatArray, rest: FloatArray
) -> float:
    """Move every active coordinate to its minimum; returns the largest step."""
    largest = 0.0
    for j in range(len(weights)):
        if not active[j]:
            continue
        row = columns[j]
        moved = shrink(dot(row, rest) + weights[j], lasso[j]) / (1.0 + ridge[j])
        step = moved - weights[j]
        if step != 0.0:
            weights[j] = moved
            for i in range(len(row)):
                rest[i] -= step * row[i]
            largest = max(largest, abs(step))
    return largest


@kernel
def descend(
    columns: FloatArray,
    target: FloatArray,
    lasso: FloatArray,
    ridge: FloatArray,
    tolerance: float,
    most: FloatArray,
    weights: FloatArray,
) -> int:
    """Minimise |target - columns'w|^2 / 2 + sum lasso |w| + sum ridge w^2 / 2, from the weights given.

    Columns have unit length or are 0, and then so is their weight. Sweeps go over the coordinates that are not 0, until
    they hardly move; then all are looked at, and those that violate the conditions of the minimum by more than the
    tolerance, or rounding, or `most` join. Returns REACHED when none does, ROUNDED when none does by more than
    rounding, FAR when it is still far.
    """
    rest = np.empty(len(target))
    active = weights != 0.0
    state = FAR
    for _ in range(ROUNDS):
        refresh(columns, target, weights, rest)
        rounding = ROUNDING * np.abs(weights).sum()
        near = max(tolerance, rounding)
        state = REACHED
        for j in range(len(weights)):
            misfit = violation(dot(columns[j], rest), weights[j], lasso[j], ridge[j])
            amiss = misfit > min(near, most[j])
            if amiss:
                state = min(state, ROUNDED if misfit <= rounding else FAR)
            active[j] = weights[j] != 0.0 or amiss
        if state == REACHED:
            return state
        for _ in range(SWEEPS):
            if sweep(columns, lasso, ridge, active, weights, rest) <= 0.1 * max(min(tolerance, most.min()), rounding):
                break
    return state
