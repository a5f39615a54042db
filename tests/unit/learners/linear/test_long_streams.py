"""20,000 updates, and in the long tests a million, on columns of condition 1e8, against decimals of 120 digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from river import linear_model

from stream_bayes import Batch, BayesianLinearRegression
from stream_bayes.kernels.common.jit import kernel
from stream_bayes.typing import FloatArray, IntArray
from tests.support.exact_regression import Solution, posterior

WIDTH = 50
ROWS = 200
RIVER_EVENTS = 40_000
NOISE = 0.01
NAMES = [f"x{j}" for j in range(WIDTH)]


def ill_conditioned() -> tuple[FloatArray, FloatArray]:
    """200 events, singular values from 1 down to 1e-8; each comes many times."""
    generator = np.random.default_rng(3)
    left = np.linalg.qr(generator.normal(size=(ROWS, WIDTH)))[0]
    right = np.linalg.qr(generator.normal(size=(WIDTH, WIDTH)))[0]
    rows = left * np.geomspace(1.0, 1e-8, WIDTH) @ right.T * np.sqrt(ROWS)
    return rows, rows @ generator.normal(size=WIDTH) + 0.1 * generator.normal(size=ROWS)


@kernel
def sherman_morrison(
    covariance: FloatArray, mean: FloatArray, rows: FloatArray, targets: FloatArray, order: IntArray
) -> None:
    for row in order:
        x = rows[row]
        h = covariance @ x
        gain = h / (NOISE + x @ h)
        mean += gain * (targets[row] - x @ mean)
        covariance -= np.outer(gain, h)


def error(found: FloatArray, truth: FloatArray) -> float:
    return float(np.abs(found - truth).max() / np.abs(truth).max())


def report(found: Solution, truth: Solution) -> str:
    definite = np.linalg.eigvalsh(found.covariance)[0] > 0.0
    errors = error(found.mean, truth.mean), error(found.covariance, truth.covariance)
    return f"mean off by {errors[0]:.0e}, covariance by {errors[1]:.0e}{'' if definite else ', not positive definite'}"


def ours(precision: float, rows: FloatArray, targets: FloatArray, order: IntArray) -> Solution:
    model = BayesianLinearRegression(precision, NOISE, intercept=False)
    for part in np.split(order, 50):
        model.test_then_train(Batch.from_matrix(rows[part], NAMES), targets[part])
    posterior: Any = model._posterior
    return Solution(posterior.means(), NOISE * posterior.covariances(np.arange(WIDTH)))


def rivers(precision: float, rows: FloatArray, targets: FloatArray, order: IntArray) -> Solution:
    """river gives the noise as a precision, and keeps its posterior in private arrays."""
    model: Any = linear_model.BayesianLinearRegression(alpha=precision, beta=1.0 / NOISE)
    events = [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]
    for row in order[:RIVER_EVENTS]:
        model.learn_one(events[row], float(targets[row]))
    model._ensure_m()
    return Solution(model._m_arr[:WIDTH], model._ss_inv_arr[:WIDTH, :WIDTH])


@pytest.mark.long
@pytest.mark.parametrize("repeats", [100, 5000])
@pytest.mark.parametrize("precision", [1.0, 1e-6, 1e-12])
def test_many_updates_keep_their_digits(precision: float, repeats: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows, targets = ill_conditioned()
    truth = posterior(rows, targets, repeats, precision, NOISE)
    generator = np.random.default_rng(4)
    order = np.concatenate([generator.permutation(ROWS) for _ in range(repeats)])
    found = ours(precision, rows, targets, order)
    plain = Solution(np.zeros(WIDTH), np.eye(WIDTH) / precision)
    sherman_morrison(plain.covariance, plain.mean, rows, targets, order)
    river_events = min(RIVER_EVENTS, len(order))
    few = posterior(rows, targets, river_events // ROWS, precision, NOISE)
    with capsys.disabled():
        print(f"\n{len(order):,} updates, {WIDTH} weights, condition 1e8, prior precision {precision:g}")
        print(f"  stream_bayes       {report(found, truth)}")
        print(f"  Sherman-Morrison   {report(plain, truth)}")
        print(f"  river ({river_events:,})     {report(rivers(precision, rows, targets, order), few)}")
    assert np.linalg.eigvalsh(found.covariance)[0] > 0.0
    assert error(found.mean, truth.mean) < 1e-6
    assert error(found.covariance, truth.covariance) < 1e-6
