"""One Bayesian logistic step for a few weights with full covariance, in a form that stays positive definite.

The weights are normal with precision L L' and mean m; kept are L, `factor`, and z = L' m, `target`. The rows of L' and
z are a least-squares problem that m solves, and a new event is one more row, rotated into it: no entry on the diagonal
of L ever falls, so the precision cannot stop being positive definite.
"""

from __future__ import annotations

import math

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import moderated, observation
from stream_bayes.typing import FloatArray


@kernel
def clipped(value: float, bound: float) -> float:
    """The value, or the bound it lies beyond."""
    return min(max(value, -bound), bound)


@kernel
def dot(one: FloatArray, two: FloatArray) -> float:
    """The scalar product."""
    total = 0.0
    for a in range(len(one)):
        total += one[a] * two[a]
    return total


@kernel
def whiten(factor: FloatArray, vector: FloatArray, whitened: FloatArray) -> None:
    """Write L^-1 x: with it x'm is a product with the target, and x' (L L')^-1 x its square."""
    for a in range(len(vector)):
        rest = vector[a]
        for b in range(a):
            rest -= factor[a, b] * whitened[b]
        whitened[a] = rest / factor[a, a]


@kernel
def solve_mean(factor: FloatArray, target: FloatArray, mean: FloatArray) -> None:
    """Write the m with L' m = z."""
    for a in range(len(target) - 1, -1, -1):
        rest = target[a]
        for b in range(a + 1, len(target)):
            rest -= factor[b, a] * mean[b]
        mean[a] = rest / factor[a, a]


@kernel
def logistic_step(
    factor: FloatArray,
    target: FloatArray,
    vector: FloatArray,
    score: float,
    variance: float,
    outcome: int,
    weight: float,
) -> None:
    """Learn one event of log-odds N(score, variance) as an observation of them; the vector is used up."""
    precision, offset = observation(outcome, moderated(score, variance), variance)
    root = math.sqrt(weight * precision)
    for a in range(len(vector)):
        vector[a] *= root
    _absorb(factor, target, vector, root * (score + offset))


@kernel
def _absorb(factor: FloatArray, target: FloatArray, vector: FloatArray, value: float) -> None:
    """Rotate the row (vector, value) into (L', z)."""
    for a in range(len(vector)):
        length = math.hypot(factor[a, a], vector[a])
        cosine = factor[a, a] / length
        sine = vector[a] / length
        factor[a, a] = length
        kept = target[a]
        target[a] = cosine * kept + sine * value
        value = cosine * value - sine * kept
        for b in range(a + 1, len(vector)):
            below = factor[b, a]
            factor[b, a] = cosine * below + sine * vector[b]
            vector[b] = cosine * vector[b] - sine * below
