"""Least squares under an lp penalty, 1 < p < 2: coordinate descent over columns of unit length."""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.gram.coordinate_descent import refresh
from stream_bayes.kernels.gram.gram_rotations import dot
from stream_bayes.typing import FloatArray

SWEEPS = 20
# Newton's method for one weight: it doubles its digits, from above and without passing the root.
STEPS = 100
# Of a gradient, for each unit of the weights in it.
ROUNDING = 1e-14
# Numbers below it have lost digits: a smaller weight is 0.
SMALLEST = np.finfo(np.float64).tiny


@kernel
def shrink_power(slope: float, strength: float, power: float) -> float:
    """The w that minimises (slope - w)^2 / 2 + strength |w|^power / power; 0 where it is below `SMALLEST`.

    With v = |w|^(power - 1) it is the root of v^(1 / (power - 1)) + strength v = |slope|, which is convex in v.
    """
    size = abs(slope)
    if size == 0.0:
        return 0.0
    order = 1.0 / (power - 1.0)
    v = min(size / strength, size ** (1.0 / order)) if strength > 0.0 else size ** (1.0 / order)
    for _ in range(STEPS):
        weight = v**order
        step = (weight + strength * v - size) / (order * weight / v + strength)
        if not step > 1e-16 * v:
            break
        v -= step
    weight = v**order
    if weight < SMALLEST:
        return 0.0
    return float(weight if slope > 0.0 else -weight)


@kernel
def power_violation(gradient: float, weight: float, strength: float, power: float) -> float:
    """How far one coordinate is from the condition of the minimum: a weight below `SMALLEST` counts as 0."""
    if abs(weight) < SMALLEST:
        return 0.0 if shrink_power(gradient, strength, power) == 0.0 else abs(gradient)
    pull = strength * abs(weight) ** (power - 1.0)
    return float(abs(gradient - pull) if weight > 0.0 else abs(gradient + pull))


@kernel
def descend_power(
    columns: FloatArray, target: FloatArray, strengths: FloatArray, power: float, tolerance: float, weights: FloatArray
) -> bool:
    """Minimise |target - columns'w|^2 / 2 + sum strengths |w|^power / power, from the weights given.

    Columns have unit length or are 0, and then so is their weight. True when every coordinate meets the condition of
    the minimum to the tolerance, or to rounding.
    """
    rest = np.empty(len(target))
    for turn in range(SWEEPS + 1):
        refresh(columns, target, weights, rest)
        near = max(tolerance, ROUNDING * np.abs(weights).sum())
        worst = 0.0
        for j in range(len(weights)):
            worst = max(worst, power_violation(dot(columns[j], rest), weights[j], strengths[j], power))
        if worst <= near:
            return True
        if turn == SWEEPS:
            break
        for j in range(len(weights)):
            row = columns[j]
            if dot(row, row) == 0.0:
                continue
            step = shrink_power(dot(row, rest) + weights[j], strengths[j], power) - weights[j]
            if step != 0.0:
                weights[j] += step
                for i in range(len(row)):
                    rest[i] -= step * row[i]
    return False
