"""Bayesian linear regression: the exact posterior of the weights, one event at a time."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self, cast

import numpy as np

from stream_bayes.errors import EvidenceError, MergeError, NumericalError, ParameterError, UnlearnError
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, Features, IntArray
from stream_bayes.kernels.common.csr import TargetRows
from stream_bayes.kernels.linear.full import COUNT, LOG_EVIDENCE
from stream_bayes.kernels.linear.noise import RegressionScore, RegressionScores
from stream_bayes.learners.base.column_regressor import ColumnRegressor
from stream_bayes.learners.base.input_checks import Events, check_size
from stream_bayes.learners.base.labels import check_weight
from stream_bayes.learners.base.learner import Additive
from stream_bayes.learners.base.number_predictions import (
    NormalPredictions,
    NumberPredictions,
    StudentPredictions,
    student,
)
from stream_bayes.learners.base.regressor import check_target
from stream_bayes.learners.base.weight_names import INTERCEPT
from stream_bayes.learners.base.weight_prior import WeightPrior
from stream_bayes.learners.linear import corrections, information
from stream_bayes.learners.linear.diagonal import DiagonalGaussian
from stream_bayes.learners.linear.full import FirstWeights, FullGaussian, Setting
from stream_bayes.learners.linear.weights import LARGEST, WeightPosterior, check_bounds, check_done
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import Normal, StudentT
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_scale, of_kind, one_of


class BayesianLinearRegression(WeightPosterior, ColumnRegressor, Additive):
    """Bayesian linear regression with an exact posterior, which can be merged and unlearned.

    By default the noise is taken as known, with a variance of 1: intervals cover as they say only if that is true. If
    you do not know it, pass `noise="unknown"`: the variance of the noise is then learned, whatever the unit.

    Parameters
    ----------
    prior_precision
        Prior precision of each weight, the intercept's too: weights ~ N(0, I / prior_precision).
    noise_variance
        Variance of the targets around the line, in their unit squared; where it is unknown, the prior guess of it.
    covariance
        "full": exact, O(d^2) an event for d weights; "diagonal": O(features present) an event and memory for two
        numbers a weight, for hashed text; weights are then taken as independent after each event.
    intercept
        Whether there is a constant; its weight is called "intercept".
    noise
        "known": normal predictive; "unknown": the variance of the noise is learned too, Student's t predictive.
    forgetting
        Below 1, everything known counts this much less at each event, the prior too (down to 1e-8 of it): what the
        stream no longer shows becomes uncertain again. Such evidence is no sum: it cannot be merged, taken back or
        scaled.
    buckets
        Hash names into this many columns (a power of two) instead of keeping them.
    noise_degrees
        How many observations the guess of an unknown noise is worth. A guess ten times too large or too small is soon
        corrected by the data if it is worth few of them.
    prior
        The prior of some weights by name, with any mean and any covariance or precision matrix; `prior_precision` is
        that of the others. "intercept" is the constant, or without one a feature of that name. It takes a full
        covariance, and names that are kept (no `buckets`). With unknown noise the covariance is that for noise of
        `noise_variance`, and grows and shrinks with it.

    Notes
    -----
    With P = prior_precision noise_variance I + X'X and P m = X'y: weights ~ N(m, noise_variance P^-1), predictive
    N(x'm, noise_variance (1 + x'P^-1 x)). With unknown noise, noise_variance becomes the squared scale
    (noise_degrees noise_variance + squares) / (noise_degrees + n) of a t with noise_degrees + n degrees of freedom;
    before the first event each weight is a t with noise_degrees degrees and the squared scale 1 / prior_precision.
    A prior by names, N(m0, P0^-1) of all weights, makes that P = noise_variance P0 + X'X and P m = noise_variance P0 m0
    + X'y; squares are then the least |y - Xw|^2 + noise_variance (w - m0)'P0 (w - m0).
    A weight w counts an event w times. A feature that is absent is 0, so one that appears late was 0 before.

    Full: merge, unlearn_one and forget are exact; merge and forget cost O(d^3). Diagonal: each event is learned exactly
    under the independent weights before it, which are then replaced by the marginals; the order of events matters, and
    a correction is an event of its own.

    Examples
    --------
    >>> model = BayesianLinearRegression(prior_precision=2.0, noise_variance=0.04)
    >>> for x in (-1.0, 0.0, 1.0, 2.0):
    ...     model.learn_one({"x": x}, -0.3 + 0.5 * x)
    >>> model.predictive_one({"x": 1.0})
    Normal(mean=0.201, variance=0.0518, noise_variance=0.04)
    >>> model.weights()["x"], model.probability_positive("x")
    (Normal(mean=0.490, variance=0.00784), 0.9999999)
    """

    _bounds: ClassVar[tuple[float, float] | None] = None

    def __init__(
        self,
        prior_precision: float = 1.0,
        noise_variance: float = 1.0,
        covariance: str = "full",
        intercept: bool = True,
        noise: str = "known",
        forgetting: float = 1.0,
        buckets: int | None = None,
        noise_degrees: float = 4.0,
        prior: WeightPrior | None = None,
    ) -> None:
        super().__init__(buckets)
        self.noise_variance = check_bounds("noise_variance", noise_variance)
        self.noise = one_of(noise, "noise", ("known", "unknown"))
        self.noise_degrees = check_bounds("noise_degrees", noise_degrees)
        self.prior = prior if prior is None else of_kind(prior, "prior", WeightPrior)
        if prior is not None and (buckets is not None or covariance != "full"):
            message = "a prior by names takes names that are kept, buckets=None, and covariance='full'"
            raise ParameterError(message)
        self._begin(prior_precision, covariance, intercept, forgetting)
        self._vocabulary.register(self._prior_features())

    def _prior_features(self) -> list[FeatureName]:
        """The features that the prior names, in the order of their columns."""
        names = () if self.prior is None else self.prior.names
        return [name for name in names if not (self.intercept and name == INTERCEPT)]

    def _fresh(self) -> FullGaussian | DiagonalGaussian:
        if self.prior is None:
            return super()._fresh()
        return FullGaussian(self._setting(), self._first_weights(self.prior))

    def _first_weights(self, prior: WeightPrior) -> FirstWeights:
        """The prior of the constant and of the named features, which are the first weights."""
        names = [INTERCEPT] * self.intercept + self._prior_features()
        given = {name: place for place, name in enumerate(prior.names)}
        mean = np.array([prior.mean[given[name]] if name in given else 0.0 for name in names])
        precision = self.prior_precision * np.eye(len(names))
        known = [place for place, name in enumerate(names) if name in given]
        order = [given[names[place]] for place in known]
        precision[np.ix_(known, known)] = prior.precision_matrix()[np.ix_(order, order)]
        scales = self.noise_variance * np.linalg.eigvalsh(precision)
        check_bounds("precision of the prior in the units of the noise", float(scales.min()))
        check_bounds("precision of the prior in the units of the noise", float(scales.max()))
        check_scale("mean of the prior", *mean.tolist(), smallest=0.0, largest=LARGEST)
        factor = cast(FloatArray, np.ascontiguousarray(np.linalg.cholesky(self.noise_variance * precision).T))
        return FirstWeights(factor, factor @ mean)

    def _restore(self, arrays: Arrays) -> None:
        super()._restore(arrays)
        first = self._prior_features()
        if isinstance(self._vocabulary, Vocabulary) and self._vocabulary.names[: len(first)] != first:
            message = "the first features are not those that the prior names"
            raise ValueError(message)

    def _setting(self) -> Setting:
        degrees = math.inf if self.noise == "known" else self.noise_degrees
        prior = self.prior_precision * self.noise_variance
        return Setting(prior, int(self.intercept), self.forgetting, self.noise_variance, degrees)

    @property
    def is_additive(self) -> bool:
        """Whether the evidence is a sum over events: with a full covariance and without forgetting."""
        return self.forgetting == 1.0 and self.covariance == "full"

    def _mean_one(self, x: Features) -> float:
        return self._score(x)[0]

    def predictive_one(self, x: Features) -> Normal | StudentT:
        """The distribution of the target: normal with known noise, Student's t with unknown."""
        columns, values = self._pairs(x)  # `_score` written out: the call would be a thirtieth of the time
        mean, ignorance, noise, degrees = self._posterior.score(columns, values)
        if ignorance < 0.0:
            check_size(values)
        if degrees == math.inf:
            return Normal(mean, noise + ignorance, noise)
        return student(mean, ignorance, noise, degrees)

    def _learn_pairs(self, columns: IntArray, values: FloatArray, target: float, weight: float) -> bool:
        # The solution of what was just predicted would not help: the pass that rotates the event in finds it on the
        # way, and reads the factor no less often with it.
        posterior = self._posterior
        plain = self.forgetting == 1.0 and (self.buckets is None or posterior.width)
        return bool(plain) and isinstance(posterior, FullGaussian) and posterior.learn(columns, values, target, weight)

    def unlearn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Take one event back, as if it had never come; refused when it cannot have been learned."""
        (columns, values) = self._pairs(x)
        target = check_target(y)
        weight = check_weight(w)
        check_size(values)
        self._check_additive(UnlearnError)
        if weight and isinstance(self._posterior, FullGaussian):
            if len(columns) and columns.min() < 0:
                message = "the event has a feature that was never learned"
                raise UnlearnError(message)
            columns = columns + int(self.intercept)
            if self.intercept:
                columns = np.append(0, columns)
                values = np.append(1.0, values)
            corrections.take_back(self._posterior, columns, values, target, weight)

    def entropy(self) -> float:
        """The differential entropy in nats of all weights met so far, and of the noise where it is unknown."""
        scale, degrees = self._noise()
        return information.entropy(self._posterior.width, self._posterior.log_determinant(), scale, degrees)

    def information_gain(self, x: Features) -> float:
        """The mutual information of this event's target with the weights, and with an unknown noise, in nats.

        With a full covariance and no forgetting, for an event without new features, `entropy()` is expected to fall by
        it; with known noise it falls by exactly 1/2 ln(1 + x'S x / noise_variance), whatever the target.
        """
        score = RegressionScore(*self._score(x))
        return information.gain(score.ignorance / score.noise, score.degrees)

    def rank_by_information(self, events: Batch | Events, k: int) -> IntArray:
        """The rows of k events to ask the targets of, best first: each has the largest variance given those before it.

        Exact for a whole batch before any target is known, since the covariance does not depend on them. O(n d) a
        choice for n events, after O(n d^2) for the first. Of equals the first row is taken.
        """
        batch = self._as_batch(events)
        cells = self._cells(batch, self._find(batch))
        return information.rank(self._posterior, batch, cells, k)

    def log_evidence(self) -> float:
        """The logarithm of p(targets | events): the sum of the log predictive densities of all events learned.

        With a full covariance and no forgetting it is the exact log marginal likelihood of what is now known.
        """
        if isinstance(self._posterior, FullGaussian) and self.forgetting == 1.0:
            return information.log_evidence(self._posterior)
        return float(self._posterior.numbers[LOG_EVIDENCE])

    def _score(self, x: Features) -> tuple[float, float, float, float]:
        """The fields of a `RegressionScore`, as the kernel returns them: making one would take 0.4 us of 1.1."""
        columns, values = self._pairs(x)
        scored = self._posterior.score(columns, values)
        if scored[1] < 0.0:
            check_size(values)
        return scored

    def _fold(self, rows: TargetRows, *, score: bool) -> NumberPredictions:
        scores = RegressionScores(*np.empty((4, len(rows.targets) if score else 0)))
        check_done(self._posterior.fold(rows, scores, score=score))
        if self.noise == "known":
            return NormalPredictions(scores.mean, scores.ignorance, scores.noise)
        return StudentPredictions(scores.mean, scores.ignorance, scores.noise, scores.degrees)

    def _evidence_weight(self) -> float:
        return float(self._posterior.numbers[COUNT])

    def _absorb(self, other: Self) -> None:
        self._check_additive(MergeError)
        mine = self._posterior
        theirs = other._posterior
        if isinstance(mine, FullGaussian) and isinstance(theirs, FullGaussian):
            before = mine.copy()
            try:
                with self._all_or_nothing():
                    columns = self._adopt_names(other) + int(self.intercept)
                    columns = np.append(0, columns) if self.intercept else columns
                    mine.fill(int(columns[: theirs.width].max(initial=-1)) + 1)
                    corrections.merge(mine, theirs, columns[: theirs.width])
            except NumericalError:
                mine.take(before)
                raise

    def _scale(self, factor: float) -> None:
        self._check_additive(EvidenceError)
        if isinstance(self._posterior, FullGaussian) and factor < 1.0:
            corrections.scale(self._posterior, factor)

    def _check_additive(self, error: type[EvidenceError]) -> None:
        if not self.is_additive:
            why = "per-event forgetting" if self.forgetting < 1.0 else "a diagonal covariance"
            message = f"with {why} evidence is no sum over events: it cannot be merged, taken back or scaled"
            raise error(message)
