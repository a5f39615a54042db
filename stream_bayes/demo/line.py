"""A straight line under noise: each point is predicted, then learned by an exact Bayesian regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stream_bayes.posteriors import MvNormal

POINTS = 60
TRUE_WEIGHTS = (-0.3, 0.5)
NOISE_DEVIATION = 0.2
NOISE_VARIANCE = NOISE_DEVIATION**2
PRIOR = MvNormal([0.0, 0.0], [[0.5, 0.0], [0.0, 0.5]])
ASKED_AT = 0.5
BAND_POINTS = 66


class Weight(NamedTuple):
    """One weight of the line, as it is and as the learner sees it."""

    name: str
    truth: float
    mean: float
    interval: tuple[float, float]
    """Of 95 %, equal-tailed."""


class Forecast(NamedTuple):
    """The next y at one x, its variance split."""

    x: float
    true_mean: float
    """Of y at that x; the learner is not told."""
    mean: float
    interval: tuple[float, float]
    """Of 95 %, for y: noise included."""
    mean_interval: tuple[float, float]
    """Of 95 %, for the height of the line: noise left out."""
    noise: float
    """The variance that would stay if the line were known."""
    ignorance: float
    """The variance that more points would remove."""


class LineFrame(NamedTuple):
    """What is known after so many points."""

    step: int
    total: int
    points: tuple[tuple[float, float], ...]
    """All (x, y) so far."""
    held: int
    """How many of them lay in the 95 % interval predicted for them before they were seen."""
    weights: tuple[Weight, Weight]
    entropies: tuple[float, ...]
    """Of the belief about both weights, in nats, from the prior on."""
    forecast: Forecast
    band: tuple[tuple[float, float, float], ...]
    """Lower end, mean and upper end (95 %) of the line in the middle of equal cells of x from -1 to 1."""


def line_frames(generator: np.random.Generator, points: int = POINTS) -> Iterator[LineFrame]:
    """The prior first, then a frame a point."""
    belief, held = PRIOR, 0
    seen: tuple[tuple[float, float], ...] = ()
    entropies: tuple[float, ...] = (belief.entropy,)
    yield _frame(belief, points, seen, held, entropies)
    for _ in range(points):
        x = float(generator.uniform(-1.0, 1.0))
        y = _height(x) + NOISE_DEVIATION * float(generator.standard_normal())
        low, high = belief.predictive((1.0, x), NOISE_VARIANCE).interval(0.95)
        held += low <= y <= high
        belief = belief.update((1.0, x), y, NOISE_VARIANCE)
        seen, entropies = (*seen, (x, y)), (*entropies, belief.entropy)
        yield _frame(belief, points, seen, held, entropies)


def _height(x: float) -> float:
    intercept, slope = TRUE_WEIGHTS
    return intercept + slope * x


def _frame(
    belief: MvNormal, points: int, seen: tuple[tuple[float, float], ...], held: int, entropies: tuple[float, ...]
) -> LineFrame:
    return LineFrame(len(seen), points, seen, held, _weights(belief), entropies, _forecast(belief), _band(belief))


def _weights(belief: MvNormal) -> tuple[Weight, Weight]:
    (intercept, slope), intervals = belief.mean.tolist(), belief.interval(0.95)
    return (
        Weight("intercept", TRUE_WEIGHTS[0], intercept, intervals[0]),
        Weight("slope", TRUE_WEIGHTS[1], slope, intervals[1]),
    )


def _forecast(belief: MvNormal) -> Forecast:
    row = (1.0, ASKED_AT)
    line, coming = belief.predictive(row, 0.0), belief.predictive(row, NOISE_VARIANCE)
    return Forecast(
        ASKED_AT,
        _height(ASKED_AT),
        coming.mean,
        coming.interval(0.95),
        line.interval(0.95),
        coming.aleatoric_variance,
        coming.epistemic_variance,
    )


def _band(belief: MvNormal) -> tuple[tuple[float, float, float], ...]:
    places = (np.arange(BAND_POINTS) + 0.5) / BAND_POINTS * 2.0 - 1.0
    beliefs = [belief.predictive((1.0, x), 0.0) for x in places.tolist()]
    return tuple((one.interval(0.95)[0], one.mean, one.interval(0.95)[1]) for one in beliefs)
