"""The adapters for scikit-learn pass its checks, and work in its pipelines and in scikit-activeml."""

from __future__ import annotations

import pickle
import warnings
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
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
    BetaBernoulli,
    CategoricalNB,
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
from tests.support.orienteering import FEATURES, ORIENTEERING, orienteering

ORDER_MATTERS = {
    "check_sample_weight_equivalence_on_dense_data": "it shuffles the events, and the order of events matters"
}
DICTS_ARE_NO_VALUES = {
    "check_dtype_object": "where the tag says that texts are values, a dict must be one too; learners refuse it"
}
# A filter takes messages, and the labels of a member that declares them cannot be those of the checks.
OF_ARRAYS = [name for name in LEARNERS if not name.startswith("SpamFilter") and name != "LogOddsFusion averaging"]
# What scikit-learn skips unless SCIPY_ARRAY_API is set.
SKIPPED = {"check_array_api_input"}


def adapter_of(learner: Any) -> Any:
    return (RegressorAdapter if isinstance(learner, base.Regressor) else ClassifierAdapter)(learner)


def undeclared(learner: Any) -> Any:
    """The learner without its own two labels: the checks bring theirs, which it would refuse."""
    if isinstance(learner, base.Regressor) or learner._multiclass:
        return learner
    return learner.clone({"classes": signature(type(learner)).parameters["classes"].default})


def attributes(model: Any) -> dict[str, Any]:
    """The attributes of an estimator, the learner by its state."""
    return {name: frozen(value) if name == "learner_" else repr(value) for name, value in vars(model).items()}


def blobs(seed: int = 1, classes: int = 3) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, size=240)
    return generator.normal(size=(240, 3)) + 2.0 * labels[:, None] * (1.0, -1.0, 0.0), labels


@pytest.mark.slow
@pytest.mark.parametrize("name", by_setting(OF_ARRAYS))
def test_passes_the_checks_of_scikit_learn(name: str) -> None:
    """All of them where evidence is a sum; else all but one, which repeats events in another order.

    Learners of categories say that they take texts, and fail the check that then has a dict for a value.
    """
    learner = undeclared(LEARNERS[name])
    expected = {} if learner.is_additive else dict(ORDER_MATTERS)
    if isinstance(learner, (BetaBernoulli, CategoricalNB)):
        expected |= DICTS_ARE_NO_VALUES
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


@pytest.mark.parametrize(
    ("learner", "labels", "known"),
    [
        (GaussianNB(classes=("c", "b", "a")), ["a", "b"], ["c", "b", "a"]),
        (GaussianNB(classes=("b", "a")), ["a", "b", "d"], ["b", "a", "d"]),
        (LogisticRegression(classes=("yes", "no")), ["no", "yes"], ["yes", "no"]),
        (LogisticRegression(classes=("yes", "no")), ["no", "no"], ["yes", "no"]),
        (BetaBernoulli(), ["no", "yes"], ["no", "yes"]),
        (LogisticRegression(), ["yes", "no"], ["no", "yes"]),
    ],
)
def test_classes_of_the_learner_stay_in_their_order(learner: Any, labels: list[str], known: list[str]) -> None:
    """The log-odds are those of the second: their sign is that of the learner alone. Other labels come after them."""
    x = np.arange(float(len(labels)))[:, None]
    model = ClassifierAdapter(learner).fit(x, labels)
    assert list(model.learner_._labels) == known
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(1.0)
    begun = ClassifierAdapter(learner).partial_fit(x, labels, classes=sorted(set(labels)))
    assert list(begun.learner_._labels) == known
    alone = learner.clone({"classes": tuple(known)})
    alone.learn_many(x, labels)
    assert frozen(model.learner_) == frozen(alone)


def test_a_label_besides_two_declared_ones_is_refused() -> None:
    model = ClassifierAdapter(LogisticRegression(classes=("ham", "spam")))
    with pytest.raises(ValueError, match=r"classes=\('ham', 'spam'\) takes no other classes: \['ham', 'junk'\]"):
        model.fit([[1.0], [2.0]], ["ham", "junk"])


