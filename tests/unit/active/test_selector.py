"""The selector compares scores by their rank among recent ones, and obeys the rate of its budget from the start."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import BayesianLinearRegression, LabelBudget, LabelSelector
from stream_bayes.active import Candidate
from stream_bayes.active.strategies import scores
from stream_bayes.active.threshold import Threshold
from stream_bayes.active.uncertainty import uncertainty_of
from stream_bayes.errors import InputError, ParameterError
from tests.support.tiers import short_first

MONOTONE: dict[str, Callable[[float], float]] = {
    "exponential": math.exp,
    "logarithm": math.log1p,
    "affine": lambda score: 3.0 + 0.001 * score,
    "cube": lambda score: score**3,
    "near a constant": lambda score: 1e6 + score,
    "tiny": lambda score: 1e-200 * score,
}
RECENT = 300


def asked_about(values: list[float], total: int, seed: int) -> list[int]:
    """The places of the scores that a selector asks about."""
    selector = LabelSelector("variance", LabelBudget(total=total), max_open_requests=10_000, seed=seed)
    asked = []
    for place, score in enumerate(values):
        candidate = Candidate(place, score)
        question = selector.request_reason(candidate)
        selector.note(candidate, 0, question)
        if question is not None:
            asked.append(place)
    return asked


@settings(max_examples=25)
@given(
    whole=st.lists(st.integers(0, 1000), min_size=1, max_size=300),
    transformation=st.sampled_from(sorted(MONOTONE)),
    total=st.integers(1, 200),
    seed=st.integers(0, 99),
)
def test_item18_a_monotone_transformation_of_the_score_requests_the_same_labels(
    whole: list[int], transformation: str, total: int, seed: int
) -> None:
    """Scores are multiples of 1/64, so that no transformation makes two of them equal by rounding."""
    values = [number / 64.0 for number in whole]
    changed = [MONOTONE[transformation](score) for score in values]
    assert len(set(changed)) == len(set(values))
    assert asked_about(values, total, seed) == asked_about(changed, total, seed)


def quantiles_asked(strategy: str, weights: int, total: int, seed: int) -> list[float]:
    """For each question: the share of recent events with a lower score, all scored by the model of that moment."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(1500, weights))
    events = [{f"x{column}": float(value) for column, value in enumerate(row)} for row in rows]
    true = generator.normal(size=weights)
    model = BayesianLinearRegression(prior_precision=1.0, noise_variance=1.0)
    selector = LabelSelector(strategy, LabelBudget(total=total), seed=seed)
    measured = "variance" if strategy == "random" else strategy
    quantiles: list[float] = []
    for place, x in enumerate(events):
        predictive = model.predictive_one(x)
        audited = selector.counts["audited"]
        if not selector.ask(place, predictive):
            continue
        recent = events[max(0, place - RECENT) : place]
        if recent and selector.counts["audited"] == audited:
            score = scores(measured, uncertainty_of(predictive))[0]
            others = scores(measured, model.predictive_many(recent).uncertainties())
            quantiles.append(float((others < score).mean()))
        target = float(rows[place] @ true + generator.normal())
        model.learn_one(x, target)
        selector.answered(place, target)
    return quantiles


@pytest.mark.slow
@pytest.mark.parametrize("weights", short_first([3, 10]))
@pytest.mark.parametrize("strategy", ["variance", "epistemic", "latent", "information", "margin", "entropy"])
def test_item18_on_gaussian_streams_the_highest_scores_are_requested(strategy: str, weights: int) -> None:
    quantiles = [one for seed in (1, 2) for one in quantiles_asked(strategy, weights, 50, seed)]
    assert len(quantiles) > 60
    assert np.mean(quantiles) >= 0.95


def test_item18_random_requests_do_not_prefer_high_scores() -> None:
    assert 0.35 < np.mean(quantiles_asked("random", 3, 50, 1)) < 0.65


def test_item18_equal_scores_are_requested_at_the_rate_of_the_budget() -> None:
    budget = LabelBudget(total=100, audit_fraction=0.0)
    asked = len(asked_about([0.25] * 2000, 100, 1))
    planned = budget.planned(2000)
    assert planned is not None
    assert 0.8 * planned < asked < 1.1 * planned


def test_item18_falling_or_rising_scores_are_requested_at_the_rate_of_the_budget() -> None:
    planned = LabelBudget(total=100).planned(2000)
    assert planned is not None
    for sign in (-1.0, 1.0):
        values = [math.exp(sign * place / 100.0) for place in range(2000)]
        assert 0.7 * planned < len(asked_about(values, 100, 1)) <= 100


def spent(budgets: list[LabelBudget], mails: int, seed: int) -> int:
    """How many labels partitions have asked for together, after so many mails in turn."""
    generator = np.random.default_rng(seed)
    selectors = [
        LabelSelector(budget=budget, max_open_requests=1000, seed=number + 100 * seed)
        for number, budget in enumerate(budgets)
    ]
    for place, score in enumerate(generator.random(mails).tolist()):
        selector = selectors[place % len(selectors)]
        candidate = Candidate(place, score)
        selector.note(candidate, 0, selector.request_reason(candidate))
    return sum(selector.budget.used for selector in selectors)


