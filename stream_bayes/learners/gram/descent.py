"""Least squares with an L1 penalty: coordinate descent, and Newton's step where it is slow."""

from __future__ import annotations

import numpy as np

from stream_bayes.errors import NumericalError
from stream_bayes.kernels.gram.coordinate_descent import FAR, REACHED, descend
from stream_bayes.typing import FloatArray

# How far from the conditions of the minimum it may stop, as a share of |column| |target|, and of the L1 penalty.
TOLERANCE = 1e-11
PENALTY_SHARE = 1e-2
MAX_STEPS = 1000
# How often Newton's step may try to get below what rounding seems to leave.
MAX_ROUNDED = 3
# A direction shorter than FLAT does not matter to the squares: a step along it goes on until a weight becomes 0. None
# is taken where no more than rounding, LEVEL of the penalty, says which way.
FLAT = 1e-13
LEVEL = 1e-12


def minimise(
    columns: FloatArray, target: FloatArray, lasso: FloatArray, ridge: FloatArray, weights: FloatArray
) -> FloatArray:
    """The weights w that minimise |target - columns'w|^2 / 2 + sum lasso |w| + sum ridge w^2 / 2, from those given.

    Coordinate descent finds which weights are not 0 but creeps where columns are nearly dependent; Newton's steps find
    the minimum of the rest but do not know which they are. In turns they need few of either, and as each minimum on a
    set of signs is lower than the one before, none comes twice.
    """
    most = PENALTY_SHARE * lasso
    rounded = 0
    for _ in range(MAX_STEPS):
        state = descend(columns, target, lasso, ridge, TOLERANCE, most, weights)
        if state == REACHED:
            return weights
        rounded += state != FAR
        if rounded > MAX_ROUNDED:
            message = "the strength is too small: rounding moves the weights by more than the L1 penalty does"
            raise NumericalError(message)
        while _step(columns, target, lasso, ridge, weights):
            pass
    message = f"no minimum found in {MAX_STEPS} steps: try a larger strength, or a ridge part"
    raise NumericalError(message)


def _step(columns: FloatArray, target: FloatArray, lasso: FloatArray, ridge: FloatArray, weights: FloatArray) -> bool:
    """Move the weights that are not 0 to their minimum, or up to where the first of them becomes 0: then True.

    Least squares of what is left, the ridge part beneath it: with singular values s and vectors u, v the move is
    v (s u'rest - v'(lasso sign(w))) / s^2, where rounding of the rest is divided by s only once.
    """
    active = np.flatnonzero(weights)
    if len(active) == 0:
        return False
    own = weights[active]
    roots = np.sqrt(ridge[active])
    rest = np.concatenate((target - own @ columns[active], -roots * own))
    left, s, right = np.linalg.svd(np.vstack((columns[active].T, np.diag(roots))), full_matrices=False)
    slope = s * (left.T @ rest) - right @ (lasso[active] * np.sign(own))
    slope[(s < FLAT) & (np.abs(slope) < LEVEL * lasso[active].max())] = 0.0
    move = right.T @ (slope / np.maximum(s, FLAT) ** 2)
    turns = np.where(own * (own + move) < 0.0, -own / np.where(move == 0.0, 1.0, move), np.inf)
    first = int(np.argmin(turns))
    weights[active] = own + min(float(turns[first]), 1.0) * move
    if turns[first] > 1.0:
        return False
    weights[active[first]] = 0.0
    return True
