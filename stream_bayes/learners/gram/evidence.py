"""The log evidence of y = Xw + noise for every prior precision and noise variance, and where it is largest."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from stream_bayes.errors import EvidenceError
from stream_bayes.learners.gram.results import EvidenceMaximum
from stream_bayes.learners.gram.spectrum import Spectrum

# The ratio k = prior_precision x noise_variance is looked for up to the largest squared singular value times this, and
# down to the least over this, or as far as any peak can be; in steps of that size in the logarithm of k.
MARGIN = 1e8
STEP = 0.1
SMALLEST_RATIO = 1e-290


def log_evidence(spectrum: Spectrum, count: float, prior_precision: float, noise_variance: float) -> float:
    """log N(y; 0, noise_variance I + X X' / prior_precision), with k = prior_precision noise_variance:

    -(n log(2 pi noise_variance) + sum log(1 + s^2 / k) + (y'y - sum c^2 s^2 / (s^2 + k)) / noise_variance) / 2.
    """
    ratio = prior_precision * noise_variance
    volume = float(np.log1p(spectrum.singular**2 / ratio).sum())
    constant = count * math.log(2.0 * math.pi * noise_variance)
    return 0.0 - 0.5 * (constant + volume + spectrum.loss(ratio) / noise_variance)


def maximum(spectrum: Spectrum, count: float, *, intercept: bool) -> EvidenceMaximum:
    """For each k the best noise variance is loss(k) / n, which leaves one variable: the logarithm of k.

    Its derivative, half of sum s^2 / (s^2 + k) - n loss'(k) / loss(k), is 0 where MacKay's fixed point is. Every fall
    through 0 on a grid is refined by bisection, so that of several peaks the highest is found.
    """
    # Rounding may leave less than nothing of targets without noise.
    spectrum = spectrum._replace(residual=max(spectrum.residual, 0.0))
    if not (spectrum.singular**2 > 0.0).any() or spectrum.loss(float(spectrum.singular.max()) ** 2) <= 0.0:
        message = "the evidence has no maximum: it takes a feature that varies, and targets that " + (
            "are not all equal" if intercept else "are not all 0"
        )
        raise EvidenceError(message)
    grid = _grid(spectrum, count)
    slopes = [_slope(spectrum, count, point) for point in grid]
    falls = [ends for ends, (one, two) in zip(pairwise(grid), pairwise(slopes), strict=True) if one > 0.0 >= two]
    peaks = [_peak(spectrum, count, *ends) for ends in falls]
    best = max(peaks, key=lambda point: _profile(spectrum, count, point), default=math.nan)
    _check(spectrum, count, (grid[0], best, grid[-1]), intercept=intercept)
    ratio = math.exp(best)
    noise = spectrum.loss(ratio) / count
    precision = ratio / noise
    effective = float(spectrum.kept(ratio).sum())
    return EvidenceMaximum(precision, noise, log_evidence(spectrum, count, precision, noise), effective)


def maximum_or_none(spectrum: Spectrum, count: float, *, intercept: bool) -> EvidenceMaximum:
    """The maximum, or the evidence of noise alone where it rises without a bound towards weights of 0."""
    try:
        return maximum(spectrum, count, intercept=intercept)
    except EvidenceError:
        noise = spectrum.loss(math.inf) / count
        if noise == 0.0 or spectrum.residual == 0.0:
            raise
        ends = _grid(spectrum, count) if (spectrum.singular > 0.0).any() else [0.0]
        if _profile(spectrum, count, ends[0]) > _profile(spectrum, count, ends[-1]):
            raise
    height = -0.5 * count * (math.log(2.0 * math.pi * noise) + 1.0)
    return EvidenceMaximum(math.inf, noise, height, 0.0)


def _grid(spectrum: Spectrum, count: float) -> list[float]:
    """Logarithms of k between which all peaks are.

    Below the least s^2 the derivative is at least half the rank - n k c'c / (s^2 residual), so no peak is where that is
    above 0; with no residual none is far below the least s^2.
    """
    squares = spectrum.singular**2
    least = float(squares[squares > 0.0].min())
    known = float(spectrum.target @ spectrum.target)
    share = 0.5 * len(squares) * spectrum.residual / (count * known) if known > 0.0 else 1.0
    low = max(least * min(share or 1.0, 1.0 / MARGIN), SMALLEST_RATIO)
    ends = math.log(low), math.log(float(squares.max())) + math.log(MARGIN)
    points: list[float] = np.linspace(*ends, math.ceil((ends[1] - ends[0]) / STEP) + 1).tolist()
    return points


def _check(spectrum: Spectrum, count: float, points: tuple[float, float, float], *, intercept: bool) -> None:
    """Refuse a peak that is none, or one that an end of the scale is above.

    Centred targets of n events have n - 1 directions. Where features explain them all, the evidence, with its n terms,
    has no bound towards a noise of 0 whatever the targets are: then that end says nothing.
    """
    low, peak, high = (_profile(spectrum, count, point) for point in points)
    free = count - len(spectrum.singular)
    exact = spectrum.residual == 0.0 and free > 0.0
    if math.isnan(peak):
        noiseless = _slope(spectrum, count, points[0]) <= 0.0
    elif exact and intercept and free <= 1.0:
        noiseless = False
    else:
        noiseless = exact or low > peak
    if noiseless or not peak >= high:
        side = "the targets have no noise" if noiseless else "no weight is different from 0"
        message = f"the evidence has no maximum: it rises without a bound, as if {side}"
        raise EvidenceError(message)


def _peak(spectrum: Spectrum, count: float, low: float, high: float) -> float:
    """The zero of the derivative, by bisection until neighbours are equal."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if _slope(spectrum, count, middle) > 0.0 else (low, middle)
    return low


def _profile(spectrum: Spectrum, count: float, point: float) -> float:
    """Log evidence at a logarithm of k with its best noise variance, less a constant."""
    if math.isnan(point):
        return math.nan
    ratio = math.exp(point)
    return -0.5 * (count * math.log(spectrum.loss(ratio)) + float(np.log1p(spectrum.singular**2 / ratio).sum()))


def _slope(spectrum: Spectrum, count: float, point: float) -> float:
    """Derivative of twice the profile at a logarithm of k."""
    ratio = math.exp(point)
    kept = spectrum.kept(ratio)
    return float(kept.sum() - count * (kept * spectrum.lost(ratio)) @ spectrum.target**2 / spectrum.loss(ratio))
