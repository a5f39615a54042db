"""Means and scatter of features and target together: learned row by row, and what they predict."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_bayes.kernels.common.csr import TargetRows, added
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import FloatArray, IntArray

# What rounding leaves of a scatter that unlearning has taken away, as a share of the largest it ever was.
SCATTER_RESIDUE = 1e-13


class Line(NamedTuple):
    """A regression line with its uncertainty, over the features that some event had."""

    places: IntArray
    """The place of each column below, -1 where there is none."""
    centre: FloatArray
    """The point that is subtracted from the features: centre[0] + centre[1]."""
    level: FloatArray
    """The prediction at the centre: level[0] + level[1]."""
    weights: FloatArray
    root: FloatArray
    """Lower triangular; |root z|^2 is the variance of the line at centre + z, over that of the noise."""
    per_square: float
    """Variance added by the square of a feature that has no place, over that of the noise."""
    least: float
    """Variance of the line at the centre, over that of the noise."""


@kernel
def two_sum(high: float, low: float, step: float) -> tuple[float, float]:
    """(high + low) + step as an unrounded sum of two numbers, the second below the rounding of the first."""
    total = high + step
    back = total - high
    rest = low + ((high - (total - back)) + (step - back))
    rounded = total + rest
    return rounded, rest - (rounded - total)


@kernel
def shift(steps: FloatArray, mean: FloatArray) -> None:
    """Add a step to each mean."""
    for i in range(len(steps)):
        mean[0, i], mean[1, i] = two_sum(mean[0, i], mean[1, i], steps[i])


@kernel
def fill_offsets(columns: IntArray, values: FloatArray, target: float, mean: FloatArray, offset: FloatArray) -> None:
    """Write event less mean, the target at place 0 and a feature at 1 + its column; what is absent is 0."""
    for i in range(len(offset)):
        offset[i] = -mean[0, i] - mean[1, i]
    offset[0] = (target - mean[0, 0]) - mean[1, 0]
    for place in range(len(columns)):
        i = 1 + columns[place]
        offset[i] = (values[place] - mean[0, i]) - mean[1, i]


@kernel
def move_moments(
    weight: float, offset: FloatArray, events: FloatArray, peak: FloatArray, mean: FloatArray, scatter: FloatArray
) -> None:
    """Add w offsets of an event: S + w n / (n + w) offset offset', mean + w / (n + w) offset (Welford).

    A negative weight takes the event back.
    """
    before = events[0]
    events[0] = added(before, weight)
    if events[0] == 0.0:
        peak[:] = 0.0
        mean[:, :] = 0.0
        scatter[:, :] = 0.0
        return
    share = weight / events[0]
    factor = weight * (before / events[0])
    for i in range(len(offset)):
        if offset[i] != 0.0:
            row = scatter[i, : i + 1]
            others = offset[: i + 1]
            step = factor * offset[i]
            for j in range(len(row)):
                row[j] += step * others[j]
            mean[0, i], mean[1, i] = two_sum(mean[0, i], mean[1, i], share * offset[i])
            peak[i] = max(peak[i], scatter[i, i])
    if weight < 0.0:
        for i in range(len(offset)):
            if scatter[i, i] <= SCATTER_RESIDUE * peak[i]:
                clear_scatter(i, len(offset), scatter)


@kernel
def clear_scatter(i: int, width: int, scatter: FloatArray) -> None:
    """Set the scatter of a place to 0: nothing varies there any more."""
    scatter[i, : i + 1] = 0.0
    scatter[i:width, i] = 0.0


@kernel
def move_presence(
    columns: IntArray, values: FloatArray, weight: float, present: FloatArray, mean: FloatArray, scatter: FloatArray
) -> None:
    """Count the events that have each feature; one that no event has any more is as if it had never come."""
    for place in range(len(columns)):
        column = columns[place]
        if values[place] != 0.0:
            present[column] = added(present[column], weight)
            if present[column] == 0.0:
                mean[:, 1 + column] = 0.0
                clear_scatter(1 + column, len(present) + 1, scatter)


@kernel
def learn_rows(
    rows: TargetRows,
    width: int,
    events: FloatArray,
    present: FloatArray,
    peak: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
) -> None:
    """Move the moments of the first `width` columns by each row whose target is known."""
    offset = np.empty(1 + width)
    for row in range(len(rows.targets)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        target = rows.targets[row]
        weight = rows.weights[row]
        if weight != 0.0 and not np.isnan(target):
            columns = rows.columns[begin:end]
            values = rows.values[begin:end]
            fill_offsets(columns, values, target, mean, offset)
            move_moments(weight, offset, events, peak, mean, scatter)
            move_presence(columns, values, weight, present, mean, scatter)
            if events[0] == 0.0:
                present[:] = 0.0


@kernel
def place_row(columns: IntArray, values: FloatArray, places: IntArray, centre: FloatArray, z: FloatArray) -> float:
    """Write an event less the centre, by place; returns the squares of the features that have no place."""
    rest = 0.0
    for i in range(len(z)):
        z[i] = -centre[0, i] - centre[1, i]
    for k in range(len(columns)):
        place = places[columns[k]] if 0 <= columns[k] < len(places) else -1
        if place >= 0:
            z[place] = (values[k] - centre[0, place]) - centre[1, place]
        else:
            rest += values[k] * values[k]
    return rest


@kernel
def score_rows(rows: TargetRows, line: Line, mean: FloatArray, ignorance: FloatArray) -> None:
    """Write level + z'w and least + |root z|^2 + |rest|^2 per_square for each row, z being its event less the centre.

    Features without a place take part in no other sum, so that a prediction has the same bits whether they are
    registered or not.
    """
    places = line.places
    centre = line.centre
    weights = line.weights
    root = line.root
    z = np.empty(len(weights))
    for row in range(len(rows.targets)):
        begin = rows.row_starts[row]
        end = rows.row_starts[row + 1]
        rest = place_row(rows.columns[begin:end], rows.values[begin:end], places, centre, z)
        height = line.level[1]
        squares = 0.0
        for i in range(len(z)):
            height += z[i] * weights[i]
            part = 0.0
            own = root[i, : i + 1]
            for j in range(len(own)):
                part += own[j] * z[j]
            squares += part * part
        mean[row] = height + line.level[0]
        ignorance[row] = line.least + squares + rest * line.per_square
