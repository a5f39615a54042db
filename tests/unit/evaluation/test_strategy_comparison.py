"""Strategies beside chance at the same pace, the best member, late sources and the label mix."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stream_bayes.evaluation.feedback import FIRST, PACED, FeedbackRegime
from stream_bayes.evaluation.pass_figures import BestMember, PassFigures
from stream_bayes.evaluation.report.strategy_report import strategies_page
from stream_bayes.evaluation.strategy_comparison import (
    ComparedCell,
    ComparisonPlan,
    ComparisonResult,
    comparison_to_dict,
)
from stream_bayes.evaluation.stream import StreamSource
from stream_bayes.evaluation.sweep import Job, SweepResult
from stream_bayes.evaluation.tables import strategies_table

SOURCE = StreamSource(Path("mails"))
NO_MEMBERS: dict[str, float] = {}


def passes(
    strategy: str,
    areas: Sequence[float],
    members: dict[str, float] = NO_MEMBERS,
    late_error: float = 0.25,
    spam_in_labels: float = 0.5,
) -> list[SweepResult]:
    """A pass for each (1-ROCA)%, with 20 labels."""
    late = 0 if math.isnan(late_error) else 40
    return [
        SweepResult(
            Job(SOURCE, "default", FeedbackRegime("active:20", strategy, seed=seed)),
            PassFigures(area, members, 18, 0.3, spam_in_labels, late, late_error),
            0,
            0,
        )
        for seed, area in enumerate(areas, start=1)
    ]


def compared(*parts: list[SweepResult], seeds: Sequence[int] = (1, 2)) -> ComparisonResult:
    strategies = tuple(dict.fromkeys(one.job.regime.strategy_name for part in parts for one in part))
    plan = ComparisonPlan(SOURCE, "default", strategies, (20,), tuple(seeds))
    return ComparisonResult(plan, "mails", 400, tuple(one for part in parts for one in part))


def cells(result: ComparisonResult) -> dict[str, ComparedCell]:
    return {cell.strategy: cell for cell in result.compared(20)}


def rows(table: str) -> dict[str, list[str]]:
    """The rows of the last table, which compares strategies, by strategy."""
    lines = table.rpartition("\n\n")[2].splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines[2:]}


MARGIN = passes("margin", [1.0, 3.0], {"words": 2.5, "structure counts": 4.0}, late_error=0.125, spam_in_labels=0.6)
NEAR = passes("entropy", [2.0, 4.0])
CHANCE = passes(PACED, [6.0, 10.0], spam_in_labels=0.31)


def test_chance_at_the_same_pace_is_added_unless_it_is_named() -> None:
    plan = ComparisonPlan(SOURCE, "default", ("margin", FIRST), (20,), (1, 2))
    assert plan.with_chance().strategies == ("margin", FIRST, PACED)
    named = plan._replace(strategies=(PACED, "margin"))
    assert named.with_chance() == named
    regimes = [job.regime for job in plan.with_chance().jobs() if job.regime.strategy == PACED]
    assert regimes == [FeedbackRegime("active:20", PACED, seed=seed) for seed in (1, 2)]


def test_comparisons_by_hand() -> None:
    found = cells(compared(MARGIN, NEAR, CHANCE))
    margin = found["margin"]
    assert margin.area.mean == 2.0
    assert (margin.chance, margin.over_chance) == (8.0, 2.0 / 8.0)
    assert (margin.member, margin.over_member) == (BestMember("words", 2.5), 2.0 / 2.5)
    assert (margin.late_error, margin.spam_in_labels) == (0.125, 0.6)
    # The difference to chance is 6, and the standard error hypot(1, 2) = 2.24.
    assert margin.is_chance_noise is False
    assert margin.is_best
    # The difference to the best is 1, and the standard error hypot(1, 1) = 1.41.
    assert (found["entropy"].is_best, found["entropy"].is_best_noise) == (False, True)
    assert (found["entropy"].member, math.isnan(found["entropy"].over_member)) == (None, True)
    assert (found[PACED].over_chance, found[PACED].is_best_noise) == (1.0, False)


def test_a_difference_to_chance_within_noise() -> None:
    # The difference is 3, and twice the standard error is 2 hypot(1, 2) = 4.47.
    margin = cells(compared(MARGIN, passes(PACED, [3.0, 7.0])))["margin"]
    assert margin.is_chance_noise is True


def test_with_one_seed_noise_is_not_known_but_the_first_messages_have_none() -> None:
    found = cells(compared(passes("margin", [1.0]), passes(FIRST, [5.0]), passes(PACED, [2.0]), seeds=(1,)))
    assert (found["margin"].is_chance_noise, found["margin"].over_chance) == (None, 0.5)
    assert found[FIRST].is_chance_noise is None
    assert cells(compared(passes(FIRST, [20.0]), CHANCE))[FIRST].is_chance_noise is False


def test_without_chance_and_with_one_class() -> None:
    alone = cells(compared(MARGIN))["margin"]
    assert alone.is_chance_noise is None
    assert math.isnan(alone.over_chance)
    none = cells(compared(passes("margin", [math.nan] * 2), passes(PACED, [math.nan] * 2)))["margin"]
    assert (none.is_best, none.is_best_noise, none.is_chance_noise) == (False, None, None)


def test_the_table_of_comparisons() -> None:
    table = strategies_table(compared(MARGIN, NEAR, CHANCE, passes(FIRST, [20.0], late_error=math.nan)))
    found = rows(table)
    assert found["margin"] == ["2.00*", "0.25", "words", "2.50", "0.80", "12.5", "%", "60.0", "%"]
    assert found["entropy"] == ["3.00~", "0.38", "-", "-", "25.0", "%", "50.0", "%"]
    assert found[PACED] == ["8.00", "1.00", "-", "-", "25.0", "%", "31.0", "%"]
    assert found[FIRST] == ["20.0", "2.50", "-", "-", "-", "50.0", "%"]
    assert "  spam in the stream: 30.0 %; late sources: 40 messages\n" in table


def test_the_table_fits_into_80_columns() -> None:
    long = passes("disagreement", [0.0123, 0.0124], {"structure counts": 0.0345}, 1.0, 1.0)
    table = strategies_table(compared(long, passes(PACED, [0.0125, 0.0224])))
    assert rows(table)["disagreement"][1] == "0.71~"
    assert max(map(len, table.splitlines())) == 80


def test_streams_without_late_sources_say_so() -> None:
    table = strategies_table(compared(passes("margin", [1.0], late_error=math.nan), seeds=(1,)))
    assert "; no late sources by List-Id or From\n" in table
    assert "one seed, so it is not known which differences are noise" in table
    assert rows(table) == {"margin": ["1.00*", "-", "-", "-", "-", "50.0", "%"]}


def test_comparisons_as_json() -> None:
    found = json.loads(json.dumps(comparison_to_dict(compared(MARGIN, CHANCE)), allow_nan=False))
    assert (found["spam"], found["late_messages"], found["all_labels"]) == (0.3, 40, None)
    margin, chance = found["cells"]
    assert margin["chance"] == {"one_minus_roca_percent": 8.0, "ratio": 0.25, "within_noise": False}
    assert margin["best_member"] == {"name": "words", "one_minus_roca_percent": 2.5, "ratio": 0.8}
    assert (margin["late_error"], margin["spam_in_labels"]) == (0.125, 0.6)
    assert (margin["best"], margin["within_noise_of_best"]) == (True, True)
    assert (chance["best_member"], chance["within_noise_of_best"]) == (None, False)
    assert margin["runs"][1] == {
        "seed": 2,
        "one_minus_roca_percent": 3.0,
        "labels": 18,
        "spam_in_labels": 0.6,
        "late_error": 0.125,
        "audited": 0,
        "waiting": 0,
        "members_one_minus_roca_percent": {"words": 2.5, "structure counts": 4.0},
    }


def test_a_cell_without_passes_as_json() -> None:
    result = compared(MARGIN)
    plan = result.plan._replace(strategies=("margin", FIRST))
    empty = comparison_to_dict(result._replace(plan=plan))["cells"][1]
    assert empty == {"strategy": FIRST, "budget": 20, "passes": 0, "runs": []}


@pytest.mark.parametrize("late_error", [0.25, math.nan])
def test_the_page_has_the_comparisons(late_error: float) -> None:
    text = strategies_page(compared(passes("margin", [1.0, 3.0], {"words": 2.5}, late_error), CHANCE))
    tree = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    found = [[cell.text for cell in row] for row in tree.iter("tr")]
    late = "-" if math.isnan(late_error) else "25.0 %"
    assert "spam in the stream: 30.0 %" in text
    assert ["margin", "20", "2.00 *", "0.25", "words 2.50", "0.80", late, "50.0 %"] in found
    assert [PACED, "20", "8.00", "1.00", "-", "-", "25.0 %", "31.0 %"] in found
