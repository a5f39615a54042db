"""From the joint log-likelihood of each class to probabilities, log-odds and their variance."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.kernels.compiled import FloatArray, kernel


@kernel
def to_probabilities(
    log_joint: FloatArray,
    joint_variance: FloatArray,
    probabilities: FloatArray,
    log_odds: FloatArray,
    latent_variance: FloatArray,
) -> None:
    """Normalise each row; a NaN marks a class not known yet and stays NaN.

    log_odds is log p(top) - log p(all others). With r_j = p_j / (1 - p_top) its delta-method variance is
    var(top) + sum over the others of r_j^2 var(j), since the classes' parameters are independent.
    When every class is impossible (zero pseudo-counts) the row is uniform.
    """
    for row in range(len(log_joint)):
        top = best(log_joint[row], -1)
        probabilities[row] = np.nan
        log_odds[row] = 0.0
        latent_variance[row] = 0.0
        if top < 0:
            continue
        normalise(log_joint[row], log_joint[row, top], probabilities[row])
        latent_variance[row] = joint_variance[row, top]
        second = best(log_joint[row], top)
        if second < 0 or log_joint[row, second] == -np.inf:
            log_odds[row] = np.inf if log_joint[row, top] > -np.inf else 0.0
            continue
        rest = 0.0
        spread = 0.0
        for c in range(log_joint.shape[1]):
            if c != top and not np.isnan(log_joint[row, c]):
                share = math.exp(log_joint[row, c] - log_joint[row, second])
                rest += share
                spread += share * share * joint_variance[row, c]
        log_odds[row] = log_joint[row, top] - log_joint[row, second] - math.log(rest)
        latent_variance[row] += spread / (rest * rest)


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
