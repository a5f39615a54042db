"""What features, values and classes may be called and be: taken and kept, or refused before anything changes."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_bayes import (
    BernoulliNB,
    Beta,
    BetaBernoulli,
    CategoricalNB,
    Gamma,
    GaussianDiscriminant,
    GaussianNB,
    MultinomialNB,
    NormalInverseGamma,
    PoissonNB,
)
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.testing import answer, frozen, targets
from tests.support.learners import LEARNERS

WORDS = ["BernoulliNB", "BernoulliNB hashed", "MultinomialNB", "PoissonNB", "PoissonNB hashed", "MultinomialNB hashed"]
# The fields of a mail may have any name.
LOOKING = [name for name in LEARNERS if name != "BetaBernoulli" and not name.startswith("SpamFilter")]
NAMED = [name for name in LOOKING if not isinstance(LEARNERS[name], BetaBernoulli)]
ON_SIZE = NormalInverseGamma(0.5, 0.3, 2.0, 3.0)


def model_of(name: str) -> Any:
    """The learner after two events."""
    model = LEARNERS[name].clone()
    if isinstance(model, BetaBernoulli):
        model = BetaBernoulli(on="a", prior=Beta(2.5, 0.7), classes=("red", "green"), capacity=6)
    model.learn_one({"a": 2, "b": 1.0}, targets(model)[0])
    model.learn_one({"a": 1}, targets(model)[1])
    return model


def assert_refused(model: Any, x: dict[Any, Any], words: str) -> None:
    """Alone and in a batch, and every bit of the state is as it was."""
    before = frozen(model)
    (one, two) = targets(model)[:2]
    with pytest.raises(InputError, match=words):
        model.learn_one(x, one)
    with pytest.raises(InputError, match=words):
        model.test_then_train([{"b": 1.0}, x], [one, two])
    if model.is_additive:
        with pytest.raises(InputError, match=words):
            model.unlearn_one(x, one)
    assert frozen(model) == before


@pytest.mark.parametrize("name", NAMED)
def test_the_empty_tuple_is_no_name(name: str) -> None:
    """It would be the name of nothing: (feature, text) pairs are told from names by their first part."""
    assert_refused(model_of(name), {"b": 1.0, (): 1}, r"\(\)")
    assert_refused(model_of(name), {("deep", ()): 1}, r"\(\)")


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("feature", [("a", np.int64(1)), ("a", (np.str_("b"), np.float64(2.5))), np.str_("s")])
def test_numpy_scalars_inside_names_can_be_saved(name: str, feature: Any, tmp_path: Path) -> None:
    """They come from data frames, and JSON does not know them."""
    model = model_of(name)
    model.learn_one({feature: 2.0}, targets(model)[0])
    model.save(tmp_path / "model")
    restored = type(model).load(tmp_path / "model")
    assert frozen(restored) == frozen(model)
    assert answer(restored, {feature: 2.0}) == answer(model, {feature: 2.0})
    if model.is_additive:
        restored.unlearn_one({feature: 2.0}, targets(model)[0])


@pytest.mark.parametrize("name", WORDS)
def test_the_same_word_twice_in_one_event(name: str) -> None:
    """The text "bob" of "sender" is the word ("sender", "bob"): together they would be one word counted twice."""
    assert_refused(model_of(name), {"sender": "bob", ("sender", "bob"): 1}, r"'sender', 'bob'")
    assert_refused(model_of(name), {("sender", "bob"): 1, "b": 1, "sender": np.str_("bob")}, r"'sender', 'bob'")
    model_of(name).learn_one({"sender": "bob", ("sender", "eve"): 1}, "red")


VALUES = {
    "pd.NA": pd.NA,
    "complex": np.complex128(1 + 2j),
    "timedelta": np.timedelta64(3),
    "datetime": np.datetime64("2024-01-01"),
    "zero-dimensional": np.array(3.0),
    "array": np.array([1.0, 2.0]),
    "bytes": np.bytes_(b"x"),
    "too large": 10**400,
    "too small": -(10**400),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("name", LOOKING)
def test_values_that_are_no_numbers(name: str, value: Any) -> None:
    """Neither the encoder nor a comparison with the event before may raise anything but our own error."""
    model = model_of(name)
    assert_refused(model, {"a": value}, "'a'")
    model.learn_one({"a": 2, "b": 1.0}, targets(model)[0])
    assert_refused(model, {"a": value, "b": 1.0}, "'a'")
    assert_refused(model, {"a": 2, "b": 1.0} | {"a": value}, "'a'")
    for ask in (model.predict_one, partial(answer, model), model.predictive_one):
        with pytest.raises(InputError, match="'a'"):
            ask({"a": value, "b": 1.0})


CLASSIFIERS = [BernoulliNB, MultinomialNB, PoissonNB, CategoricalNB, GaussianNB, GaussianDiscriminant, BetaBernoulli]


@pytest.mark.parametrize("classes", ["spam", ("a", "a"), (1.5,), 5, (1, True), (None, "a"), ("a", ["b"])])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_that_are_no_labels(kind: Any, classes: Any) -> None:
    """The text "spam" is no four labels, and a label declared twice would have two codes."""
    with pytest.raises(ParameterError, match="classes"):
        kind(classes=classes)


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        (BetaBernoulli, {"classes": None}, "classes"),
        (BetaBernoulli, {"on": ["a"]}, "on"),
        (BetaBernoulli, {"on": ("a", math.nan)}, "on"),
        (BetaBernoulli, {"on": ()}, "on"),
        (GaussianNB, {"prior": ON_SIZE._replace(scale=1e101)}, "prior"),
        (GaussianNB, {"prior": ON_SIZE._replace(scale=1e-101)}, "prior"),
        (GaussianNB, {"prior": ON_SIZE._replace(mean=-1e101)}, "prior"),
        (GaussianNB, {"prior": ON_SIZE._replace(strength=1e-101)}, "prior"),
        (GaussianNB, {"prior": ON_SIZE._replace(shape=1e101)}, "prior"),
        (GaussianDiscriminant, {"prior": ON_SIZE._replace(scale=1e-101)}, "prior"),
        (CategoricalNB, {"prior_count": 1e-320}, "prior_count"),
        (CategoricalNB, {"class_prior_count": 1e-320}, "class_prior_count"),
        (MultinomialNB, {"prior_count": 1e-320}, "prior"),
        (PoissonNB, {"prior": Gamma(1e-320, 2.0)}, "prior"),
        (BernoulliNB, {"prior": Beta(1e-320, 2.0)}, "prior"),
        (BetaBernoulli, {"prior": Beta(2.0, 1e300)}, "prior"),
    ],
)
def test_other_parameters_that_cannot_work(kind: Any, parameters: dict[str, Any], words: str) -> None:
    """Beyond 1e100, and below 1e-100, sums and quotients with a prior leave the finite numbers."""
    with pytest.raises(ParameterError, match=words):
        kind(**parameters)


@pytest.mark.parametrize("buckets", ["x", 1024.0, True, [8], -8, 0, 12])
@pytest.mark.parametrize("kind", [BernoulliNB, MultinomialNB, PoissonNB, CategoricalNB, GaussianNB])
def test_buckets_that_are_no_power_of_two(kind: Any, buckets: Any) -> None:
    with pytest.raises(ParameterError, match="buckets"):
        kind(buckets=buckets)
