"""Online calibration of log-odds: score each row with the map learned so far, then learn it.

Platt: logit p = a s + b. Beta: logit p = a ln(sigmoid(s)) - c ln(sigmoid(-s)) + d with a, c >= 0.
"""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import log_sigmoid, sigmoid
from stream_bayes.kernels.fusion.logistic_step import clipped, dot, logistic_step, solve_mean, whiten
from stream_bayes.typing import FloatArray, IntArray


@kernel
def fold_calibration(
    scores: FloatArray,
    spread: FloatArray,
    outcomes: IntArray,
    weights: FloatArray,
    bound: float,
    factor: FloatArray,
    target: FloatArray,
    calibrated: FloatArray,
    calibrated_spread: FloatArray,
) -> None:
    """Two weights are Platt's map, three the beta map; clipped scores in, calibrated log-odds out.

    The map of the mean weights is applied, not moderated, so that the prior is the identity; the step is moderated,
    which keeps it short where a confident score was wrong (q = x'Px = 100 and p = 1 - 1e-5 would move it by 100).
    """
    width = len(target)
    vector = np.empty(width)
    whitened = np.empty(width)
    mean = np.empty(width)
    for row in range(len(scores)):
        score = clipped(scores[row], bound)
        _describe(score, vector)
        whiten(factor, vector, whitened)
        own = dot(whitened, whitened)
        calibrated[row] = dot(whitened, target)
        solve_mean(factor, target, mean)
        slope = mean[0] if width == 2 else mean[0] * sigmoid(-score) + mean[1] * sigmoid(score)
        calibrated_spread[row] = slope * slope * spread[row] + own
        if outcomes[row] >= 0:
            logistic_step(factor, target, vector, calibrated[row], own, outcomes[row], weights[row])
            if width == 3:
                keep_rising(factor, target, mean)


@kernel
def _describe(score: float, vector: FloatArray) -> None:
    """Write the inputs that the weights of the map multiply."""
    if len(vector) == 2:
        vector[0] = score
    else:
        vector[0] = log_sigmoid(score)
        vector[1] = -log_sigmoid(-score)
    vector[-1] = 1.0


@kernel
def keep_rising(factor: FloatArray, target: FloatArray, mean: FloatArray) -> None:
    """Move the mean of a beta map to the nearest with a, c >= 0, in the metric of the precision.

    At most one of the sides a = 0 and c = 0 has its nearest point where the other weight is positive; where none has,
    it is the corner.
    """
    solve_mean(factor, target, mean)
    if mean[0] >= 0.0 and mean[1] >= 0.0:
        return
    unit = np.empty(3)
    whitened = np.empty(3)
    column = np.empty(3)
    for side in range(2):
        unit[:] = 0.0
        unit[side] = 1.0
        whiten(factor, unit, whitened)
        solve_mean(factor, whitened, column)
        moved = mean[1 - side] - mean[side] * column[1 - side] / column[side]
        if mean[side] < 0.0 and moved >= 0.0:
            mean[2] -= mean[side] * column[2] / column[side]
            mean[side] = 0.0
            mean[1 - side] = moved
            _aim_at(factor, target, mean)
            return
    mean[0] = 0.0
    mean[1] = 0.0
    mean[2] = dot(factor[2], target) / dot(factor[2], factor[2])
    _aim_at(factor, target, mean)


@kernel
def _aim_at(factor: FloatArray, target: FloatArray, mean: FloatArray) -> None:
    """z = L' m."""
    for a in range(len(target)):
        target[a] = 0.0
        for b in range(a, len(target)):
            target[a] += factor[b, a] * mean[b]
