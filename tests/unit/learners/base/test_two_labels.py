"""Learners of two labels take the first two that come, and answer them as a loop of single calls would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river import evaluate, metrics

from stream_bayes import BayesianLogisticRegression, Beta, LogisticRegression
from stream_bayes.errors import InputError
from stream_bayes.learners.base.two_labels import LabelPair, TwoLabels
from stream_bayes.posteriors import LabelPredictive
from stream_bayes.testing import frozen, taught

KINDS: list[Any] = [
    LogisticRegression(rate=0.3),
    LogisticRegression("constant", 0.05, l1=0.02),
    BayesianLogisticRegression(0.4),
]
kinds = pytest.mark.parametrize("learner", KINDS, ids=["adagrad", "l1", "Bayesian"])
ORDERS: list[list[Any]] = [
    ["spam", "ham", "spam", "spam"],
    ["spam", "spam", None, "ham", "ham"],
    [None, "ham", None],
    [True, False, True],
    [1, 0, 1],
    [1, 2, 1, 2],
    [2, 1, 1],
    ["ham", False, "ham"],
    [True, "spam", True],
    [0, "zero", 0],
    [-1, 1, -1],
    [2, 1, True, 2],
    [0, True, 2 - 2],
]
orders = pytest.mark.parametrize("labels", ORDERS, ids=str)


def events(count: int) -> list[dict[str, float]]:
    return [{"a": 0.5 * row - 1.0, "b": float(row % 3)} for row in range(count)]


@kinds
@orders
def test_a_batch_is_the_loop_also_where_labels_come(learner: Any, labels: list[Any]) -> None:
    """Every row has the labels known before it: in one batch as in a loop, to the last bit."""
    xs = events(len(labels))
    loop = learner.clone()
    expected = []
    for x, label in zip(xs, labels, strict=True):
        expected.append(loop.predict_proba_one(x))
        if label is not None:
            loop.learn_one(x, label)
    for size in (1, 2, len(labels)):
        model = learner.clone()
        found = []
        for begin in range(0, len(labels), size):
            part = slice(begin, begin + size)
            predictions = model.test_then_train(xs[part], labels[part])
            found += [predictions.probabilities_of(row) for row in range(len(predictions))]
        assert found == expected
        assert frozen(model) == frozen(loop)
        assert type(model).from_state(model.state()).labels == model.labels == loop.labels


@kinds
def test_declared_labels_give_the_same_model(learner: Any) -> None:
    """The order is that in which they come, and the log-odds are those of the second."""
    labels = ["spam", "ham", "ham", "spam"]
    stream = list(zip(events(4), labels, strict=True))
    learned = taught(learner, stream)
    declared = taught(learner.clone({"classes": ("spam", "ham")}), stream)
    assert learned.labels == ("spam", "ham")
    assert learned.weights() == declared.weights()
    for x in events(4):
        assert learned.predict_proba_one(x) == declared.predict_proba_one(x)
        assert learned.predictive_one(x) == declared.predictive_one(x)


@kinds
def test_the_labels_before_and_after_the_first(learner: Any) -> None:
    """None before any; a label alone has probability 1; False and True, or 0 and 1, come together."""
    fresh = learner.clone()
    assert fresh.predict_proba_one({}) == {}
    assert fresh.predict_one({}) is None
    assert fresh.labels == ()
    assert fresh.predictive_one({"a": 1.0}).probabilities == {}
    unknown = fresh.predictive_many(events(2))
    assert unknown.most_probable().tolist() == [None, None]
    assert [*unknown.log_odds, *unknown.latent_mean, *unknown.latent_variance] == [0.0] * 6
    assert learner.clone({"classes": ("a", "b")}).predict_proba_one({}) == {"a": 0.5, "b": 0.5}
    alone = taught(learner, [({"a": 1.0}, "spam")])
    assert alone.predict_proba_one({"a": 1.0}) == {"spam": 1.0}
    assert alone.predict_one({"a": -5.0}) == "spam"
    # p (1 - p) = 0, and nothing is known of a second label.
    predictive = alone.predictive_one({"a": 1.0})
    assert predictive == LabelPredictive({"spam": 1.0}, Beta(1.0, 1.0))
    assert (predictive.variance, predictive.epistemic_variance) == (0.0, 0.0)
    assert alone.predictive_many([{"a": 1.0}])[0] == predictive
    alone.learn_one({"a": -1.0}, "ham")
    has_posterior = isinstance(learner, BayesianLogisticRegression)
    assert (alone.predictive_one({"a": 1.0}).epistemic_variance > 0.0) == has_posterior
    first = taught(learner, [({"a": 1.0}, True)])
    assert list(first.predict_proba_one({})) == [False, True]
    assert first.labels == (False, True)
    number = taught(learner, [({"a": 1.0}, 1)])
    assert [type(label) for label in number.labels] == [int, int]
    assert taught(learner, [({"a": 1.0}, 2)]).labels == (2,)


@kinds
@pytest.mark.parametrize(
    ("stream", "labels"),
    [
        ([2, 1], (2, 1)),
        ([-1, 1], (-1, 1)),
        ([1, 2], (2, 1)),
        ([1, -1], (-1, 1)),
        ([0, 2], (0, 2)),
        ([0, True], (0, 1)),
        ([False, 1], (False, True)),
        ([True, "spam"], ("spam", True)),
        (["spam", True], ("spam", True)),
        ([np.int64(2), np.int64(1)], (2, 1)),
    ],
)
def test_numbers_stay_numbers_and_one_is_the_second(learner: Any, stream: list[Any], labels: tuple[Any, Any]) -> None:
    """The labels are as they came, 1 no boolean; of any two, True or 1 is the one whose log-odds are stated."""
    model = taught(learner, list(zip(events(2), stream, strict=True)))
    restored = type(model).from_state(model.state())
    for found in (model.labels, restored.labels, tuple(model.predict_proba_one({}))):
        assert found == labels
        assert [type(label) for label in found] == [type(label) for label in labels]


@kinds
def test_whole_numbers_are_predicted_as_an_array_of_them(learner: Any) -> None:
    model = learner.clone()
    model.learn_many(events(40), [-1, 1] * 20)
    found = model.predict_many(events(6))
    assert found.dtype.kind == "i"
    assert set(found.tolist()) <= {-1, 1}


@kinds
def test_river_scores_a_stream_of_texts_from_its_first_event(learner: Any) -> None:
    stream: list[Any] = list(zip(events(30), ["spam", "ham", "ham"] * 10, strict=True))
    matrix: Any = evaluate.progressive_val_score(stream, learner.clone(), metrics.ConfusionMatrix())
    assert set(matrix.classes) == {"ham", "spam"}


@kinds
def test_a_third_label_is_refused_and_changes_nothing(learner: Any) -> None:
    stream = [({"a": 1.0}, "ham"), ({"a": -1.0}, "spam")]
    model = taught(learner, stream)
    before = frozen(model)
    with pytest.raises(InputError, match=r"'eggs' is neither 'ham' nor 'spam'.*SoftmaxRegression"):
        model.learn_one({"new": 1.0}, "eggs")
    with pytest.raises(InputError, match="'eggs'"):
        model.test_then_train(events(3), ["ham", "spam", "eggs"])
    assert frozen(model) == before
    fresh = learner.clone()
    unlearned = frozen(fresh)
    with pytest.raises(InputError, match="'c' is neither 'a' nor 'b'"):
        fresh.learn_many(events(3), ["a", "b", "c"])
    assert frozen(fresh) == unlearned
    fresh.learn_one({"a": 1.0}, "c")
    assert fresh.labels == ("c",)


@pytest.mark.parametrize(
    ("learned", "labels", "known"),
    [
        ((None, None), (False, True), ()),
        (("ham", None), ("ham", True), ("ham",)),
        ((None, True), (False, True), (False, True)),
        ((None, 1), (0, 1), (0, 1)),
        ((0, None), (0, 1), (0, 1)),
        (("ham", False), ("ham", False), ("ham", False)),
    ],
)
def test_pair_of_what_was_learned(learned: Any, labels: Any, known: Any) -> None:
    pair = LabelPair.of(learned)
    assert pair.labels == labels
    assert pair.known == known
    assert [type(label) for label in pair.labels] == [type(label) for label in labels]


def test_the_same_label_twice_is_no_pair() -> None:
    with pytest.raises(ValueError, match="both"):
        LabelPair.of(("a", "a"))
    labels = TwoLabels(None)
    labels.register(["a"])
    assert labels.code("a") == 0
    assert labels.code("b") == -1
