"""Folds of robust regression: noise with heavy tails, the posterior replaced by the normal of the same moments.

Where the line at an event is f ~ N(m, v) and its target y, the density of the noise at y - f makes of it a posterior
that is not normal. It is replaced by the normal with its mean m + d and its variance r v (assumed density filtering),
which an observation m + d / (1 - r) of precision (1 - r) / (r v) makes of N(m, v). Both moments are exact for one
event. A far target says little: with Laplace noise d is at most v / scale, with Student's t it falls again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.csr import TargetRows
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.linear.diagonal import discount_cells, grow_cells, learn_cells, score_cells
from stream_bayes.kernels.linear.full import (
    COUNT,
    FORGETTING,
    INTERCEPT,
    LARGEST,
    LOG_EVIDENCE,
    absorb,
    discount,
    grow,
    scatter,
    spread_of,
)
from stream_bayes.typing import FloatArray

LAPLACE = 0
STUDENT = 1

# An event takes this share of the variance at least, so that what it adds to the mean has a precision.
LEAST_SHARE = 1e-10
# And leaves this share of it at least.
LEAST_LEFT = 1e-30
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
# From this number on, this many terms of the continued fraction give Mills' ratio to all digits.
MILLS_FROM = 6.0
MILLS_TERMS = 60
# Steps of the trapezoid rule in the logarithm of the precision of the noise, which has all digits for densities as
# smooth as these: at most LARGEST_STEP, and at most STEP_SHARE of the width of a Gamma. Beyond the peak they go until
# e^-LOG_LEFT_OUT is left. Where an outlier needs more than MAX_STEPS steps, a scan finds the peak first.
LARGEST_STEP = 0.25
STEP_SHARE = 0.7
LOG_LEFT_OUT = 32.0
MAX_STEPS = 2000


class HeavyNoise(NamedTuple):
    """The noise around a line."""

    kind: int
    """LAPLACE or STUDENT."""
    scale: float
    degrees: float
    """Degrees of freedom of Student's t."""


@kernel
def mills(x: float) -> tuple[float, float, float]:
    """Mills' ratio R = (1 - Phi(x)) / phi(x); D = 1 / R - x, the mean of a normal beyond x, less x; and 1 - x D."""
    if x < MILLS_FROM:
        ratio = ROOT_HALF_PI * math.exp(0.5 * x * x) * math.erfc(x * math.sqrt(0.5))
        excess = 1.0 / ratio - x
        return ratio, excess, 1.0 - x * excess
    tail = x
    for term in range(MILLS_TERMS, 2, -1):
        tail = x + term / tail
    rest = 2.0 / tail
    excess = 1.0 / (x + rest)
    return 1.0 / (x + excess), excess, rest * excess


@kernel
def laplace_step(error: float, variance: float, rate: float) -> tuple[float, float, float]:
    """Log of the mean of exp(-rate |y - f|), the shift of the mean of f, and the share of its variance that is left.

    The posterior of f is two pieces of normals, one on either side of y: in units of sqrt(v), with t = |y - m| and
    c = rate, they weigh R(c - t) on the side of m and R(c + t) beyond y. Their moments around y are those of normals
    beyond a point. Where m is far from y in these units, slope and curvature of the logarithm lose no digits instead.
    """
    scale = math.sqrt(variance)
    sign = 1.0 if error >= 0.0 else -1.0
    t = abs(error) / scale
    c = rate * scale
    beyond, far_mean, far_square = mills(c + t)
    near = c - t
    if near < -MILLS_FROM:
        log_density = 0.5 * c * c - c * t
        weight = math.exp(-0.5 * near * near) / (2.0 * ROOT_HALF_PI)
    else:
        ratio, near_mean, near_square = mills(near)
        weight = 1.0 / ratio
        log_density = math.log(ratio) - 0.5 * t * t - math.log(2.0 * ROOT_HALF_PI)
    share = beyond * weight
    log_density += math.log1p(share)
    if near > 0.0 and c > 0.5:
        mean = (share * far_mean - near_mean) / (1.0 + share)
        square = (share * far_square + near_square) / (1.0 + share)
        return log_density, sign * scale * (t + mean), square - mean * mean
    slope = c * (1.0 - share) / (1.0 + share)
    bend = (2.0 * c * weight - 4.0 * c * c * share / (1.0 + share)) / (1.0 + share)
    return log_density, sign * scale * slope, 1.0 - bend


@kernel
def log_node(u: float, order: float, squares: float, variance: float, unit: float) -> tuple[float, float]:
    """Log weight of a precision e^u of the noise, and the share v / (v + noise) that the observation then moves."""
    noise = unit / math.exp(u)
    whole = variance + noise
    return order * u - math.exp(u) + 0.5 * math.log(noise / whole) - 0.5 * squares / whole, variance / whole


