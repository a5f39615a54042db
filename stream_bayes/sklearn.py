"""Adapters for scikit-learn: learners as estimators with `fit`, `partial_fit`, `predict` and `predict_proba`.

They follow scikit-learn's conventions (`sklearn.utils.estimator_checks.check_estimator`), so they work in its
pipelines, in model selection, and in scikit-activeml. They need scikit-learn, which stream_bayes does not install.

Features are named by the columns of a data frame; those of an array are 0, 1, 2, ... NaN stands for a missing value.
Texts are values where the learner takes them. A call that is refused leaves the estimator as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from river.base import tags
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    check_non_negative,
    column_or_1d,
    validate_data,
)

from stream_bayes.errors import ParameterError, shown
from stream_bayes.features.values import plain
from stream_bayes.learners import BayesianLinearRegression, BetaBernoulli, CategoricalNB, GaussianNB
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.labels import Label, check_label
from stream_bayes.learners.base.learner import Learner, LearnerState
from stream_bayes.learners.base.regressor import Regressor
from stream_bayes.typing import FloatArray

_NESTED = "learner__"


class LearnerEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of the adapters: the learner as a prototype, and its parameters as `learner__...`."""

    learner: Learner | None
    learner_: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep` those of the learner too, as `learner__rate`."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep and isinstance(self.learner, Learner):
            params |= {_NESTED + name: value for name, value in self.learner._get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; one of the learner makes a new learner with it. All or nothing."""
        own = {name: value for name, value in params.items() if not name.startswith(_NESTED)}
        nested = {name.removeprefix(_NESTED): value for name, value in params.items() if name not in own}
        with self._all_or_nothing():
            super().set_params(**own)
            if nested:
                self.learner = self._changed_prototype(nested)
        return self

    def _changed_prototype(self, parameters: dict[str, Any]) -> Learner:
        """A prototype with other parameters."""
        prototype = self._prototype()
        unknown = parameters.keys() - prototype._get_params().keys()
        if unknown:
            message = f"a {type(prototype).__name__} has no parameter {min(unknown)!r}"
            raise ValueError(message)
        return prototype.clone(parameters)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Context that restores all attributes when a call is refused: the learner, the labels, the columns.

        Learners need no copy: what they refuse changes nothing in them.
        """
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def __sklearn_tags__(self) -> Tags:
        found = super().__sklearn_tags__()
        prototype = self._prototype()
        found.input_tags.allow_nan = True
        found.input_tags.positive_only = tags.POSITIVE_INPUT in prototype._tags
        found.input_tags.categorical = isinstance(prototype, CategoricalNB)
        # Others take a text as the indicator of itself. The tag would promise more: that any object is a value.
        found.input_tags.string = isinstance(prototype, (BetaBernoulli, CategoricalNB))
        return found

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "learner_": state["learner_"].state()} if "learner_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned: LearnerState | None = state.get("learner_")
        if learned is not None:
            # joblib may map arrays from a file that cannot be written.
            arrays = {name: np.array(array) for name, array in learned.arrays.items()}
            state = {**state, "learner_": Learner.from_state(learned._replace(arrays=arrays), copy=False)}
        super().__setstate__(state)

    def _prototype(self) -> Learner:
        """The learner given, or the default."""
        raise NotImplementedError

    def _events(self, X: Any, **checks: Any) -> Any:
        """The events as the learner takes them: a data frame as it is, so that it keeps its names."""
        checked = validate_data(self, X, ensure_all_finite="allow-nan", dtype=None, **checks)
        return self._named(X, checked)

    def _named(self, X: Any, checked: NDArray[Any]) -> Any:
        """The data frame itself where it names its columns, else the array that was made of it and checked."""
        if self.__sklearn_tags__().input_tags.positive_only and checked.dtype != object:
            check_non_negative(checked, type(self._prototype()).__name__)
        if hasattr(self, "feature_names_in_") and hasattr(X, "columns"):
            return X
        if checked.dtype == object:
            _check_cells(checked)
        return checked

    def _weights(self, sample_weight: Any, X: Any) -> FloatArray | None:
        if sample_weight is None:
            return None
        weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return weights


class ClassifierAdapter(ClassifierMixin, LearnerEstimator):  # type: ignore[misc]
    """A scikit-learn classifier that learns with a classifier of stream_bayes.

    Parameters
    ----------
    learner
        The classifier as a prototype: each `fit` learns with a new copy of it, `learner_`. By default `GaussianNB()`.

    Notes
    -----
    `partial_fit` needs no `classes`: labels join when they are first learned. `fit` and `classes=` declare them to the
    learner, so that a label without an event has the probability of the prior.

    Examples
    --------
    >>> model = ClassifierAdapter(GaussianNB(class_prior_count=2.0))
    >>> model.fit([[1.0], [1.2], [3.1]], ["a", "a", "b"]).predict([[1.1], [2.9]])
    array(['a', 'b'], dtype='<U1')
    >>> model.partial_fit([[6.0], [6.3]], ["c", "c"]).predict_proba([[6.1]]).round(2)
    array([[0.  , 0.05, 0.94]])
    """

    def __init__(self, learner: Classifier | None = None) -> None:
        self.learner = learner

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows with a new copy of the learner."""
        with self._all_or_nothing():
            events, labels = self._checked(X, y, reset=True)
            self.classes_ = np.unique(labels)
            self.learner_ = self._new_learner(self.classes_)
            self.learner_.learn_many(events, labels, self._weights(sample_weight, events))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; the first call begins with a new copy of the learner."""
        begun = hasattr(self, "learner_")
        with self._all_or_nothing():
            events, labels = self._checked(X, y, reset=not begun)
            declared = np.empty(0, labels.dtype) if classes is None else np.unique(classes)
            self.classes_ = np.unique(np.concatenate((self.classes_ if begun else declared, labels, declared)))
            self._check_classes(self.classes_)
            if not begun:
                self.learner_ = self._prototype().clone() if classes is None else self._new_learner(self.classes_)
            self.learner_.learn_many(events, labels, self._weights(sample_weight, events))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each label, in the order of `classes_`."""
        predictions = self.predictive(X)
        columns = {label: column for column, label in enumerate(predictions.labels)}
        table = np.zeros((len(predictions), len(self.classes_)))
        for place, label in enumerate(self.classes_.tolist()):
            column = columns.get(check_label(label), -1)
            if column >= 0:
                table[:, place] = np.nan_to_num(predictions.probabilities[:, column])
        # Of labels that this estimator was not told about, such as those of a learner with `classes`, nothing is said.
        total = table.sum(axis=1, keepdims=True)
        equal = np.full_like(table, 1.0 / len(self.classes_))
        shares: FloatArray = np.divide(table, total, out=equal, where=total > 0.0)
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each row."""
        places = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
        return labels

    def predictive(self, X: Any) -> LabelPredictions:
        """The predictions of the learner, with their variance split into noise and ignorance."""
        check_is_fitted(self)
        predictions: LabelPredictions = self.learner_.predictive_many(self._events(X, reset=False))
        return predictions

    def __sklearn_tags__(self) -> Tags:
        found = super().__sklearn_tags__()
        found.classifier_tags.multi_class = self._prototype()._multiclass
        # Measurements are neither counts nor categories nor keys.
        of_measurements = not isinstance(self._prototype(), BetaBernoulli) and not found.input_tags.categorical
        found.classifier_tags.poor_score = found.input_tags.positive_only or not of_measurements
        return found

    def _prototype(self) -> Classifier:
        if self.learner is None:
            return GaussianNB()
        if isinstance(self.learner, Classifier):
            return self.learner
        message = f"learner must be a classifier of stream_bayes; got {shown(self.learner)}"
        raise ParameterError(message)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        if y is None:
            message = f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            raise ValueError(message)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self._check_classes(np.unique(labels))
        events = self._events(X, reset=reset)
        check_consistent_length(events, labels)
        return events, labels

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) > 2 and not self._prototype()._multiclass:
            message = "Only binary classification is supported. The type of the target is multiclass."
            raise ValueError(message)

    def _new_learner(self, classes: NDArray[Any]) -> Classifier:
        """A copy that knows the labels: first those that its own `classes` declares, then the others."""
        prototype = self._prototype()
        kind = type(prototype).__name__
        declared = _declared_classes(prototype)
        labels: tuple[Label, ...] = tuple(check_label(plain(label)) for label in classes.tolist())
        known = tuple(dict.fromkeys((*declared, *labels)))
        if len(known) < 2 and not prototype._multiclass:
            message = f"a {kind} needs two classes, and there is one class: {classes[0]!r}"
            raise ValueError(message)
        if len(known) > 2 and not prototype._multiclass:
            message = f"a {kind} with classes={declared!r} takes no other classes: {shown(list(labels))}"
            raise ValueError(message)
        return prototype.clone({"classes": known})


class RegressorAdapter(RegressorMixin, LearnerEstimator):  # type: ignore[misc]
    """A scikit-learn regressor that learns with a regressor of stream_bayes.

    Parameters
    ----------
    learner
        The regressor as a prototype: each `fit` learns with a new copy of it, `learner_`. By default
        `BayesianLinearRegression(noise="unknown")`.

    Examples
    --------
    >>> model = RegressorAdapter(BayesianLinearRegression(prior_precision=0.1, noise_variance=0.04))
    >>> mean, std = model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.1]).predict([[3.0]], return_std=True)
    >>> mean.round(2), std.round(2)
    (array([7.13]), array([0.36]))
    """

    def __init__(self, learner: Regressor | None = None) -> None:
        self.learner = learner

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows with a new copy of the learner."""
        with self._all_or_nothing():
            events, targets = self._checked(X, y, reset=True)
            self.learner_ = self._prototype().clone()
            self.learner_.learn_many(events, targets, self._weights(sample_weight, events))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows; the first call begins with a new copy of the learner."""
        if not hasattr(self, "learner_"):
            return self.fit(X, y, sample_weight)
        events, targets = self._checked(X, y, reset=False)
        self.learner_.learn_many(events, targets, self._weights(sample_weight, events))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of each row's target; with `return_std` also the standard deviation of its predictive."""
        check_is_fitted(self)
        predictions = self.learner_.predictive_many(self._events(X, reset=False))
        return (predictions.mean, np.sqrt(predictions.variance)) if return_std else predictions.mean

    def __sklearn_tags__(self) -> Tags:
        found = super().__sklearn_tags__()
        # Hashed names collide, and ten features are many for a few buckets.
        found.regressor_tags.poor_score = getattr(self._prototype(), "buckets", None) is not None
        found.target_tags.positive_only = getattr(self._prototype(), "_least_target", -1.0) >= 0.0
        return found

    def _prototype(self) -> Regressor:
        if self.learner is None:
            return BayesianLinearRegression(noise="unknown")
        if isinstance(self.learner, Regressor):
            return self.learner
        message = f"learner must be a regressor of stream_bayes; got {shown(self.learner)}"
        raise ParameterError(message)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, FloatArray]:
        events, targets = validate_data(
            self, X, y, ensure_all_finite="allow-nan", dtype=None, y_numeric=True, reset=reset
        )
        return self._named(X, events), np.asarray(targets, dtype=np.float64)


def _declared_classes(prototype: Classifier) -> tuple[Label, ...]:
    """The labels given to a constructor; the default of a learner of two labels gives way to those of the data."""
    classes: tuple[Label, ...] | None = prototype._get_params()["classes"]
    default = signature(type(prototype)).parameters["classes"].default
    return () if classes is None or classes == default else classes


def _check_cells(cells: NDArray[Any]) -> None:
    """Refuse objects that are no values, with the error and the words that scikit-learn's checks ask for."""
    for kind in {type(cell) for cell in cells.flat}:
        if not issubclass(kind, (str, Real, np.bool_, type(None))):
            message = f"the argument must be a string or a number, and a value is of type {kind.__name__}"
            raise TypeError(message)
