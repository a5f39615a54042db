"""Bad input: the error says what was wrong and where, and the learner is byte-equal before and after."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_bayes import (
    Batch,
    BernoulliNB,
    Beta,
    BetaBernoulli,
    CategoricalNB,
    Gamma,
    GaussianNB,
    LabelSelector,
    MultinomialNB,
    NormalInverseGamma,
    PoissonNB,
)
from stream_bayes.errors import InputError, MergeError, ParameterError, StreamBayesError, UnlearnError
from stream_bayes.learners.gram.cross_validation import cross_validate
from stream_bayes.testing import frozen

COUNTING = [BernoulliNB, MultinomialNB, PoissonNB]


def taught(kind: Any, **parameters: Any) -> Any:
    model = kind(**parameters)
    model.learn_one({"size": 2, "colour": "red"} if kind is not GaussianNB else {"size": 2}, "spam")
    model.learn_one({"size": 1, "money": 1}, "ham")
    return model


def assert_refused(model: Any, error: type[StreamBayesError], words: str, method: str, *arguments: Any) -> None:
    before = frozen(model)
    with pytest.raises(error, match=words):
        getattr(model, method)(*arguments)
    assert frozen(model) == before


@pytest.mark.parametrize("kind", [*COUNTING, GaussianNB])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "'size' is nan: values must be finite"),
        (math.inf, "'size' is inf: values must be finite"),
        ([1], "'size' has a value of type list"),
        (None, "'size' has a value of type NoneType"),
        (10**400, "'size' is too large"),
        (np.float64("nan"), "'size' is nan"),
        (np.array([1, 2]), "'size' has a value of type ndarray"),
    ],
)
def test_values(kind: Any, value: Any, words: str) -> None:
    model = taught(kind)
    x = {"money": 1, "size": value}
    assert_refused(model, InputError, words, "learn_one", x, "spam")
    assert_refused(model, InputError, words, "predict_proba_one", x)
    assert_refused(model, InputError, words, "unlearn_one", x, "spam")
    assert_refused(model, InputError, words, "test_then_train", [{"new": 1}, x], ["spam", "new label"])


@pytest.mark.parametrize("kind", COUNTING)
def test_negative_counts(kind: Any) -> None:
    words = "presence is 0 for absent" if kind is BernoulliNB else "a count is between 0"
    assert_refused(taught(kind), InputError, f"'money' is -1: {words}", "learn_one", {"money": -1}, "spam")
    assert_refused(taught(kind), InputError, words, "learn_one", {"money": 1e300}, "spam")


def test_a_frame_with_an_infinity_says_where() -> None:
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, np.inf, 2.0]})
    words = "event 1 of the batch: feature 'b' must be finite, not inf"
    assert_refused(taught(GaussianNB), InputError, words, "learn_many", frame, ["spam"] * 3)


def test_arrays_that_are_no_matrix() -> None:
    for array, shape in ((np.zeros(3), r"\(3,\)"), (np.zeros((2, 2, 2)), r"\(2, 2, 2\)")):
        words = f"a row for each event and a column for each feature; got shape {shape}"
        assert_refused(taught(GaussianNB), InputError, words, "learn_many", array, ["spam"] * len(array))


def test_a_series_is_no_event() -> None:
    """It is refused without a warning, and the message says how to make it one."""
    model = taught(GaussianNB)
    model.predict_proba_one({"size": 2.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_refused(model, InputError, r"got Series \(dict\(x\)", "learn_one", pd.Series({"size": 2.0}), "spam")


def test_what_is_given_in_the_wrong_place() -> None:
    given: Any = 5
    with pytest.raises(ParameterError, match=r"folds are two or more GramRegression learners.*got 5"):
        cross_validate([1.0], given)
    function: Any = len
    with pytest.raises(ParameterError, match="give a function of your own as score="):
        LabelSelector(function)


@pytest.mark.parametrize("kind", COUNTING)
def test_a_feature_that_changes_its_type(kind: Any) -> None:
    model = taught(kind)
    assert_refused(model, InputError, "'size' was a number before and is a text", "learn_one", {"size": "big"}, "spam")
    assert_refused(model, InputError, "'colour' was a text before and is a number", "learn_one", {"colour": 3}, "spam")
    both = [{"shape": "round"}, {"shape": 2}]
    assert_refused(model, InputError, "'shape' was a text before", "test_then_train", both, ["spam", "spam"])


def test_a_category_that_changes_its_type() -> None:
    model = taught(CategoricalNB)
    words = "'colour' was a text before and is a number now"
    assert_refused(model, InputError, words, "learn_one", {"colour": 3}, "spam")
    assert_refused(model, InputError, "'size' was a number before and is a boolean", "predict_one", {"size": True})
    coin = BetaBernoulli(on="sender")
    coin.learn_one({"sender": "bob"}, True)
    assert_refused(coin, InputError, "'sender' was a text before and is a number", "learn_one", {"sender": 3}, True)


def test_text_is_no_number() -> None:
    assert_refused(taught(GaussianNB), InputError, "'colour' is a text", "learn_one", {"colour": "red"}, "spam")
    assert_refused(taught(GaussianNB), InputError, "'size' is a text", "learn_one", {"size": "2.0"}, "spam")
    assert_refused(taught(GaussianNB), InputError, "no step overflows", "learn_one", {"size": 1e200}, "spam")


@pytest.mark.parametrize("x", [None, 3, "text", [("a", 1)], {1, 2}])
def test_an_event_that_is_no_dict(x: Any) -> None:
    for kind in (*COUNTING, GaussianNB, CategoricalNB):
        assert_refused(taught(kind), InputError, "an event is a dict", "learn_one", x, "spam")


@pytest.mark.parametrize("label", [None, 2.5, math.nan, ("a",), b"spam", object()])
def test_labels(label: Any) -> None:
    for kind in (*COUNTING, GaussianNB, CategoricalNB):
        assert_refused(taught(kind), InputError, "a label is a string", "learn_one", {"size": 1}, label)
    words = "label 'maybe' is neither 'ham' nor 'spam'"
    assert_refused(BetaBernoulli(classes=("ham", "spam")), InputError, words, "learn_one", {}, "maybe")


@pytest.mark.parametrize("name", [math.nan, b"bytes", ("a", math.inf), frozenset(), object()])
def test_names_that_cannot_be_saved(name: Any) -> None:
    for kind in (*COUNTING, GaussianNB):
        assert_refused(taught(kind), InputError, "feature", "learn_one", {name: 1}, "spam")


def test_lengths_and_weights_of_a_batch() -> None:
    model = taught(MultinomialNB)
    assert_refused(
        model, InputError, "2 events, 1 labels or targets: one for each", "test_then_train", [{}, {}], ["spam"]
    )
    assert_refused(
        model, InputError, "1 events, 1 labels or targets and 2 weights", "test_then_train", [{}], ["spam"], [1.0, 2.0]
    )
    assert_refused(model, InputError, "weight must be", "test_then_train", [{}], ["spam"], [-1.0])
    assert_refused(model, InputError, "weight must be", "test_then_train", [{}], ["spam"], ["heavy"])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (([0, 2], [0], [1.0]), "row_starts"),
        (([1, 1], [], []), "row_starts"),
        (([0, 2, 1], [0, 1], [1.0, 1.0]), "row_starts"),
        (([], [], []), "row_starts"),
        (([0, 1], [0], [1.0, 2.0]), "1 columns but 2 values"),
        (([0, 1], [2], [1.0]), "between 0 and 1"),
        (([0, 1], [-1], [1.0]), "between 0 and 1"),
        (([0, 1], [0], [math.nan]), "finite"),
        (([0, 2], [1, 1], [1.0, 1.0]), "twice in one row"),
    ],
)
def test_arrays_that_are_no_batch(arrays: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Batch.from_arrays(arrays[0], arrays[1], arrays[2], names=["a", "b"])


def test_batches_of_the_wrong_form() -> None:
    words = "make it with its batch"
    assert_refused(taught(CategoricalNB), InputError, words, "test_then_train", Batch.from_dicts([{}]), [None])
    assert_refused(taught(BernoulliNB), InputError, words, "test_then_train", Batch.from_categories([{}]), [None])
    unnamed = Batch.from_arrays([0, 1], [5], [1.0])
    assert_refused(taught(BernoulliNB), InputError, "no names", "test_then_train", unnamed, ["spam"])
    hashed = BernoulliNB(buckets=4)
    assert_refused(hashed, InputError, "6 buckets, the learner has buckets=4", "test_then_train", unnamed, ["spam"])


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        (BernoulliNB, {"prior": Gamma(1, 1)}, "prior must be a Beta"),
        (BernoulliNB, {"prior": (1, 1)}, "prior must be a Beta"),
        (BernoulliNB, {"buckets": 1000}, "power of two"),
        (BernoulliNB, {"buckets": 1}, "power of two"),
        (BernoulliNB, {"class_prior_count": -0.1}, "class_prior_count"),
        (MultinomialNB, {"prior_count": math.nan}, "prior_count"),
        (MultinomialNB, {"predictive": "plugin"}, "'posterior', 'plug-in'"),
        (PoissonNB, {"prior": Beta(1, 1)}, "prior must be a Gamma"),
        (CategoricalNB, {"prior_count": "1"}, "prior_count"),
        (GaussianNB, {"variance": "full"}, "'class', 'shared'"),
        (GaussianNB, {"prior": Beta(1, 1)}, "prior must be a NormalInverseGamma"),
        (BetaBernoulli, {"classes": ("a", "a")}, "different labels"),
        (BetaBernoulli, {"capacity": 0}, "capacity"),
        (BetaBernoulli, {"capacity": 1.5}, "capacity"),
    ],
)
def test_parameters(kind: Any, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        kind(**parameters)


def test_merging_other_parameters_names_them() -> None:
    model = taught(BernoulliNB)
    other = taught(BernoulliNB, prior=Beta(2, 3))
    assert_refused(model, MergeError, r"prior is Beta\(1, 1\) here and Beta\(2, 3\) there", "merge", other)
    assert_refused(model, MergeError, "cannot merge a MultinomialNB into a BernoulliNB", "merge", taught(MultinomialNB))
    texts = CategoricalNB()
    numbers = CategoricalNB()
    texts.learn_one({"a": "x"}, "yes")
    numbers.learn_one({"b": 2, "a": 1}, "no")
    assert_refused(texts, MergeError, "'a' is a text here and a number there", "merge", numbers)


def test_unlearning_an_event_that_was_never_learned() -> None:
    model = taught(MultinomialNB)
    assert_refused(model, UnlearnError, "label 'maybe' has less evidence", "unlearn_one", {"size": 1}, "maybe")
    assert_refused(model, UnlearnError, "'money' has less evidence", "unlearn_one", {"money": 1}, "spam")
    assert_refused(model, UnlearnError, "'size' has less evidence", "unlearn_one", {"size": 3}, "spam")
    assert_refused(model, UnlearnError, "'nothing' has less evidence", "unlearn_one", {"nothing": 1}, "spam")
    gaussian = GaussianNB(prior=NormalInverseGamma(0.0, 1.0, 2.0, 1e-3))
    for value in (1.0, 2.0):
        gaussian.learn_one({"x": value}, "a")
    assert_refused(gaussian, UnlearnError, "'x' = 50 cannot be taken back", "unlearn_one", {"x": 50.0}, "a")
    coin = BetaBernoulli(on="sender", capacity=1)
    coin.learn_one({"sender": "bob"}, True)
    coin.learn_one({"sender": "eve"}, True)
    assert_refused(coin, UnlearnError, "'bob' has less than 1", "unlearn_one", {"sender": "bob"}, True)


@pytest.mark.parametrize("kind", [*COUNTING, CategoricalNB, GaussianNB])
def test_unlearning_an_event_with_fewer_features_than_learned(kind: Any) -> None:
    """{} was never learned: taking it back would leave features without an event they came in."""
    model = kind()
    model.learn_one({"a": 1, "b": 2}, "spam")
    assert_refused(model, UnlearnError, "never learned", "unlearn_one", {}, "spam")
    assert_refused(model, UnlearnError, "never learned", "unlearn_one", {"a": 1}, "spam")


def test_weights_have_a_limit() -> None:
    for kind in (*COUNTING, CategoricalNB, GaussianNB, BetaBernoulli):
        assert_refused(kind(), InputError, "a weight is at most 1e", "learn_one", {"a": 1.0}, True, 1e40)


def test_extreme_values_stay_finite() -> None:
    model = GaussianNB()
    for value, label in ((1.0, "a"), (2.0, "b"), (1e120, "a"), (-1e120, "b")):
        model.learn_one({"x": value}, label, w=1e6)
        for probe in (1e120, -1e120, 0.0, 1e-300):
            predictive = model.predictive_one({"x": probe})
            assert 0.0 <= predictive.epistemic_variance <= predictive.variance <= 0.25
    assert frozen(GaussianNB.from_state(model.state())) == frozen(model)


def test_a_constant_learned_with_a_weight_has_no_negative_scatter() -> None:
    model = GaussianNB()
    model.learn_one({"x": 0.1}, "a", w=3.0)
    assert model.posterior("x", "a").scale >= 1.0
    assert frozen(GaussianNB.from_state(model.state())) == frozen(model)
