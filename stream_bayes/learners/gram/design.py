"""The design behind the moments: the columns that some event had, their factor and singular values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stream_bayes.errors import NumericalError
from stream_bayes.features.values import IntArray
from stream_bayes.learners.gram.factor import (
    SMALLEST_LENGTH,
    SMALLEST_RESIDUAL,
    SMALLEST_SHARE,
    Factor,
    factored,
    reduced,
    with_means,
)
from stream_bayes.learners.gram.moments import GramMoments, symmetric
from stream_bayes.learners.gram.spectrum import Spectrum, spectrum
from stream_bayes.typing import FloatArray

# Columns of unit length that depend on others have singular values of rounding; others have 1e-6 or more.
FLAT = 1e-10


@dataclass(frozen=True, eq=False)
class Design:
    """The features that some event had, as the columns of X, and what the moments say of them.

    With an intercept columns and target are less their means; without, they are as they came.
    """

    columns: IntArray
    """Their columns in the vocabulary."""
    count: float
    intercept: bool
    mean: FloatArray
    """mean[:, 0] of the target, then of the columns; each a sum of two parts."""
    scatter: FloatArray
    """Around the means: the target first, then the columns."""

    @classmethod
    def of(cls, moments: GramMoments, *, intercept: bool) -> Design:
        """The design that some moments stand for."""
        columns = np.flatnonzero(moments.present > 0.0)
        places = np.concatenate(([0], 1 + columns))
        return cls(columns, float(moments.events[0]), intercept, moments.mean[:, places], symmetric(moments, places))

    @property
    def means(self) -> FloatArray:
        """The means of the columns."""
        means: FloatArray = self.mean.sum(axis=0)[1:]
        return means

    @property
    def target_mean(self) -> float:
        """The mean of the target."""
        return float(self.mean.sum(axis=0)[0])

    @cached_property
    def deviations(self) -> FloatArray:
        """Standard deviation of each column; 1 where it is constant."""
        variances = self.scatter.diagonal()[1:] / max(self.count, np.finfo(float).tiny)
        return np.sqrt(np.where(variances > 0.0, variances, 1.0))

    @cached_property
    def centred(self) -> Factor:
        """The factor of columns and target less their means."""
        return factored(self.scatter[1:, 1:], self.scatter[1:, 0], float(self.scatter[0, 0]))

    @cached_property
    def factor(self) -> Factor:
        """The factor of X."""
        return self.centred if self.intercept else with_means(self.centred, self.count, self.means, self.target_mean)

    @cached_property
    def limits(self) -> FloatArray:
        """The share of the squares of each column down to which it counts as explained by others.

        Its centred squares go by rounding of the scatter, the rest by that of the factor.
        """
        shares = self.scatter.diagonal()[1:] / self.factor.lengths / self.factor.lengths
        return np.maximum(SMALLEST_SHARE * shares, SMALLEST_LENGTH**2)

    @cached_property
    def full(self) -> Factor:
        """The factor of X with no more directions than its rank."""
        if self.intercept:
            return self.centred
        full = reduced(self.factor, self.limits)
        # Rounding of the scatter, and of the factor where the target is far from 0.
        least = SMALLEST_RESIDUAL * self.scatter[0, 0] + SMALLEST_LENGTH**2 * float(full.target @ full.target)
        return full if abs(full.residual) > least else full._replace(residual=0.0)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The singular value decomposition of X."""
        return spectrum(self.full)

    @cached_property
    def standardised(self) -> Spectrum:
        """The singular value decomposition of X with columns divided by their standard deviations."""
        return spectrum(self.full._replace(columns=self.full.columns / self.deviations[:, None]))

    def squares_around(self, weights: FloatArray, level: float) -> float:
        """The sum of (y - level - x'w)^2 over the events, for any level."""
        missing = self.centred.target - weights @ self.centred.columns
        off = self.target_mean - level - float(self.means @ weights)
        return max(float(missing @ missing) + self.centred.residual, 0.0) + self.count * off**2

    def squares(self, weights: FloatArray) -> float:
        """The residual sum of squares."""
        missing = self.factor.target - weights @ self.factor.columns
        return max(float(missing @ missing) + self.factor.residual, 0.0)

    def profile_squares(self, place: int, values: FloatArray) -> FloatArray:
        """The least sum of squares for each value of one weight: |r - value e|^2, what other columns leave of both.

        A weight that other columns can stand in for has none.
        """
        columns = self.factor.columns / self.factor.lengths[:, None]
        others = np.delete(columns, place, axis=0)
        left, singular, _ = np.linalg.svd(others.T, full_matrices=False)
        axes = left[:, singular > FLAT * singular.max(initial=0.0)]
        own = columns[place] - axes @ (axes.T @ columns[place])
        own -= axes @ (axes.T @ own)
        if own @ own <= self.limits[place]:
            message = "other features can stand in for this one: no value of its weight is likelier than another"
            raise NumericalError(message)
        rest = self.factor.target - axes @ (axes.T @ self.factor.target)
        scaled = values * self.factor.lengths[place]
        squares: FloatArray = ((rest - scaled[:, None] * own) ** 2).sum(axis=1) + self.factor.residual
        return np.maximum(squares, 0.0)