REFUSED: list[tuple[Any, Any]] = [
    (pd.DataFrame({"q": [1.0, 1e200], "z": [1.0, 2.0]}), ["u", "v"]),
    ([[1e200]] * 2, ["u", "v"]),
    ([[1.0], [2.0]], ["u", "v", "w"]),
]


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(("events", "labels"), REFUSED)
def test_a_refused_fit_changes_nothing(events: Any, labels: Any) -> None:
    """Neither the learner, nor the labels, nor the columns; a new estimator stays without any."""
    x = np.array([[1.0], [2.0], [3.0]])
    for fitted in (ClassifierAdapter().fit(x, ["a", "b", "a"]), ClassifierAdapter()):
        before = attributes(fitted)
        for call in (fitted.fit, fitted.partial_fit):
            with pytest.raises(ValueError, match=r"must lie between|features|inconsistent"):
                call(events, labels)
            assert attributes(fitted) == before
    for line in (RegressorAdapter().fit(x, [1.0, 2.0, 4.0]), RegressorAdapter()):
        before = attributes(line)
        for call in (line.fit, line.partial_fit):
            with pytest.raises(ValueError, match=r"must lie between|features|inconsistent"):
                call(events, np.arange(float(len(labels))))
            assert attributes(line) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"learner": LogisticRegression(), "learner__speed": 3.0},
        {"learner": LogisticRegression(), "learner__l1": -1.0},
        {"learner": GaussianNB(), "speed": 3.0},
    ],
)
def test_refused_parameters_change_nothing(wrong: dict[str, Any]) -> None:
    learner = GaussianNB(class_prior_count=2.0)
    model = ClassifierAdapter(learner)
    with pytest.raises(ValueError, match=r"speed|l1"):
        model.set_params(**wrong)
    assert model.learner is learner


@pytest.mark.parametrize("counts", [(1.0, 1.0), (0.3, 1.7)])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, "array"])
def test_texts_are_values(make: Any, counts: tuple[float, float]) -> None:
    """The orienteering table, as the learner alone learns it."""
    expected = orienteering(*counts)
    table = pd.DataFrame([day[:-1] for day in ORIENTEERING], columns=list(FEATURES))
    labels = [day[-1] for day in ORIENTEERING]
    x = table.to_numpy(dtype=object) if make == "array" else make(table.to_dict("list"))
    model = ClassifierAdapter(CategoricalNB(*counts)).fit(x, labels)
    probabilities = model.predict_proba(x)
    days = table.to_dict("records")
    assert probabilities[:, 1] == pytest.approx([expected.predict_proba_one(day)["yes"] for day in days], rel=1e-14)
    assert model.__sklearn_tags__().input_tags.string
    part = ClassifierAdapter(CategoricalNB(*counts)).partial_fit(x, labels)
    assert part.predict_proba(x).tolist() == probabilities.tolist()


def test_a_text_is_the_indicator_of_itself_to_other_learners() -> None:
    frame = pd.DataFrame({"town": ["bern", "rome", None], "size": [1.0, 2.0, 3.0]})
    line = RegressorAdapter(BayesianLinearRegression()).fit(frame, [1.0, 2.0, 3.0])
    assert ("town", "bern") in line.learner_.weights()
    model = ClassifierAdapter(LogisticRegression()).fit(frame, [0, 1, 0])
    assert model.predict(frame).shape == (3,)
    with pytest.raises(ValueError, match="'town' is a text: Gaussian"):
        ClassifierAdapter(GaussianNB()).fit(frame, [0, 1, 0])
    with pytest.raises(TypeError, match="must be a string or a number, and a value is of type set"):
        ClassifierAdapter(LogisticRegression()).fit(np.array([[{1}], [2.0]], dtype=object), [0, 1])


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
