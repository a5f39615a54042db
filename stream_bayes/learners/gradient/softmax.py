"""Softmax regression by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName, Features
from stream_bayes.features.vocabulary import pack_json, unpack_json
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.gradient.softmax import fold_softmax, learn_softmax, predict_softmax
from stream_bayes.learners.base.arrays import padded
from stream_bayes.learners.base.column_classifier import ColumnClassifier
from stream_bayes.learners.base.input_checks import check_size
from stream_bayes.learners.base.labels import Label, check_label
from stream_bayes.learners.base.weight_names import by_text
from stream_bayes.learners.gradient.base import LARGEST_VALUE, MAX_EVENTS, GradientLearner
from stream_bayes.persistence.snapshot import Arrays


class SoftmaxRegression(GradientLearner, ColumnClassifier):
    """Any number of labels, the log-probability of each linear in the features up to a constant they share.

    Parameters
    ----------
    step, rate
        The rule of the steps ("constant", "inverse-root" or "adagrad") and their size; see `GradientLearner`.
    l1, l2
        Penalties on the weights, which l1 sets to exactly zero, and on half their squares.
    intercept
        Whether there is a constant term for each label; it is never penalised.
    classes
        Labels known beforehand; others join when they are first learned, with weights of zero.
    buckets
        Hash names into this many columns (a power of two) instead of keeping them.

    Notes
    -----
    p_c = exp(v_c'x) over the sum of all classes'. The loss of an event of label y is -w log p_y plus l1 |v| + l2 / 2
    |v|^2. The weights are v = sign(z) max(|z| - u, 0), where each event makes z_c <- (z_c - h w (p_c - [c = y]) x) /
    (1 + h l2) and u_c <- (u_c + h l1) / (1 + h l2), h the size of the step; penalties are paid late and exactly as in
    `LogisticRegression`. Of two labels, the difference of their weights takes steps of twice the size: with constant
    or inverse-root steps and no l1 it is `LogisticRegression` with twice the rate and half the l2.

    What is kept is a point and no posterior: predictions state no ignorance, all variance is noise. It is not additive:
    a correction is a step on the new label.

    Examples
    --------
    >>> model = SoftmaxRegression(step="constant", rate=0.5, classes=("red", "green", "blue"))
    >>> model.learn_one({"x": 1}, "red")
    >>> model.weights("red"), model.weights("blue")
    ({'x': 0.333}, {'x': -0.167})
    >>> model.predict_proba_one({"x": 1})
    {'red': 0.576, 'green': 0.212, 'blue': 0.212}
    """

    def __init__(
        self,
        step: str = "adagrad",
        rate: float = 0.1,
        l1: float = 0.0,
        l2: float = 0.0,
        intercept: bool = True,
        buckets: int | None = None,
        classes: tuple[Label, ...] | None = None,
    ) -> None:
        super().__init__(classes, buckets)
        self._set_rule(step, rate, l1, l2, intercept=intercept)
        # Events learned of each class: one that was not declared is known from its first event on.
        self._seen = np.zeros(len(self._labels))

    def weights(self, label: Any) -> dict[FeatureName, float]:
        """The weight of each feature for one label; where names are hashed, of each bucket with one not zero."""
        return self._weights(self._code(label))

    def _estimates(self) -> dict[str, float]:
        estimates: dict[str, float] = {}
        for label in self._labels:
            own = by_text(self.weights(label), self.intercept_value(label) if self.intercept else None)
            estimates |= {f"{name} of {label}": weight for name, weight in own.items()}
        return estimates

    def weight(self, feature: FeatureName, label: Any) -> float:
        """The weight of one feature, or of the bucket it is hashed into; 0 for one never learned."""
        return self._weight(feature, self._code(label))

    def intercept_value(self, label: Any) -> float:
        """The constant term of one label."""
        return float(self._model.offsets[self._code(label), 0])

    def _code(self, label: Any) -> int:
        code = self._labels.code(label)
        if code < 0:
            message = f"label {label!r} was neither declared nor learned"
            raise InputError(message)
        return code

    @property
    def _outputs(self) -> int:
        return len(self._labels)

    def _reserve(self) -> None:
        super()._reserve()
        self._seen = padded(self._seen, (len(self._model.offsets),))

    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        # There may be room for labels that were not registered after all.
        seen = self._seen[: len(self._labels)]
        fold_softmax(rows, score, self._rule, self._labels.declared, seen, self._model, joint)

    def _score_one(self, x: Features) -> Sequence[float]:
        columns, values = self._pairs(x)
        seen = self._seen[: len(self._labels)]
        probabilities = np.empty(len(seen))
        declared = self._labels.declared
        if not predict_softmax(columns, values, declared, seen, *self._model, self._setting, probabilities):
            check_size(values, LARGEST_VALUE)
        return probabilities.tolist()

    def _learn_known(self, x: Features, label: int, weight: float) -> bool:
        columns, values = self._pairs(x)
        seen = self._seen[: len(self._labels)]
        declared = self._labels.declared
        return learn_softmax(columns, values, label, weight, declared, seen, *self._model, self._setting)

    def _arrays(self) -> Arrays:
        return {
            **super()._arrays(),
            "labels": pack_json(list(self._labels)),
            "seen": self._seen[: self._outputs].copy(),
        }

    def _restore(self, arrays: Arrays) -> None:
        self._labels.register(map(check_label, unpack_json(arrays["labels"])))
        super()._restore(arrays)
        seen = arrays["seen"]
        right = seen.dtype == np.float64 and seen.shape == (len(self._labels),)
        if not right or not ((seen >= 0.0) & (seen <= MAX_EVENTS)).all():
            message = "array 'seen' must be float64 and hold the events of each label"
            raise ValueError(message)
        self._seen = seen
