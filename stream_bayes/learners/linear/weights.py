"""Posterior of the weights of a linear model: marginals, covariances, and all weights together."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr, stdtr

from stream_bayes.errors import InputError, NumericalError, ParameterError, shown
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, IntArray, check_name
from stream_bayes.kernels.linear.full import COUNT
from stream_bayes.kernels.linear.noise import squared_scale
from stream_bayes.learners.base.columns import ColumnLearner
from stream_bayes.learners.base.weight_names import INTERCEPT, by_text
from stream_bayes.learners.linear.diagonal import DiagonalGaussian
from stream_bayes.learners.linear.full import FullGaussian, Setting
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import MvNormal, MvStudentT, Normal, StudentT
from stream_bayes.typing import FloatArray
from stream_bayes.validation import SMALLEST_SCALE, one_of, positive, truth

# The product of two of them is what the squares of values are divided by.
SMALLEST = 1e-20
LARGEST = 1e20
# A full covariance of this number of buckets takes half a gigabyte.
MAX_BUCKETS = 2**13


class WeightPosterior(ColumnLearner):
    """Weights with a Gaussian posterior, full or diagonal; the first of them may be the intercept."""

    posterior_kinds: ClassVar[tuple[str, ...]] = ("weight", "feature", "word")
    prior_precision: float
    covariance: str
    intercept: bool
    forgetting: float
    _posterior: FullGaussian | DiagonalGaussian

    def _begin(self, prior_precision: float, covariance: str, intercept: bool, forgetting: float) -> None:
        """Check the parameters; the posterior starts as the prior."""
        self.prior_precision = check_bounds("prior_precision", prior_precision)
        self.covariance = one_of(covariance, "covariance", ("full", "diagonal"))
        if covariance == "full" and self.buckets is not None and self.buckets > MAX_BUCKETS:
            message = (
                f"a full covariance takes at most {MAX_BUCKETS} buckets; got {self.buckets}: covariance='diagonal'?"
            )
            raise ParameterError(message)
        self.intercept = truth("intercept", intercept, ParameterError)
        self.forgetting = positive("forgetting", forgetting)
        if not SMALLEST_SCALE <= self.forgetting <= 1.0:
            message = f"forgetting must be at least {SMALLEST_SCALE:g} and at most 1; got {shown(forgetting)}"
            raise ParameterError(message)
        self._posterior = self._fresh()

    @abstractmethod
    def _setting(self) -> Setting:
        """The parameters of the posterior."""

    def _fresh(self) -> FullGaussian | DiagonalGaussian:
        """The posterior before any event."""
        return (FullGaussian if self.covariance == "full" else DiagonalGaussian)(self._setting())

    def _noise(self) -> tuple[float, float]:
        """The squared scale that variances are over, and its degrees of freedom: infinite when it is known."""
        return squared_scale(self._posterior.numbers)

    def _evidence_summary(self) -> dict[str, Any]:
        return {"events": float(self._posterior.numbers[COUNT]), **super()._evidence_summary()}

    def _estimates(self) -> dict[str, Normal | StudentT]:
        weights = self.weights()
        constant = weights.pop(INTERCEPT, None) if self.intercept else None
        return by_text(weights, constant)

    def weights(self) -> dict[FeatureName, Normal | StudentT]:
        """The marginal posterior of each weight; the intercept, where there is one, is called "intercept".

        Where names were hashed, those of the buckets that events have had, by number.
        """
        means = self._posterior.means()
        variances = self._posterior.variances()
        learned = (means != 0.0) | (variances != 1.0 / self._posterior.setting.prior)
        names = self._weight_names()
        places = np.flatnonzero(learned | (self.buckets is None)).tolist()
        return {names[place]: self._marginal(float(means[place]), float(variances[place])) for place in places}

    def joint(self, *names: FeatureName) -> MvNormal | MvStudentT:
        """The joint posterior of the named weights, in that order, or of all weights if none is named."""
        places = [self._place(name) for name in names] or list(range(self._posterior.width))
        known = [place for place in places if place >= 0]
        if not places or len(set(known)) < len(known) or len(set(names)) < len(names):
            message = f"joint takes different weights; got {shown(names)}"
            raise InputError(message)
        means, covariances = self._moments(places)
        scale, degrees = self._noise()
        try:
            if degrees == math.inf:
                return MvNormal(means, scale * covariances)
            return MvStudentT(degrees, means, scale * covariances)
        except ParameterError as problem:
            message = f"{names or 'all weights'} are known in combination only: no number tells them apart"
            raise NumericalError(message) from problem

    def probability_positive(self, name: FeatureName) -> float:
        """The probability that a weight is above 0."""
        means, covariances = self._moments([self._place(name)])
        scale, degrees = self._noise()
        deviations = float(means[0]) / math.sqrt(scale * float(covariances[0, 0]))
        return float(ndtr(deviations) if degrees == math.inf else stdtr(degrees, deviations))

    def _marginal(self, mean: float, variance: float) -> Normal | StudentT:
        scale, degrees = self._noise()
        if degrees == math.inf:
            return Normal(mean, scale * variance)
        return StudentT(degrees, mean, math.sqrt(scale * variance))

    def _moments(self, places: list[int]) -> tuple[FloatArray, FloatArray]:
        """Means and covariances of some weights, over the noise; one that no event has had is as the prior has it."""
        wanted = np.array(places)
        known = np.flatnonzero(wanted >= 0)
        means = np.zeros(len(wanted))
        covariances = np.eye(len(wanted)) / self._posterior.setting.prior
        means[known] = self._posterior.means()[wanted[known]]
        covariances[np.ix_(known, known)] = self._posterior.covariances(wanted[known])
        return means, covariances

    def _place(self, name: FeatureName) -> int:
        """The index of a weight in the posterior, -1 if it was never learned."""
        if self.intercept and name == INTERCEPT:
            return 0 if self._posterior.width else -1
        known = int(self._vocabulary.lookup([check_name(name)])[0])
        place = known + int(self.intercept)
        return place if known >= 0 and place < self._posterior.width else -1

    def _weight_names(self) -> list[FeatureName]:
        features = self._vocabulary.names if isinstance(self._vocabulary, Vocabulary) else range(len(self._vocabulary))
        named = chain((INTERCEPT,) if self.intercept else (), features)
        return [name for name, _ in zip(named, range(self._posterior.width), strict=False)]

    def _reserve(self) -> None:
        size = len(self._vocabulary) + int(self.intercept)
        if self.buckets is None:
            self._posterior.reserve(size)
        else:
            self._posterior.fill(size)

    def _check_new(self, batch: Batch, names: Sequence[FeatureName], found: IntArray) -> None:
        super()._check_new(batch, names, found)
        if self.intercept and self.buckets is None and INTERCEPT in names:
            message = f"a feature cannot be called {INTERCEPT!r} beside the intercept: rename it, or intercept=False"
            raise InputError(message)

    def _arrays(self) -> Arrays:
        return {**self._vocabulary.state(), **self._posterior.arrays()}

    def _restore(self, arrays: Arrays) -> None:
        self._restore_names(arrays)
        if self.intercept and isinstance(self._vocabulary, Vocabulary) and INTERCEPT in self._vocabulary.names:
            message = f"a feature is called {INTERCEPT!r} beside the intercept"
            raise ValueError(message)
        self._posterior.restore(arrays, len(self._vocabulary) + int(self.intercept))


def check_bounds(name: str, value: float) -> float:
    """A precision or a variance, if arithmetic with it stays within the finite numbers."""
    number = positive(name, value)
    if not SMALLEST <= number <= LARGEST:
        message = f"{name} must be between {SMALLEST:g} and {LARGEST:g}; got {shown(value)}"
        raise ParameterError(message)
    return number


def check_done(done: bool) -> None:
    """Raise when a fold has met numbers that are not finite, and undone what it had."""
    if not done:
        message = "arithmetic would leave the finite numbers; nothing was learned"
        raise NumericalError(message)
