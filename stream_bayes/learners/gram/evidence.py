"""The log evidence of y = Xw + noise for every prior precision and noise variance, and where it is largest."""

from __future__ import annotations

import math

import numpy as np

from stream_bayes.errors import EvidenceError
from stream_bayes.learners.gram.results import EvidenceMaximum
from stream_bayes.learners.gram.spectrum import Spectrum

# The ratio k = prior_precision x noise_variance is looked for between the least and the largest squared singular value,
# and beyond them by this factor; in that many steps, then by bisection until neighbours are equal.
MARGIN = 1e8
STEPS = 600


def log_evidence(joint: Spectrum, count: float, prior_precision: float, noise_variance: float) -> float:
    """log N(y; 0, noise_variance I + X X' / prior_precision), with k = prior_precision noise_variance:

    -(n log(2 pi noise_variance) + sum log(1 + s^2 / k) + (y'y - sum c^2 s^2 / (s^2 + k)) / noise_variance) / 2.
    """
    ratio = prior_precision * noise_variance
    volume = float(np.log1p(joint.singular**2 / ratio).sum())
    constant = count * math.log(2.0 * math.pi * noise_variance)
    return 0.0 - 0.5 * (constant + volume + joint.loss(ratio) / noise_variance)


def maximum(joint: Spectrum, count: float) -> EvidenceMaximum:
    """For each k the best noise variance is loss(k) / n, which leaves one variable: the logarithm of k.

    Its derivative, half of sum s^2 / (s^2 + k) - n loss'(k) / loss(k), is 0 where MacKay's fixed point is. The best of
    a grid is refined by bisection, so that of several maxima the largest is found.
    """
    squares = joint.singular**2
    squares = squares[squares > 0.0]
    if len(squares) == 0 or joint.loss(squares.max()) <= 0.0:
        message = "the evidence has no maximum: it takes a feature or an intercept, and targets that are not all 0"
        raise EvidenceError(message)
    grid = np.linspace(math.log(squares.min() / MARGIN), math.log(squares.max() * MARGIN), STEPS)
    profile = [_profile(joint, count, math.exp(point)) for point in grid]
    best = int(np.argmax(profile))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, STEPS - 1)])
    if profile[best] == math.inf or not _slope(joint, count, low) > 0.0 > _slope(joint, count, high):
        side = "the targets have no noise" if best < STEPS // 2 else "no weight is different from 0"
        message = f"the evidence has no maximum: it grows on and on, as if {side}"
        raise EvidenceError(message)
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if _slope(joint, count, middle) > 0.0 else (low, middle)
    ratio = math.exp(low)
    noise = joint.loss(ratio) / count
    precision, effective = ratio / noise, float(joint.kept(ratio).sum())
    return EvidenceMaximum(precision, noise, log_evidence(joint, count, precision, noise), effective)


def _profile(joint: Spectrum, count: float, ratio: float) -> float:
    loss, volume = joint.loss(ratio), float(np.log1p(joint.singular**2 / ratio).sum())
    return -0.5 * (count * math.log(loss) + volume) if loss > 0.0 else math.inf


def _slope(joint: Spectrum, count: float, point: float) -> float:
    """Derivative of twice the profile at a logarithm of k."""
    ratio = math.exp(point)
    kept = joint.kept(ratio)
    return float(kept.sum() - count * (kept * joint.lost(ratio)) @ joint.target**2 / joint.loss(ratio))