def test_item19_sixteen_partitions_spend_no_more_at_the_start_than_the_pace() -> None:
    whole = LabelBudget(total=200)
    planned = whole.planned(102)
    assert planned is not None
    asked = [spent([whole.share(part, 16) for part in range(16)], 102, seed) for seed in range(1, 9)]
    assert np.mean(asked) < 1.1 * planned
    assert max(asked) < 2.0 * planned


@pytest.mark.parametrize("total", [20, 100, 1000])
def test_item19_one_partition_follows_its_pace_from_the_first_event(total: int) -> None:
    budget = LabelBudget(total=total)
    for mails in (10, 100, 500):
        planned = budget.planned(mails)
        assert planned is not None
        asked = np.mean([spent([LabelBudget(total=total)], mails, seed) for seed in range(1, 21)])
        assert 0.6 * planned - 0.5 < asked < 1.3 * planned + 0.5


def test_item19_the_first_labels_come_soon_where_the_budget_allows() -> None:
    asked = [spent([LabelBudget(total=350)], 20, seed) for seed in range(1, 21)]
    assert np.mean(asked) >= 6.0
    assert min(asked) >= 3


def test_item19_a_budget_of_one_label_is_not_spent_on_the_first_event() -> None:
    asked = [spent([LabelBudget(total=1)], 1, seed) for seed in range(1, 101)]
    assert sum(asked) < 20


@pytest.mark.parametrize(
    "wrong",
    [
        {"spam": 0.5, "ham": 0.4},
        {"spam": 0.7, "ham": 0.7},
        {"spam": 0.0, "ham": 0.0},
        {"spam": -0.1, "ham": 1.1},
        {"spam": math.nan, "ham": 0.5},
        {"spam": 0.3},
    ],
    ids=str,
)
def test_item20_ask_refuses_invalid_probabilities(wrong: dict[str, float]) -> None:
    selector = LabelSelector(request_ttl=1.0)
    selector.ask("first", {"spam": 0.5, "ham": 0.5})
    before = str(selector.state())
    with pytest.raises(InputError, match=r"sum to 1|probability"):
        selector.ask("second", wrong, clock=10_000_000)
    assert str(selector.state()) == before


@pytest.mark.parametrize("key", [None, ["a"], 1.5, 10**5000, {"a": 1}], ids=lambda key: type(key).__name__)
def test_item20_ask_and_answered_refuse_invalid_places(key: Any) -> None:
    selector = LabelSelector()
    before = str(selector.state())
    with pytest.raises(InputError, match="key"):
        selector.ask(key, {"spam": 0.5, "ham": 0.5})
    with pytest.raises(InputError, match="key"):
        selector.answered(key, "spam")
    with pytest.raises(InputError, match="clock"):
        selector.ask(1, {"spam": 0.5, "ham": 0.5}, clock=10**5000)
    with pytest.raises(InputError, match="answer"):
        selector.answered(1, 10**5000)
    assert str(selector.state()) == before


def test_item18_a_moment_without_budget_does_not_move_the_cutoff() -> None:
    threshold = Threshold()
    draw = random.Random(3)
    for _ in range(500):
        threshold.follow(draw.random(), draw.random(), 0.02)
    before = threshold.correction
    threshold.follow(0.5, 0.5, 1e-18)
    assert threshold.correction == before
    assert threshold.probability(2.0, 0.5, 1e-18) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("expected", [1000, 4000])
def test_a_budget_with_an_expected_length_follows_its_plan_to_the_end(expected: int) -> None:
    budgets = [LabelBudget(total=100, expected_events=expected) for _ in range(10)]
    for mails in (expected // 2, expected):
        planned = budgets[0].planned(mails)
        assert planned is not None
        asked = np.mean([spent([budget.share(0, 1)], mails, seed) for seed, budget in enumerate(budgets, 1)])
        assert 0.85 * planned - 1.0 < asked <= 100
    assert budgets[0].planned(expected) == pytest.approx(100.0, abs=0.5)


def test_a_stream_longer_than_expected_goes_on_at_the_pace_of_an_unknown_length() -> None:
    budget = LabelBudget(total=100, audit_fraction=0.0, expected_events=50)
    unknown = LabelBudget(total=100, audit_fraction=0.0)
    for _ in range(50):
        budget.see()
        unknown.see()
    assert budget.rate() == unknown.rate()
    assert budget.audit_rate() == unknown.audit_rate() == 0.0


def test_partitions_share_the_expected_length() -> None:
    whole = LabelBudget(total=100, expected_events=1001)
    assert [whole.share(part, 4).expected_events for part in range(4)] == [251] * 4
    assert LabelBudget(total=100).share(0, 4).expected_events is None


@pytest.mark.parametrize("expected", [-1, 2.5, "many"])
def test_an_expected_length_is_a_whole_number(expected: object) -> None:
    with pytest.raises(ParameterError, match="expected_events"):
        LabelBudget(total=10, expected_events=expected)  # type: ignore[arg-type]


def test_a_selector_is_printed_in_one_line() -> None:
    selector = LabelSelector("variance", LabelBudget(total=100))
    assert selector.ask("mail 1", {"ham": 0.5, "spam": 0.5})
    assert repr(selector.budget).startswith("LabelBudget(")
    shown = repr(selector)
    assert shown.startswith("LabelSelector(strategy: variance, ")
    assert "1 of at most 100" in shown
    assert "requested: 1" in shown
    assert "\n" not in shown
