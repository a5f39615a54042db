"""Sufficient statistics of linear regression: counts, means and scatter of features and target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stream_bayes.features.values import IntArray
from stream_bayes.kernels.gram.moments import shift
from stream_bayes.learners.base.arrays import padded
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import FloatArray

# With values, targets and means up to this size no prediction leaves the finite numbers, for any prior allowed.
LARGEST_VALUE = 1e45
# No sum over a stream of such values is larger; so a crafted snapshot cannot make arithmetic overflow either.
LARGEST_SUM = 1e150
# Evidence of fewer events than this is none.
SMALLEST_COUNT = 1e-200


class GramMoments(NamedTuple):
    """Sums over all events, in centred form: place 0 is the target, place 1 + column a feature, absent ones being 0.

    (n, mean, scatter) stands for (n, n mean, scatter + n mean mean'), which is what adds up; centred, and with a mean
    of two parts, the scatter keeps its digits however far from zero the values are. Beyond the registered names there
    is room to grow, all zero.
    """

    events: FloatArray
    """One number: the sum of all weights."""
    present: FloatArray
    """By column, the weight of the events whose feature is not 0."""
    peak: FloatArray
    """The largest scatter there ever was at each place: what rounding may have left there goes by it, nothing else."""
    mean: FloatArray
    """mean[0] + mean[1], the second below the rounding of the first."""
    scatter: FloatArray
    """Sum of (u - mean)(u - mean)' on the diagonal and below."""


def empty(width: int) -> GramMoments:
    """No evidence, with room for that many columns."""
    return GramMoments(*map(np.zeros, _shapes(width)))


def _shapes(width: int) -> tuple[tuple[int, ...], ...]:
    return (1,), (width,), (1 + width,), (2, 1 + width), (1 + width, 1 + width)


def with_room(moments: GramMoments, width: int) -> GramMoments:
    """At least that many columns; when they run out their number doubles."""
    room = len(moments.present)
    if width <= room:
        return moments
    room = max(width, 2 * room)
    return GramMoments(*(padded(array, shape) for array, shape in zip(moments, _shapes(room), strict=True)))


def used(moments: GramMoments, width: int) -> GramMoments:
    """A copy without the room to grow."""
    parts = zip(moments, _shapes(width), strict=True)
    return GramMoments(*(array[tuple(map(slice, shape))].copy() for array, shape in parts))


def symmetric(moments: GramMoments, places: IntArray) -> FloatArray:
    """The scatter of some places, above the diagonal too."""
    lower: FloatArray = np.tril(moments.scatter)[np.ix_(places, places)]
    return lower + lower.T - np.diag(lower.diagonal())


def restricted(moments: GramMoments, columns: IntArray) -> GramMoments:
    """The moments of the target and some columns, as if events had had no others."""
    places = np.concatenate(([0], 1 + columns))
    return GramMoments(
        moments.events.copy(),
        moments.present[columns],
        moments.peak[places],
        moments.mean[:, places],
        np.tril(symmetric(moments, places)),
    )


def clear(moments: GramMoments) -> None:
    """Back to no evidence."""
    for array in moments:
        array[...] = 0.0


def scale(moments: GramMoments, factor: float) -> None:
    """Scale the moments as if every event had had that share of its weight; means are ratios and stay."""
    if moments.events[0] * factor < SMALLEST_COUNT:
        clear(moments)
        return
    for array in (moments.events, moments.present, moments.peak, moments.scatter):
        np.multiply(array, factor, out=array)


def add(mine: GramMoments, theirs: GramMoments, columns: IntArray) -> None:
    """Add the events of another, whose columns stand at these here (Chan, Golub and LeVeque)."""
    if theirs.events[0] == 0.0:
        return
    width = len(mine.present)
    places = np.concatenate(([0], 1 + columns))
    their_mean = np.zeros((2, 1 + width))
    their_scatter = np.zeros((1 + width, 1 + width))
    their_mean[:, places] = theirs.mean[:, : len(places)]
    their_scatter[np.ix_(places, places)] = symmetric(theirs, np.arange(len(places)))
    before = mine.events[0]
    share = theirs.events[0] / (mine.events[0] + theirs.events[0])
    offset = (their_mean[0] - mine.mean[0]) + (their_mean[1] - mine.mean[1])
    mine.scatter[...] += np.tril(their_scatter + np.outer(offset, offset * (before * share)))
    if before == 0.0:
        mine.mean[...] = their_mean  # an offset from nothing would round the second part away
    else:
        shift(offset * share, mine.mean)
    mine.peak[places] = np.maximum(mine.peak[places], theirs.peak[: len(places)])
    np.maximum(mine.peak, mine.scatter.diagonal(), out=mine.peak)
    mine.present[columns] += theirs.present[: len(columns)]
    mine.events[0] += theirs.events[0]


def restored(arrays: Arrays, width: int) -> GramMoments:
    """The moments in a snapshot, if they can be those of events."""
    for name, shape in zip(GramMoments._fields, _shapes(width), strict=True):
        array = arrays[name]
        most = 2.0 * LARGEST_VALUE if name == "mean" else LARGEST_SUM
        if array.dtype != np.float64 or array.shape != shape or not (np.abs(array) <= most).all():
            message = f"array {name!r} has {array.dtype} of shape {array.shape}, expected finite float64 of {shape}"
            raise ValueError(message)
    found = GramMoments(*(np.ascontiguousarray(arrays[name]) for name in GramMoments._fields))
    if (
        min(array.min(initial=0.0) for array in (found.events, found.present, found.peak, found.scatter.diagonal()))
        < 0.0
    ):
        message = "counts and sums of squares must be 0 or more"
        raise ValueError(message)
    return found
