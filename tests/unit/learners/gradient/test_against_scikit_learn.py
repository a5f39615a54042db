"""Gradient learners against the optimum that scikit-learn finds, on data that comes with it, standardised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import datasets, linear_model
from sklearn.preprocessing import StandardScaler

from stream_bayes import Batch
from stream_bayes.learners.gradient import LogisticRegression, PoissonRegression, SoftmaxRegression
from stream_bayes.typing import FloatArray


def standardised(load: Any) -> tuple[FloatArray, FloatArray, list[str]]:
    matrix, targets = load(return_X_y=True)
    return StandardScaler().fit_transform(matrix), targets, [f"x{j}" for j in range(matrix.shape[1])]


def passes(model: Any, matrix: FloatArray, targets: FloatArray, count: int, seed: int = 0) -> Any:
    """The stream this many times, each time in another order."""
    generator = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(matrix.shape[1])]
    for _ in range(count):
        order = generator.permutation(len(targets))
        model.test_then_train(Batch.from_matrix(matrix[order], names), targets[order].tolist())
    return model


def log_loss(probabilities: FloatArray, targets: FloatArray) -> float:
    return float(-np.log(probabilities[np.arange(len(targets)), targets.astype(int)]).mean())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_logistic_reaches_the_optimum_in_five_passes(seed: int) -> None:
    """Breast cancer, 569 rows, 30 features: mean log loss + l2 / 2 |v|^2 with l2 = 10 / 569 is scikit-learn's C = 0.1.

    The log loss is within 1 % of that at the optimum, and so is the objective, which the optimum cannot exceed.
    """
    matrix, labels, names = standardised(datasets.load_breast_cancer)
    l2 = 10.0 / len(labels)
    oracle = linear_model.LogisticRegression(C=0.1, tol=1e-10, max_iter=10_000).fit(matrix, labels)
    model = passes(LogisticRegression(rate=0.12, l2=l2, classes=(0, 1)), matrix, labels, 5, seed)
    predictions = model.predictive_many(Batch.from_matrix(matrix, names)).probabilities
    ours = log_loss(predictions, labels)
    best = log_loss(oracle.predict_proba(matrix), labels)
    assert ours == pytest.approx(best, rel=0.01)
    squares = sum(weight**2 for weight in model.weights().values())
    objective = ours + l2 / 2 * squares
    optimum = best + l2 / 2 * (oracle.coef_**2).sum()
    assert optimum < objective < 1.01 * optimum


def test_l1_keeps_the_features_that_scikit_learn_keeps() -> None:
    """Breast cancer with l1 = 0.05, scikit-learn's C = 1 / (569 l1): the objective to 1 %, most of the same zeros."""
    matrix, labels, names = standardised(datasets.load_breast_cancer)
    l1 = 0.05
    lasso = {"l1_ratio": 1.0, "solver": "saga", "C": 1.0 / (l1 * len(labels))}
    oracle = linear_model.LogisticRegression(**lasso, tol=1e-8, max_iter=100_000).fit(matrix, labels)
    model = passes(LogisticRegression(rate=0.1, l1=l1, classes=(0, 1)), matrix, labels, 20)
    weights = np.array([model.weight(name) for name in names])
    predictions = model.predictive_many(Batch.from_matrix(matrix, names)).probabilities
    objective = log_loss(predictions, labels) + l1 * np.abs(weights).sum()
    optimum = log_loss(oracle.predict_proba(matrix), labels) + l1 * np.abs(oracle.coef_).sum()
    assert optimum * (1 - 1e-6) < objective < 1.01 * optimum
    assert np.mean((weights == 0.0) == (oracle.coef_[0] == 0.0)) >= 0.9


@pytest.mark.parametrize(("load", "rate"), [(datasets.load_wine, 0.2), (datasets.load_iris, 0.4)])
def test_softmax_reaches_the_multinomial_optimum(load: Any, rate: float) -> None:
    """Wine and iris, three labels each: with l2 = 2 / n, scikit-learn's C = 0.5, in twenty passes."""
    matrix, labels, names = standardised(load)
    l2 = 2.0 / len(labels)
    oracle = linear_model.LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(matrix, labels)
    model = passes(SoftmaxRegression(rate=rate, l2=l2, classes=(0, 1, 2)), matrix, labels, 20)
    predictions = model.predictive_many(Batch.from_matrix(matrix, names)).probabilities
    squares = sum(weight**2 for label in range(3) for weight in model.weights(label).values())
    objective = log_loss(predictions, labels) + l2 / 2 * squares
    optimum = log_loss(oracle.predict_proba(matrix), labels) + l2 / 2 * (oracle.coef_**2).sum()
    assert optimum * (1 - 1e-6) < objective < 1.01 * optimum
    assert np.abs(predictions - oracle.predict_proba(matrix)).max() < 0.1


def test_poisson_reaches_scikit_learns_optimum() -> None:
    """Diabetes, the progression in tens as a count: PoissonRegressor's alpha is l2.

    Twenty passes take 98 % of the way from a constant rate to the optimum: real counts scatter more than Poisson's.
    """
    matrix, progression, names = standardised(datasets.load_diabetes)
    counts = (progression / 10).round()
    oracle = linear_model.PoissonRegressor(alpha=0.05, tol=1e-10, max_iter=10_000).fit(matrix, counts)
    model = passes(PoissonRegression(rate=0.1, l2=0.05), matrix, counts, 20)
    means = model.predictive_many(Batch.from_matrix(matrix, names)).mean

    def objective(mean: FloatArray, weights: FloatArray) -> float:
        return float((mean - counts * np.log(mean)).mean() + 0.025 * (weights**2).sum())

    ours = objective(means, np.array([model.weight(name) for name in names]))
    best = objective(oracle.predict(matrix), oracle.coef_)
    nothing = objective(np.full(len(counts), counts.mean()), np.zeros(1))
    assert best - 1e-9 < ours < best + 0.02 * (nothing - best)
    np.testing.assert_allclose(means, oracle.predict(matrix), rtol=0.2)
