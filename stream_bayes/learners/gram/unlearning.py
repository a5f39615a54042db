"""Checks before an event is unlearned: whether it can have been learned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from stream_bayes.features.values import IntArray
from stream_bayes.kernels.common.csr import residue
from stream_bayes.learners.base.numeric_features import SLACK
from stream_bayes.learners.gram.moments import GramMoments, symmetric
from stream_bayes.typing import FloatArray

# What rounding leaves of a mean, for each unit it has moved.
ROUNDING = 1e-14
# A scatter below 1e-13 of its peak is cleared, with its products. Each feature so cleared may add 1e-13 / SLACK of the
# whole to what is taken, and there may be a hundred.
EXCESS = 1e-2

NONE = -1
TOGETHER = -2


class Taken(NamedTuple):
    """Welford's update reversed: the scatter less factor offset offset'."""

    offset: FloatArray
    """The event less the mean."""
    factor: float
    """w n / (n - w)."""
    slack: FloatArray
    """How far rounding may have moved the scatter of each place."""
    most: float
    """The largest allowed value of factor offset' scatter^-1 offset: 1, and rounding."""


def first_misfit(moments: GramMoments, columns: IntArray, values: FloatArray, target: float, weight: float) -> int:
    """The first place that cannot have been so in an event learned with this weight, NONE if all can.

    A feature in fewer events than are taken back, or in more than would be left of those that had it not; or a scatter
    that would fall below zero. TOGETHER where each can, but not all in one event: the scatter less what is taken would
    have a negative eigenvalue.
    """
    count = float(moments.events[0])
    present = moments.present
    event = np.zeros(1 + len(present))
    event[0] = target
    event[1 + columns] = values
    left = count - weight
    least = residue(count)
    taken = _taken(moments, event, weight, count / left if left > least else 1.0)
    squares = moments.scatter.diagonal() + taken.slack
    bad = taken.factor * taken.offset**2 > taken.most * squares
    with_it = event[1:] != 0.0
    bad[1:] |= np.where(with_it, present < weight - least, present > left + least)
    if bad.any():
        return int(np.flatnonzero(bad)[0])
    return NONE if _together(moments, taken) else TOGETHER


def _taken(moments: GramMoments, event: FloatArray, weight: float, ratio: float) -> Taken:
    """With ratio n / (n - w), the mean is n / (n - w) times closer to the event than the other events are."""
    offset = (event - moments.mean[0]) - moments.mean[1]
    blur = ROUNDING * ratio
    slack = (SLACK + blur**2) * (moments.peak + weight * offset**2)
    return Taken(offset, weight * ratio, slack, 1.0 + EXCESS + blur)


def _together(moments: GramMoments, taken: Taken) -> bool:
    """Whether scatter + slack - factor offset offset' has no negative eigenvalue.

    That is factor offset'(scatter + slack)^-1 offset <= 1, found by a Cholesky decomposition, O(d^3).
    """
    squares = moments.scatter.diagonal() + taken.slack
    places = np.flatnonzero(squares > 0.0)
    scales = np.sqrt(squares[places])
    matrix = symmetric(moments, places) / scales / scales[:, None]
    np.fill_diagonal(matrix, 1.0)
    lower, status = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    if status != 0:
        return False
    part = solve_triangular(lower, taken.offset[places] / scales, lower=True)
    with np.errstate(over="ignore"):  # more than any number is more than may be taken
        return taken.factor * float(part @ part) <= taken.most
