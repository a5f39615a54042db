"""What is known of the weights of a linear model: one by one, in pairs, all together."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy.special import ndtr, stdtr

from stream_bayes.errors import InputError, NumericalError, ParameterError
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, IntArray, check_name
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.linear_noise import squared_scale
from stream_bayes.learners.base import one_of
from stream_bayes.learners.columns import ColumnLearner
from stream_bayes.learners.linear.diagonal import DiagonalBelief
from stream_bayes.learners.linear.full import FullBelief, Setting
from stream_bayes.posteriors import MvNormal, MvStudentT, Normal, StudentT
from stream_bayes.posteriors.checked import positive, truth
from stream_bayes.snapshot import Arrays

INTERCEPT = "intercept"
"""What the weight of the constant is called; no feature can have the name beside it."""

# The product of two of them is what the squares of values are divided by.
SMALLEST, LARGEST = 1e-50, 1e50


class WeightBelief(ColumnLearner):
    """Weights with a Gaussian belief, full or diagonal; the first of them may be the intercept."""

    prior_precision: float
    covariance: str
    intercept: bool
    forgetting: float
    _belief: FullBelief | DiagonalBelief

    def _begin(self, prior_precision: float, covariance: str, intercept: bool, forgetting: float) -> None:
        """Check the parameters; the belief begins with the prior."""
        self.prior_precision = check_bounds("prior_precision", prior_precision)
        self.covariance = one_of(covariance, "covariance", ("full", "diagonal"))
        self.intercept = truth("intercept", intercept, ParameterError)
        self.forgetting = positive("forgetting", forgetting)
        if self.forgetting > 1.0:
            message = f"forgetting must be above 0 and at most 1; got {forgetting}"
            raise ParameterError(message)
        self._belief = self._fresh()

    @abstractmethod
    def _setting(self) -> Setting:
        """What the belief goes by."""

    def _fresh(self) -> FullBelief | DiagonalBelief:
        """The belief before any event."""
        return (FullBelief if self.covariance == "full" else DiagonalBelief)(self._setting())

    def _noise(self) -> tuple[float, float]:
        """The squared scale that variances are over, and its degrees of freedom: infinite when it is known."""
        return squared_scale(self._belief.numbers)

    def weights(self) -> dict[FeatureName, Normal | StudentT]:
        """The marginal belief about each weight; names that were hashed go by their buckets.

        The intercept, where there is one, is called "intercept".
        """
        means, variances = self._belief.means().tolist(), self._belief.variances().tolist()
        names = self._weight_names()
        return {name: self._marginal(*moments) for name, *moments in zip(names, means, variances, strict=True)}

    def joint(self, first: FeatureName, second: FeatureName) -> MvNormal | MvStudentT:
        """The belief about two weights together."""
        if check_name(first) == check_name(second):
            message = f"joint takes two different weights; got {first!r} twice"
            raise InputError(message)
        means, covariances = self._moments([first, second])
        scale, degrees = self._noise()
        try:
            if degrees == math.inf:
                return MvNormal(means, scale * covariances)
            return MvStudentT(degrees, means, scale * covariances)
        except ParameterError as problem:
            message = f"{first!r} and {second!r} are known together only: no number tells them apart"
            raise NumericalError(message) from problem

    def probability_positive(self, name: FeatureName) -> float:
        """The probability that a weight is above 0."""
        means, covariances = self._moments([name])
        scale, degrees = self._noise()
        deviations = float(means[0]) / math.sqrt(scale * float(covariances[0, 0]))
        return float(ndtr(deviations) if degrees == math.inf else stdtr(degrees, deviations))

    def _marginal(self, mean: float, variance: float) -> Normal | StudentT:
        scale, degrees = self._noise()
        if degrees == math.inf:
            return Normal(mean, scale * variance)
        return StudentT(degrees, mean, math.sqrt(scale * variance))

    def _moments(self, names: Sequence[FeatureName]) -> tuple[FloatArray, FloatArray]:
        """Means and covariances of some weights, over the noise; one that no event has had is as the prior has it."""
        places = np.array([self._place(name) for name in names])
        known = np.flatnonzero(places >= 0)
        means, covariances = np.zeros(len(places)), np.eye(len(places)) / self._belief.setting.prior
        means[known] = self._belief.means()[places[known]]
        covariances[np.ix_(known, known)] = self._belief.covariances(places[known].tolist())
        return means, covariances

    def _place(self, name: FeatureName) -> int:
        """Where a weight stands in the belief, -1 if it was never learned."""
        if self.intercept and self.buckets is None and name == INTERCEPT:
            return 0 if self._belief.width else -1
        known = int(self._vocabulary.lookup([check_name(name)])[0])
        place = known + int(self.intercept)
        return place if known >= 0 and place < self._belief.width else -1

    def _weight_names(self) -> list[FeatureName]:
        features = self._vocabulary.names if isinstance(self._vocabulary, Vocabulary) else range(len(self._vocabulary))
        named = chain((INTERCEPT,) if self.intercept else (), features)
        return [name for name, _ in zip(named, range(self._belief.width), strict=False)]

    def _reserve(self) -> None:
        size = len(self._vocabulary) + int(self.intercept)
        if self.buckets is None:
            self._belief.reserve(size)
        else:
            self._belief.fill(size)

    def _check_new(self, batch: Batch, names: Sequence[FeatureName], found: IntArray) -> None:
        super()._check_new(batch, names, found)
        if self.intercept and self.buckets is None and INTERCEPT in names:
            message = f"a feature cannot be called {INTERCEPT!r} beside the intercept: rename it, or intercept=False"
            raise InputError(message)

    def _arrays(self) -> Arrays:
        return {**self._vocabulary.state(), **self._belief.arrays()}

    def _restore(self, arrays: Arrays) -> None:
        if isinstance(self._vocabulary, Vocabulary):
            self._vocabulary = Vocabulary.from_state(arrays)
        self._belief.restore(arrays, len(self._vocabulary) + int(self.intercept))


def check_bounds(name: str, value: float) -> float:
    """A precision or a variance, if arithmetic with it stays within the finite numbers."""
    number = positive(name, value)
    if not SMALLEST <= number <= LARGEST:
        message = f"{name} must be between {SMALLEST:g} and {LARGEST:g}; got {value!r}"
        raise ParameterError(message)
    return number
