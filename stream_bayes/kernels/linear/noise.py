"""The noise around a regression line, known or not: the scale of a prediction, and the evidence of an event."""

from __future__ import annotations

import math
from typing import NamedTuple

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.special import log_rising
from stream_bayes.kernels.linear.full import COUNT, NOISE_DEGREES, NOISE_VARIANCE, PRIOR_SHARE, SQUARES
from stream_bayes.typing import FloatArray

LOG_TWO_PI = math.log(2.0 * math.pi)


class RegressionScore(NamedTuple):
    """The prediction for one event."""

    mean: float
    ignorance: float
    """x'P^-1 x times the squared scale of the noise; below 0 where a value is too large."""
    noise: float
    """Squared scale of the noise."""
    degrees: float
    """Degrees of freedom, infinite when the noise is known."""


class RegressionScores(NamedTuple):
    """The predictions that a fold makes, an array each with a number for every row."""

    mean: FloatArray
    ignorance: FloatArray
    """x'P^-1 x times the squared scale of the noise."""
    noise: FloatArray
    """Squared scale of the noise."""
    degrees: FloatArray
    """Degrees of freedom, infinite when the noise is known."""


@kernel
def squared_scale(numbers: FloatArray) -> tuple[float, float]:
    """Squared scale of the noise and degrees of freedom.

    Normal-inverse-gamma: twice the shape is degrees + count, twice the scale degrees x variance + squares.
    """
    variance = numbers[NOISE_VARIANCE]
    degrees = numbers[NOISE_DEGREES]
    if degrees == math.inf:
        return variance, math.inf
    prior = degrees * numbers[PRIOR_SHARE]
    worth = prior + numbers[COUNT]
    return (prior * variance + numbers[SQUARES]) / worth, worth


@kernel
def log_density(target: float, weight: float, mean: float, spread: float, numbers: FloatArray) -> float:
    """Log predictive density of a target that counts `weight` times, with `spread` = x'P^-1 x.

    Equal observations have the density of one with their mean, and the rest of the noise around it.
    """
    scale, worth = squared_scale(numbers)
    wider = 1.0 + weight * spread
    error = (target - mean) / math.sqrt(wider)
    shared = -0.5 * (weight * LOG_TWO_PI + math.log(wider))
    if worth == math.inf:
        return shared - 0.5 * weight * (math.log(scale) + error * error / scale)
    return shared + log_marginal(worth, weight, scale, weight * error * error)


@kernel
def log_marginal(worth: float, weight: float, scale: float, squares: float) -> float:
    """The log marginal likelihood's term of an unknown noise variance, whose prior is an inverse gamma.

    lnG(a + w/2) - lnG(a) + a ln b - (a + w/2) ln(b + squares / 2) with a = worth / 2, b = a scale, in a form in which
    no large terms cancel.
    """
    rise = math.log1p(squares / (worth * scale))
    after = 0.5 * (worth * scale + squares)
    return log_rising(0.5 * worth, 0.5 * weight) - 0.5 * worth * rise - 0.5 * weight * math.log(after)
