"""A Gaussian belief about all weights together: its factor, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from stream_bayes.features.values import IntArray
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.linear import (
    ADDED,
    COUNT,
    DISCOUNT,
    FORGETTING,
    INTERCEPT,
    LARGEST,
    NOISE_DEGREES,
    NOISE_VARIANCE,
    NUMBERS,
    PRIOR,
    PRIOR_SHARE,
    SQUARES,
    TOTALS,
    VECTORS,
    WIDTH,
    Z,
    absorb_row,
)
from stream_bayes.kernels.linear_fold import fold_linear, learn_linear, predict_linear
from stream_bayes.kernels.linear_logistic import fold_logistic_full
from stream_bayes.kernels.linear_noise import Scores
from stream_bayes.kernels.rows import Joint, Rows, TargetRows
from stream_bayes.learners.arrays import SMALLEST_ROOM, padded
from stream_bayes.learners.number_learner import LARGEST_NUMBER
from stream_bayes.snapshot import Arrays

ROUNDING = float(np.finfo(np.float64).eps)


class Setting(NamedTuple):
    """What a belief goes by, besides events."""

    prior: float
    """Precision of each weight before any event, over that of the noise."""
    intercept: int
    """1 when the first weight is that of the constant, 0 when there is none."""
    forgetting: float
    noise_variance: float
    noise_degrees: float
    """How many observations the variance of the noise is worth: infinite when it is known."""

    def numbers(self) -> FloatArray:
        """The totals before any event, and the setting behind them."""
        numbers = np.zeros(NUMBERS)
        numbers[[DISCOUNT, PRIOR_SHARE]] = 1.0
        numbers[[PRIOR, INTERCEPT, FORGETTING, NOISE_VARIANCE, NOISE_DEGREES]] = self
        numbers[LARGEST] = LARGEST_NUMBER
        return numbers


class EvidenceRows(NamedTuple):
    """As few events as say the same as all that were learned."""

    rows: FloatArray
    targets: FloatArray
    unexplained: float
    """What no weights can explain of the squares of the targets that were learned."""
    weight: float
    """Of the events that were learned."""


class FullBelief:
    """Weights ~ N(m, noise variance x P^-1), P = prior I + X'X with one factor for all of it.

    The state is the upper triangular `factor` R with discount x R'R = P and `z` with R m = z, carried by the same
    rotations (the equations are in `kernels.linear`). Of the forms tried this one is the most exact: keeping P^-1
    (Sherman-Morrison) or R with P m loses the digits of the small directions as data come in. `numbers` holds the
    number of weights, the sum of event weights, the squares that the line left unexplained, the discount, the share of
    the prior that forgetting has left, the log evidence where that is a running sum, and all squares ever added, which
    say how far rounding may have moved P.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.factor = np.zeros((0, 0))
        self.vectors = np.zeros((VECTORS, 0))
        self.numbers = setting.numbers()

    @property
    def width(self) -> int:
        """How many weights there are."""
        return int(self.numbers[WIDTH])

    @property
    def upper(self) -> FloatArray:
        """The factor R of P, without the room around it."""
        factor: FloatArray = self.factor[: self.width, : self.width] * np.sqrt(self.numbers[DISCOUNT])
        return factor

    def reserve(self, size: int) -> None:
        """Make room for so many weights; it doubles when it runs out."""
        if size > self.vectors.shape[1]:
            room = max(size, 2 * self.vectors.shape[1], SMALLEST_ROOM)
            factor, vectors = padded(self.factor, (room, room)), padded(self.vectors, (VECTORS, room))
            self.factor, self.vectors = factor, vectors

    def fill(self, size: int) -> None:
        """Give every weight up to a size its prior, where it has none yet."""
        self.reserve(size)
        new = np.arange(self.width, size)
        self.factor[new, new] = np.sqrt(self.setting.prior / self.numbers[DISCOUNT])
        self.numbers[WIDTH] = max(self.width, size)

    def score(self, columns: IntArray, values: FloatArray) -> tuple[float, float, float, float]:
        """Mean, ignorance, noise and degrees of one event; the ignorance is -1 when a value is too large."""
        return predict_linear(columns, values, self.factor, self.vectors, self.numbers)

    def learn(self, columns: IntArray, values: FloatArray, target: float, weight: float) -> bool:
        """Learn one event without forgetting; False, and nothing done, without room or with a value too large."""
        return learn_linear(columns, values, target, weight, self.factor, self.vectors, self.numbers)

    def fold(self, rows: TargetRows, scores: Scores, *, score: bool) -> bool:
        """Score each row, then learn it; False, and nothing done, when arithmetic left the finite numbers."""
        return self._undone_if_failed(lambda: fold_linear(rows, score, self.factor, self.vectors, self.numbers, scores))

    def fold_labels(self, rows: Rows, joint: Joint, *, score: bool) -> bool:
        """The same for labels."""
        return self._undone_if_failed(
            lambda: fold_logistic_full(rows, score, self.factor, self.vectors, self.numbers, joint)
        )

    def _undone_if_failed(self, fold: Callable[[], bool]) -> bool:
        # Without forgetting no arithmetic can fail: the bounds of values, priors and weights see to that.
        ageing = self.setting.forgetting < 1.0
        before = (self.factor.copy(), self.vectors.copy(), self.numbers.copy()) if ageing else None
        done = fold()
        if not done and before is not None:
            self.factor, self.vectors, self.numbers = before
        return done

    def means(self) -> FloatArray:
        """The mean of every weight."""
        # The square root of the discount, which both lack, cancels.
        means: FloatArray = solve_triangular(self.factor[: self.width, : self.width], self.vectors[Z, : self.width])
        return means

    def covariances(self, columns: list[int] | None = None) -> FloatArray:
        """The covariances of some or all weights, over the variance of the noise."""
        chosen = range(self.width) if columns is None else columns
        halves = solve_triangular(self.upper, np.eye(self.width)[:, list(chosen)], trans="T")
        covariances: FloatArray = halves.T @ halves
        return covariances

    def variances(self) -> FloatArray:
        """The variance of every weight, over that of the noise."""
        inverse = solve_triangular(self.upper, np.eye(self.width))
        variances: FloatArray = np.einsum("ij,ij->i", inverse, inverse)
        return variances

    def log_determinant(self) -> float:
        """The logarithm of the determinant of P."""
        return 2.0 * float(np.log(np.diag(self.upper)).sum())

    def evidence(self) -> EvidenceRows:
        """P - prior I as rows, by singular values: P = V S^2 V', and S^2 - prior is what events have added.

        The squares hold those that shrinking the rows towards zero left unexplained; they are explained here.
        """
        left, sizes, right = np.linalg.svd(self.upper)
        added = sizes**2 - self.setting.prior
        kept = added > 4.0 * ROUNDING * sizes * sizes.max(initial=0.0)
        added, sizes = added[kept], sizes[kept]
        z = self.vectors[Z, : self.width] * np.sqrt(self.numbers[DISCOUNT])
        targets = sizes * (left.T @ z)[kept] / np.sqrt(added)
        shrunk = self.setting.prior * float((targets**2 / sizes**2).sum())
        squares = max(float(self.numbers[SQUARES]) - shrunk, 0.0)
        return EvidenceRows(np.sqrt(added)[:, None] * right[kept], targets, squares, float(self.numbers[COUNT]))

    def absorb(self, evidence: EvidenceRows, columns: IntArray, weight: float = 1.0) -> None:
        """Add evidence whose weights stand in these columns here; room has been made for them."""
        count = self.numbers[COUNT] + weight * evidence.weight
        for row, target in zip(evidence.rows, evidence.targets.tolist(), strict=True):
            self.rotate(columns, row, target, weight)
        self.numbers[COUNT] = count
        self.numbers[SQUARES] += weight * evidence.unexplained

    def rotate(self, columns: IntArray, values: FloatArray, target: float, weight: float) -> None:
        """Rotate one event in, or out where its weight is below zero; the columns are those of the weights."""
        absorb_row(values, columns, target, weight, self.factor, self.vectors, self.numbers)

    def arrays(self) -> Arrays:
        """The belief as arrays, the triangle without its zeros."""
        factor = self.factor[: self.width, : self.width]
        return {
            "factor": factor[np.triu_indices(self.width)],
            "z": self.vectors[Z, : self.width].copy(),
            "totals": self.numbers[:TOTALS].copy(),
        }

    def restore(self, arrays: Arrays, largest: int) -> None:
        """Take over what `arrays` gave, if it can be a belief about at most so many weights."""
        factor, z, totals = (arrays[name] for name in ("factor", "z", "totals"))
        width = len(z)
        if z.shape != (width,) or factor.shape != (width * (width + 1) // 2,) or totals.shape != (TOTALS,):
            message = "factor, z and totals have shapes that do not fit"
            raise ValueError(message)
        if not all(array.dtype == np.float64 and np.isfinite(array).all() for array in (factor, z, totals)):
            message = "factor, z and totals must be finite float64"
            raise ValueError(message)
        check_totals(totals, width, largest)
        self.reserve(width)
        self.factor[np.triu_indices(width)[0], np.triu_indices(width)[1]] = factor
        self.vectors[Z, :width], self.numbers[:TOTALS] = z, totals
        if (np.diag(self.factor)[:width] <= 0.0).any():
            message = "the diagonal of factor must be above 0"
            raise ValueError(message)


def check_totals(totals: FloatArray, width: int, largest: int) -> None:
    """Refuse totals that cannot be those of a belief."""
    in_range = (totals[[COUNT, SQUARES, ADDED]] >= 0.0).all() and 0.0 < totals[DISCOUNT] <= 1.0
    if totals[WIDTH] != width or width > largest or not in_range or not 0.0 <= totals[PRIOR_SHARE] <= 1.0:
        message = "totals do not describe a belief"
        raise ValueError(message)
