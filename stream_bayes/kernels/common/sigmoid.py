"""Probabilities from log-odds, known or normal, and what a label tells of the latter.

Log-odds N(m, v) give the second label the probability p = sigmoid(k m), k = 1 / sqrt(1 + pi v / 8), averaged over them.
After the label they are replaced by the normal with their mean and variance, which the slope and curvature of log p in
m give: m + v k (y - p) and v - v^2 k^2 p (1 - p). That is what an observation m + (y - p) / (k p (1 - p)) of precision
k^2 p (1 - p) / (1 - v k^2 p (1 - p)) makes of them. (A Newton step in place of the moments is as cheap and far too
sure: from N(0, 100) a first label leaves variance 37.9 here, 38.4 in truth, 3.8 by Newton.)
"""

from __future__ import annotations

import math

from stream_bayes.kernels.common.jit import kernel

# Of p (1 - p): without it a label that contradicts the prediction would be an infinite observation of no precision.
LEAST_NOISE = 1e-10


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
def moderated(mean: float, variance: float) -> float:
    """The log-odds of the probability averaged over normal log-odds (MacKay's approximation)."""
    return mean / math.sqrt(1.0 + math.pi * variance / 8.0)


@kernel
def observation(label: int, log_odds: float, variance: float) -> tuple[float, float]:
    """How precise an observation of the log-odds a label is, and how far from their mean; `log_odds` are moderated."""
    k = 1.0 / math.sqrt(1.0 + math.pi * variance / 8.0)
    p = sigmoid(log_odds)
    q = sigmoid(-log_odds)
    noise = max(p * q, LEAST_NOISE)
    # v k^2 is below 8 / pi and the noise at most 1/4, so that the denominator is above 0.36.
    precision = k * k * noise / (1.0 - variance * k * k * noise)
    return precision, (q if label == 1 else -p) / (k * noise)


@kernel
def repeated(label: int, weight: float, mean: float, variance: float) -> tuple[float, float]:
    """The step of a label with a weight above one: slope and curvature at the most probable log-odds.

    Those are where (f - mean) / variance = weight x (y - sigmoid(f)), found by bisection. With r = weight x variance,
    |f - mean| <= r, and f is at most ln(1 + r) beyond 0 and the mean, since sigmoid(-f) < exp(-f) and
    r / (1 + r) <= ln(1 + r): a bracket in which the bisection ends however large r is.
    """
    if variance == 0.0:
        return 0.0, 0.0
    reach = weight * variance
    beyond = math.log1p(reach)
    if label == 1:
        low = mean
        high = min(mean + reach, max(mean, 0.0) + beyond)
    else:
        low = max(mean - reach, min(mean, 0.0) - beyond)
        high = mean
    for _ in range(200):
        middle = 0.5 * (low + high)
        slope = weight * (sigmoid(-middle) if label == 1 else -sigmoid(middle))
        if (middle - mean) < variance * slope:
            low = middle
        else:
            high = middle
    middle = 0.5 * (low + high)
    precision = weight * max(sigmoid(middle) * sigmoid(-middle), LEAST_NOISE)
    slope = weight * (sigmoid(-middle) if label == 1 else -sigmoid(middle))
    return precision, middle + slope / precision - mean
