"""The variance of labels, split into noise and ignorance, for the rows of a batch.

The sums of `stream_bayes.posteriors.label`, with as few nodes as keep the error below 1e-11.
"""

from __future__ import annotations

import math

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import sigmoid
from stream_bayes.typing import FloatArray

# Up to this deviation of the log-odds sigmoid is averaged over the normal, beyond it by parts.
WIDEST = 8.0
# Nodes of the normal up to 8 deviations, so close that the poles of sigmoid at +-i pi are 4 pi steps away or more.
NEAREST_STEP = 0.5
REACH = 8.0
# Nodes of the logistic density up to 30, where it is 1e-13.
LOGISTIC_STEP = 0.6
LOGISTIC_NODES = 50
VARIANCE_OF_ANYTHING = 1.0 / 12.0


@kernel
def narrow_moments(log_odds: float, deviation: float) -> tuple[float, float]:
    """E[q] and Var[q] of q = sigmoid(N(log_odds, deviation^2)), for log_odds <= 0.

    From the middle outwards: odds are multiplied by a ratio from node to node, normal weights by a ratio that falls.
    """
    step = NEAREST_STEP / max(1.0, deviation)
    nodes = int(REACH / step)
    ratio = math.exp(deviation * step)
    middle = sigmoid(log_odds)
    above = below = math.exp(log_odds)
    weight = 1.0
    fall = math.exp(-0.5 * step * step)
    faster = math.exp(-step * step)
    total = 1.0
    first = 0.0
    second = 0.0
    for _ in range(nodes):
        above *= ratio
        below /= ratio
        weight *= fall
        fall *= faster
        right = above / (1.0 + above) - middle
        left = below / (1.0 + below) - middle
        total += 2.0 * weight
        first += weight * (right + left)
        second += weight * (right * right + left * left)
    shift = first / total
    return middle + shift, second / total - shift * shift


@kernel
def wide_moments(log_odds: float, deviation: float) -> tuple[float, float]:
    """Mean and variance for large deviations: E[g(q)] = integral of g(sigmoid)'(t) P(log-odds > t) dt."""
    scale = 1.0 / (deviation * math.sqrt(2.0))
    mean = 0.0
    square = 0.0
    for node in range(-LOGISTIC_NODES, LOGISTIC_NODES + 1):
        at = LOGISTIC_STEP * node
        value = sigmoid(at)
        weight = LOGISTIC_STEP * value * (1.0 - value) * 0.5 * math.erfc((at - log_odds) * scale)
        mean += weight
        square += 2.0 * weight * value
    return mean, square - mean * mean


@kernel
def logit_normal_variance(log_odds: float, variance: float) -> float:
    """The variance of a probability whose log-odds are normal; exactly 0 if they are known."""
    if variance == 0.0:
        return 0.0
    deviation = math.sqrt(variance)
    if deviation <= WIDEST:
        mean, spread = narrow_moments(-abs(log_odds), deviation)
    else:
        mean, spread = wide_moments(-abs(log_odds), deviation)
    return min(max(spread, 0.0), mean * (1.0 - mean))


@kernel
def beta_variance(successes: float, failures: float) -> float:
    """The variance of a probability with a Beta posterior."""
    total = successes + failures
    return (successes / total) * (failures / total) / (total + 1.0)


@kernel
def split_variances(
    probabilities: FloatArray,
    latent_mean: FloatArray,
    latent_variance: FloatArray,
    counts: FloatArray,
    total: FloatArray,
    epistemic: FloatArray,
) -> None:
    """Write p (1 - p) of each row's most probable label, and the part of it that is ignorance.

    A probability that is NaN belongs to a label not known yet. `counts` are those of Beta posteriors, or none at all.
    """
    for row in range(len(probabilities)):
        known = 0
        most = 0.0
        for column in range(probabilities.shape[1]):
            if not math.isnan(probabilities[row, column]):
                known += 1
                most = max(most, probabilities[row, column])
        most = min(most, 1.0) if known else 0.5
        total[row] = most * (1.0 - most)
        if known < 2:
            ignorance = VARIANCE_OF_ANYTHING
        elif len(counts):
            ignorance = beta_variance(counts[row, 0], counts[row, 1])
        else:
            ignorance = logit_normal_variance(latent_mean[row], latent_variance[row])
        epistemic[row] = min(ignorance, total[row])
