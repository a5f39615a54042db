"""The evidence of a mail filter in each bucket of features, read and updated mail by mail.

A row of a table is one bucket: a weight and the sum of its squared gradients, the number of ham and of spam mails that
had it, and in the tables of grams the mean and the lost variance of a diagonal Bayesian weight. All features of a mail
have the value r = 1 / sqrt(features + 1).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.mail.tokens import Buckets

Table = NDArray[np.float32]

WEIGHT = 0
GRADIENT = 1
HAM = 2
SPAM = 3
MEAN = 4
LOST = 5

# Evidence below this size counts for less than it is, since a mail has much of it and little of it is independent.
DOUBTED = np.float32(2.0)
RATE = np.float32(0.8)
STABILITY = np.float32(0.003)
# Mails whose error is smaller teach the weights nothing: they are right enough.
MARGIN = 0.1
BIAS_INPUT = 0.1
NOISE_VARIANCE = 2.0
# The remaining variance of a feature after this number of mails.
NEWNESS = 1.0 / np.arange(1.0, 257.0)
OLD = np.uint64(len(NEWNESS) - 1)


@kernel
def expected_log(count: np.uint32, logs: Table) -> np.float32:
    """E[ln rate] + constant of a rate with `count` events: digamma(count + prior), from a table for small counts."""
    known: np.float32 = logs[np.uint64(count)] if count < len(logs) else np.float32(math.log(count))
    return known


@kernel
def sum_weights(table: Table, features: Buckets) -> tuple[float, float, float]:
    """Three sums over the features of a mail: weights, means of the Bayesian weights, and their variances.

    A variance starts at 1. This comes first, since so short a loop waits for many rows of the table at once.
    """
    weights = 0.0
    means = 0.0
    lost = 0.0
    if table.shape[1] > LOST:
        for i in range(len(features)):
            bucket = np.uint64(features[i])
            weights += float(table[bucket, WEIGHT])
            means += float(table[bucket, MEAN])
            lost += float(table[bucket, LOST])
    else:
        for i in range(len(features)):
            weights += float(table[np.uint64(features[i]), WEIGHT])
    return weights, means, len(features) - lost


@kernel
def sum_evidence(table: Table, features: Buckets, logs: Table, prior_odds: np.float32) -> tuple[float, float]:
    """Two sums over the features of a mail: the evidence for spam, and how new they are, 0 to 1 each.

    The evidence of a feature is the posterior mean of its log-odds, l, weighed by |l| / (|l| + 2); none if it is new.
    """
    counts = table.view(np.uint32)
    evidence = 0.0
    novelty = 0.0
    for i in range(len(features)):
        bucket = np.uint64(features[i])
        ham = counts[bucket, HAM]
        spam = counts[bucket, SPAM]
        odds = expected_log(spam, logs) - expected_log(ham, logs) + prior_odds
        seen = ham + spam
        size = abs(odds)
        evidence += float(odds * size / (size + DOUBTED)) if seen > 0 else 0.0
        novelty += NEWNESS[min(np.uint64(seen), OLD)]
    return evidence, novelty


@kernel
def count(table: Table, features: Buckets, outcome: int) -> None:
    """One more mail of this kind had these features."""
    counts = table.view(np.uint32)
    for i in range(len(features)):
        counts[np.uint64(features[i]), HAM + outcome] += np.uint32(1)


@kernel
def descend(table: Table, features: Buckets, gradient: float) -> None:
    """An AdaGrad step: G += g^2, w += rate g / sqrt(stability + G)."""
    square = np.float32(gradient * gradient)
    step = RATE * np.float32(gradient)
    for i in range(len(features)):
        bucket = np.uint64(features[i])
        total = table[bucket, GRADIENT] + square
        table[bucket, GRADIENT] = total
        table[bucket, WEIGHT] += step / np.sqrt(STABILITY + total)


@kernel
def condition(table: Table, features: Buckets, value: float, error: float, variance: float) -> None:
    """Observe the target: with b = 1 / (x'Vx + noise), mean += b error V x, V -= b (V x)^2, each weight by itself."""
    gain = value / (variance + NOISE_VARIANCE)
    step = np.float32(gain * error)
    shrink = np.float32(gain * value)
    for i in range(len(features)):
        bucket = np.uint64(features[i])
        own = np.float32(1.0) - table[bucket, LOST]
        table[bucket, MEAN] += step * own
        table[bucket, LOST] += shrink * own * own
