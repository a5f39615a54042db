"""The examples of regression print figures that closed forms, scipy or scikit-learn agree with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import BayesianRidge, Lasso, LinearRegression, Ridge

from stream_bayes import Normal
from stream_bayes.active import LabelBudget, LabelSelector
from stream_bayes.typing import FloatArray
from tests.support.examples import assert_not_blank, checked, numbers, rows, run


@pytest.mark.long
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


def covariance_of(known: FloatArray) -> FloatArray:
    """Of the weights after events with noise of variance 1."""
    covariance: Any = np.linalg.inv(0.25 * np.eye(8) + known.T @ known)
    return np.asarray(covariance)


def from_pool(design: FloatArray, order: list[int]) -> list[list[int]]:
    """Rows at random, and those of largest variance, each given the ones before."""
    chosen: list[int] = []
    for _ in range(60):
        variances = ((design @ covariance_of(design[chosen])) * design).sum(axis=1)
        variances[chosen] = 0
        chosen.append(int(variances.argmax()))
    return [order[:60], chosen]


def from_stream(design: FloatArray, targets: FloatArray, generator: np.random.Generator) -> list[list[int]]:
    """Rows at random among those that have come, and those that the selector wants."""
    selector = LabelSelector("variance", LabelBudget(total=70, audit_fraction=0))
    random = list[int]()
    chosen = list[int]()
    free = list[int]()
    mean = np.zeros(8)
    covariance = np.eye(8) / 0.25
    for row, x in enumerate(design):
        free.append(row)
        if selector.ask(row, Normal(float(x @ mean), float(1 + x @ covariance @ x), 1)) and len(chosen) < 60:
            selector.answered(row, "measured")
            random.append(free.pop(generator.integers(len(free))))
            chosen.append(row)
            covariance = covariance_of(design[chosen])
            mean = covariance @ design[chosen].T @ targets[chosen]
    return [random, chosen]


def labelled(seed: int, stream: bool) -> FloatArray:
    """Error and entropy, a row a label, of labels at random and of large variance, each from the closed form."""
    generator = np.random.default_rng(seed)
    count = 4000 if stream else 400
    curves = np.empty((2, 60, 2))
    plain = generator.standard_t(2, (count + 400, 7)) if stream else generator.normal(size=(count + 400, 7))
    design = np.column_stack((np.ones(count + 400), plain @ generator.normal(size=(7, 7))))
    line = design @ generator.normal(0, 2, 8)
    targets = generator.normal(line, 1)
    order = generator.permutation(400).tolist()
    both = from_stream(design[:count], targets, generator) if stream else from_pool(design[:count], order)
    for chosen, curve in zip(both, curves, strict=True):
        for label in range(60):
            known = design[chosen[: label + 1]]
            answers = targets[chosen[: label + 1]]
            covariance = covariance_of(known)
            away = (design @ covariance @ known.T @ answers - line)[count:]
            # That of a normal with this covariance.
            entropy = 4 * np.log(2 * np.pi * np.e) + 0.5 * np.linalg.slogdet(covariance)[1]
            curve[label] = np.sqrt(np.mean(away**2)), entropy
    return curves


@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.long)])
def test_active_regression(tmp_path: Path, stream: bool) -> None:
    """Half of the labels are saved, by either measure; the median of entropy is the lower one all along."""
    lines = run("active_regression", tmp_path, "--out", str(tmp_path), *["--stream"] * stream).rstrip().splitlines()
    picture = tmp_path / f"active_regression{'_stream' * stream}.png"
    assert lines[-1] == f"Picture: {picture}"
    assert_not_blank(picture)
    curves = np.array([labelled(seed, stream) for seed in range(30)])
    random, active = np.median(curves, axis=0)
    for shown, labels in zip(rows(lines, r" +\d"), (5, 10, 20, 40, 60), strict=True):
        assert shown == pytest.approx([labels, *random[labels - 1], *active[labels - 1]], abs=5.1e-5)
    reached = [np.flatnonzero(random[:, measured] <= active[19, measured]) for measured in (0, 1)]
    worth = [int(places[0]) + 1 if len(places) else len(random) for places in reached]
    assert rows(lines, "20 labels") == [[20, *worth]]
    assert min(worth) >= 40
    never_above = (curves[:, 1, :, 1] <= curves[:, 0, :, 1]).all(axis=1).sum()
    assert rows(lines, "after no label") == [[never_above, 30]]
    assert stream or never_above == 30
    # The first event of a stream has nothing to be compared with.
    assert (active[1:, 1] < random[1:, 1]).all()


@pytest.mark.long
def test_ridge_lasso_path(tmp_path: Path) -> None:
    lines = checked("ridge_lasso_path", tmp_path)
    generator = np.random.default_rng(4)
    features = np.empty((400, 8))
    targets = np.empty(400)
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


@pytest.mark.long
def test_evidence(tmp_path: Path) -> None:
    found, more, cross = (numbers(line) for line in checked("evidence", tmp_path) if line)
    generator = np.random.default_rng(2)
    features = generator.normal(size=(60, 30))
    weights = generator.normal(0, 0.5, 30)
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