@kernel
def student_step(error: float, variance: float, unit: float, order: float) -> tuple[float, float, float]:
    """Log of the mean of (1 + (y - f)^2 / (2 unit))^-order, the shift of the mean of f, and the share of variance left.

    That power is a mixture of normal densities over their precision, Gamma(order), so the moments of f are means over
    it: m + q (y - m) and v (1 - q) for each, with q = v / (v + noise). By the trapezoid rule in the logarithm.
    """
    squares = error * error
    least = order - 0.5
    step = min(LARGEST_STEP, STEP_SHARE / math.sqrt(order))
    reach = LOG_LEFT_OUT / least + math.sqrt(2.0 * LOG_LEFT_OUT / least)
    low = math.log(least) - math.log1p(squares / (2.0 * unit)) - reach
    high = math.log(order + 9.0 * math.sqrt(order) + LOG_LEFT_OUT)
    if high - low > MAX_STEPS * step:
        coarse = (high - low) / MAX_STEPS
        best = low
        top = -np.inf
        for place in range(MAX_STEPS + 1):
            log_weight, _ = log_node(low + place * coarse, order, squares, variance, unit)
            if log_weight > top:
                top = log_weight
                best = low + place * coarse
        low = max(low, best - coarse - MAX_STEPS * step / 2.0)
        high = min(high, best + coarse + MAX_STEPS * step / 2.0)
    count = min(int((high - low) / step) + 1, 4 * MAX_STEPS)
    top = -np.inf
    total = 0.0
    moved = 0.0
    moved_square = 0.0
    left = 0.0
    left_square = 0.0
    for place in range(count + 1):
        log_weight, q = log_node(low + place * step, order, squares, variance, unit)
        if log_weight > top:
            shrink = math.exp(top - log_weight)
            total *= shrink
            moved *= shrink
            moved_square *= shrink
            left *= shrink
            left_square *= shrink
            top = log_weight
        weight = math.exp(log_weight - top)
        total += weight
        moved += weight * q
        moved_square += weight * q * q
        left += weight * (1.0 - q)
        left_square += weight * (1.0 - q) * (1.0 - q)
    moved /= total
    left /= total
    # The variance of q is that of 1 - q: from whichever is small.
    spread = moved_square / total - moved * moved if moved < 0.5 else left_square / total - left * left
    log_density = top + math.log(total * step) - math.lgamma(order)
    return log_density, moved * error, left + squares / variance * max(spread, 0.0)


@kernel
def robust_observation(error: float, variance: float, weight: float, noise: HeavyNoise) -> tuple[float, float, float]:
    """Log predictive density of a target, and precision and offset of the normal observation that stands for it."""
    if noise.kind == LAPLACE:
        rate = weight / noise.scale
        constant = -weight * math.log(2.0 * noise.scale)
        if variance == 0.0:
            return constant - rate * abs(error), 0.0, 0.0
        log_density, shift, left = laplace_step(error, variance, rate)
        share = 1.0
    else:
        # Less than one event adds its share of what a whole one does.
        times = max(weight, 1.0)
        share = min(weight, 1.0)
        half = 0.5 * noise.degrees
        unit = half * noise.scale * noise.scale
        rising = math.lgamma(half + 0.5) - math.lgamma(half)
        constant = weight * (rising - 0.5 * math.log(2.0 * math.pi * unit))
        order = times * (half + 0.5)
        if variance == 0.0:
            return constant - share * order * math.log1p(error * error / (2.0 * unit)), 0.0, 0.0
        log_density, shift, left = student_step(error, variance, unit, order)
        log_density *= share
    left = min(max(left, LEAST_LEFT), 1.0 - LEAST_SHARE)
    return constant + log_density, share * (1.0 - left) / (left * variance), shift / (1.0 - left)


@kernel
def fold_robust_full(
    rows: TargetRows,
    score: bool,
    noise: HeavyNoise,
    factor: FloatArray,
    vectors: FloatArray,
    numbers: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> None:
    """Score each row, then learn it where its target is known: what is known of the line is discounted in between."""
    intercept = int(numbers[INTERCEPT])
    ageing = numbers[FORGETTING] < 1.0
    for row in range(len(rows.targets)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        target = rows.targets[row]
        _, new = scatter(columns, values, intercept, vectors, numbers)
        mean, variance = spread_of(new, factor, vectors, numbers)
        if score:
            means[row] = mean
            variances[row] = variance
        if not np.isnan(target):
            weight = rows.weights[row]
            gain, precision, offset = robust_observation(target - mean, variance, weight, noise)
            numbers[LOG_EVIDENCE] += gain
            grow(columns, factor, vectors, numbers)
            if ageing:
                discount(factor, vectors, numbers)
                scatter(columns, values, intercept, vectors, numbers)
                mean, variance = spread_of(0.0, factor, vectors, numbers)
                _, precision, offset = robust_observation(target - mean, variance, weight, noise)
            scatter(columns, values, intercept, vectors, numbers)
            # As large as a target of linear regression may be: beyond it rounding would leave no digits.
            observed = min(max(mean + offset, -numbers[LARGEST]), numbers[LARGEST])
            absorb(observed, precision, factor, vectors, numbers)
            numbers[COUNT] += weight - precision


@kernel
def fold_robust_diagonal(
    rows: TargetRows,
    score: bool,
    noise: HeavyNoise,
    cells: FloatArray,
    numbers: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> bool:
    """Score each row, then learn it, with independent weights; False when arithmetic would leave the finite numbers."""
    ageing = numbers[FORGETTING] < 1.0
    for row in range(len(rows.targets)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        columns = rows.columns[begin:end]
        values = rows.values[begin:end]
        target = rows.targets[row]
        mean, variance = score_cells(columns, values, cells, numbers)
        if not math.isfinite(mean):
            return False
        if score:
            means[row] = mean
            variances[row] = variance
        if not np.isnan(target):
            weight = rows.weights[row]
            gain, precision, offset = robust_observation(target - mean, variance, weight, noise)
            numbers[LOG_EVIDENCE] += gain
            grow_cells(columns, cells, numbers)
            discount_cells(cells, numbers)
            mean, variance = score_cells(columns, values, cells, numbers)
            if ageing:
                _, precision, offset = robust_observation(target - mean, variance, weight, noise)
            observed = min(max(mean + offset, -numbers[LARGEST]), numbers[LARGEST])
            if precision > 0.0:
                learn_cells(columns, values, observed, precision, cells, numbers, mean, variance)
                numbers[COUNT] -= precision
            numbers[COUNT] += weight
    return True
