"""Intervals of the mail filter with few labels: they hold bin by bin, also on the first mails from late sources.

Measured with real mail by the functions of `benchmarks.coverage`.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.coverage import EDGES, Predictions, only, predictions
from benchmarks.streams import RECIPES

FOLDER = os.environ.get("STREAM_BAYES_CORPORA", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER, reason="no real mail: name a folder of corpora in STREAM_BAYES_CORPORA"),
]
FEWEST = 100
"""Bins with fewer mails are left out."""
# Of the share of spam in a bin. About 60 bins are compared: by chance two or three of them are off by more than two.
STANDARD_ERRORS = 3.0


def measured(stream: str, budget: int, seed: int = 1) -> Predictions:
    (recipe,) = [recipe for recipe in RECIPES if recipe.name == stream]
    return predictions(recipe, Path(FOLDER), seed=seed, budget=budget)


def uncovered(made: Predictions) -> list[str]:
    """The bins of probabilities whose share of spam lies outside the mean interval, beyond chance."""
    found = []
    for begin, end in pairwise(EDGES):
        inside = only((made.probability >= begin) & (made.probability < end), made)
        count = len(inside.spam)
        if count < FEWEST:
            continue
        share = inside.spam.mean()
        error = STANDARD_ERRORS * np.sqrt(max(share * (1.0 - share), 1.0 / count) / count)
        low = inside.low.mean()
        high = inside.high.mean()
        if not low - error <= share <= high + error:
            found.append(f"{begin:g} to {end:g}: {share:.4f} of {count} are spam, not {low:.4f} to {high:.4f}")
    return found


@pytest.mark.parametrize("stream", ["late ham 2", "random begins 2", "one class first 2", "spam-like ham 2"])
def test_intervals_hold_for_all_mails_and_for_those_of_new_kinds(stream: str) -> None:
    made = measured(stream, 350)
    assert uncovered(made) == []
    assert uncovered(only(made.is_new > 0.0, made)) == []


def test_mail_of_a_kind_without_labels_is_not_judged_with_certainty() -> None:
    """Mailboxes of plain texts begin late, after mailing lists with long headers: almost all of their ham looked like
    spam for certain before novelty was compared with that of learned mails."""
    passes = [measured("long 1", 350, seed) for seed in (1, 2, 3)]
    certain = [only((made.is_new > 0.0) & (made.probability > 0.95), made).spam for made in passes]
    spam = np.concatenate(certain)
    assert len(spam) > FEWEST
    assert spam.mean() > 0.9
