"""The examples of regression print figures that closed forms, scipy or scikit-learn agree with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import BayesianRidge, Lasso, LinearRegression, Ridge

from stream_bayes.kernels.compiled import FloatArray
from tests.examples import checked, numbers, rows


def test_bayesian_line(tmp_path: Path) -> None:
    shown = rows(checked("bayesian_line", tmp_path), r" +\d")
    generator = np.random.default_rng(9)
    x = generator.uniform(-1, 1, 20)
    y = -0.3 + 0.5 * x + generator.normal(0, 0.2, 20)
    for (count, *figures, inside, weights, evidence), seen in zip(shown, (0, 1, 2, 20), strict=True):
        design = np.column_stack((np.ones(seen), x[:seen]))
        covariance = np.linalg.inv(2 * np.eye(2) + design.T @ design / 0.04)
        belief = stats.norm(covariance @ design.T @ y[:seen] / 0.04, np.sqrt(np.diag(covariance)))
        expected = np.stack((belief.mean(), belief.std(), *belief.interval(0.95)), axis=1)
        assert figures == pytest.approx(expected.ravel(), abs=5.1e-5)
        assert [count, inside, weights] == [seen, 2, 2]
        assert (np.abs(belief.cdf((-0.3, 0.5)) - 0.5) < 0.475).all()
        # Before the noise is added, targets are normal with covariance X X' / 2.
        targets = (
            stats.multivariate_normal(np.zeros(seen), design @ design.T / 2 + 0.04 * np.eye(seen)) if seen else None
        )
        assert evidence == pytest.approx(targets.logpdf(y[:seen]) if targets else 0, abs=5.1e-5)


def labelled(seed: int) -> FloatArray:
    """Error and entropy, a row a label, of labels at random and of the largest variance, each from the closed form."""
    generator, curves = np.random.default_rng(seed), np.empty((2, 60, 2))
    design = np.column_stack((np.ones(800), generator.normal(size=(800, 7)) @ generator.normal(size=(7, 7))))
    line = design @ generator.normal(0, 2, 8)
    targets, order = generator.normal(line, 1), generator.permutation(400).tolist()
    for way, curve in enumerate(curves):
        chosen: list[int] = []
        for label in range(60):
            known = design[chosen]
            covariance = np.linalg.inv(0.25 * np.eye(8) + known.T @ known)
            variances = ((design[:400] @ covariance) * design[:400]).sum(axis=1)
            variances[chosen] = 0
            chosen.append(int(variances.argmax()) if way else order[label])
            known = design[chosen]
            covariance = np.linalg.inv(0.25 * np.eye(8) + known.T @ known)
            away = (design @ covariance @ known.T @ targets[chosen] - line)[400:]
            curve[label] = np.sqrt(np.mean(away**2)), stats.multivariate_normal(cov=covariance).entropy()
    return curves


def test_active_regression(tmp_path: Path) -> None:
    lines = checked("active_regression", tmp_path)
    random, active = np.median([labelled(seed) for seed in range(30)], axis=0)
    for shown, labels in zip(rows(lines, r" +\d"), (5, 10, 20, 40, 60), strict=True):
        expected = [labels, *random[labels - 1], *active[labels - 1], *active[labels - 1]]
        assert shown == pytest.approx(expected, abs=5.1e-5)
    worth = [int(np.flatnonzero(random[:, measured] <= active[19, measured])[0]) + 1 for measured in (0, 1)]
    assert rows(lines, "20 labels") == [[20, *worth]]
    # Half of the labels are saved, by either measure.
    assert min(worth) >= 40
    assert rows(lines, "all ranked") == [[30, 30]]


def test_ridge_lasso_path(tmp_path: Path) -> None:
    lines = checked("ridge_lasso_path", tmp_path)
    generator, features, targets = np.random.default_rng(4), np.empty((400, 8)), np.empty(400)
    for row in range(400):
        features[row] = [generator.normal() for _ in range(8)]
        features[row, 4] = 0.9 * features[row, 0] + 0.45 * features[row, 4]
        targets[row] = 10 + features[row, :4] @ (3, 2, -1.5, -1) + 3 * generator.normal()
    shown = rows(lines, "none|ridge|lasso")
    peers = LinearRegression(), Ridge(40), Ridge(400), Lasso(40 / 400, tol=1e-10), Lasso(400 / 400, tol=1e-10)
    for peer, (_, _, *weights) in zip(peers, shown, strict=True):
        assert weights == pytest.approx(peer.fit(features, targets).coef_, abs=5.1e-4)
    squares = np.linalg.svd(features - features.mean(axis=0), compute_uv=False) ** 2
    degrees = [8, *((squares / (squares + strength)).sum() for strength in (40, 400))]
    assert [row[1] for row in shown] == pytest.approx(
        [*degrees, *(np.count_nonzero(peer.coef_) for peer in peers[3:])], abs=5.1e-4
    )


def test_evidence(tmp_path: Path) -> None:
    found, more, cross = (numbers(line) for line in checked("evidence", tmp_path) if line)
    generator = np.random.default_rng(2)
    features, weights = generator.normal(size=(60, 30)), generator.normal(0, 0.5, 30)
    targets = features @ weights + generator.normal(0, 2, 60)
    peer = BayesianRidge(
        fit_intercept=False, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-10, max_iter=1000, compute_score=True
    ).fit(features, targets)
    noise = 1 / peer.alpha_
    assert found == pytest.approx([peer.lambda_, noise], abs=5.1e-5)
    kept = np.linalg.svd(features, compute_uv=False) ** 2
    assert more == pytest.approx([peer.scores_[-1], (kept / (kept + peer.lambda_ * noise)).sum(), 30], abs=5.1e-5)
    errors = {}
    for precision in np.geomspace(0.05, 200, 121):
        folds = [np.arange(60) % 10 == fold for fold in range(10)]
        fits = [Ridge(precision * noise, fit_intercept=False).fit(features[~own], targets[~own]) for own in folds]
        wrong = [targets[own] - fit.predict(features[own]) for own, fit in zip(folds, fits, strict=True)]
        errors[precision] = np.mean(np.square(wrong))
    best = min(errors, key=errors.__getitem__)
    assert cross == pytest.approx([best, errors[best], 0.05, errors[min(errors)]], abs=5.1e-5)
