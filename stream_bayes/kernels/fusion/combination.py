"""Combining the log-odds of several classifiers: rows of them in, the log-odds of their combination out.

Each fold goes through the rows in order: it says something about the row, then learns it where its outcome is known.
"""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.sigmoid import log_sigmoid, moderated, sigmoid
from stream_bayes.kernels.fusion.logistic_step import clipped, dot, logistic_step, solve_mean, whiten
from stream_bayes.typing import FloatArray, IntArray


@kernel
def sign_log_odds(
    probabilities: FloatArray,
    sizes: FloatArray,
    variances: FloatArray,
    first: int,
    second: int,
    largest: float,
    member: int,
    log_odds: FloatArray,
    spread: FloatArray,
) -> None:
    """From the log-odds of each row's more probable label to those of the second; 0 where one is not known yet."""
    for row in range(len(probabilities)):
        one = probabilities[row, first]
        two = probabilities[row, second]
        known = not (math.isnan(one) or math.isnan(two))
        log_odds[row, member] = (1.0 if two > one else -1.0) * min(sizes[row], largest) if known else 0.0
        spread[row, member] = variances[row] if known else 0.0


@kernel
def fold_stack(
    log_odds: FloatArray,
    variances: FloatArray,
    outcomes: IntArray,
    weights: FloatArray,
    bound: float,
    factor: FloatArray,
    target: FloatArray,
    combined: FloatArray,
    spread: FloatArray,
) -> None:
    """A weighted sum of the clipped log-odds and an intercept, moderated by the variance of the weights.

    `spread` is that variance and the members' own, those of independent members, by their weights squared.
    """
    members = log_odds.shape[1]
    vector = np.ones(members + 1)
    whitened = np.empty(members + 1)
    mean = np.empty(members + 1)
    for row in range(len(log_odds)):
        for k in range(members):
            vector[k] = clipped(log_odds[row, k], bound)
        vector[members] = 1.0
        whiten(factor, vector, whitened)
        score = dot(whitened, target)
        own = dot(whitened, whitened)
        combined[row] = moderated(score, own)
        spread[row] = own
        solve_mean(factor, target, mean)
        for k in range(members):
            spread[row] += mean[k] * mean[k] * variances[row, k]
        if outcomes[row] >= 0:
            logistic_step(factor, target, vector, score, own, outcomes[row], weights[row])


@kernel
def fold_evidence(
    log_odds: FloatArray, outcomes: IntArray, weights: FloatArray, evidence: FloatArray, before: FloatArray
) -> None:
    """Add up each member's log p(y); `before` is the sum each row was predicted with."""
    for row in range(len(log_odds)):
        for k in range(len(evidence)):
            before[row, k] = evidence[k]
            if outcomes[row] >= 0:
                sign = 1.0 if outcomes[row] == 1 else -1.0
                evidence[k] += weights[row] * log_sigmoid(sign * log_odds[row, k])


@kernel
def mix(
    log_odds: FloatArray,
    variances: FloatArray,
    before: FloatArray,
    bound: float,
    combined: FloatArray,
    spread: FloatArray,
) -> None:
    """The log-odds of sum of share x probability, the shares those of the evidence.

    `spread` is the variance of the log-odds when one of the members is right: within them, and between them as far as
    they are clipped.
    """
    members = log_odds.shape[1]
    success = np.empty(members)
    failure = np.empty(members)
    share = np.empty(members)
    for row in range(len(log_odds)):
        total = log_sum_exp(before[row])
        centre = 0.0
        for k in range(members):
            success[k] = before[row, k] + log_sigmoid(log_odds[row, k])
            failure[k] = before[row, k] + log_sigmoid(-log_odds[row, k])
            share[k] = math.exp(before[row, k] - total)
            centre += share[k] * clipped(log_odds[row, k], bound)
        combined[row] = log_sum_exp(success) - log_sum_exp(failure)
        spread[row] = 0.0
        for k in range(members):
            offset = clipped(log_odds[row, k], bound) - centre
            spread[row] += share[k] * (variances[row, k] + offset * offset)


@kernel
def log_sum_exp(values: FloatArray) -> float:
    """The logarithm of a sum of exponentials, for finite values."""
    highest = -math.inf
    for k in range(len(values)):
        highest = max(highest, values[k])
    total = 0.0
    for k in range(len(values)):
        total += math.exp(values[k] - highest)
    return highest + math.log(total)


@kernel
def fold_reliability(
    log_odds: FloatArray,
    outcomes: IntArray,
    weights: FloatArray,
    cells: FloatArray,
    losses: FloatArray,
    probabilities: FloatArray,
) -> None:
    """Write both probabilities of each row, and score them where the outcome is known.

    `cells[c]` holds weight, sum of predicted and sum of observed of the c-th interval of the second probability;
    `losses` the weight, the sum of squared errors and that of -log p(y).
    """
    for row in range(len(log_odds)):
        probabilities[row, 0] = sigmoid(-log_odds[row])
        probabilities[row, 1] = sigmoid(log_odds[row])
        if outcomes[row] >= 0:
            weight = weights[row]
            outcome = outcomes[row]
            p = probabilities[row, 1]
            error = probabilities[row, 1 - outcome]
            cell = min(int(p * len(cells)), len(cells) - 1)
            cells[cell, 0] += weight
            cells[cell, 1] += weight * p
            cells[cell, 2] += weight * outcome
            losses[0] += weight
            losses[1] += weight * error * error
            losses[2] -= weight * log_sigmoid(log_odds[row] if outcome == 1 else -log_odds[row])
