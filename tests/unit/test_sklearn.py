"""The adapters for scikit-learn pass its checks, and work in its pipelines and in scikit-activeml."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import base
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from stream_bayes import (
    BayesianLinearRegression,
    BernoulliNB,
    GaussianDiscriminant,
    GaussianNB,
    LogisticRegression,
    NormalInverseGamma,
    SoftmaxRegression,
)
from stream_bayes.errors import ParameterError
from stream_bayes.sklearn import ClassifierAdapter, RegressorAdapter
from stream_bayes.testing import frozen
from tests.support.learners import LEARNERS, by_setting

ORDER_MATTERS = {
    "check_sample_weight_equivalence_on_dense_data": "it shuffles the events, and the order of events matters"
}
# A filter takes messages, and the labels of a member that declares them cannot be those of the checks.
OF_ARRAYS = [name for name in LEARNERS if not name.startswith("SpamFilter") and name != "LogOddsFusion averaging"]
# What scikit-learn skips unless SCIPY_ARRAY_API is set.
SKIPPED = {"check_array_api_input"}


def adapter_of(learner: Any) -> Any:
    return (RegressorAdapter if isinstance(learner, base.Regressor) else ClassifierAdapter)(learner)


def blobs(seed: int = 1, classes: int = 3) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, size=240)
    return generator.normal(size=(240, 3)) + 2.0 * labels[:, None] * (1.0, -1.0, 0.0), labels


@pytest.mark.slow
@pytest.mark.parametrize("name", by_setting(OF_ARRAYS))
def test_passes_the_checks_of_scikit_learn(name: str) -> None:
    """All of them where evidence is a sum; else all but one, which repeats events in another order."""
    learner = LEARNERS[name]
    expected = {} if learner.is_additive else ORDER_MATTERS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(adapter_of(learner), expected_failed_checks=expected, on_fail="raise", on_skip=None)
    assert {result["check_name"] for result in results if result["status"] == "skipped"} <= SKIPPED
    assert len(results) > 50


def test_gaussian_naive_bayes_is_that_of_scikit_learn() -> None:
    """Plug-in moments under class frequencies: the same probabilities, up to its variance smoothing."""
    x, labels = blobs()
    ours = ClassifierAdapter(GaussianNB(predictive="plug-in", class_prior_count=0.0)).fit(x, labels)
    theirs = TheirGaussianNB(var_smoothing=0.0).fit(x, labels)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), rtol=1e-8, atol=1e-12)


def test_regression_is_ridge_with_its_standard_deviation() -> None:
    """The posterior mean is ridge with strength precision x noise; the variance is noise (1 + x'P^-1 x)."""
    x, _ = blobs()
    targets = x @ (1.0, -2.0, 0.5) + np.random.default_rng(2).normal(size=len(x))
    model = RegressorAdapter(BayesianLinearRegression(0.3, 2.5, intercept=False)).fit(x, targets)
    mean, std = model.predict(x, return_std=True)
    np.testing.assert_allclose(mean, Ridge(alpha=0.75, fit_intercept=False).fit(x, targets).predict(x), rtol=1e-8)
    covariance = np.linalg.inv(0.75 * np.eye(3) + x.T @ x)
    np.testing.assert_allclose(std**2, 2.5 * (1.0 + np.einsum("ij,jk,ik->i", x, covariance, x)), rtol=1e-8)
    assert model.predict(x).tolist() == mean.tolist()


def test_partial_fit_learns_as_the_learner_does() -> None:
    x, labels = blobs()
    names = np.array(["one", "two", "three"])[labels]
    model = ClassifierAdapter(GaussianDiscriminant())
    learner = GaussianDiscriminant()
    for begin in range(0, 240, 80):
        part = slice(begin, begin + 80)
        model.partial_fit(x[part], names[part])
        learner.learn_many(x[part], names[part])
    assert frozen(model.learner_) == frozen(learner)
    assert model.classes_.tolist() == ["one", "three", "two"]
    assert model.predict(x).tolist() == learner.predict_many(x).tolist()


@pytest.mark.parametrize("kind", [GaussianNB, SoftmaxRegression, LogisticRegression])
def test_labels_may_come_later(kind: Any) -> None:
    """Without `classes` the columns of the probabilities grow, in the order of `classes_`."""
    x, labels = blobs(classes=2)
    names = np.array(["up", "down"])[labels]
    first = np.flatnonzero(names == "up")[:5]
    model = ClassifierAdapter(kind()).partial_fit(x[first], names[first])
    assert model.predict_proba(x[:2]).tolist() == [[1.0], [1.0]]
    model.partial_fit(x, names)
    assert model.classes_.tolist() == ["down", "up"]
    assert model.score(x, names) > 0.85
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(1.0)


def test_declared_classes_have_the_probability_of_the_prior() -> None:
    model = ClassifierAdapter(GaussianNB(class_prior_count=1.0))
    model.partial_fit([[1.0]], ["b"], classes=["a", "b", "c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict_proba([[1.0]]) > 0.0).all()


def test_a_frame_keeps_its_names() -> None:
    x, labels = blobs()
    frame = pd.DataFrame(x, columns=["height", "weight", "age"])
    model = ClassifierAdapter(GaussianNB()).fit(frame, labels)
    assert model.feature_names_in_.tolist() == ["height", "weight", "age"]
    assert model.learner_.posterior("age", 2).shape > 1.0
    assert model.predict(frame).tolist() == ClassifierAdapter().fit(x, labels).predict(x).tolist()


def test_missing_values_are_left_out() -> None:
    x, labels = blobs()
    x[::7, 0] = np.nan
    model = ClassifierAdapter(GaussianNB()).fit(x, labels)
    assert model.score(x, labels) > 0.8
    with pytest.raises(ValueError, match="infinity"):
        model.predict([[np.inf, 0.0, 0.0]])


def test_in_a_pipeline_and_a_grid_search() -> None:
    """Parameters of the learner are reached through two names: the step's, then `learner`."""
    x, labels = blobs(classes=2)
    model = make_pipeline(StandardScaler(), ClassifierAdapter(LogisticRegression(l1=10.0)))
    search = GridSearchCV(model, {"classifieradapter__learner__l1": [10.0, 0.0]}).fit(x, labels)
    assert search.best_params_ == {"classifieradapter__learner__l1": 0.0}
    assert search.best_estimator_[-1].learner.l1 == 0.0
    assert cross_val_score(search.best_estimator_, x, labels).mean() > 0.9
    with pytest.raises(ValueError, match="no parameter 'speed'"):
        model.set_params(classifieradapter__learner__speed=1.0)


def test_a_pickle_goes_on_exactly() -> None:
    x, labels = blobs()
    model = ClassifierAdapter(GaussianNB(prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0))).fit(x[:100], labels[:100])
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        one.partial_fit(x[100:], labels[100:])
    assert frozen(copy.learner_) == frozen(model.learner_)


def test_predictions_state_their_variance() -> None:
    x, labels = blobs()
    predictions = ClassifierAdapter().fit(x, labels).predictive(x)
    assert predictions[0].epistemic_variance == pytest.approx(predictions.epistemic_variance[0], rel=1e-9)
    assert predictions[0].epistemic_variance > 0.0


@pytest.mark.parametrize(
    ("adapter", "learner"),
    [(ClassifierAdapter, BayesianLinearRegression()), (RegressorAdapter, GaussianNB()), (ClassifierAdapter, "nb")],
)
def test_a_learner_of_the_wrong_kind_is_refused(adapter: Any, learner: Any) -> None:
    with pytest.raises(ParameterError, match="learner must be a"):
        adapter(learner).fit([[1.0], [2.0]], [0, 1])


def test_counts_below_zero_and_a_third_label_are_refused() -> None:
    with pytest.raises(ValueError, match="Negative values"):
        ClassifierAdapter(BernoulliNB()).fit([[-1.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="Only binary"):
        ClassifierAdapter(LogisticRegression()).fit([[1.0], [2.0], [3.0]], [0, 1, 2])


@pytest.mark.slow
def test_active_learning_with_scikit_activeml() -> None:
    """Uncertainty sampling from a pool: 30 answers of 240 are enough for labels that are far apart."""
    classifier = pytest.importorskip("skactiveml.classifier")
    pool = pytest.importorskip("skactiveml.pool")
    x, labels = blobs()
    known = np.where(np.arange(len(labels)) < 5, labels, np.nan)
    model = classifier.SklearnClassifier(ClassifierAdapter(GaussianNB()), classes=[0, 1, 2], random_state=1)
    strategy = pool.UncertaintySampling(method="margin_sampling", random_state=1)
    for _ in range(25):
        chosen = strategy.query(X=x, y=known, clf=model, batch_size=1)
        known[chosen] = labels[chosen]
    model.fit(x, known)
    assert (model.predict(x) == labels).mean() > 0.85
    assert model.predict_proba(x).shape == (240, 3)
    model.partial_fit(x[:3], labels[:3])
