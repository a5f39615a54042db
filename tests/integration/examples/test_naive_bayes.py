"""The example of naive Bayes and the costs of errors prints what scikit-learn and a pencil say."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer
from sklearn.naive_bayes import MultinomialNB

from tests.support.examples import ROOT, checked, rows


def test_naive_bayes_costs(tmp_path: Path) -> None:
    shown = rows(checked("naive_bayes_costs", tmp_path), r" +\d")
    make_texts = runpy.run_path(str(ROOT / "examples" / "naive_bayes_costs.py"))["make_texts"]
    learned, labels = zip(*make_texts(200, seed=1), strict=True)
    filtered, truth = zip(*make_texts(1000, seed=2), strict=True)
    vectors = DictVectorizer()
    peer = MultinomialNB(alpha=1.0).fit(vectors.fit_transform(learned), labels)
    assert peer.classes_.tolist() == ["ham", "spam"]
    spam = peer.predict_proba(vectors.transform(filtered))[:, 1]
    is_spam = np.array(truth) == "spam"
    half = np.sum((spam >= 0.5) & ~is_spam), np.sum((spam < 0.5) & is_spam)
    assert [row[0] for row in shown] == [0.2, 1, 4, 20, 100]
    for cost, _, threshold, false_positives, false_negatives, total, at_half in shown:
        bound = cost / (cost + 1)
        assert threshold == pytest.approx(bound, abs=5e-5)
        assert false_positives == np.sum((spam >= bound) & ~is_spam)
        assert false_negatives == np.sum((spam < bound) & is_spam)
        assert total == pytest.approx(cost * false_positives + false_negatives)
        assert at_half == pytest.approx(cost * half[0] + half[1])
        assert total <= at_half
    # Dearer false positives: fewer of them, and more false negatives.
    assert [row[3] for row in shown] == sorted((row[3] for row in shown), reverse=True)
    assert [row[4] for row in shown] == sorted(row[4] for row in shown)
