"""Least squares with an lp penalty, 1 < p < 2: coordinate descent, and Newton's step where it is slow."""

from __future__ import annotations

import numpy as np

from stream_bayes.errors import NumericalError
from stream_bayes.kernels.gram.power_descent import SMALLEST, descend_power
from stream_bayes.typing import FloatArray

# How far from the condition of the minimum it may stop, as a share of |column| |target|.
TOLERANCE = 1e-12
MAX_ROUNDS = 200
NEWTON_STEPS = 20
HALVINGS = 40


def minimise_power(
    columns: FloatArray, target: FloatArray, strengths: FloatArray, power: float, weights: FloatArray
) -> FloatArray:
    """The weights w that minimise |target - columns'w|^2 / 2 + sum strengths |w|^power / power, from those given.

    The penalty bends without bound at 0: there coordinate descent is exact and Newton's step useless. Where columns
    are nearly dependent it is the other way round, so they take turns; both only ever go down.
    """
    for _ in range(MAX_ROUNDS):
        if descend_power(columns, target, strengths, power, TOLERANCE, weights):
            return weights
        for _ in range(NEWTON_STEPS):
            if not _step(columns, target, strengths, power, weights):
                break
    message = f"no minimum found in {MAX_ROUNDS} rounds: try a larger strength, or a power further from 1"
    raise NumericalError(message)


def _loss(columns: FloatArray, target: FloatArray, strengths: FloatArray, power: float, weights: FloatArray) -> float:
    rest = target - weights @ columns
    return 0.5 * float(rest @ rest) + float(strengths @ np.abs(weights) ** power) / power


def _step(columns: FloatArray, target: FloatArray, strengths: FloatArray, power: float, weights: FloatArray) -> bool:
    """Newton's step for the weights that are not 0, halved until the loss falls; False when it falls no more.

    With D the second derivatives of the penalty and p' the first, (X'X + D) move = X'rest - p' is least squares of the
    rest, with sqrt(D) beneath the columns and -p' / sqrt(D) beneath the rest.
    """
    active = np.flatnonzero(np.abs(weights) >= SMALLEST)
    sizes = np.abs(weights[active])
    bends = np.sqrt(strengths[active] * (power - 1.0) * sizes ** (power - 2.0))
    sound = np.isfinite(bends)
    active = active[sound]
    if len(active) == 0:
        return False
    pulls = np.sqrt(strengths[active] / (power - 1.0)) * sizes[sound] ** (0.5 * power) * np.sign(weights[active])
    stacked = np.vstack((columns[active].T, np.diag(bends[sound])))
    rest = np.concatenate((target - weights @ columns, -pulls))
    move = np.linalg.lstsq(stacked, rest)[0]
    before = _loss(columns, target, strengths, power, weights)
    trial = weights.copy()
    for halving in range(HALVINGS):
        trial[active] = weights[active] + 0.5**halving * move
        if _loss(columns, target, strengths, power, trial) < before:
            weights[:] = trial
            return True
    return False


def power_degrees(columns: FloatArray, strengths: FloatArray, power: float, weights: FloatArray) -> float:
    """How many weights the fit is worth: the trace of X (X'X + D)^-1 X', D the second derivatives of the penalty."""
    scales = np.abs(weights) ** (1.0 - 0.5 * power) / np.sqrt(strengths * (power - 1.0))
    squares = np.linalg.svd(columns * scales[:, None], compute_uv=False) ** 2
    return float((squares / (squares + 1.0)).sum())
