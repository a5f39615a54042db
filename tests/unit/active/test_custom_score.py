"""A selector with a score of the user's own, in place of a strategy by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import BayesianLinearRegression, GaussianNB, LabelBudget, LabelSelector
from stream_bayes.active.batch_selection import select_batch
from stream_bayes.active.strategies import STRATEGIES, scores
from stream_bayes.active.uncertainty import uncertainty_of
from stream_bayes.errors import InputError, ParameterError


def expected_loss(uncertainties: Any) -> Any:
    ham, spam = np.nan_to_num(uncertainties.probabilities).T
    return np.minimum(20.0 * ham, spam)


def requested(selector: LabelSelector) -> list[int]:
    generator = np.random.default_rng(1)
    found = []
    for number in range(1500):
        spam = float(generator.random())
        if selector.ask(number, {"ham": 1.0 - spam, "spam": spam}):
            selector.answered(number, "spam" if generator.random() < spam else "ham")
            found.append(number)
    return found


def test_a_function_requests_what_its_entry_by_name_does() -> None:
    """The same labels, and a name by which a checkpoint knows whose scores it holds."""
    own = LabelSelector(score=expected_loss, budget=LabelBudget(total=100))
    STRATEGIES["expected_loss"] = expected_loss
    try:
        named = requested(LabelSelector("expected_loss", LabelBudget(total=100)))
    finally:
        del STRATEGIES["expected_loss"]
    assert requested(own) == named
    assert len(named) > 20
    assert own.strategy.endswith("test_custom_score.expected_loss")
    scalars, arrays = own.state()
    restored = LabelSelector(score=expected_loss, budget=LabelBudget(total=100))
    restored.restore(scalars, arrays)
    assert restored.state()[0] == scalars


def test_a_window_is_ranked_by_the_function() -> None:
    """Of a linear regression too, which by a strategy of ours is ranked by information."""
    learner = BayesianLinearRegression(0.3, 2.5)
    learner.learn_one({"a": 1.0}, 2.0)
    window = [{"a": 3.0}, {"a": -1.0}, {"b": 9.0}]
    nearest = select_batch(learner, window, 2, lambda u: 1.0 / u.variance)
    assert nearest == [1, 0]
    selector = LabelSelector(score=lambda u: 1.0 / u.variance, budget=LabelBudget(total=10))
    assert selector.select_batch(learner, dict(enumerate(window)), 2) == [1, 0]


def test_the_score_is_that_of_a_batch() -> None:
    model = GaussianNB()
    for x, label in ((1.0, "ham"), (3.0, "spam")):
        model.learn_one({"x": x}, label)
    events = [{"x": 1.0}, {"x": 2.1}]
    together = scores(expected_loss, model.predictive_many(events).uncertainties())
    apart = [float(scores(expected_loss, uncertainty_of(model.predictive_one(x)))[0]) for x in events]
    assert together.tolist() == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize(
    "bad", [lambda u: -np.ones(1), lambda u: np.array([np.nan]), lambda u: np.ones(3), lambda u: 1]
)
def test_scores_that_are_none_are_refused(bad: Any) -> None:
    selector = LabelSelector(score=bad, budget=LabelBudget(total=10))
    with pytest.raises(InputError, match="one for each row"):
        selector.ask(1, {"ham": 0.5, "spam": 0.5})


def test_a_score_must_be_a_function() -> None:
    with pytest.raises(ParameterError, match="score must be a function"):
        LabelSelector(score="variance")  # type: ignore[arg-type]
