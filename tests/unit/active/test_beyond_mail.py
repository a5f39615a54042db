"""Beyond mail: choosing by variance beats chance at the same pace in regression, also on heavy-tailed streams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from stream_bayes import Batch, BayesianLinearRegression, LabelBudget, LabelSelector

EVENTS = 2000
HELD_OUT = 1000
NAMES = [f"x{number}" for number in range(8)]
SEEDS = range(1, 13)


class Figures(NamedTuple):
    """The result of one pass."""

    error: float
    """The mean squared error of the predicted mean, against the true one, over held-out events of the stream."""
    entropy: float
    """That of the posterior of the weights."""


def figures_of(tails: str, seed: int, budget: int, strategy: str) -> Figures:
    generator = np.random.default_rng(seed)
    shape = (EVENTS + HELD_OUT, len(NAMES))
    rows = generator.normal(size=shape) if tails == "Gaussian" else generator.standard_t(3, size=shape)
    weights = generator.normal(size=1 + len(NAMES))
    true = weights[0] + rows @ weights[1:]
    targets = true + generator.normal(size=len(true))
    model = BayesianLinearRegression(prior_precision=1.0, noise_variance=1.0)
    selector = LabelSelector(strategy, LabelBudget(total=budget), seed=seed)
    for place, row in enumerate(rows[:EVENTS].tolist()):
        x = dict(zip(NAMES, row, strict=True))
        if selector.ask(place, model.predictive_one(x)):
            model.learn_one(x, targets[place])
            selector.answered(place, float(targets[place]))
    predicted = model.predictive_many(Batch.from_matrix(rows[EVENTS:], NAMES)).mean
    return Figures(float(np.mean((predicted - true[EVENTS:]) ** 2)), model.entropy())


@pytest.mark.slow
@pytest.mark.parametrize("budget", [20, 50, 100])
@pytest.mark.parametrize("tails", ["Gaussian", "Student-t"])
def test_variance_beats_chance_at_the_same_pace_in_error_and_entropy(tails: str, budget: int) -> None:
    chosen = [figures_of(tails, seed, budget, "variance") for seed in SEEDS]
    chance = [figures_of(tails, seed, budget, "random") for seed in SEEDS]
    assert np.mean([one.error for one in chosen]) < np.mean([one.error for one in chance])
    assert np.mean([one.entropy for one in chosen]) < np.mean([one.entropy for one in chance])
