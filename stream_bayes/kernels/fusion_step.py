"""One Bayesian logistic step for a few weights with full covariance, in a form that stays positive definite.

The weights are normal with precision L L' and mean m; kept are L, `factor`, and z = L' m, `target`. The rows of L' and
z are a least-squares problem that m solves, and a new event is one more row, rotated into it: no entry on the diagonal
of L ever falls, so the precision cannot stop being positive definite.
"""

from __future__ import annotations

import math

from stream_bayes.kernels.compiled import FloatArray, kernel

# Where exp is still finite; probabilities beyond it are 0 and 1 to every digit.
LARGEST_EXPONENT = 700.0


@kernel
def sigmoid(log_odds: float) -> float:
    """The probability with these log-odds, precise when it is small."""
    if log_odds >= 0.0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    odds = math.exp(log_odds)
    return odds / (1.0 + odds)


@kernel
def log_sigmoid(log_odds: float) -> float:
    """Its logarithm, precise when it is near 1 too."""
    return -math.log1p(math.exp(-log_odds)) if log_odds >= 0.0 else log_odds - math.log1p(math.exp(log_odds))


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
def moderated(score: float, variance: float) -> float:
    """The log-odds of the expected probability when the latent log-odds are normal."""
    return score / math.sqrt(1.0 + math.pi * variance / 8.0)


@kernel
def logistic_step(
    factor: FloatArray,
    target: FloatArray,
    vector: FloatArray,
    score: float,
    log_odds: float,
    outcome: int,
    weight: float,
) -> None:
    """Learn one event; the vector is used up.

    With p = sigmoid(log_odds) the moderated probability and lam = p (1 - p): precision += lam x x', and the mean is
    moved by (precision)^-1 x (y - p). As a row of the least-squares problem: sqrt(lam) x'm = sqrt(lam) x'm_before +
    (y - p) / sqrt(lam).
    """
    bounded = clipped(log_odds, LARGEST_EXPONENT)
    success, failure = sigmoid(bounded), sigmoid(-bounded)
    slope, often = math.sqrt(success * failure), math.sqrt(weight)
    residual = failure if outcome == 1 else -success
    for a in range(len(vector)):
        vector[a] *= often * slope
    _absorb(factor, target, vector, often * (slope * score + residual / slope))


@kernel
def _absorb(factor: FloatArray, target: FloatArray, vector: FloatArray, value: float) -> None:
    """Rotate the row (vector, value) into (L', z)."""
    for a in range(len(vector)):
        length = math.hypot(factor[a, a], vector[a])
        cosine, sine = factor[a, a] / length, vector[a] / length
        factor[a, a] = length
        kept = target[a]
        target[a] = cosine * kept + sine * value
        value = cosine * value - sine * kept
        for b in range(a + 1, len(vector)):
            below = factor[b, a]
            factor[b, a] = cosine * below + sine * vector[b]
            vector[b] = cosine * vector[b] - sine * below
