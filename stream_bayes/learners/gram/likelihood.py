"""The profile likelihood of one weight, with all others at their likeliest."""

from __future__ import annotations

import numpy as np

from stream_bayes.errors import NumericalError
from stream_bayes.learners.gram.design import Design
from stream_bayes.typing import FloatArray

# Columns of unit length that depend on others have singular values of rounding; others have 1e-6 or more.
FLAT = 1e-10


def profile_squares(design: Design, place: int, values: FloatArray) -> FloatArray:
    """The least sum of squares for each value of one weight: |r - value e|^2, what the other columns leave of both.

    A weight that other columns can stand in for has none.
    """
    columns = design.factor.columns / design.factor.lengths[:, None]
    others = np.delete(columns, place, axis=0)
    left, singular, _ = np.linalg.svd(others.T, full_matrices=False)
    axes = left[:, singular > FLAT * singular.max(initial=0.0)]
    own = columns[place] - axes @ (axes.T @ columns[place])
    own -= axes @ (axes.T @ own)
    if own @ own <= design.limits[place]:
        message = "other features can stand in for this one: no value of its weight is likelier than another"
        raise NumericalError(message)
    rest = design.factor.target - axes @ (axes.T @ design.factor.target)
    scaled = values * design.factor.lengths[place]
    squares: FloatArray = ((rest - scaled[:, None] * own) ** 2).sum(axis=1) + design.factor.residual
    return np.maximum(squares, 0.0)
