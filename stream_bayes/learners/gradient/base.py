"""Base of the gradient learners: growable cells of weights, and the rule of their steps."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from stream_bayes.errors import ParameterError, shown
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName
from stream_bayes.kernels.gradient.steps import GradientState, Rule, all_weights, width_of
from stream_bayes.learners.base.arrays import padded, with_room
from stream_bayes.learners.base.columns import ColumnLearner
from stream_bayes.learners.base.input_checks import check_size
from stream_bayes.learners.base.weight_names import by_text
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_scale, non_negative, one_of, positive, truth

STEPS = ("constant", "inverse-root", "adagrad")

# No step overflows: with these limits and weights of events up to 1e12, gradients stay below 1e102, the sums of their
# squares below 1e223, weights below 1e127 and linear predictors below 1e200, after any 1e19 events.
LARGEST_RATE = 1e6
LARGEST_VALUE = 1e60
LARGEST_COUNT = 1e30
# What a snapshot may hold: far more than any stream can make, and linear predictors are finite still.
LARGEST_WEIGHT = 1e150
LARGEST_SQUARES = 1e250
MAX_EVENTS = 2.0**63


class GradientLearner(ColumnLearner):
    """Base of the learners by stochastic gradient descent: a point estimate of the weights, moved by each event.

    The weights are kept in cells, see `kernels.gradient.steps`. There is no posterior: predictions have an epistemic
    variance of 0, and selection strategies get NaN. All learners have these parameters.

    Parameters
    ----------
    step
        "constant": every step has size `rate`; "inverse-root": the step of event t has size rate / sqrt(t);
        "adagrad": each weight has its own, rate / sqrt(0.01 + the sum of its squared gradients).
    rate
        The size of a step. The default suits a few features of about unit scale. A step moves the weights of all
        features that are present, so it is too large for hundreds of them, such as counts of words: 0.02 to 0.03 was
        best for messages of 300 words.
    l1
        Penalty on the absolute values of the weights: weights that gain less than it become exactly zero.
    l2
        Penalty on half the squares of the weights.
    intercept
        Whether there is a constant term. It is never penalised.
    buckets
        Hash names into this number of columns (a power of two) instead of keeping them.
    """

    _bounds: ClassVar[tuple[float, float] | None] = None
    step: str
    rate: float
    l1: float
    l2: float
    intercept: bool

    def _set_rule(self, step: str, rate: float, l1: float, l2: float, *, intercept: bool) -> None:
        self.step = one_of(step, "step", STEPS)
        self.rate = positive("rate", rate)
        if not 1.0 / LARGEST_RATE <= self.rate <= LARGEST_RATE:
            message = f"rate must lie between {1.0 / LARGEST_RATE:g} and {LARGEST_RATE:g}; got {shown(rate)}"
            raise ParameterError(message)
        self.l1 = non_negative("l1", l1)
        self.l2 = non_negative("l2", l2)
        check_scale("l1", self.l1)
        check_scale("l2", self.l2)
        self.intercept = truth("intercept", intercept, ParameterError)
        self._rule = Rule(STEPS.index(step), self.rate, self.l1, self.l2, self.intercept)
        self._setting = np.array((*self._rule, LARGEST_VALUE))
        self._width = width_of(self._rule)
        try:
            self._model = GradientState(np.zeros(self._shape()), np.zeros((self._outputs, 2)), np.zeros(2))
        except MemoryError as problem:
            message = f"no memory for buckets={self.buckets} in a {type(self).__name__}: take fewer"
            raise ParameterError(message) from problem

    @property
    def _outputs(self) -> int:
        """How many linear predictors there are."""
        return 1

    def _shape(self) -> tuple[int, int]:
        return len(self._vocabulary), self._outputs * self._width

    def _evidence_summary(self) -> dict[str, Any]:
        return {"events": float(self._model.clock[0]), **super()._evidence_summary()}

    def _reserve(self) -> None:
        cells, offsets, clock = self._model
        rows = len(self._vocabulary)
        outputs = len(offsets)
        if rows > len(cells) or self._outputs > outputs:
            # Twice as many as there were, so that a stream of new labels copies each cell a few times only.
            outputs = outputs if self._outputs <= outputs else max(self._outputs, 2 * outputs)
            larger = with_room(cells, (rows, outputs * self._width))
            self._model = GradientState(larger, padded(offsets, (outputs, 2)), clock)

    def _weights(self, output: int) -> dict[FeatureName, float]:
        """The weights of one output by name; where names are hashed, by bucket, those that are not zero."""
        weights = np.empty(len(self._vocabulary))
        all_weights(self._rule, self._model.cells, self._model.clock, output, weights)
        if isinstance(self._vocabulary, Vocabulary):
            return dict(zip(self._vocabulary.names, weights.tolist(), strict=True))
        used = np.flatnonzero(weights).tolist()
        return {bucket: float(weights[bucket]) for bucket in used}

    def _weight(self, feature: FeatureName, output: int) -> float:
        """The weight of one feature, or of its bucket; 0 for one never learned."""
        column = int(self._vocabulary.lookup([feature])[0])
        if column < 0:
            return 0.0
        weight = np.empty(1)
        all_weights(self._rule, self._model.cells[column : column + 1], self._model.clock, output, weight)
        return float(weight[0])

    def _check_values(self, batch: Batch) -> None:
        check_size(batch.values, LARGEST_VALUE)

    def _arrays(self) -> Arrays:
        rows, width = self._shape()
        cells, offsets, clock = self._model
        learned = {"cells": cells[:rows, :width].copy(), "offsets": offsets[: self._outputs].copy()}
        return {**self._vocabulary.state(), **learned, "clock": clock.copy()}

    def _restore(self, arrays: Arrays) -> None:
        self._restore_names(arrays)
        cells, offsets, clock = (arrays[name] for name in GradientState._fields)
        for name, shape in (("cells", self._shape()), ("offsets", (self._outputs, 2)), ("clock", (2,))):
            if arrays[name].dtype != np.float64 or arrays[name].shape != shape:
                message = f"array {name!r} must be float64 of shape {shape}"
                raise ValueError(message)
        marks = clock[0 if self.step == "adagrad" else 1]
        sound = (
            _between(clock, 0.0, MAX_EVENTS)
            and _between(offsets[:, 0], -LARGEST_WEIGHT, LARGEST_WEIGHT)
            and _between(offsets[:, 1], 0.0, LARGEST_SQUARES)
            and _between(cells[:, 0 :: self._width], -LARGEST_WEIGHT, LARGEST_WEIGHT)
            and _between(cells[:, 1 :: self._width], 0.0, LARGEST_SQUARES)
            and (self._width == 2 or _between(cells[:, 2 :: self._width], 0.0, marks))
            and (self._width == 2 or _between(cells[:, 3 :: self._width], 0.0, LARGEST_WEIGHT))
        )
        if not sound:
            message = "the weights, their squared gradients or their penalties are not those of any stream"
            raise ValueError(message)
        self._model = GradientState(cells, offsets, clock)


class OneOutput(GradientLearner):
    """One linear predictor, so that a feature has one weight."""

    def weights(self) -> dict[FeatureName, float]:
        """The weight of each feature; where names are hashed, of each bucket whose weight is not zero."""
        return self._weights(0)

    def _estimates(self) -> dict[str, float]:
        return by_text(self.weights(), self.intercept_value if self.intercept else None)

    def weight(self, feature: FeatureName) -> float:
        """The weight of one feature, or of the bucket it is hashed into; 0 for one never learned."""
        return self._weight(feature, 0)

    @property
    def intercept_value(self) -> float:
        """The constant term: log-odds of the second label, or logarithm of the rate, when all features are 0."""
        return float(self._model.offsets[0, 0])


def _between(array: FloatArray, least: float, most: Any) -> bool:
    return bool(((array >= least) & (array <= most)).all())
