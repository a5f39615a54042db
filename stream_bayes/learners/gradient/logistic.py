"""Logistic regression by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence

from stream_bayes.features import Batch
from stream_bayes.features.values import Features
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.gradient.steps import fold_logistic, learn_logistic, predict_logistic
from stream_bayes.learners.base.binary_classifier import BinaryClassifier
from stream_bayes.learners.base.input_checks import check_size
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.gradient.base import LARGEST_VALUE, OneOutput
from stream_bayes.persistence.snapshot import Arrays


class LogisticRegression(OneOutput, BinaryClassifier):
    """Two labels, the log-odds linear in the features, the weights moved by each event along its gradient.

    Parameters
    ----------
    step, rate
        The rule of the steps ("constant", "inverse-root" or "adagrad") and their size; see `GradientLearner`.
    l1, l2
        Penalties on the weights, which l1 sets to exactly zero, and on half their squares.
    intercept
        Whether there is a constant term; it is never penalised.
    classes
        The two labels; the log-odds are those of the second. By default the first two that are learned, in that order,
        but True, or 1, is always the second. False and True are known together, and so are 0 and 1.
    buckets
        Hash names into this many columns (a power of two) instead of keeping them.

    Notes
    -----
    The loss of an event is w log(1 + exp(-s v'x)), s = 1 for the second label and -1 for the first, plus l1 |v| +
    l2 / 2 |v|^2. The weights are v = sign(z) max(|z| - u, 0), where each event makes z <- (z - h w (p - y) x) /
    (1 + h l2) and u <- (u + h l1) / (1 + h l2), h the size of the step: without l1 a gradient step and a proximal one,
    with it regularised dual averaging, whose zeros are zeros. A weight pays for every event from the first of its
    feature on; one whose feature is absent pays when it is next looked at, exactly what it would have paid, so an event
    costs O(features present). A feature that l1 has long held at zero needs as much evidence again; l2 bounds that
    memory (u stays below l1 / l2). Where steps are small, the mean loss of the events comes near its least:
    scikit-learn's C is 1 / (n l2), or 1 / (n l1), for n events.

    What is kept is a point and no posterior: predictions state no ignorance, all variance is noise. It is not additive:
    a correction is a step on the new label.

    Examples
    --------
    >>> model = LogisticRegression(step="constant", rate=0.5, classes=("ham", "spam"))
    >>> model.learn_one({"free": 2}, "spam")
    >>> model.weights(), model.intercept_value
    ({'free': 0.5}, 0.25)
    >>> model.predict_proba_one({"free": 1})
    {'ham': 0.321, 'spam': 0.679}
    """

    def __init__(
        self,
        step: str = "adagrad",
        rate: float = 0.1,
        l1: float = 0.0,
        l2: float = 0.0,
        intercept: bool = True,
        buckets: int | None = None,
        classes: tuple[Label, Label] | None = None,
    ) -> None:
        super().__init__(classes, buckets)
        self._set_rule(step, rate, l1, l2, intercept=intercept)

    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        fold_logistic(rows, score, self._rule, self._model, joint)

    def _score_one(self, x: Features) -> Sequence[float]:
        columns, values = self._pairs(x)
        both = predict_logistic(columns, values, *self._model, self._setting)
        if both[0] < 0.0:
            check_size(values, LARGEST_VALUE)
        return both

    def _learn_known(self, x: Features, label: int, weight: float) -> bool:
        columns, values = self._pairs(x)
        return learn_logistic(columns, values, label, weight, *self._model, self._setting)

    def _arrays(self) -> Arrays:
        return {**super()._arrays(), **self._labels.arrays()}

    def _restore(self, arrays: Arrays) -> None:
        self._labels.restore(arrays)
        super()._restore(arrays)
