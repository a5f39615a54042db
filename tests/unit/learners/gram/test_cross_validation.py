"""Cross-validation from the sums of folds, against predicting every event with scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, Ridge

from stream_bayes.errors import EvidenceError, MergeError, ParameterError
from stream_bayes.learners.gram import CrossValidation, GramRegression, cross_validate
from stream_bayes.typing import FloatArray
from tests.support.gram_regressions import sample, taught

STRENGTHS = [30.0, 3.0, 0.3, 0.03]


def folded(model: GramRegression, features: FloatArray, targets: FloatArray, count: int) -> list[GramRegression]:
    return [taught(model.clone(), features[fold::count], targets[fold::count]) for fold in range(count)]


def by_prediction(make: Any, features: FloatArray, targets: FloatArray, count: int) -> FloatArray:
    """Mean squared error of each strength, a row, in each fold."""
    errors = np.empty((len(STRENGTHS), count))
    for row, strength in enumerate(STRENGTHS):
        for fold in range(count):
            own = np.arange(len(targets)) % count == fold
            peer = make(strength, int((~own).sum())).fit(features[~own], targets[~own])
            errors[row, fold] = np.mean((targets[own] - peer.predict(features[own])) ** 2)
    return errors


def test_two_folds_by_hand() -> None:
    """Without an intercept: fold 1 is x = 1, y = 2, fold 2 is x = 2, y = 2; strength 1.

    From fold 1 the weight is 2/(1 + 1) = 1, and fold 2 is off by 0. From fold 2 it is 4/(4 + 1) = 0.8, and fold 1 is
    off by 1.2. Without a penalty they are 2 and 1: off by 2 and 1.
    """
    one = taught(GramRegression(intercept=False), np.array([[1.0]]), np.array([2.0]))
    two = taught(GramRegression(intercept=False), np.array([[2.0]]), np.array([2.0]))
    result = cross_validate([0.0, 1.0], [one, two])
    np.testing.assert_allclose(result.fold_errors, [[1.44, 0.0], [1.0, 4.0]], atol=1e-14)
    assert result.errors == pytest.approx([0.72, 2.5])
    # Half the distance of two numbers is their standard error.
    assert result.standard_errors == pytest.approx([0.72, 1.5])
    assert [result.best, result.one_standard_error] == [1.0, 1.0]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_ridge_is_that_of_predicting_every_event(intercept: bool, offset: float) -> None:
    features, targets = sample(47, offset=offset)
    result = cross_validate(STRENGTHS, folded(GramRegression(0.3, 2.5, intercept=intercept), features, targets, 5))
    expected = by_prediction(lambda k, _: Ridge(k, fit_intercept=intercept), features, targets, 5)
    np.testing.assert_allclose(result.fold_errors, expected, rtol=1e-8)
    sizes = np.array([10, 10, 9, 9, 9])
    assert result.errors == pytest.approx(expected @ sizes / 47, rel=1e-8)


def test_lasso_and_elastic_net_are_those_of_predicting_every_event() -> None:
    features, targets = sample(48)
    folds = folded(GramRegression(), features, targets, 4)
    lasso = cross_validate(STRENGTHS, folds, "lasso")
    expected = by_prediction(lambda k, n: Lasso(k / n, tol=1e-14, max_iter=100000), features, targets, 4)
    np.testing.assert_allclose(lasso.fold_errors, expected, rtol=1e-8)
    net = cross_validate(STRENGTHS, folds, "elastic-net", share=0.3)
    expected = by_prediction(
        lambda k, n: ElasticNet(k / n, l1_ratio=0.3, tol=1e-14, max_iter=100000), features, targets, 4
    )
    np.testing.assert_allclose(net.fold_errors, expected, rtol=1e-8)
    # Where folds are alike the standard error is that of their mean.
    assert net.standard_errors == pytest.approx(expected.std(axis=1, ddof=1) / 2, rel=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_squared_errors_of_a_path_are_those_of_its_predictions(intercept: bool) -> None:
    """The events learned had feature 9 and not 1; the path is of another learner, which had it the other way round."""
    features, targets = sample(20)
    own = taught(GramRegression(0.3, intercept=intercept), features, targets)
    events = [{0: row[0], 9: row[1]} for row in features.tolist()]
    held_out = GramRegression(2.0, intercept=intercept)
    held_out.learn_many(events, targets.tolist())
    path = own.path("ridge", [5.0, 0.5])
    expected = []
    for strength in (5.0, 0.5):
        fit = own.solve("ridge", strength)
        expected.append(sum((y - fit.predict(x)) ** 2 for x, y in zip(events, targets.tolist(), strict=True)))
    assert held_out.squared_errors(path) == pytest.approx(expected, rel=1e-9)
    assert held_out.count == 20.0
    assert own.strengths("lasso", 7).tolist() == own.path("lasso", 7).strengths.tolist()


def test_features_that_only_some_folds_have_are_zero_in_the_others() -> None:
    """Names come in another order in each fold."""
    features, targets = sample(30)
    features[::3, 2] = 0.0
    features[1::3, 0] = 0.0
    folds = [GramRegression() for _ in range(3)]
    for row, (x, y) in enumerate(zip(features.tolist(), targets.tolist(), strict=True)):
        named = {place: value for place, value in enumerate(x) if value}
        folds[row % 3].learn_one(dict(reversed(named.items())) if row % 2 else named, y)
    expected = by_prediction(lambda k, _: Ridge(k), features, targets, 3)
    np.testing.assert_allclose(cross_validate(STRENGTHS, folds).fold_errors, expected, rtol=1e-8)


def test_every_strength_that_a_path_takes() -> None:
    features, targets = sample(40)
    folds = folded(GramRegression(), features, targets, 4)
    for penalty in ("ridge", "lasso", "lp"):
        result = cross_validate(20, folds, penalty)
        assert len(result.strengths) == len(result.errors) == 20
        assert result.best <= result.one_standard_error <= result.strengths[0]


def test_the_folds_are_left_as_they_are() -> None:
    features, targets = sample()
    folds = folded(GramRegression(), features, targets, 3)
    before = [fold.predict_one({0: 1.0}) for fold in folds]
    cross_validate(STRENGTHS, folds)
    assert [fold.predict_one({0: 1.0}) for fold in folds] == before


def test_one_standard_error_takes_the_largest_strength_within_it() -> None:
    """The least error is 2.0 at strength 1, its standard error 0.5: 2.5 at strength 8 is the last within it."""
    errors = np.array([4.0, 2.5, 2.2, 2.0, 2.6])
    result = CrossValidation(np.array([16.0, 8.0, 4.0, 1.0, 0.5]), errors, np.full(5, 0.5), errors[:, None])
    assert [result.best, result.one_standard_error] == [1.0, 8.0]


def test_what_are_no_folds_is_refused() -> None:
    features, targets = sample()
    model = taught(GramRegression(), features, targets)
    with pytest.raises(ParameterError, match="two or more GramRegression learners"):
        cross_validate(STRENGTHS, [model])
    with pytest.raises(ParameterError, match="one learner is there twice"):
        cross_validate(STRENGTHS, [model, model])
    with pytest.raises(EvidenceError, match="fold 1 has learned nothing"):
        cross_validate(STRENGTHS, [model, GramRegression()])
    with pytest.raises(MergeError, match="different parameters"):
        cross_validate(STRENGTHS, [model, taught(GramRegression(7.0), features, targets), model.snapshot_copy()])
    with pytest.raises(ParameterError, match="no path without a penalty"):
        cross_validate(STRENGTHS, [model, model.snapshot_copy()], "none")
