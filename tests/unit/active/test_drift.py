"""A budget that lasts: kinds of mail that begin late are learned too, which rules that spend it at first cannot.

`pytest -s -m long tests/unit/active/test_drift.py` shows the figures, means over the seeds: single ones differ by a
factor of three. Measured with seeds 101 to 108, as the mean error on the late kinds, of the default and of first-N:
200 labels, as here, 8 % and 71 %; 100 labels, three for each kind, 43 % and 60 %: there the default fails too. With 4 %
of mails whose label is a coin toss it has 8 %. A fixed threshold that happens to fit the stream, here 0.1, does well on
most seeds (9 %, at worst 44 %; 7 % with twice as many borrowed words), and not at all with 4 % of coin tosses (60 %).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pytest

from stream_bayes import LabelBudget, LabelPredictive, LabelSelector, SpamFilter
from tests.support.drifting_mails import EARLY_KINDS, LATE, LATE_KINDS, DriftMail, drifting_mails

pytestmark = pytest.mark.long

MAILS = 4000
BUDGET = 200
SEEDS = tuple(range(1, 9))
Rule = Callable[[int, LabelPredictive, int], bool]
"""Whether to ask about the mail at a place, with this predictive, after so many questions."""


class Figures(NamedTuple):
    """What a rule did: errors as parts of all mails whose kinds began early or late."""

    early_error: float
    late_error: float
    asked: float
    left: float
    """Of the budget, when the first of the late kinds began."""


def first(place: int, _: LabelPredictive, __: int) -> bool:
    return place < BUDGET


def above(least: float) -> Rule:
    """Ask whenever the variance p (1 - p) is at least so large, until the budget is gone."""
    return lambda _, said, asked: asked < BUDGET and said.variance >= least


def everything(_: int, __: LabelPredictive, ___: int) -> bool:
    return True


RULES: dict[str, Rule | None] = {
    "LabelSelector": None,
    "first 200": first,
    "variance >= 0.01": above(0.01),
    "variance >= 0.03": above(0.03),
    "variance >= 0.1": above(0.1),
    "all labels": everything,
}


def run(mails: list[DriftMail], rule: Rule | None) -> Figures:
    """Predict each mail, then maybe ask; the answer comes at once. Without a rule, the default selector asks."""
    model = SpamFilter(buckets=2**16)
    selector = LabelSelector(budget=LabelBudget(total=BUDGET))
    wrong = np.zeros(len(mails), bool)
    late = np.array([mail.kind.late for mail in mails])
    asked = 0
    left = 0
    for place, mail in enumerate(mails):
        left = BUDGET - asked if place == round(LATE * len(mails)) else left
        said = model.predictive_one(mail.raw)
        label = mail.kind.label
        wrong[place] = (said.probabilities["spam"] > 0.5) != (label == "spam")
        if rule(place, said, asked) if rule else selector.ask(place, said, content=mail.raw):
            model.learn_one(mail.raw, label)
            selector.answered(place, label)
            asked += 1
    return Figures(float(wrong[~late].mean()), float(wrong[late].mean()), asked, left)


def mean_of(figures: Iterable[Figures]) -> Figures:
    return Figures(*np.mean(list(figures), axis=0).tolist())


@pytest.fixture(scope="module")
def found() -> dict[str, list[Figures]]:
    """The figures of every rule on the stream of every seed, printed as a table of their means."""
    streams = [drifting_mails(seed, MAILS) for seed in SEEDS]
    table = {name: [run(mails, rule) for mails in streams] for name, rule in RULES.items()}
    print(f"\n{MAILS} mails, {EARLY_KINDS} kinds at first and {LATE_KINDS} more from the middle on; {BUDGET} labels")
    print(f"{'':<18}{'error, early':>14}{'error, late':>14}{'asked':>8}{'left in the middle':>20}")
    for name, figures in table.items():
        early, late, asked, left = mean_of(figures)
        print(f"{name:<18}{early:>14.1%}{late:>14.1%}{asked:>8.0f}{max(left, 0):>20.0f}")
    return table


def test_the_default_reacts_to_late_campaigns(found: dict[str, list[Figures]]) -> None:
    default = mean_of(found["LabelSelector"])
    full = mean_of(found["all labels"])
    assert all(figures.asked <= BUDGET and figures.left >= 0.2 * BUDGET for figures in found["LabelSelector"])
    assert default.late_error < 2 * full.late_error + 0.02
    assert default.early_error < full.early_error + 0.01


@pytest.mark.parametrize("rule", ["first 200", "variance >= 0.01", "variance >= 0.03"])
def test_rules_that_spend_at_first_do_not(found: dict[str, list[Figures]], rule: str) -> None:
    assert all(figures.asked == BUDGET and figures.late_error > 0.15 for figures in found[rule])
    assert mean_of(found[rule]).late_error > 3 * mean_of(found["LabelSelector"]).late_error


def test_the_test_streams_have_their_properties() -> None:
    mails = drifting_mails(1, 2000)
    assert mails == drifting_mails(1, 2000)
    assert mails != drifting_mails(2, 2000)
    begun = [place for place, mail in enumerate(mails) if mail.kind.late]
    assert begun[0] >= LATE * 2000
    assert len(begun) > 100
    kinds = {mail.kind for mail in mails}
    assert len(kinds) == EARLY_KINDS + LATE_KINDS
    for late in (False, True):
        labels = [kind.label for kind in kinds if kind.late == late]
        assert labels.count("spam") == labels.count("ham")
