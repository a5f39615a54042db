"""The example of nearest neighbours prints figures that scikit-learn and the definition of the evidence agree with."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from stream_bayes.typing import FloatArray
from tests.support.examples import checked, numbers, rows


def moons(count: int, seed: int) -> tuple[FloatArray, Any]:
    generator = np.random.default_rng(seed)
    angles = generator.uniform(0, np.pi, count)
    second = generator.random(count) < 0.5
    half = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    points = np.where(second[:, None], np.array([1.0, 0.5]) - half, half)
    return points + generator.normal(0, 0.35, (count, 2)), second


def chances(k: int, known: FloatArray, labels: Any, points: FloatArray) -> FloatArray:
    """(1 + votes) / (2 + k), the votes by scikit-learn."""
    oracle = KNeighborsClassifier(k, algorithm="brute").fit(known, labels)
    return np.asarray((1 + k * oracle.predict_proba(points)[:, 1]) / (2 + k))


def error(p: FloatArray, labels: Any) -> float:
    return float(np.mean(((p > 0.5) != labels) & (p != 0.5)) + 0.5 * np.mean(p == 0.5))


def log_evidence(k: int, known: FloatArray, labels: Any) -> float:
    """The sum of ln p(label) by the k nearest of the events before, of two declared labels."""
    total = math.log(0.5)
    for place in range(1, len(labels)):
        distances = ((known[:place] - known[place]) ** 2).sum(axis=1)
        near = labels[np.argsort(distances)[:k]]
        total += math.log((1 + np.sum(near == labels[place])) / (2 + len(near)))
    return total


@pytest.mark.slow
def test_neighbours_over_k(tmp_path: Path) -> None:
    lines = checked("neighbours_over_k", tmp_path)
    known, labels = moons(400, seed=1)
    fresh, answers = moons(4000, seed=2)
    table = rows(lines, r" *\d+ ")
    assert [row[0] for row in table] == [2**power for power in range(9)]
    for row in table:
        k = int(row[0])
        p = chances(k, known, labels, fresh)
        loss = -np.log(np.where(answers, p, 1 - p)).mean()
        expected = [error(chances(k, known, labels, known), labels), error(p, answers), loss]
        assert row[1:4] == pytest.approx(expected, abs=5.1e-5)
        assert row[4] == pytest.approx(log_evidence(k, known, labels), abs=5.1e-3)
    best = max(table, key=lambda row: row[4])
    assert numbers(lines[-2]) == [best[0]] == [16]
    assert best[2] == min(row[2] for row in table)
