"""Every learner keeps every promise: our own checks, then river's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from river import checks as river_checks
from river import compose, evaluate, feature_extraction, metrics

from stream_bayes.checks import events, yield_checks
from tests.learners import COLOURS, LEARNERS


def _pairs(yield_for: Callable[[Any], Iterator[Callable[[Any], None]]], names: list[str]) -> list[Any]:
    return [
        pytest.param(name, check, id=f"{name}:{check.__name__}:{place}")
        for name in names
        for place, check in enumerate(yield_for(LEARNERS[name]))
    ]


def _takes_booleans(name: str) -> bool:
    # river's own data sets have boolean labels, so a learner declared for two colours cannot take them.
    return not (name.startswith("BetaBernoulli") and LEARNERS[name].classes == COLOURS)


@pytest.mark.parametrize(("name", "check"), _pairs(yield_checks, list(LEARNERS)))
def test_our_contract(name: str, check: Callable[[Any], None]) -> None:
    check(LEARNERS[name].clone())


@pytest.mark.parametrize(("name", "check"), _pairs(river_checks.yield_checks, list(filter(_takes_booleans, LEARNERS))))
def test_river_contract(name: str, check: Callable[[Any], None]) -> None:
    learner = LEARNERS[name]
    assert not learner._unit_test_skips(), "a skipped check needs its reason beside it, and a case here"
    check(learner.clone())


@pytest.mark.parametrize("name", LEARNERS)
def test_works_in_a_river_pipeline(name: str) -> None:
    """A pipeline with a transformer in front, scored by river's progressive validation with river's metrics."""
    learner = LEARNERS[name]
    model = compose.Discard("e") | learner.clone()
    score = evaluate.progressive_val_score(events(learner, 60), model, metrics.Accuracy())
    assert 0.0 < score.get() <= 1.0
    assert model.predict_one(events(learner)[0][0]) in {y for _, y in events(learner, 60)}


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "PoissonNB", "BernoulliNB hashed"])
def test_works_behind_a_bag_of_words(name: str) -> None:
    """The pipeline a river user has for mail: only the last step changes."""
    model = feature_extraction.BagOfWords() | LEARNERS[name].clone()
    mails: list[Any] = [
        ("buy cheap pills now", "spam"),
        ("lunch at noon today", "ham"),
        ("cheap cheap watches", "spam"),
    ]
    evaluate.progressive_val_score(mails * 5, model, metrics.Accuracy())
    assert model.predict_one("cheap pills") == "spam"
    assert model.predict_one("noon today") == "ham"


@pytest.mark.parametrize("name", LEARNERS)
def test_repr_names_every_parameter(name: str) -> None:
    learner = LEARNERS[name]
    assert all(f"{parameter}=" in repr(learner) for parameter in learner._get_params())
