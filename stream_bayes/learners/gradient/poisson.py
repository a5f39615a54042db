"""Poisson regression by stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.features import Batch
from stream_bayes.kernels.common.csr import TargetRows
from stream_bayes.kernels.gradient.steps import fold_poisson, learn_poisson, predict_poisson
from stream_bayes.learners.base.column_regressor import ColumnRegressor
from stream_bayes.learners.base.input_checks import check_size
from stream_bayes.learners.base.number_predictions import NumberPredictions
from stream_bayes.learners.base.uncertainties import Uncertainties
from stream_bayes.learners.gradient.base import LARGEST_COUNT, LARGEST_VALUE, OneOutput
from stream_bayes.posteriors.poisson import Poisson
from stream_bayes.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class RatePredictions(NumberPredictions):
    """Poisson predictions of counts with a known rate: the variance is the mean, and all of it is noise."""

    @property
    def variance(self) -> FloatArray:
        """The variance of each count."""
        return self.mean

    @property
    def aleatoric_variance(self) -> FloatArray:
        """The part of it that would stay if the weights were known: all."""
        return self.mean

    def uncertainties(self) -> Uncertainties:
        """The uncertainty of each row; that of the rate is unknown."""
        return self._uncertainties(self.variance, np.full(len(self.mean), np.nan))

    def interval(self, mass: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the equal-tailed intervals that hold the counts with at least this probability."""
        ends = [self.predictive(row).interval(mass) for row in range(len(self))]
        low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        return low, high

    def predictive(self, row: int) -> Poisson:
        """The distribution of the row's count."""
        return Poisson(float(self.mean[row]))


class PoissonRegression(OneOutput, ColumnRegressor):
    """Counts, the logarithm of their rate linear in the features, the weights moved by each event along its gradient.

    Parameters
    ----------
    step, rate
        The rule of the steps ("constant", "inverse-root" or "adagrad") and their size; see `GradientLearner`. Large
        counts need small steps, see below.
    l1, l2, intercept, buckets
        The penalties on the weights, the constant term, and the number of columns for hashed names.

    Notes
    -----
    The loss of an event is w (m - y v'x), where m = exp(v'x), plus l1 |v| + l2 / 2 |v|^2. The weights are v = sign(z)
    max(|z| - u, 0), where each event makes z <- (z - h w (m - y) x) / (1 + h l2) and u <- (u + h l1) / (1 + h l2), h
    the size of the step; penalties are paid late and exactly as in `LogisticRegression`. In the exponential v'x counts
    as 60 where it is more, and as -60 where it is less, so that no step overflows: m is between 1e-26 and 1e26. Steps
    far too large still swing from one end to the other: put a scaler in front of features that are not of unit scale,
    and take "adagrad", or a rate well below 1 over the largest count, for large counts. Targets need not be whole: a
    mean of counts, with their number as the weight w, is as good.

    What is kept is a point and no posterior: predictions state no ignorance, all variance is noise. It is not additive:
    a correction is a step on the new target.

    Examples
    --------
    >>> model = PoissonRegression(step="constant", rate=0.1)
    >>> model.learn_one({"x": 2}, 4)
    >>> model.weights(), model.intercept_value
    ({'x': 0.6}, 0.3)
    >>> model.predictive_one({"x": 1})
    Poisson(rate=2.45)
    """

    _least_target: ClassVar[float] = 0.0

    def __init__(
        self,
        step: str = "adagrad",
        rate: float = 0.1,
        l1: float = 0.0,
        l2: float = 0.0,
        intercept: bool = True,
        buckets: int | None = None,
    ) -> None:
        super().__init__(buckets)
        self._set_rule(step, rate, l1, l2, intercept=intercept)

    def _learn(self, batch: Batch, targets: FloatArray, weights: FloatArray, *, score: bool) -> NumberPredictions:
        wrong = np.flatnonzero((targets < self._least_target) | (targets > LARGEST_COUNT))
        if len(wrong):
            message = f"a count is between 0 and {LARGEST_COUNT:g}; got {targets[wrong[0]]:g}"
            raise InputError(message)
        return super()._learn(batch, targets, weights, score=score)

    def _mean_of(self, columns: IntArray, values: FloatArray) -> float:
        rate = predict_poisson(columns, values, *self._model, self._setting)
        if rate < 0.0:
            check_size(values, LARGEST_VALUE)
        return rate

    def _learn_pairs(self, columns: IntArray, values: FloatArray, target: float, weight: float) -> bool:
        if not self._least_target <= target <= LARGEST_COUNT:
            return False
        return learn_poisson(columns, values, target, weight, *self._model, self._setting)

    def _fold(self, rows: TargetRows, *, score: bool) -> RatePredictions:
        means = np.empty(len(rows.targets) if score else 0)
        fold_poisson(rows, score, self._rule, self._model, means)
        return RatePredictions(means)
