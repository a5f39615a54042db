"""Batches: arrays that are none are refused, others are copied, and rows without a label fix nothing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from stream_bayes import Batch, BetaBernoulli, CategoricalNB, GaussianNB, MultinomialNB, NormalInverseGamma
from stream_bayes.errors import InputError
from stream_bayes.testing import answer, events, frozen, targets, taught
from tests.support.learners import LEARNERS

STARTS = [0, 2, 3]
COLUMNS = [0, 1, 1]
VALUES = [1.0, 2.0, 3.0]
TYPED: list[Any] = [
    MultinomialNB(prior_count=0.3),
    CategoricalNB(prior_count=0.2),
    BetaBernoulli(on="a", classes=("ham", "spam")),
]
typed = pytest.mark.parametrize("learner", TYPED, ids=lambda learner: type(learner).__name__)


def signatures() -> dict[str, int]:
    """How many versions there are of each kernel that Python calls."""
    users = [module for name, module in sys.modules.items() if name.startswith("stream_bayes.learners")]
    return {
        name: len(value.signatures) for user in users for name, value in vars(user).items() if hasattr(value, "py_func")
    }


@pytest.mark.parametrize(
    ("starts", "columns", "values", "names"),
    [
        ([[0, 2, 3]], COLUMNS, VALUES, "ab"),
        (STARTS, [[0, 1, 1]], VALUES, ["a", "b"]),
        (STARTS, COLUMNS, [[1.0, 2.0, 3.0]], ["a", "b"]),
        (STARTS, COLUMNS, np.ones((3, 1)), ["a", "b"]),
        (3, COLUMNS, VALUES, ["a", "b"]),
        (STARTS, [0.0, 1.0, 1.0], VALUES, ["a", "b"]),
        (STARTS, [0, 1, 1.5], VALUES, ["a", "b"]),
        ([0.0, 2.0, 3.0], COLUMNS, VALUES, ["a", "b"]),
        (STARTS, [False, True, True], VALUES, ["a", "b"]),
        (STARTS, COLUMNS, ["1", "x", "3"], ["a", "b"]),
        (STARTS, COLUMNS, [1.0, [2.0], 3.0], ["a", "b"]),
        (STARTS, COLUMNS, [1.0, 2j, 3.0], ["a", "b"]),
        (STARTS, COLUMNS, VALUES, "ab"),
        (STARTS, COLUMNS, VALUES, 5),
        (STARTS, COLUMNS, VALUES, [["a"], "b"]),
        (STARTS, COLUMNS, VALUES, ["a", "a"]),
        (STARTS, COLUMNS, VALUES, [1, True]),
        (STARTS, COLUMNS, VALUES, ["a", ()]),
        (STARTS, COLUMNS, VALUES, ["a"]),
    ],
)
def test_arrays_that_are_no_batch(starts: Any, columns: Any, values: Any, names: Any) -> None:
    """A column cut to a whole number, or the letters of a text as names, would be another batch than was meant."""
    with pytest.raises(InputError):
        Batch.from_arrays(starts, columns, values, names)


@pytest.mark.parametrize("names", [["a", "b"], None])
def test_arrays_are_copied(names: Any) -> None:
    """What the caller writes to its arrays afterwards is no business of the batch's."""
    arrays = np.array(STARTS), np.array(COLUMNS), np.array(VALUES)
    batch = Batch.from_arrays(*arrays, names)
    for array in arrays:
        array[:] = 7
    if names is not None:
        names[:] = ["x", "y"]
    model, expected = (MultinomialNB(0.3, buckets=None if names else 8) for _ in range(2))
    model.test_then_train(batch, ["ham", "spam"])
    expected.test_then_train(Batch.from_arrays(STARTS, COLUMNS, VALUES, names and ["a", "b"]), ["ham", "spam"])
    assert frozen(model) == frozen(expected)


NO_BATCHES = ("Beta", "Categorical", "LogOdds", "Spam")  # they take features of another form


@pytest.mark.parametrize("name", [name for name in LEARNERS if not name.startswith(NO_BATCHES)])
def test_read_only_arrays_compile_nothing_new(name: str) -> None:
    """numba takes an array that cannot be written for another type: seconds of compilation in mid-stream."""
    model = LEARNERS[name].clone()
    model.test_then_train([{"a": 1.0, "b": 2.0}, {"b": 3.0}], targets(model)[:2])
    before = signatures()
    arrays = np.array(STARTS), np.array(COLUMNS), np.array(VALUES)
    for array in arrays:
        array.setflags(write=False)
    batch = Batch.from_arrays(*arrays, ["a", "b"])
    model.test_then_train(batch, targets(model)[:2])
    model.predictive_many(batch)
    assert signatures() == before
    assert sum(before.values()) > 0


