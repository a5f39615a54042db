"""The examples of counts and of fused classifiers print what scipy, scikit-learn and the true rates say."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from tests.support.examples import ROOT


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of an example, run in this process."""
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_counts(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "counts.py"))
    lines = printed("counts", capsys)
    generator = np.random.default_rng(1)
    totals: dict[tuple[str, str], list[int]] = {}
    for _ in range(200):
        group = str(generator.choice(list(example["RATES"])))
        for book, rate in example["RATES"][group].items():
            totals.setdefault((group, book), []).append(int(generator.poisson(rate)))
    for line in lines[1:5]:
        group, book, _, mean, low, _, high = line.split()
        seen = totals[group, book]
        oracle = stats.gamma(1 + sum(seen), scale=1.0 / (1 + len(seen)))
        assert (float(mean), float(low), float(high)) == pytest.approx(
            (oracle.mean(), *oracle.interval(0.95)), abs=6e-4
        )
    for line in lines[7:]:
        _, rate, mean, low, _, high = line.split()
        assert float(mean) == pytest.approx(float(rate), rel=0.1)
        assert (float(low), float(high)) == tuple(stats.poisson(float(mean)).interval(0.95))


def test_fusion(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "fusion.py"))
    lines = printed("fusion", capsys)
    events = example["make_events"](1000, 2, example["TWO"])
    points = np.array([[x["x"], x["y"]] for x, _ in events])
    green = np.array([label == "green" for _, label in events])
    peer = LogisticRegression().fit(points, green)
    for line in lines[3:6]:
        x, true, mean, low, _, high, _ = line.split()
        assert float(true) == pytest.approx(1 / (1 + np.exp(4.5 - 3 * float(x))), abs=6e-4)
        assert float(low) < float(mean) < float(high)
        assert float(mean) == pytest.approx(peer.predict_proba([[float(x), 0.0]])[0, 1], abs=0.05)
    # The Bayes classifier is right in Phi(3/2) = 0.933 of two colours.
    for line in (lines[1], lines[6]):
        assert float(line.split()[-2]) == pytest.approx(0.933, abs=0.02)
    assert float(lines[0].split()[-2]) > 0.86
    assert float(lines[7].split()[-1]) < 0.05
