"""Polynomial and lag features: their values, in river pipelines, and their order by evidence."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import checks as river_checks
from river import compose, evaluate, metrics, preprocessing
from sklearn import preprocessing as peers
from statsmodels.tsa.ar_model import AutoReg

from stream_bayes import BayesianLinearRegression, GramRegression, LagFeatures, PolynomialFeatures
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.features import EventTable
from stream_bayes.testing import frozen
from stream_bayes.typing import FloatArray


def test_powers_are_those_of_scikit_learn() -> None:
    peer = peers.PolynomialFeatures(4, include_bias=False).fit([[0.0, 0.0, 0.0]])
    values = [0.5, -2.0, 3.0]
    found = PolynomialFeatures(4, interactions=True).transform_one(dict(zip("abc", values, strict=True)))
    names = [name.replace(" ", "*") for name in peer.get_feature_names_out(["a", "b", "c"])]
    assert set(found) == set(names)
    expected = dict(zip(names, peer.transform([values])[0], strict=True))
    assert found == pytest.approx(expected, rel=1e-14)


def test_the_order_of_features_does_not_matter() -> None:
    powers = PolynomialFeatures(2, interactions=True)
    assert powers.transform_one({"b": 3.0, "a": 2.0}) == powers.transform_one({"a": 2.0, "b": 3.0})


def test_powers_without_products() -> None:
    found = PolynomialFeatures(3).transform_one({"x": 2, 7: -1.0, "town": "bern", "open": True})
    expected: dict[Any, Any] = {
        **{"x": 2, 7: -1.0, "town": "bern", "open": True},
        **{"x^2": 4.0, "7^2": 1.0, "open^2": 1.0},
        **{"x^3": 8.0, "7^3": -1.0, "open^3": 1.0},
    }
    assert found == expected
    assert PolynomialFeatures(5).names("x", 3) == ["x", "x^2", "x^3"]
    assert PolynomialFeatures(5).names("x", 0) == []


def test_what_has_no_powers_is_refused() -> None:
    with pytest.raises(InputError, match="too large a number"):
        PolynomialFeatures(20).transform_one({"x": 1e200})
    with pytest.raises(InputError, match="has the name of a feature"):
        PolynomialFeatures(2).transform_one({"x": 1.0, "x^2": 5.0})
    for degree in (0, 101, 1.5):
        with pytest.raises(ParameterError, match="degree must be"):
            PolynomialFeatures(degree)  # type: ignore[arg-type]


def test_too_many_terms_are_refused() -> None:
    """C(n + degree, degree) - 1 with products: C(17 + 6, 6) - 1 = 100,946 is too many, C(16 + 6, 6) - 1 = 74,612 not.

    Six features of degree 100 have C(106, 6) - 1 = 1,705,904,745; without products 1,001 have 1,001 x 100.
    """
    many: dict[str, Any] = {f"x{place}": 1.0 for place in range(17)}
    with pytest.raises(InputError, match="17 features of degree 6 make 100,946 terms; at most 100,000"):
        PolynomialFeatures(6, interactions=True).transform_one(many)
    with pytest.raises(InputError, match=r"1,705,904,745 terms"):
        PolynomialFeatures(100, interactions=True).transform_many(pd.DataFrame([dict.fromkeys("abcdef", 1.0)]))
    with pytest.raises(InputError, match="1001 features of degree 100 make 100,100 terms"):
        PolynomialFeatures(100).transform_one({str(place): 1.0 for place in range(1001)})
    many["x16"] = "a text"
    assert len(PolynomialFeatures(6, interactions=True).transform_one(many)) == 74_612 + 1


@pytest.mark.parametrize("powers", [PolynomialFeatures(4), PolynomialFeatures(3, interactions=True)])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_transformed_as_its_rows(powers: PolynomialFeatures, make: Any) -> None:
    """Bit for bit; texts pass, and what is missing has no powers."""
    generator = np.random.default_rng(6)
    frame = make(
        {
            "x": generator.normal(size=40),
            "n": generator.integers(-5, 5, size=40),
            "open": generator.random(size=40) < 0.5,
            "gaps": [None if row % 3 == 0 else float(row) for row in range(40)],
            "town": [None if row % 4 == 0 else "bern" for row in range(40)],
        }
    )
    found = powers.transform_many(frame)
    assert isinstance(found, make)
    learned = BayesianLinearRegression(0.3, 2.0)
    learned.learn_many(found, range(40))
    expected = BayesianLinearRegression(0.3, 2.0)
    for row, x in enumerate(EventTable.of(frame).events()):
        expected.learn_one(powers.transform_one(x), row)
    assert frozen(learned) == frozen(expected)


def test_a_frame_keeps_its_index_and_its_columns() -> None:
    frame = pd.DataFrame({7: [1, 2], "x": [0.5, np.nan]}, index=["a", "a"])
    found = PolynomialFeatures(2).transform_many(frame)
    assert found.columns.tolist() == [7, "x", "7^2", "x^2"]
    assert found.index.equals(frame.index)
    assert found["7^2"].tolist() == [1.0, 4.0]
    assert frame.columns.tolist() == [7, "x"]
    assert PolynomialFeatures(1).transform_many(frame).equals(frame)
    mixed = pd.DataFrame({"m": [2, "two", None]}, dtype=object)
    assert PolynomialFeatures(2).transform_many(mixed)["m^2"].tolist()[0] == 4.0


def test_a_frame_that_has_no_powers_is_refused() -> None:
    with pytest.raises(InputError, match="too large a number"):
        PolynomialFeatures(2).transform_many(pd.DataFrame({"x": [1.0, 1e200]}))
    with pytest.raises(InputError, match="has the name of a feature"):
        PolynomialFeatures(2).transform_many(pd.DataFrame({"x": [1.0], "x^2": [1.0]}))
    with pytest.raises(InputError, match="takes a data frame"):
        PolynomialFeatures(2).transform_many(np.ones((2, 2)))


def test_a_polynomial_pipeline_learns_frames() -> None:
    generator = np.random.default_rng(7)
    frame = pd.DataFrame({"x": generator.uniform(-1, 1, 200)})
    targets = 1 - 2 * frame["x"] + 3 * frame["x"] ** 3
    together = PolynomialFeatures(3) | BayesianLinearRegression(1e-6, 1e-4)
    together.learn_many(frame, targets)
    alone = PolynomialFeatures(3) | BayesianLinearRegression(1e-6, 1e-4)
    for x, target in zip(frame["x"].tolist(), targets.tolist(), strict=True):
        alone.learn_one({"x": x}, target)
    assert together.predict_many(frame).tolist() == [alone.predict_one({"x": x}) for x in frame["x"].tolist()]


def test_lags_of_a_mini_batch_are_refused() -> None:
    """Its pipeline transforms all rows before it learns the first: each would have the lags of the batch before."""
    model = LagFeatures(2) | BayesianLinearRegression()
    with pytest.raises(InputError, match="one event at a time"):
        model.learn_many(pd.DataFrame({"x": [1.0, 2.0]}), pd.Series([1.0, 2.0]))


@pytest.mark.parametrize("on", [["x"], {}, object(), ()])
def test_lags_of_what_is_no_feature(on: Any) -> None:
    with pytest.raises(ParameterError, match="on must be the name of a feature"):
        LagFeatures(on=on)


def test_lags_of_the_target() -> None:
    lags = LagFeatures(3)
    seen = []
    for target in (1.0, 2.0, 4.0, 8.0, 16.0):
        seen.append((lags.transform_one({"x": 0.5}), lags.is_filled))
        lags.learn_one({"x": 0.5}, target)
    assert seen == [
        ({"x": 0.5}, False),
        ({"x": 0.5, "target[t-1]": 1.0}, False),
        ({"x": 0.5, "target[t-1]": 2.0, "target[t-2]": 1.0}, False),
        ({"x": 0.5, "target[t-1]": 4.0, "target[t-2]": 2.0, "target[t-3]": 1.0}, True),
        ({"x": 0.5, "target[t-1]": 8.0, "target[t-2]": 4.0, "target[t-3]": 2.0}, True),
    ]
    assert list(seen[-1][0])[1:] == lags.names(3)


def test_lags_of_a_feature() -> None:
    """Its own value of now stays beside them."""
    lags = LagFeatures(2, on="load")
    for x in ({"load": 1.0}, {"other": 5.0}, {"load": np.float64(3.0)}):
        lags.learn_one(x)
    assert lags.transform_one({"load": 9}) == {"load": 9, "load[t-1]": 3.0, "load[t-2]": 1.0}


def test_what_is_no_past_is_refused() -> None:
    lags = LagFeatures(2)
    for target in (None, float("nan"), "high"):
        with pytest.raises(InputError, match="target must be a finite number"):
            lags.learn_one({}, target)
    with pytest.raises(InputError, match="feature 'x' must be a finite number"):
        LagFeatures(2, on="x").learn_one({"x": "high"}, 1.0)
    with pytest.raises(InputError, match="has the name of a lag"):
        lags.transform_one({"target[t-2]": 1.0})
    with pytest.raises(ParameterError, match="order must be"):
        LagFeatures(0)


@pytest.mark.parametrize("transformer", [PolynomialFeatures(3, True), LagFeatures(4), LagFeatures(2, on="x")])
def test_transformers_are_copied_and_cloned(transformer: Any) -> None:
    """A copy keeps the past, a clone has none."""
    transformer = copy.deepcopy(transformer)
    arguments = ({"x": 2.0}, 3.0) if isinstance(transformer, LagFeatures) else ({"x": 2.0},)
    transformer.learn_one(*arguments)
    for twin in (copy.deepcopy(transformer), pickle.loads(pickle.dumps(transformer))):
        assert twin.transform_one({"x": 5.0}) == transformer.transform_one({"x": 5.0})
    fresh = type(transformer)(**transformer._get_params())
    assert transformer.clone().transform_one({"x": 5.0}) == fresh.transform_one({"x": 5.0})


@pytest.mark.slow
@pytest.mark.parametrize("transformer", [PolynomialFeatures(), PolynomialFeatures(2, True), LagFeatures(2)])
def test_rivers_checks(transformer: Any) -> None:
    for check in river_checks.yield_checks(transformer):
        check(transformer.clone())


def test_a_polynomial_in_a_pipeline() -> None:
    """y = 1 - 2 x + 3 x^3 without noise: the last predictions are right."""
    model = PolynomialFeatures(3) | BayesianLinearRegression(1e-6, 1e-4)
    generator = np.random.default_rng(1)
    for x in generator.uniform(-1, 1, 200).tolist():
        model.learn_one({"x": x}, 1 - 2 * x + 3 * x**3)
    assert model.predict_one({"x": 0.5}) == pytest.approx(0.375, abs=1e-4)
    weights = model["BayesianLinearRegression"].weights()
    assert weights["x^2"].mean == pytest.approx(0.0, abs=1e-3)


def series(coefficients: list[float], count: int, seed: int = 0) -> FloatArray:
    """An autoregression with noise of deviation 0.5 around a level of 2."""
    generator = np.random.default_rng(seed)
    values = np.zeros(count + 50)
    for place in range(len(coefficients), len(values)):
        past = values[place - len(coefficients) : place][::-1]
        values[place] = past @ coefficients + 0.5 * generator.normal()
    return 2.0 + values[50:]


def test_an_autoregression_in_a_pipeline_is_that_of_least_squares() -> None:
    values = series([0.6, -0.3], 300)
    lags = LagFeatures(2)
    gram = GramRegression(intercept=True)
    for value in values.tolist():
        if lags.is_filled:
            gram.learn_one(lags.transform_one({}), value)
        lags.learn_one({}, value)
    fit = gram.solve("none")
    peer = AutoReg(values, 2).fit()
    assert [fit.intercept, *(fit.weights[name] for name in lags.names(2))] == pytest.approx(peer.params, rel=1e-8)
    assert fit.log_likelihood() == pytest.approx(peer.llf, rel=1e-8)
    score = metrics.MAE()
    pipeline = compose.Pipeline(LagFeatures(2), BayesianLinearRegression(0.01, 0.25))
    plain = metrics.MAE()
    evaluate.progressive_val_score([({}, value) for value in values.tolist()], pipeline, score)
    scaled = preprocessing.StandardScaler() | BayesianLinearRegression(0.01, 0.25)
    evaluate.progressive_val_score([({}, value) for value in values.tolist()], scaled, plain)
    assert score.get() < 0.9 * plain.get()


def gram_of(values: FloatArray, order: int) -> tuple[GramRegression, LagFeatures]:
    lags = LagFeatures(order)
    gram = GramRegression()
    for value in values.tolist():
        if lags.is_filled:
            gram.learn_one(lags.transform_one({}), value)
        lags.learn_one({}, value)
    return gram, lags


@pytest.mark.parametrize(
    ("coefficients", "order"), [([], 0), ([0.7], 1), ([0.5, 0.0, 0.4], 3), ([0.9, -0.7, 0.4, -0.5], 4)]
)
def test_the_evidence_finds_the_order(coefficients: list[float], order: int) -> None:
    gram, lags = gram_of(series(coefficients, 2000, 4), 8)
    found = gram.order_evidence([lags.names(size) for size in range(9)])
    assert int(np.argmax([one.log_evidence for one in found])) == order
    for size, one in enumerate(found):
        assert one.effective_weights <= size


def test_every_order_is_compared_on_the_same_events() -> None:
    """log N(Cy; 0, v I + C X X'C / a) of the lags of each order, by the batch."""
    values = series([0.6, -0.3], 120)
    gram, lags = gram_of(values, 4)
    targets = values[4:]
    columns = np.column_stack([values[4 - lag : -lag] for lag in range(1, 5)])
    for size, one in zip((1, 2, 3), gram.order_evidence([lags.names(size) for size in (1, 2, 3)]), strict=True):
        x = columns[:, :size] - columns[:, :size].mean(axis=0)
        total = one.noise_variance * np.eye(len(targets)) + x @ x.T / one.prior_precision
        y = targets - targets.mean()
        _, determinant = np.linalg.slogdet(2.0 * np.pi * total)
        assert one.log_evidence == pytest.approx(-0.5 * (determinant + y @ np.linalg.solve(total, y)), rel=1e-8)


def test_noise_alone_is_the_empty_order() -> None:
    """-n/2 (ln(2 pi v) + 1) with v the variance of the targets."""
    values = np.random.default_rng(3).normal(1.0, 2.0, 200)
    gram, lags = gram_of(values, 2)
    found = gram.order_evidence([[], lags.names(1)])
    targets = values[2:]
    expected = -99.0 * (np.log(2.0 * np.pi * targets.var()) + 1.0)
    assert found[0].log_evidence == pytest.approx(expected, rel=1e-10)
    assert found[0].noise_variance == pytest.approx(targets.var(), rel=1e-10)
    assert found[0].effective_weights == 0.0
    assert found[1].log_evidence >= found[0].log_evidence


def test_the_evidence_finds_the_degree_of_a_polynomial() -> None:
    generator = np.random.default_rng(2)
    powers = PolynomialFeatures(10)
    gram = GramRegression()
    for x in generator.uniform(-1, 1, 400).tolist():
        gram.learn_one(powers.transform_one({"x": x}), 1 - x + 2 * x**2 - 3 * x**3 + 0.2 * float(generator.normal()))
    found = gram.order_evidence([powers.names("x", degree) for degree in range(11)])
    assert int(np.argmax([one.log_evidence for one in found])) == 3
