"""An independent Gaussian posterior for each weight: constant memory, O(features present) an event."""

from __future__ import annotations

import numpy as np

from stream_bayes.features.values import IntArray
from stream_bayes.kernels.common.csr import Joint, Rows, TargetRows
from stream_bayes.kernels.linear.diagonal import fold_diagonal, predict_diagonal
from stream_bayes.kernels.linear.full import DISCOUNT, TOTALS, WIDTH
from stream_bayes.kernels.linear.logistic import fold_logistic_diagonal
from stream_bayes.kernels.linear.noise import RegressionScores
from stream_bayes.kernels.linear.robust import HeavyNoise, fold_robust_diagonal
from stream_bayes.learners.base.arrays import SMALLEST_ROOM, padded
from stream_bayes.learners.linear.full import MOST, Setting, check_totals
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import BoolArray, FloatArray


class DiagonalGaussian:
    """Weights independent, each N(mean, noise variance / (discount x precision)).

    `cells` holds (precision, mean) of each weight side by side, so that a feature costs one cache line; `numbers` is
    that of `FullGaussian`.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.cells = np.zeros((0, 2))
        self.numbers = setting.numbers()

    @property
    def width(self) -> int:
        """How many weights there are."""
        return int(self.numbers[WIDTH])

    def reserve(self, size: int) -> None:
        """Reserve space for this number of weights. The capacity doubles when it is exceeded."""
        if size > len(self.cells):
            self.cells = padded(self.cells, (max(size, 2 * len(self.cells), SMALLEST_ROOM), 2))

    def fill(self, size: int) -> None:
        """Give every weight up to a size its prior, where it has none yet."""
        self.reserve(size)
        self.cells[self.width : size, 0] = self.setting.prior / self.numbers[DISCOUNT]
        self.numbers[WIDTH] = max(self.width, size)

    def score(self, columns: IntArray, values: FloatArray) -> tuple[float, float, float, float]:
        """Mean, ignorance, noise and degrees of one event; the ignorance is -1 when a value is too large."""
        return predict_diagonal(columns, values, self.cells, self.numbers)

    def fold(self, rows: TargetRows, scores: RegressionScores, *, score: bool) -> bool:
        """Score each row, then learn it; False, and nothing done, when arithmetic would leave the finite numbers."""
        before = self._before(rows, np.isfinite(rows.targets))
        done = fold_diagonal(rows, score, self.cells, self.numbers, scores)
        self._restore_unless(done, *before)
        return done

    def fold_labels(self, rows: Rows, joint: Joint, *, score: bool) -> bool:
        """Score each row, then learn its label; False, and nothing done, when numbers would not be finite."""
        before = self._before(rows, rows.labels >= 0)
        done = fold_logistic_diagonal(rows, score, self.cells, self.numbers, joint)
        self._restore_unless(done, *before)
        return done

    def fold_robust(
        self, rows: TargetRows, noise: HeavyNoise, lines: tuple[FloatArray, FloatArray], *, score: bool
    ) -> bool:
        """Score each row into means and variances of the line, then learn it; False, and nothing done, as `fold`."""
        before = self._before(rows, np.isfinite(rows.targets))
        done = fold_robust_diagonal(rows, score, noise, self.cells, self.numbers, *lines)
        self._restore_unless(done, *before)
        return done

    def _restore_unless(self, done: bool, places: IntArray | slice, cells: FloatArray, numbers: FloatArray) -> None:
        if not done:
            self.cells[places] = cells
            self.numbers = numbers

    def _before(self, rows: Rows | TargetRows, learned: BoolArray) -> tuple[IntArray | slice, FloatArray, FloatArray]:
        """The cells that the rows may change: none where nothing is learned, nor for one row, which fails at once."""
        places: IntArray | slice = np.empty(0, dtype=np.int64)
        if len(learned) > 1 and learned.any():
            used = np.append(0, np.unique(rows.columns[rows.columns >= 0]) + self.setting.intercept)
            # Forgetting may scale every cell.
            places = used[used < len(self.cells)] if self.setting.forgetting == 1.0 else slice(None)
        return places, self.cells[places].copy(), self.numbers.copy()

    def means(self) -> FloatArray:
        """The mean of every weight."""
        return self.cells[: self.width, 1].copy()

    def variances(self) -> FloatArray:
        """The variance of every weight, over that of the noise."""
        variances: FloatArray = 1.0 / (self.cells[: self.width, 0] * self.numbers[DISCOUNT])
        return variances

    def covariances(self, columns: IntArray) -> FloatArray:
        """The covariances of some weights, over the variance of the noise: none but on the diagonal."""
        return np.diag(self.variances()[columns])

    def log_determinant(self) -> float:
        """The logarithm of the determinant of the precision matrix."""
        return -float(np.log(self.variances()).sum())

    def arrays(self) -> Arrays:
        """The posterior as arrays."""
        return {"cells": self.cells[: self.width].copy(), "totals": self.numbers[:TOTALS].copy()}

    def restore(self, arrays: Arrays, largest: int) -> None:
        """Take over what `arrays` gave, if it can be a posterior of at most this number of weights."""
        cells = arrays["cells"]
        totals = arrays["totals"]
        shapes = cells.ndim == 2 and cells.shape[1:] == (2,) and totals.shape == (TOTALS,)
        if not shapes or not all(array.dtype == np.float64 and np.isfinite(array).all() for array in (cells, totals)):
            message = "cells and totals must be finite float64, two numbers a cell"
            raise ValueError(message)
        check_totals(totals, len(cells), largest, self.setting.forgetting)
        if (cells[:, 0] < 1e-10 * self.setting.prior).any() or np.abs(cells).max(initial=0.0) > MOST**2:
            least = 1e-10 * self.setting.prior
            message = f"cells must have precisions of at least {least:g}, and no number beyond {MOST**2:g}"
            raise ValueError(message)
        self.cells = cells
        self.numbers[:TOTALS] = totals
