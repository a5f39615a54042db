"""The minimum of a quadratic with an L1 penalty: coordinate descent, and Newton's step where it is slow."""

from __future__ import annotations

import numpy as np

from stream_bayes.errors import NumericalError
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.gram_descent import descend

# How far from the conditions of the minimum it may stop, as a share of |column| |target|.
TOLERANCE = 1e-11
MOST_STEPS = 1000
# Along a direction flatter than this a step goes on until a weight becomes 0.
FLAT = 1e-13


def minimise(
    gram: FloatArray, right: FloatArray, lasso: FloatArray, ridge: FloatArray, weights: FloatArray
) -> FloatArray:
    """The w of least w'Gw / 2 - w'r + sum lasso |w| + sum ridge w^2 / 2, from the weights given.

    Coordinate descent finds which weights are not 0 but creeps where columns are nearly dependent; Newton's steps find
    the minimum of the rest but do not know which they are. In turns they need few of either, and as each minimum on a
    set of signs is lower than the one before, none comes twice.
    """
    for _ in range(MOST_STEPS):
        if descend(gram, right, lasso, ridge, TOLERANCE, weights):
            return weights
        while _step(gram, right, lasso, ridge, weights):
            pass
    message = f"no minimum found in {MOST_STEPS} steps: try a larger strength, or a ridge part"
    raise NumericalError(message)


def _step(gram: FloatArray, right: FloatArray, lasso: FloatArray, ridge: FloatArray, weights: FloatArray) -> bool:
    """Move the weights that are not 0 to their minimum, or up to where the first of them becomes 0: then True."""
    active = np.flatnonzero(weights)
    if len(active) == 0:
        return False
    own = weights[active]
    slope = right[active] - gram[active] @ weights - lasso[active] * np.sign(own) - ridge[active] * own
    curvature, directions = np.linalg.eigh(gram[np.ix_(active, active)] + np.diag(ridge[active]))
    move = directions @ (directions.T @ slope / np.maximum(curvature, FLAT))
    turns = np.where(own * (own + move) < 0.0, -own / np.where(move == 0.0, 1.0, move), np.inf)
    first = int(np.argmin(turns))
    weights[active] = own + min(float(turns[first]), 1.0) * move
    if turns[first] > 1.0:
        return False
    weights[active[first]] = 0.0
    return True
