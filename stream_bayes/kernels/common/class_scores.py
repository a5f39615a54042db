"""From the joint log-likelihood of each class to probabilities, log-odds and their variance."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.common.csr import Joint
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import FloatArray


@kernel
def to_probabilities(
    joint: Joint,
    probabilities: FloatArray,
    log_odds: FloatArray,
    latent_mean: FloatArray,
    latent_variance: FloatArray,
) -> int:
    """Normalise each row; a NaN marks a class not known yet and stays NaN. Returns how many rows have no answer.

    When every class is impossible (zero pseudo-counts) the row is uniform. A row has no answer when arithmetic
    left the numbers: a class that was known has none, or its variance is none.
    """
    failures = 0
    for row in range(len(joint.log)):
        probabilities[row] = np.nan
        log_odds[row] = 0.0
        latent_mean[row] = 0.0
        latent_variance[row] = 0.0
        top = best(joint.log[row], -1)
        if top >= 0:
            normalise(joint.log[row], joint.log[row, top], probabilities[row])
            log_odds[row], _ = against_others(joint.log[row], joint.variance[row], top)
            latent_mean[row], latent_variance[row] = against_others(joint.mean[row], joint.variance[row], top)
        answered = 0
        for c in range(joint.log.shape[1]):
            answered += 0 if np.isnan(probabilities[row, c]) else 1
        if answered != joint.known[row] or np.isnan(latent_mean[row]) or np.isnan(latent_variance[row]):
            failures += 1
    return failures


@kernel
def pair_probabilities(log_odds: float) -> tuple[float, float]:
    """The probabilities of two labels by the log-odds of the second, to the bits that `to_probabilities` gives."""
    highest = max(log_odds, 0.0)
    first = math.exp(0.0 - highest)
    second = math.exp(log_odds - highest)
    total = first + second
    return first / total, second / total


@kernel
def against_others(mean: FloatArray, variance: FloatArray, top: int) -> tuple[float, float]:
    """Mean and variance of the latent log-odds of the top class against all others.

    Of two classes it is the difference of their log-likelihoods, and both are exact. Of more, the log-sum-exp of the
    others is taken at their means, with r_j its shares: variance var(top) + sum of r_j^2 var(j), the classes'
    parameters being independent. A class that is impossible has no say.
    """
    second = best(mean, top)
    if second < 0 or mean[second] == -np.inf:
        return (np.inf if mean[top] > -np.inf else 0.0), variance[top]
    rest = 0.0
    spread = 0.0
    for c in range(len(mean)):
        if c != top and not np.isnan(mean[c]):
            share = math.exp(mean[c] - mean[second])
            rest += share
            spread += share * share * variance[c]
    return mean[top] - mean[second] - math.log(rest), variance[top] + spread / (rest * rest)


@kernel
def best(log: FloatArray, without: int) -> int:
    """The known class with the highest score, the first of equals, leaving one out; -1 if there is none."""
    found = -1
    for c in range(len(log)):
        if c != without and not np.isnan(log[c]) and (found < 0 or log[c] > log[found]):
            found = c
    return found


@kernel
def normalise(log: FloatArray, highest: float, probabilities: FloatArray) -> None:
    """exp(log) over its sum, for the known classes; the same for all when all are impossible."""
    total = 0.0
    for c in range(len(log)):
        if not np.isnan(log[c]):
            probabilities[c] = 1.0 if highest == -np.inf else math.exp(log[c] - highest)
            total += probabilities[c]
    for c in range(len(log)):
        probabilities[c] /= total
