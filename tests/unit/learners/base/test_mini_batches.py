"""River's mini-batch protocol: frames and arrays are learned and predicted as their rows are, by every learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import base, compose, preprocessing

from stream_bayes import (
    Batch,
    BayesianLinearRegression,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    GramRegression,
    LogisticRegression,
    MultinomialNB,
    NormalInverseGamma,
    SpamFilter,
)
from stream_bayes.errors import InputError
from stream_bayes.testing import answer, events, frozen, targets, taught
from tests.support.learners import LEARNERS, by_setting

NAMES = ("a", "b", "c", "e")
# A filter takes messages: its rows are dicts with a subject and a text.
OF_NUMBERS = [name for name, learner in LEARNERS.items() if not isinstance(learner, SpamFilter)]


def rows(learner: Any, *, complete: bool = False) -> tuple[list[dict[Any, Any]], list[Any]]:
    stream = [({name: x[name] for name in NAMES if name in x}, y) for x, y in events(learner)]
    if complete:
        stream = [({"a": 1.0, "b": 2.0, "c": True, "e": 0.0} | x, y) for x, y in stream]
    return [x for x, _ in stream], [y for _, y in stream]


def pandas_frame(xs: list[dict[str, Any]]) -> Any:
    return pd.DataFrame(xs, columns=list(NAMES), index=pd.Index(range(7, 7 + len(xs)), name="event"))


def polars_frame(xs: list[dict[str, Any]]) -> Any:
    columns = {name: [x.get(name) for x in xs] for name in NAMES}
    return pl.DataFrame({name: [v if v is None or name == "c" else float(v) for v in columns[name]] for name in NAMES})


def structured_array(xs: list[dict[str, Any]]) -> Any:
    kinds = [(name, "?" if name == "c" else "f8") for name in NAMES]
    return np.array([tuple(x.get(name, np.nan) for name in NAMES) for x in xs], dtype=kinds)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("name", by_setting(OF_NUMBERS))
def test_a_frame_is_learned_as_its_rows(name: str, complete: bool) -> None:
    """Bit for bit the state of a loop of learn_one; a missing value leaves its feature out."""
    learner = LEARNERS[name]
    xs, ys = rows(learner, complete=complete)
    expected = frozen(taught(learner, list(zip(xs, ys, strict=True))))
    makers = [pandas_frame, polars_frame, structured_array] if complete else [pandas_frame, polars_frame]
    for make in makers:
        model = learner.clone()
        model.learn_many(X=make(xs), y=pd.Series(ys) if make is pandas_frame else pl.Series(ys))
        assert frozen(model) == expected, make


@pytest.mark.parametrize("name", by_setting(OF_NUMBERS))
def test_a_frame_is_predicted_as_its_rows(name: str) -> None:
    """A series or a frame of the same library, with the index of a pandas frame."""
    learner = LEARNERS[name]
    xs, ys = rows(learner)
    model: Any = taught(learner, list(zip(xs, ys, strict=True)))
    frame = pandas_frame(xs)
    series = model.predict_many(X=frame)
    assert isinstance(series, pd.Series)
    assert series.index.equals(frame.index)
    assert series.tolist() == [model.predict_one(x) for x in xs]
    of_polars = model.predict_many(polars_frame(xs))
    assert isinstance(of_polars, pl.Series)
    assert of_polars.to_list() == series.tolist()
    assert model.predict_many(xs).tolist() == series.tolist()
    assert [answer(model, x) for x in xs] == [
        entry if isinstance(model, base.Regressor) else entry.probabilities for entry in _answers(model, frame)
    ]
    if isinstance(model, base.Classifier):
        assert isinstance(model, base.MiniBatchClassifier)
        probabilities = model.predict_proba_many(X=frame)
        assert probabilities.index.equals(frame.index)
        assert probabilities.to_dict("records") == [model.predict_proba_one(x) for x in xs]
        table = model.predict_proba_many(polars_frame(xs))
        assert table.columns == [str(label) for label in probabilities.columns]
        assert table.to_numpy().tolist() == probabilities.to_numpy().tolist() == model.predict_proba_many(xs).tolist()
    else:
        assert isinstance(model, base.MiniBatchRegressor)


def _answers(model: Any, frame: Any) -> list[Any]:
    predictions = model.predictive_many(frame)
    return predictions.mean.tolist() if isinstance(model, base.Regressor) else list(predictions)


@pytest.mark.parametrize("kind", [GaussianNB, LogisticRegression, BayesianLinearRegression])
def test_a_matrix_has_the_features_of_a_frame_without_names(kind: Any) -> None:
    matrix = np.random.default_rng(3).normal(size=(50, 4))
    y = matrix[:, 0] > 0.0 if kind is not BayesianLinearRegression else matrix @ np.arange(4.0)
    models = [kind() for _ in range(4)]
    models[0].learn_many(matrix, y)
    models[1].learn_many(pd.DataFrame(matrix), pd.Series(y))
    models[2].learn_many(np.asfortranarray(matrix), list(y))
    models[3].learn_many(Batch.from_matrix(matrix, range(4)), y)
    assert all(frozen(model) == frozen(models[0]) for model in models)
    assert models[0].predict_many(matrix).tolist() == [models[0].predict_one(dict(enumerate(row))) for row in matrix]


def test_a_matrix_by_rows_is_not_copied() -> None:
    """Unless it cannot be written: to a compiled fold that is another type, compiled in mid-stream."""
    matrix = np.random.default_rng(4).normal(size=(20, 3))
    assert np.shares_memory(GaussianNB().batch(matrix).values, matrix)
    assert not np.shares_memory(Batch.from_matrix(matrix, range(3)).values, matrix)
    matrix.setflags(write=False)
    for data in (matrix, pd.DataFrame(matrix), pd.DataFrame(matrix, copy=False), pl.DataFrame(matrix)):
        assert GaussianNB().batch(data).values.flags.writeable


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_may_be_texts(make: Any) -> None:
    """A text is the indicator of itself, a category of a categorical learner; one that is missing is left out."""
    table = make({"sender": ["bob", None, "eve"], "size": [1.0, 2.0, None]})
    xs: list[dict[str, Any]] = [{"sender": "bob", "size": 1.0}, {"size": 2.0}, {"sender": "eve"}]
    labels = ["ham", "spam", "spam"]
    for learner in (MultinomialNB(0.3), CategoricalNB(0.2)):
        model = learner.clone()
        model.learn_many(table, labels)
        assert frozen(model) == frozen(taught(learner, list(zip(xs, labels, strict=True))))


def test_true_and_one_are_different_categories_of_a_column_of_objects() -> None:
    model = CategoricalNB()
    batch = model.batch(pd.DataFrame({"a": pd.Series([True, 1, "1", None, 1.0], dtype=object)}))
    assert batch.names is not None
    assert [tuple(batch.names[number]) for number in batch.columns.tolist()] == [  # type: ignore[arg-type]
        ("a", "boolean", True),
        ("a", "number", 1),
        ("a", "text", "1"),
        ("a", "number", 1),
    ]
    assert batch.row_starts.tolist() == [0, 1, 2, 3, 3, 4]


def test_a_missing_label_is_not_learned() -> None:
    """None in a series, and NaN where pandas writes it for None."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    model = BayesianLinearRegression()
    model.learn_many(frame, pd.Series([1.0, None, 2.0]))
    assert frozen(model) == frozen(taught(BayesianLinearRegression(), [({"a": 1.0}, 1.0), ({"a": 3.0}, 2.0)]))
    classifier = GaussianNB()
    classifier.learn_many(pl.from_pandas(frame), pl.Series(["x", None, "y"]), w=pd.Series([2, 1, 0]))
    assert classifier.class_posterior() == {"x": 3.0}


