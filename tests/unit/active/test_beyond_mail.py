"""Beyond mail: labels chosen by variance teach more than chance at the same pace, in streams of numbers.

Features are normal, or Student's t with three degrees of freedom. Answers are numbers around a true line, two labels,
or several labels whose log-probabilities are linear. Chance is `random` with the same budget and the same threshold. It
slows down where its answers do not surprise, so it may have fewer labels. That is why there is a second one, "any
earlier": at each request of the selector, it learns an event drawn from those that have come. Errors are those at the
end of the stream, on events that come after it: squares of the distance to the true line, or shares of wrong labels.
Entropy is that of the joint posterior of all weights; softmax regression has none. `pytest -s` shows the figures.

What does not hold is not tested here. `variance` is p (1 - p) of the most probable label, which falls again where that
label has less than 1/2: a learner that is unsure between many labels gets the wrong ones. With five labels softmax
regression with its own rate (0.1) was clearly worse than chance. With naive Bayes and Gaussian discriminants the choice
made little difference, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from stream_bayes import (
    Batch,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    LabelBudget,
    LabelSelector,
    SoftmaxRegression,
)
from stream_bayes.typing import FloatArray

EVENTS = 2000
HELD_OUT = 1000
BUDGETS = (20, 50, 100)
TAILS = ("normal", "heavy")
DEGREES = 3
NOISE = 1.0
PRECISION = 1.0
# Log-probabilities have deviations of 8, so that one label in ten is wrong at best.
SLOPE = 4.0
WAYS = ("chosen", "chance", "any earlier")


class Stream(NamedTuple):
    """Events, their answers, and what held-out predictions are compared with."""

    rows: FloatArray
    answers: list[Any]
    truth: FloatArray
    seed: int


class Task(NamedTuple):
    """A kind of answers, who learns them, how far its predictions are away, and the seeds of the streams."""

    draw: Callable[[str, int], Stream]
    learner: Callable[[], Any]
    error: Callable[[Any, FloatArray], float]
    seeds: range


class Figures(NamedTuple):
    """What was learned after a stream: the error, the entropy of the weights if they have one, and the labels."""

    error: FloatArray
    entropy: FloatArray
    labels: FloatArray


def features(tails: str, width: int, generator: np.random.Generator) -> FloatArray:
    size = (EVENTS + HELD_OUT, width)
    return generator.normal(size=size) if tails == "normal" else generator.standard_t(DEGREES, size)


def line(tails: str, seed: int) -> Stream:
    """Numbers around a line of eight weights and an intercept, which are drawn from the prior of the learner."""
    generator = np.random.default_rng(seed)
    rows = features(tails, 8, generator)
    truth = generator.normal(0, PRECISION**-0.5) + rows @ generator.normal(0, PRECISION**-0.5, 8)
    return Stream(rows, generator.normal(truth, NOISE**0.5).tolist(), truth, seed)


def labels(count: int) -> Callable[[str, int], Stream]:
    """Labels 0, 1, ..., each with a linear log-probability of four weights."""

    def draw(tails: str, seed: int) -> Stream:
        generator = np.random.default_rng(seed)
        rows = features(tails, 4, generator)
        scores = rows @ generator.normal(0, SLOPE, (4, count))
        drawn = (scores + generator.gumbel(size=scores.shape)).argmax(axis=1)
        return Stream(rows, drawn.tolist(), drawn.astype(np.float64), seed)

    return draw


def distance(predictions: Any, truth: FloatArray) -> float:
    return float(np.mean((predictions.mean - truth) ** 2))


def wrong(predictions: Any, truth: FloatArray) -> float:
    most = predictions.probabilities.argmax(axis=1)
    return float(np.mean(np.array(predictions.labels)[most] != truth))


TASKS = {
    "line": Task(line, lambda: BayesianLinearRegression(PRECISION, NOISE), distance, range(1, 9)),
    "two labels": Task(labels(2), lambda: BayesianLogisticRegression(classes=(0, 1)), wrong, range(1, 17)),
    # Of the rates 0.1 and 0.5, this is better with labels drawn at random.
    "three labels": Task(labels(3), lambda: SoftmaxRegression(rate=0.5, classes=(0, 1, 2)), wrong, range(1, 13)),
    "five labels": Task(labels(5), lambda: SoftmaxRegression(rate=0.5, classes=tuple(range(5))), wrong, range(1, 25)),
}


def follow(selector: LabelSelector, stream: Stream, model: Any, other: Any = None) -> int:
    """Predict each event, then maybe ask; the answer comes at once. The other model learns any earlier event."""
    events = [dict(enumerate(row)) for row in stream.rows[:EVENTS].tolist()]
    generator = np.random.default_rng(10**6 + stream.seed)
    free = list[int]()
    for place, event in enumerate(events):
        free.append(place)
        if selector.ask(place, model.predictive_one(event)):
            model.learn_one(event, stream.answers[place])
            assert selector.answered(place, stream.answers[place]) == "answered"
            if other is not None:
                drawn = free.pop(generator.integers(len(free)))
                other.learn_one(events[drawn], stream.answers[drawn])
    assert selector.budget.total is not None
    assert selector.budget.used <= selector.budget.total
    return selector.budget.used


def run(task: Task, tails: str, budget: int, seed: int) -> list[tuple[float, float, int]]:
    """Error, entropy and number of labels of each way, on the stream of this seed."""
    stream = task.draw(tails, seed)
    chosen, chance, earlier = (task.learner() for _ in WAYS)
    asked = follow(LabelSelector("variance", LabelBudget(budget), seed=seed), stream, chosen, earlier)
    by_chance = follow(LabelSelector("random", LabelBudget(budget), seed=seed), stream, chance)
    held_out = Batch.from_matrix(stream.rows[EVENTS:], range(stream.rows.shape[1]))
    found = list[tuple[float, float, int]]()
    for model, count in ((chosen, asked), (chance, by_chance), (earlier, asked)):
        entropy = model.joint().entropy if hasattr(model, "joint") else np.nan
        found.append((task.error(model.predictive_many(held_out), stream.truth[EVENTS:]), entropy, count))
    return found


@cache
def measured(name: str, tails: str, budget: int) -> dict[str, Figures]:
    """The figures of each way, one for each seed; their means are printed."""
    task = TASKS[name]
    table = np.array([run(task, tails, budget, seed) for seed in task.seeds], dtype=np.float64)
    figures = {way: Figures(*table[:, place].T) for place, way in enumerate(WAYS)}
    print(f"\n{name}, {tails}, budget {budget}, {len(task.seeds)} seeds")
    for way, (error, entropy, count) in figures.items():
        print(f"{way:<14}{error.mean():>10.4f}{entropy.mean():>10.3f}{count.mean():>8.1f}")
    return figures


def is_beyond_noise(less: FloatArray, more: FloatArray) -> bool:
    """Whether the mean is less by more than two standard errors of the difference, stream by stream."""
    gap = more - less
    return bool(gap.mean() > 2 * gap.std(ddof=1) / np.sqrt(len(gap)))


def mean_of(errors: Iterable[FloatArray]) -> FloatArray:
    """The mean over the budgets, for each seed."""
    mean: FloatArray = np.mean(list(errors), axis=0)
    return mean


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("tails", TAILS)
def test_a_line_is_learned_better_from_chosen_labels(tails: str, budget: int) -> None:
    chosen, chance, earlier = (measured("line", tails, budget)[way] for way in WAYS)
    # Not because there are more of them.
    assert chosen.labels.mean() < chance.labels.mean() + 1
    for other in (chance, earlier):
        assert is_beyond_noise(chosen.error, other.error)
        assert (chosen.entropy < other.entropy).all()
        assert is_beyond_noise(chosen.entropy, other.entropy)


@pytest.mark.long
@pytest.mark.parametrize("tails", TAILS)
def test_two_labels_are_learned_better_from_chosen_ones(tails: str) -> None:
    by_budget = [measured("two labels", tails, budget) for budget in BUDGETS]
    for figures in by_budget:
        chosen = figures["chosen"]
        for way in ("chance", "any earlier"):
            assert chosen.error.mean() < figures[way].error.mean()
            assert is_beyond_noise(chosen.entropy, figures[way].entropy)
    all_errors = {way: mean_of(figures[way].error for figures in by_budget) for way in WAYS}
    assert is_beyond_noise(all_errors["chosen"], all_errors["chance"])
    assert is_beyond_noise(all_errors["chosen"], all_errors["any earlier"])


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize(
    ("name", "budgets"),
    [
        pytest.param("three labels", BUDGETS, marks=pytest.mark.slow),
        # With 20 labels, four for each, the difference is within noise.
        pytest.param("five labels", BUDGETS[1:], marks=pytest.mark.long),
    ],
)
def test_several_labels_are_learned_better_from_chosen_ones(name: str, budgets: tuple[int, ...], tails: str) -> None:
    by_budget = [measured(name, tails, budget) for budget in budgets]
    for figures in by_budget:
        assert figures["chosen"].error.mean() < figures["chance"].error.mean()
        assert figures["chosen"].error.mean() < figures["any earlier"].error.mean()
    all_errors = {way: mean_of(figures[way].error for figures in by_budget) for way in WAYS}
    assert is_beyond_noise(all_errors["chosen"], all_errors["chance"])
    assert is_beyond_noise(all_errors["chosen"], all_errors["any earlier"])


@pytest.mark.slow
@pytest.mark.parametrize("tails", TAILS)
def test_two_ways_of_chance_are_alike(tails: str) -> None:
    """What the comparisons say is due to the choice, not to how chance was drawn."""
    chosen, chance, earlier = (measured("line", tails, BUDGETS[1])[way].entropy.mean() for way in WAYS)
    assert abs(chance - earlier) < 0.2 * (chance - chosen)
