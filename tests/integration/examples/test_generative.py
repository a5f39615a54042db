"""The examples of generative classifiers print what counts, scipy and scikit-learn say."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from tests.support.examples import ROOT, checked, numbers, rows, run


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def test_ml_and_map(tmp_path: Path) -> None:
    """Of 9 yes-days 2, 4, 3 were sunny, overcast, rainy, of 5 no-days 3, 0, 2; rain turns from 6/11 on."""
    lines = checked("ml_and_map", tmp_path)
    counts = {"sunny": (3, 2), "overcast": (0, 4), "rainy": (2, 3)}
    answers = {"sunny": ("no", "no"), "overcast": ("yes", "yes"), "rainy": ("no", "yes")}
    for begin, added in ((1, 0), (5, 1)):
        for line, (outlook, (no, yes)) in zip(lines[begin : begin + 3], counts.items(), strict=True):
            given_no = (no + added) / (5 + 3 * added)
            given_yes = (yes + added) / (9 + 3 * added)
            joint = (5 / 14 * given_no, 9 / 14 * given_yes)
            assert numbers(line) == pytest.approx([given_no, given_yes, *joint, sum(joint)], abs=6e-5)
            assert line.split()[-2:] == list(answers[outlook])
    assert [numbers(line)[0] for line in lines[8:11]] == pytest.approx([27 / 37, 0.0, 6 / 11], abs=6e-5)


def test_generated_mails(tmp_path: Path) -> None:
    """Without a prior mails have words of their class only; a classifier learns from them as from real ones."""
    module = example("generated_mails")
    known = {
        label: {word for text, own in module["MAILS"] if own == label for word in module["words"](text)}
        for label in ("spam", "ham")
    }
    lines = run("generated_mails", tmp_path).splitlines()
    assert [line.partition(",")[0] for line in lines[:20:5]] == [
        "BernoulliNB",
        "MultinomialNB",
        "PoissonNB",
        "MultinomialNB",
    ]
    for line in (*lines[1:5], *lines[6:10], *lines[11:15]):
        label, _, _, _, log, *words = line.split()
        assert set(words) <= known[label]
        assert -40.0 < float(log) < 0.0
    assert sum(len(line.split()) > 4 for line in lines[16:20]) >= 3
    real, generated = (float(line.split()[-1]) for line in lines[20:22])
    assert real > 0.9
    assert generated == pytest.approx(real, abs=0.03)


def test_covariance_forms(tmp_path: Path) -> None:
    lines = checked("covariance_forms", tmp_path)
    points = example("covariance_forms")["points"]
    learned = points(60, seed=1)
    fresh = points(5000, seed=2)
    labels = np.arange(120) % 2
    truth = np.arange(10000) % 2
    shown = {line.split()[0]: numbers(line)[-7:] for line in lines[1:] if line and line[0] not in " P"}
    assert list(shown) == ["full", "shared", "diagonal", "spherical", "shared-spherical"]
    scatters = [np.cov(learned[labels == label].T, bias=True) for label in (0, 1)]
    both = sum(scatters) / 2
    matrices: dict[str, list[Any]] = {
        "full": scatters,
        "shared": [both, both],
        "diagonal": [np.diag(own.diagonal()) for own in scatters],
        "spherical": [np.eye(2) * np.trace(own) / 2 for own in scatters],
        "shared-spherical": [np.eye(2) * np.trace(both) / 2] * 2,
    }
    for form, expected in matrices.items():
        entries = [matrix[np.triu_indices(2)] for matrix in expected]
        assert shown[form][:6] == pytest.approx(np.concatenate(entries).tolist(), abs=6e-4)
    peers = {
        "full": QuadraticDiscriminantAnalysis(),
        "shared": LinearDiscriminantAnalysis(solver="lsqr"),
        "diagonal": GaussianNB(var_smoothing=0.0),
    }
    for form, peer in peers.items():
        wrong = np.mean(peer.fit(learned, labels).predict(fresh) != truth)
        assert shown[form][6] == pytest.approx(wrong, abs=2e-4)
    assert all(one < other for one, other in pairwise(own[6] for own in shown.values()))
    line, bisector = rows(lines, "  log-odds")
    oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(learned, labels)
    # The label of the line is a number, too: "class 1".
    assert line[1:] == pytest.approx([*oracle.coef_[0], oracle.intercept_[0]], abs=6e-3)
    means = [learned[labels == label].mean(axis=0) for label in (0, 1)]
    weights = (means[1] - means[0]) / matrices["shared-spherical"][0][0, 0]
    assert bisector[1:] == pytest.approx([*weights, -weights @ (means[0] + means[1]) / 2], abs=6e-3)
