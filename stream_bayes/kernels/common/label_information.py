"""Mutual information of a label and the log-odds behind it, for the rows of a batch.

With q = sigmoid(N(log_odds, variance)) and H the entropy of a coin in nats: H(E q) - E H(q), the mutual information of
the label and the log-odds. Sums as in `kernels.common.label_variance`, error below 1e-11.
"""

from __future__ import annotations

import math

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.label_variance import LOGISTIC_NODES, LOGISTIC_STEP, NEAREST_STEP, REACH, WIDEST
from stream_bayes.kernels.common.sigmoid import sigmoid
from stream_bayes.typing import FloatArray


@kernel
def coin_entropy(log_odds: float) -> float:
    """The entropy of a coin with these log-odds."""
    size = abs(log_odds)
    odds = math.exp(-size)
    return math.log1p(odds) + size * odds / (1.0 + odds)


@kernel
def narrow_information(log_odds: float, deviation: float) -> tuple[float, float]:
    """E[q] and E[H(q)] for log_odds <= 0, both averaged over the normal."""
    step = NEAREST_STEP / max(1.0, deviation)
    total = 1.0
    first = sigmoid(log_odds)
    entropy = coin_entropy(log_odds)
    for node in range(1, int(REACH / step) + 1):
        away = step * node
        weight = math.exp(-0.5 * away * away)
        above = log_odds + deviation * away
        below = log_odds - deviation * away
        total += 2.0 * weight
        first += weight * (sigmoid(above) + sigmoid(below))
        entropy += weight * (coin_entropy(above) + coin_entropy(below))
    return first / total, entropy / total


@kernel
def wide_information(log_odds: float, deviation: float) -> tuple[float, float]:
    """Both entropies for large deviations, by parts: the slope of H(sigmoid(t)) is -t sigmoid'(t)."""
    scale = 1.0 / (deviation * math.sqrt(2.0))
    mean = 0.0
    entropy = 0.0
    for node in range(-LOGISTIC_NODES, LOGISTIC_NODES + 1):
        at = LOGISTIC_STEP * node
        value = sigmoid(at)
        weight = LOGISTIC_STEP * value * sigmoid(-at) * 0.5 * math.erfc((at - log_odds) * scale)
        mean += weight
        entropy -= weight * at
    return mean, entropy


@kernel
def label_information(log_odds: FloatArray, variance: FloatArray, information: FloatArray) -> None:
    """Write what the label of each row would tell, in nats, never below 0; NaN where the variance is."""
    for row in range(len(log_odds)):
        if math.isnan(variance[row]):
            information[row] = math.nan
            continue
        size = -abs(log_odds[row])
        deviation = math.sqrt(variance[row])
        if deviation <= WIDEST:
            mean, entropy = narrow_information(size, deviation)
        else:
            mean, entropy = wide_information(size, deviation)
        total = -(1.0 - mean) * math.log1p(-mean)
        if mean > 0.0:
            total -= mean * math.log(mean)
        information[row] = max(total - entropy, 0.0)