def test_a_sparse_frame_holds_the_features_it_stores() -> None:
    """As the dicts of a bag of words do: what is not stored is absent."""
    dense = pd.DataFrame({"free": [2.0, 0.0], "lunch": [0.0, 1.0], "now": [1.0, 0.0]})
    model = BernoulliNB()
    model.learn_many(dense.astype(pd.SparseDtype("float64", 0.0)), ["spam", "ham"])
    expected = taught(BernoulliNB(), [({"free": 2.0, "now": 1.0}, "spam"), ({"lunch": 1.0}, "ham")])
    assert frozen(model) == frozen(expected)


@pytest.mark.parametrize("labels", [[1, "1"], [True, "True"]])
def test_labels_of_the_same_text_are_columns_of_pandas_only(labels: list[Any]) -> None:
    """Columns of polars are named by texts: of two labels with one text, one would be lost."""
    model = GaussianNB(prior=NormalInverseGamma(0.5, 0.3, 2.0, 3.0))
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    model.learn_many(frame, labels)
    found = model.predict_proba_many(frame)
    assert found.columns.tolist() == labels
    assert found.sum(axis=1).tolist() == pytest.approx([1.0, 1.0])
    with pytest.raises(InputError, match="are the same text"):
        model.predict_proba_many(pl.from_pandas(frame))
    assert model.predict_proba_many(frame.to_numpy()).shape == (2, 2)


@pytest.mark.parametrize("labels", [["a", "a\0"], ["\0", ""]])
def test_a_label_keeps_the_zeros_at_its_end(labels: list[str]) -> None:
    """An array of texts would drop them, and one label would be answered as the other."""
    model = GaussianNB()
    xs = [{"x": -1.0}, {"x": -1.5}, {"x": 1.0}, {"x": 1.5}]
    model.learn_many(xs, [labels[0], labels[0], labels[1], labels[1]])
    assert model.predict_many(xs).tolist() == [model.predict_one(x) for x in xs]
    assert model.predict_many(pl.DataFrame(xs)).to_list() == [labels[0], labels[0], labels[1], labels[1]]


