"""Predictions of a regressor for a batch: arrays, and the distributions they stand for row by row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from stream_bayes.learners.base.arrays import is_selection, row_at, select_rows
from stream_bayes.learners.base.uncertainties import Uncertainties
from stream_bayes.posteriors import Normal, StudentT
from stream_bayes.typing import FloatArray
from stream_bayes.validation import tail_beyond


class Predictive(Protocol):
    """The distribution of a target, its variance split into noise and ignorance."""

    @property
    def mean(self) -> float:
        """The expected target."""

    @property
    def variance(self) -> float:
        """The variance of the target around it."""

    @property
    def epistemic_variance(self) -> float:
        """The part of the variance that more data would remove."""

    @property
    def aleatoric_variance(self) -> float:
        """The part of the variance that would stay if the parameters were known."""

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """Return the equal-tailed interval that holds the target with this probability."""


@dataclass(frozen=True, eq=False)
class NumberPredictions(Sequence[Predictive]):
    """Predictions for the rows of a batch, each made before its row was learned."""

    mean: FloatArray

    def __len__(self) -> int:
        return len(self.mean)

    @overload
    def __getitem__(self, row: int) -> Predictive: ...

    @overload
    def __getitem__(self, row: slice | list[int] | NDArray[Any]) -> Self: ...

    def __getitem__(self, row: Any) -> Predictive | Self:
        """Return the posterior predictive of a row (-1 is the last), or the predictions of several rows."""
        if is_selection(row):
            return select_rows(self, len(self), row)
        return self.predictive(row_at(row, len(self)))

    def __iter__(self) -> Iterator[Predictive]:
        return map(self.predictive, range(len(self)))

    @property
    @abstractmethod
    def variance(self) -> FloatArray:
        """The variance of each target, noise and ignorance together."""

    @property
    @abstractmethod
    def aleatoric_variance(self) -> FloatArray:
        """The part of it that would stay if the parameters were known."""

    @property
    def epistemic_variance(self) -> FloatArray:
        """The part of it that more data would remove."""
        return self.variance - self.aleatoric_variance

    def uncertainties(self) -> Uncertainties:
        """The uncertainty of each row, for a selection strategy."""
        return self._uncertainties(self.variance, self.epistemic_variance)

    def _uncertainties(self, variance: FloatArray, epistemic_variance: FloatArray) -> Uncertainties:
        rows = len(self.mean)
        none = np.empty((rows, 0))
        unknown = np.full(rows, np.nan)
        return Uncertainties(none, variance, epistemic_variance, unknown, none, unknown, none)

    @abstractmethod
    def interval(self, mass: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the equal-tailed intervals that hold the targets with this probability."""

    @abstractmethod
    def predictive(self, row: int) -> Predictive:
        """The posterior predictive of the row's target."""


@dataclass(frozen=True, eq=False)
class NormalPredictions(NumberPredictions):
    """Normal predictions, for targets with known noise."""

    ignorance: FloatArray
    """Variance of the regression line at each row."""
    noise: FloatArray
    """Variance of the noise around it."""

    @property
    def variance(self) -> FloatArray:
        """The variance of each target, noise and ignorance together."""
        return self.noise + self.ignorance

    @property
    def aleatoric_variance(self) -> FloatArray:
        """The part of it that is noise."""
        return self.noise

    @property
    def epistemic_variance(self) -> FloatArray:
        """The part of it that more data would remove."""
        return self.ignorance

    def interval(self, mass: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the equal-tailed intervals that hold the targets with this probability."""
        reach = -ndtri(tail_beyond(mass) / 2.0) * np.sqrt(self.variance)
        return self.mean - reach, self.mean + reach

    def predictive(self, row: int) -> Normal:
        """The normal distribution of the row's target."""
        noise = float(self.noise[row])
        return Normal(float(self.mean[row]), noise + float(self.ignorance[row]), noise)


@dataclass(frozen=True, eq=False)
class StudentPredictions(NumberPredictions):
    """Student's t predictions, for targets with unknown noise; the squared scale is the sum of two parts."""

    ignorance: FloatArray
    """The part of the squared scale that comes from the regression line."""
    noise: FloatArray
    """The part that comes from the noise around it."""
    degrees: FloatArray
    """Degrees of freedom."""

    @property
    def variance(self) -> FloatArray:
        """The variance of each target, infinite for 2 degrees of freedom or fewer."""
        return (self.noise + self.ignorance) * self._inflation

    @property
    def aleatoric_variance(self) -> FloatArray:
        """The expected variance of the noise."""
        return self.noise * self._inflation

    @property
    def epistemic_variance(self) -> FloatArray:
        """The part of the variance that knowing the weights would remove."""
        return self.ignorance * self._inflation

    def uncertainties(self) -> Uncertainties:
        """The uncertainty of each row; where the variance is infinite, the squared scale, whose parts are unknown."""
        wide = np.isinf(self.variance)
        variance = np.where(wide, self.noise + self.ignorance, self.variance)
        return self._uncertainties(variance, np.where(wide, np.nan, self.epistemic_variance))

    @property
    def _inflation(self) -> FloatArray:
        inflation = np.full(len(self.degrees), np.inf)
        np.divide(self.degrees, self.degrees - 2.0, out=inflation, where=self.degrees > 2.0)
        return inflation

    def interval(self, mass: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the equal-tailed intervals that hold the targets with this probability."""
        reach = -stdtrit(self.degrees, tail_beyond(mass) / 2.0) * np.sqrt(self.noise + self.ignorance)
        return self.mean - reach, self.mean + reach

    def predictive(self, row: int) -> StudentT:
        """Student's t of the row's target."""
        return student(*(float(part[row]) for part in (self.mean, self.ignorance, self.noise, self.degrees)))


def student(mean: float, ignorance: float, noise: float, degrees: float) -> StudentT:
    """The t whose squared scale is the sum of two parts."""
    expected = noise * (degrees / (degrees - 2.0)) if degrees > 2.0 else np.inf
    return StudentT(degrees, mean, float(np.sqrt(noise + ignorance)), expected)
