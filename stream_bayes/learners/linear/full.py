"""Gaussian posterior with full covariance: the factor of its precision matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from stream_bayes.features.values import IntArray
from stream_bayes.kernels.common.csr import Joint, Rows, TargetRows
from stream_bayes.kernels.linear.fold import fold_linear, learn_linear, predict_linear
from stream_bayes.kernels.linear.full import (
    ADDED,
    COUNT,
    DISCOUNT,
    FORGETTING,
    INTERCEPT,
    LARGEST,
    NOISE_DEGREES,
    NOISE_VARIANCE,
    NUMBERS,
    PRESENT,
    PRIOR,
    PRIOR_MEAN,
    PRIOR_PRECISION,
    PRIOR_SHARE,
    SMALLEST_DISCOUNT,
    SQUARES,
    TOTALS,
    VECTORS,
    WIDTH,
    Z,
    absorb_row,
)
from stream_bayes.kernels.linear.logistic import fold_logistic_full, learn_logistic, predict_logistic
from stream_bayes.kernels.linear.noise import RegressionScores
from stream_bayes.kernels.linear.robust import HeavyNoise, fold_robust_full
from stream_bayes.learners.base.arrays import SMALLEST_ROOM, padded
from stream_bayes.learners.base.input_checks import LARGEST_NUMBER
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import BoolArray, FloatArray

# Far more than any stream makes of the largest values and weights, and squares of it are finite.
MOST = 1e75


class Setting(NamedTuple):
    """Parameters of a posterior, besides events."""

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


class PriorRow(NamedTuple):
    """A part of the prior, as an event that adds it to the posterior: weight (target - row'w)^2."""

    columns: IntArray
    row: FloatArray
    target: float
    weight: float


class FirstWeights(NamedTuple):
    """The prior of the first weights, where they have one of their own: precision R'R over that of the noise."""

    factor: FloatArray
    """R, upper triangular."""
    z: FloatArray
    """R times the mean."""

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix, over the variance of the noise."""
        inverse: FloatArray = solve_triangular(self.factor, np.eye(len(self.z)))
        covariance: FloatArray = inverse @ inverse.T
        return covariance

    @property
    def least(self) -> float:
        """The smallest eigenvalue of the precision matrix."""
        return float(np.linalg.svd(self.factor, compute_uv=False).min()) ** 2


class FullGaussian:
    """Weights ~ N(m, noise variance x P^-1), P = prior I + X'X with one factor for all of it.

    The state is the upper triangular `factor` R with discount x R'R = P and `z` with R m = z, carried by the same
    rotations (the equations are in `kernels.linear.full`), and in how many events each feature was. Of the forms tried
    this one is the most exact: keeping P^-1 (Sherman-Morrison) or R with P m loses the digits of the small directions
    as data come in. `numbers` holds the
    number of weights, the sum of event weights, the squares that the line left unexplained, the discount, the share of
    the prior that forgetting has left, the log evidence where that is a running sum, and a bound on all squares ever
    added, which says how far rounding may have moved P.
    """

    def __init__(self, setting: Setting, first: FirstWeights | None = None) -> None:
        self.setting = setting
        self.first = first
        self.least_prior = setting.prior if first is None else min(setting.prior, first.least)
        self.factor = np.zeros((0, 0))
        self.vectors = np.zeros((VECTORS, 0))
        self.numbers = setting.numbers()
        if first is not None:
            own = len(first.z)
            self.fill(own)
            self.factor[:own, :own] = first.factor
            self.vectors[Z, :own] = first.z
            self.vectors[PRIOR_PRECISION, :own] = 1.0 / np.diag(first.covariance)
            self.vectors[PRIOR_MEAN, :own] = solve_triangular(first.factor, first.z)

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
        """Reserve space for this number of weights. The capacity doubles when it is exceeded."""
        if size > self.vectors.shape[1]:
            room = max(size, 2 * self.vectors.shape[1], SMALLEST_ROOM)
            factor = padded(self.factor, (room, room))
            vectors = padded(self.vectors, (VECTORS, room))
            vectors[PRIOR_PRECISION, self.vectors.shape[1] :] = self.setting.prior
            self.factor = factor
            self.vectors = vectors

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

    def fold(self, rows: TargetRows, scores: RegressionScores, *, score: bool) -> bool:
        """Score each row, then learn it. It cannot fail: values are bounded, and P is at least 1e-8 of the prior."""
        fold_linear(rows, score, self.factor, self.vectors, self.numbers, scores)
        return True

    def score_label(self, columns: IntArray, values: FloatArray) -> tuple[float, float]:
        """The probabilities of both labels of one event; negative ones when a value is too large."""
        return predict_logistic(columns, values, self.factor, self.vectors, self.numbers)

    def learn_label(self, columns: IntArray, values: FloatArray, label: int, weight: float) -> bool:
        """Learn the label of one event; False, and nothing done, without room or with a value too large."""
        return learn_logistic(columns, values, label, weight, self.factor, self.vectors, self.numbers)

    def fold_labels(self, rows: Rows, joint: Joint, *, score: bool) -> bool:
        """Score each row, then learn its label. It cannot fail, as `fold`."""
        fold_logistic_full(rows, score, self.factor, self.vectors, self.numbers, joint)
        return True

    def fold_robust(
        self, rows: TargetRows, noise: HeavyNoise, lines: tuple[FloatArray, FloatArray], *, score: bool
    ) -> bool:
        """Score each row into means and variances of the line, then learn it. It cannot fail, as `fold`."""
        fold_robust_full(rows, score, noise, self.factor, self.vectors, self.numbers, *lines)
        return True

    def means(self) -> FloatArray:
        """The mean of every weight."""
        # The square root of the discount, which both lack, cancels.
        means: FloatArray = solve_triangular(self.factor[: self.width, : self.width], self.vectors[Z, : self.width])
        return means

    def covariances(self, columns: IntArray) -> FloatArray:
        """The covariances of some weights, over the variance of the noise."""
        halves = solve_triangular(self.upper, np.eye(self.width)[:, columns], trans="T")
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

    @property
    def own_priors(self) -> int:
        """How many of the first weights have a prior of their own."""
        return 0 if self.first is None else len(self.first.z)

    def prior_rows(self, columns: IntArray) -> Iterator[PriorRow]:
        """The prior of some weights as rows; those with a prior of their own must all be among them."""
        own = self.own_priors
        if self.first is not None:
            for place, (row, target) in enumerate(zip(self.first.factor, self.first.z.tolist(), strict=True)):
                yield PriorRow(np.arange(place, own), row[place:], target, 1.0)
        for column in columns[columns >= own]:
            yield PriorRow(np.array((column,)), np.ones(1), 0.0, self.setting.prior)

    def prior_diagonal(self) -> FloatArray:
        """The diagonal of the prior of P."""
        diagonal = np.full(self.width, self.setting.prior)
        if self.first is not None:
            diagonal[: self.own_priors] = (self.first.factor**2).sum(axis=0)
        return diagonal

    def prior_spread(self, x: FloatArray) -> float:
        """x'P^-1 x before any event."""
        own = self.own_priors
        spread = float(x[own:] @ x[own:]) / self.setting.prior
        if self.first is not None:
            solved = solve_triangular(self.first.factor, x[:own], trans="T")
            spread += float(solved @ solved)
        return spread

    def prior_log_determinant(self) -> float:
        """The logarithm of the determinant of the prior of P."""
        rest = (self.width - self.own_priors) * float(np.log(self.setting.prior))
        return rest if self.first is None else rest + 2.0 * float(np.log(np.diag(self.first.factor)).sum())

    def drop(self, which: BoolArray) -> None:
        """Drop the evidence of these features, as if no event had had them, and make the factor triangular again.

        They must have no prior of their own. No digits of the other columns are lost, however large the dropped ones
        were.
        """
        width = self.width
        kept = np.flatnonzero(~which)
        rows = np.column_stack((self.factor[:width, kept], self.vectors[Z, :width]))
        turned: Any = np.linalg.qr(rows, mode="r")
        turned *= np.where(np.diag(turned) < 0.0, -1.0, 1.0)[:, None]
        self.factor[:width, :width] = np.sqrt(self.setting.prior) * np.eye(width)
        self.factor[np.ix_(kept, kept)] = turned[:-1, :-1]
        self.vectors[Z, :width] = 0.0
        self.vectors[Z, kept] = turned[:-1, -1]
        self.numbers[SQUARES] += turned[-1, -1] ** 2

    def copy(self) -> FullGaussian:
        """A copy that shares no array with this one."""
        twin = FullGaussian(self.setting, self.first)
        twin.factor = self.factor.copy()
        twin.vectors = self.vectors.copy()
        twin.numbers = self.numbers.copy()
        return twin

    def take(self, other: FullGaussian) -> None:
        """Take over the arrays of another posterior, which must have no other owner."""
        self.factor = other.factor
        self.vectors = other.vectors
        self.numbers = other.numbers

    def rotate(self, columns: IntArray, values: FloatArray, target: float, weight: float) -> None:
        """Rotate one event in, or out where its weight is below zero; the columns are those of the weights."""
        absorb_row(values, columns, target, weight, self.factor, self.vectors, self.numbers)

    def is_sound(self) -> bool:
        """Whether factor and vectors are bounded numbers, and the factor is one of a positive definite matrix."""
        factor = self.factor[: self.width, : self.width]
        bounded = all((np.abs(array) <= MOST).all() for array in (factor, self.vectors[[Z, PRESENT], : self.width]))
        return bounded and bool((np.diag(factor) >= 1e-5 * np.sqrt(self.least_prior)).all())

    def arrays(self) -> Arrays:
        """The posterior as arrays, the triangle without its zeros."""
        factor = self.factor[: self.width, : self.width]
        return {
            "factor": factor[np.triu_indices(self.width)],
            "z": self.vectors[Z, : self.width].copy(),
            "present": self.vectors[PRESENT, : self.width].copy(),
            "totals": self.numbers[:TOTALS].copy(),
        }

    def restore(self, arrays: Arrays, largest: int) -> None:
        """Take over what `arrays` gave, if it can be a posterior of at most this number of weights."""
        factor, z, present, totals = (arrays[name] for name in ("factor", "z", "present", "totals"))
        width = len(z)
        if (
            z.shape != (width,)
            or present.shape != (width,)
            or factor.shape != (width * (width + 1) // 2,)
            or totals.shape != (TOTALS,)
        ):
            message = "factor, z, present and totals have shapes that do not fit"
            raise ValueError(message)
        if not all(array.dtype == np.float64 and np.isfinite(array).all() for array in (factor, z, present, totals)):
            message = "factor, z, present and totals must be finite float64"
            raise ValueError(message)
        check_totals(totals, width, largest, self.setting.forgetting)
        if width < self.own_priors:
            message = "there are fewer weights than the prior names"
            raise ValueError(message)
        self.reserve(width)
        self.factor[np.triu_indices(width)[0], np.triu_indices(width)[1]] = factor
        self.vectors[[Z, PRESENT], :width] = (z, present)
        self.numbers[:TOTALS] = totals
        if not self.is_sound():
            message = "factor is not that of a positive definite precision matrix, or its numbers are too large"
            raise ValueError(message)


def check_totals(totals: FloatArray, width: int, largest: int, forgetting: float) -> None:
    """Refuse totals that cannot be those of a posterior."""
    sums = totals[[COUNT, SQUARES, ADDED]]
    discount = totals[DISCOUNT]
    share = totals[PRIOR_SHARE]
    sound = (sums >= 0.0).all() and SMALLEST_DISCOUNT <= discount <= 1.0 and 0.0 <= share <= 1.0
    if forgetting == 1.0:
        sound = sound and discount == share == 1.0
    if totals[WIDTH] != width or width > largest or not sound or sums[0] + share == 0.0 or sums.max() > MOST**2:
        message = "totals must have the number of weights, sums of 0 or more, and discounts between 0 and 1"
        raise ValueError(message)
