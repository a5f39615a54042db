"""Every learner keeps every promise: our own checks, then river's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from river import checks as river_checks
from river import compose, evaluate, metrics, preprocessing

from stream_bayes.checks import events, yield_checks
from tests.learners import COLOURS, LEARNERS


def _pairs(yield_for: Callable[[Any], Iterator[Callable[[Any], None]]], names: list[str]) -> Iterator[Any]:
    for name in names:
        for place, check in enumerate(yield_for(LEARNERS[name])):
            yield pytest.param(name, check, id=f"{name}:{check.__name__}:{place}")


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
    """A pipeline with a scaler in front, scored by river's progressive validation with river's metrics."""
    learner = LEARNERS[name]
    model = compose.Pipeline(preprocessing.MinMaxScaler(), learner.clone())
    score = evaluate.progressive_val_score(events(learner, 60), model, metrics.Accuracy() + metrics.MacroF1())
    assert 0.0 <= score[0].get() <= 1.0
    assert model.predict_one(events(learner)[0][0]) in {y for _, y in events(learner, 60)}


@pytest.mark.parametrize("name", LEARNERS)
def test_repr_names_every_parameter(name: str) -> None:
    learner = LEARNERS[name]
    assert all(f"{parameter}=" in repr(learner) for parameter in learner._get_params())