MATRIX = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
SHARING = [name for name in OF_NUMBERS if np.shares_memory(LEARNERS[name].batch(MATRIX).values, MATRIX)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e300])
@pytest.mark.parametrize("name", by_setting(SHARING))
def test_a_matrix_that_changed_after_its_batch_was_made_is_refused(name: str, bad: float) -> None:
    """A batch shares the matrix of its caller: values are checked when they are learned too."""
    model = LEARNERS[name].clone()
    labels = (targets(model) * 2)[:3]
    model.learn_many(MATRIX, labels)
    before = frozen(model)
    matrix = MATRIX.copy()
    batch = model.batch(matrix)
    matrix[1, 0] = bad
    for call in (model.learn_many, model.test_then_train):
        with pytest.raises(InputError):
            call(batch, labels)
    with pytest.raises(InputError):
        model.predictive_many(batch)
    assert frozen(model) == before


def test_before_any_label_the_most_probable_is_none() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert GaussianNB().predict_many(frame).tolist() == [None, None]
    assert GaussianNB().predict_proba_many(frame).shape == (2, 0)
    assert GaussianNB().predict_many([]).tolist() == []


@pytest.mark.parametrize(
    "bad",
    [
        pd.DataFrame({"a": [np.inf]}),
        np.array([[-np.inf]]),
        pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
        pd.DataFrame({"a": [1j]}),
        pd.DataFrame({"a": [object()]}),
        pd.Series([1.0]),
        np.array([1.0]),
        np.ones((1, 1, 1)),
        np.array(1.0),
        np.zeros(1, dtype=[("a", "f8", (2,))]),
        np.zeros((1, 2), dtype=[("a", "f8")]),
        np.array((1.0,), dtype=[("a", "f8")]),
        np.zeros(1, dtype=[("a", [("b", "f8")])]),
        pl.DataFrame({"a": [[1.0]]}),
    ],
)
def test_tables_that_are_no_events_change_nothing(bad: Any) -> None:
    for learner in (GaussianNB(), GramRegression(0.3), LogisticRegression()):
        model = taught(learner, [({"a": 1.0}, targets(learner)[0])])
        before = frozen(model)
        with pytest.raises(InputError):
            model.learn_many(bad, targets(learner)[:1])
        assert frozen(model) == before


def test_columns_of_the_same_name_are_named() -> None:
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["size", "age", "size"])
    with pytest.raises(InputError, match=r"several are named \['size'\]"):
        GaussianNB().learn_many(frame, ["a"])


def test_a_pipeline_of_river_learns_and_predicts_frames() -> None:
    """A scaler in front: the mini-batches are scaled by what the scaler knew after each."""
    matrix = np.random.default_rng(5).normal(size=(300, 3)) * (1.0, 10.0, 100.0)
    frame = pd.DataFrame(matrix, columns=list("abc"))
    labels = pd.Series(matrix[:, 1] > 0.0)
    for final in (GaussianNB(), LogisticRegression()):
        model = preprocessing.StandardScaler() | final
        for begin in range(0, 300, 100):
            part = slice(begin, begin + 100)
            model.learn_many(frame[part], labels[part])
        assert isinstance(model[-1], base.MiniBatchClassifier)
        assert (model.predict_many(frame) == labels).mean() > 0.9
        event: dict[Any, Any] = dict(zip("abc", matrix[0].tolist(), strict=True))
        first = model.predict_proba_one(event)
        assert model.predict_proba_many(frame[:1]).to_dict("records")[0] == pytest.approx(first, rel=1e-12)
    line = compose.Select("a", "b") | BayesianLinearRegression()
    line.learn_many(frame, pd.Series(3.0 * matrix[:, 0]))
    assert float(line.predict_many(frame).iloc[0]) == pytest.approx(3.0 * matrix[0, 0], rel=0.05)


REGRESSORS = [name for name, learner in LEARNERS.items() if isinstance(learner, base.Regressor)]


@pytest.mark.parametrize("name", by_setting(REGRESSORS))
def test_with_dist_is_the_predictive(name: str) -> None:
    """River's way to ask a regressor for the distribution, also through a pipeline."""
    xs, ys = rows(LEARNERS[name])
    model = taught(LEARNERS[name], list(zip(xs, ys, strict=True)))
    for x in xs[:5]:
        assert model.predict_one(x, with_dist=True) == model.predictive_one(x)
        assert model.predict_one(x, with_dist=False) == model.predict_one(x)
    pipeline = compose.Discard("b") | model
    alone = {key: value for key, value in xs[0].items() if key != "b"}
    assert pipeline.predict_one(xs[0], with_dist=True) == model.predictive_one(alone)


def test_a_frame_of_mails() -> None:
    """Columns are the fields of the messages."""
    model = SpamFilter(buckets=2**10)
    frame = pd.DataFrame({"subject": ["pills", "lunch", None], "text": ["buy now", "at noon?", "see you"]})
    model.learn_many(frame, pd.Series(["spam", "ham", None]))
    one = SpamFilter(buckets=2**10)
    one.learn_one({"subject": "pills", "text": "buy now"}, "spam")
    one.learn_one({"subject": "lunch", "text": "at noon?"}, "ham")
    assert frozen(model) == frozen(one)
    assert model.predict_many(frame).tolist() == [
        one.predict_one(x) for x in (*frame[:2].to_dict("records"), {"text": "see you"})
    ]
    assert model.predict_many(pd.Series(["buy pills now"])).tolist() == ["spam"]
