"""Filter selection, exhaustive subset search, and learners restricted to some features."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.feature_selection import r_regression
from sklearn.linear_model import LinearRegression

from stream_bayes.errors import ParameterError
from stream_bayes.learners.gram import GramRegression
from stream_bayes.typing import FloatArray
from tests.support.gram_regressions import sample, taught


def squares(features: FloatArray, targets: FloatArray, columns: tuple[int, ...], intercept: bool = True) -> float:
    """What least squares on these columns leaves."""
    design = np.column_stack((np.ones(len(targets)), features[:, columns])) if intercept else features[:, columns]
    weights = np.linalg.lstsq(design, targets)[0]
    return float(np.sum((targets - design @ weights) ** 2))


def test_univariate_r_squared_by_hand() -> None:
    """y = 1, 3, 5, 8, scatter 26.75; a = 0, 1, 2, 3: 11.5^2 / (5 x 26.75); b = 1, 0, 0, 1: 0.5^2 / (1 x 26.75)."""
    model = GramRegression()
    for a, b, y in ((0, 1, 1), (1, 0, 3), (2, 0, 5), (3, 1, 8)):
        model.learn_one({"b": b, "a": a}, y)
    shares = model.univariate_r_squared()
    assert list(shares) == ["a", "b"]
    assert shares == pytest.approx({"a": 132.25 / 133.75, "b": 0.25 / 26.75}, rel=1e-12)


def test_univariate_r_squared_is_the_squared_correlation() -> None:
    features, targets = sample(offset=20.0)
    model = taught(GramRegression(0.3, 2.5), features, targets)
    expected = r_regression(features, targets) ** 2
    shares = model.univariate_r_squared()
    assert [shares[place] for place in range(4)] == pytest.approx(expected, rel=1e-8)
    assert list(shares) == np.argsort(-expected).tolist()
    plain = taught(GramRegression(intercept=False), features, targets).univariate_r_squared()
    alone = (features.T @ targets) ** 2 / (features**2).sum(axis=0) / (targets @ targets)
    assert [plain[place] for place in range(4)] == pytest.approx(alone, rel=1e-8)


def test_filter_takes_the_largest_alone_first() -> None:
    """A copy of the best feature comes second, though it explains nothing more."""
    features, targets = sample()
    best = int(np.argmax(r_regression(features, targets) ** 2))
    columns = np.column_stack((features, features[:, best]))
    steps = taught(GramRegression(), columns, targets).select("filter")
    assert [steps[0].name, steps[1].name] == [best, 4]
    order = [int(step.name) for step in steps if isinstance(step.name, int)]
    expected = [squares(columns, targets, tuple(order[: size + 1])) for size in range(5)]
    assert [step.residual_squares for step in steps] == pytest.approx(expected, rel=1e-8)
    assert len(taught(GramRegression(), columns, targets).select("filter", 2)) == 2


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_best_subsets_are_those_of_a_search(seed: int, intercept: bool) -> None:
    features, targets = sample(40, 7, seed, 2.0)
    found = taught(GramRegression(0.3, intercept=intercept), features, targets).best_subsets()
    assert [len(subset.names) for subset in found] == list(range(8))
    for size, subset in enumerate(found):
        best = min(combinations(range(7), size), key=lambda columns: squares(features, targets, columns, intercept))
        assert subset.names == best
        assert subset.residual_squares == pytest.approx(squares(features, targets, best, intercept), rel=1e-8)


def test_the_best_pair_need_not_hold_the_best_single() -> None:
    """y = a - b, c = y + noise: c is best alone, and a with b leaves nothing."""
    generator = np.random.default_rng(3)
    columns = generator.normal(size=(60, 3))
    columns[:, 1] += columns[:, 0]
    targets = columns[:, 0] - columns[:, 1]
    columns[:, 2] = targets + 0.1 * generator.normal(size=60)
    model = taught(GramRegression(), columns, targets)
    subsets = model.best_subsets()
    assert [subset.names for subset in subsets[:3]] == [(), (2,), (0, 1)]
    assert subsets[2].residual_squares == pytest.approx(0.0, abs=1e-10)
    assert model.select("forward", 1)[0].name == 2


def test_dependent_columns_end_the_list_at_the_rank() -> None:
    features, targets = sample()
    columns = np.column_stack((features, features[:, 0] + features[:, 1]))
    subsets = taught(GramRegression(), columns, targets).best_subsets()
    assert [len(subset.names) for subset in subsets] == [0, 1, 2, 3, 4]
    assert subsets[-1].residual_squares == pytest.approx(squares(features, targets, (0, 1, 2, 3)), rel=1e-8)


@pytest.mark.slow
def test_twenty_columns_are_searched_and_more_refused() -> None:
    features, targets = sample(60, 20, 5)
    model = taught(GramRegression(), features, targets)
    subsets = model.best_subsets()
    left = [subset.residual_squares for subset in subsets]
    assert left == sorted(left, reverse=True)
    for direction in ("forward", "backward"):
        steps = model.select(direction)
        nested = [step.residual_squares for step in (steps if direction == "forward" else steps[::-1][1:])]
        sizes = range(1, 21) if direction == "forward" else range(1, 20)
        assert all(left[size] <= found * (1 + 1e-9) for size, found in zip(sizes, nested, strict=True))
    more = taught(GramRegression(), np.column_stack((features, targets)), targets)
    with pytest.raises(ParameterError, match="2\\^21 subsets"):
        more.best_subsets()
    assert len(more.restrict(range(20)).best_subsets()) == 21


@pytest.mark.parametrize("intercept", [True, False])
def test_a_restricted_learner_is_one_of_these_features(intercept: bool) -> None:
    features, targets = sample(offset=5.0)
    whole = taught(GramRegression(0.7, 2.0, 3.0, intercept=intercept), features, targets)
    small = whole.restrict([3, 1])
    other = GramRegression(0.7, 2.0, 3.0, intercept=intercept)
    for row, target in zip(features.tolist(), targets.tolist(), strict=True):
        other.learn_one({3: row[3], 1: row[1]}, target)
    for x in ({1: 2.0, 3: -1.0}, {0: 3.0}, {}):
        assert small.predict_one(x) == pytest.approx(other.predict_one(x), rel=1e-10)
        assert small.predictive_one(x).variance == pytest.approx(other.predictive_one(x).variance, rel=1e-10)
    assert small.maximise_evidence() == pytest.approx(other.maximise_evidence(), rel=1e-7)
    peer = LinearRegression(fit_intercept=intercept).fit(features[:, [3, 1]], targets)
    assert [small.solve("none").weights[name] for name in (3, 1)] == pytest.approx(peer.coef_, rel=1e-8)
    small.learn_one({1: 1.0, "new": 2.0}, 3.0)
    other.learn_one({1: 1.0, "new": 2.0}, 3.0)
    assert small.predict_one({"new": 1.0}) == pytest.approx(other.predict_one({"new": 1.0}), rel=1e-10)
    assert whole.predict_one({"new": 1.0}) == pytest.approx(whole.predict_one({}), rel=1e-12)


def test_a_restricted_learner_keeps_texts() -> None:
    model = GramRegression()
    for row, town in enumerate(("bern", "basel", "bern", "chur")):
        model.learn_one({"town": town, "rooms": row}, float(row * row))
    small = model.restrict([("town", "bern"), "rooms"])
    assert small.predict_one({"town": "bern"}) != small.predict_one({"town": "basel"})
    assert small.predict_one({"town": "chur"}) == small.predict_one({})


def test_features_that_cannot_be_told_apart_are_refused() -> None:
    features, targets = sample()
    model = taught(GramRegression(), features, targets)
    for names in (["never"], [1, 1]):
        with pytest.raises(ParameterError, match="different features that were learned"):
            model.restrict(names)
    with pytest.raises(ParameterError, match="buckets=None"):
        GramRegression(buckets=16).restrict([1])