@typed
def test_rows_without_a_label_fix_no_type(learner: Any) -> None:
    """Predicting teaches nothing, in a batch as in a loop: the first labelled row says what a feature is."""
    rows: list[dict[str, Any]] = [{"a": "x"}, {"a": 1}, {"a": 2}]
    labels = [None, "ham", "spam"]
    loop = learner.clone()
    result = []
    for x, y in zip(rows, labels, strict=True):
        result.append(answer(loop, x))
        if y is not None:
            loop.learn_one(x, y)
    model = learner.clone()
    predictions = model.test_then_train(rows, labels)
    assert [predictions.probabilities_of(row) for row in range(3)] == result
    assert frozen(model) == frozen(loop)


@typed
@pytest.mark.parametrize("later", [None, "spam"])
@pytest.mark.parametrize(("first", "second"), [("x", 1), (1, "x")])
def test_a_labelled_row_fixes_the_type_for_those_after_it(learner: Any, first: Any, second: Any, later: Any) -> None:
    """The loop would refuse to predict the second row; a batch is refused as a whole."""
    model = taught(learner, [({"b": 1}, "ham")])
    loop = taught(learner, [({"b": 1}, "ham"), ({"a": first}, "ham")])
    before = frozen(model)
    with pytest.raises(InputError, match="'a' was a"):
        loop.predict_one({"a": second})
    with pytest.raises(InputError, match="'a' was a"):
        model.test_then_train([{"a": first}, {"a": second}], ["ham", later])
    assert frozen(model) == before
    model.learn_one({"a": second}, "ham")


@typed
def test_a_row_of_no_weight_fixes_no_type(learner: Any) -> None:
    """A weight of 0 is no event."""
    model = learner.clone()
    model.test_then_train([{"a": "x"}, {"a": 1}], ["spam", "ham"], [0.0, 1.0])
    assert frozen(model) == frozen(taught(learner, [({"a": 1}, "ham")]))


@pytest.mark.parametrize("name", LEARNERS)
def test_invalid_batches_are_refused(name: str) -> None:
    """Each with an error of our own, not with whatever Python says about the type."""
    learner = LEARNERS[name]
    model = taught(learner, events(learner, 5))
    before = frozen(model)
    rows = [x for x, _ in events(learner, 3)]
    labels = [y for _, y in events(learner, 3)]
    calls: list[tuple[Any, ...]] = [(rows, None), (None, labels), (rows, labels, 2.0), (5, labels), (rows, 5)]
    for arguments in [*calls, (rows, labels, "111"), (rows[0], labels), ("abc", labels)]:
        with pytest.raises(InputError):
            model.test_then_train(*arguments)
    assert frozen(model) == before


def test_a_coin_looks_at_its_own_feature_only() -> None:
    """In a batch as in the loop: what other features hold, or are called, is no business of the coin's."""
    for learner in (BetaBernoulli(on="a", classes=("ham", "spam")), BetaBernoulli(classes=("ham", "spam"))):
        rows: list[dict[Any, Any]] = [{"a": 1, "b": np.nan}, {"a": 2, (): 1, "b": [1]}, {"b": "x", b"c": object()}]
        loop = taught(learner, [(x, "ham") for x in rows])
        model = learner.clone()
        model.test_then_train(rows, ["ham"] * 3)
        assert frozen(model) == frozen(loop)


def test_a_matrix_is_a_batch() -> None:
    """Rows of numbers, NaN where one is missing, and the dicts they stand for end in the same bits."""
    prior = NormalInverseGamma(0.5, 0.3, 2.0, 3.0)
    model = GaussianNB(prior)
    loop = GaussianNB(prior)
    model.test_then_train(Batch.from_matrix([[1.0, np.nan], [2.5, 4.0]], ["a", "b"]), ["ham", "spam"])
    loop.learn_one({"a": 1.0}, "ham")
    loop.learn_one({"a": 2.5, "b": 4.0}, "spam")
    assert frozen(model) == frozen(loop)
    for matrix, names in (([1.0, 2.0], ["a", "b"]), ([["x"]], ["a"]), ([[1.0]], "a"), ([[1.0, 2.0]], ["a"])):
        with pytest.raises(InputError):
            Batch.from_matrix(matrix, names)
