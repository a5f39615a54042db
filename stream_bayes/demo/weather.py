"""Fourteen days of weather, and whether one went out to play: the textbook table, learned by a naive Bayes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from stream_bayes.learners.naive_bayes import CategoricalNB
from stream_bayes.posteriors import LabelPredictive

YES, NO = "yes", "no"


class Day(NamedTuple):
    """One row of the table."""

    outlook: str
    temperature: str
    humidity: str
    windy: bool
    play: str

    @property
    def weather(self) -> dict[str, str | bool]:
        """The features, without the answer."""
        return {name: value for name, value in self._asdict().items() if name != "play"}


DAYS = (
    Day("sunny", "hot", "high", False, NO),
    Day("sunny", "hot", "high", True, NO),
    Day("overcast", "hot", "high", False, YES),
    Day("rainy", "mild", "high", False, YES),
    Day("rainy", "cool", "normal", False, YES),
    Day("rainy", "cool", "normal", True, NO),
    Day("overcast", "cool", "normal", True, YES),
    Day("sunny", "mild", "high", False, NO),
    Day("sunny", "cool", "normal", False, YES),
    Day("rainy", "mild", "normal", False, YES),
    Day("sunny", "mild", "normal", True, YES),
    Day("overcast", "mild", "high", True, YES),
    Day("overcast", "hot", "normal", False, YES),
    Day("rainy", "mild", "high", True, NO),
)

QUESTION: dict[str, str | bool] = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "windy": True}
"""A day that is not in the table."""


class Belief(NamedTuple):
    """A probability as the learner sees it."""

    mean: float
    interval: tuple[float, float]
    """Of 95 %, equal-tailed."""


class WeatherFrame(NamedTuple):
    """What is known after so many days."""

    step: int
    total: int
    days: tuple[Day, ...]
    """The days so far."""
    said: tuple[float, ...]
    """For each of them the probability of "yes" given before it was learned."""
    answer: Belief
    """Whether one would play on the day in `QUESTION`."""
    outlook_given_yes: dict[str, Belief]
    """How often each outlook comes on days of play; empty until two have been seen."""

    @property
    def right(self) -> int:
        """Days whose more probable answer came."""
        return sum(map(said_right, self.days, self.said))

    @property
    def log_loss(self) -> float:
        """Mean of -ln P(what came), each P said before it came; 0 before the first day."""
        chances = [p if day.play == YES else 1.0 - p for day, p in zip(self.days, self.said, strict=True)]
        return math.fsum(-math.log(chance) for chance in chances) / max(len(chances), 1)


def said_right(day: Day, said: float) -> bool:
    """Whether the more probable answer came; of two equals the learner names the first, "yes"."""
    return (said >= 0.5) == (day.play == YES)


def weather_frames() -> Iterator[WeatherFrame]:
    """The prior first, then a frame a day; each day is predicted before it is learned."""
    learner = CategoricalNB(prior_count=1.0, class_prior_count=1.0, classes=(YES, NO))
    said: tuple[float, ...] = ()
    yield _frame(learner, said)
    for day in DAYS:
        said = (*said, learner.predict_proba_one(day.weather)[YES])
        learner.learn_one(day.weather, day.play)
        yield _frame(learner, said)


def _frame(learner: CategoricalNB, said: tuple[float, ...]) -> WeatherFrame:
    answer = _belief_in_yes(learner.predictive_one(QUESTION))
    return WeatherFrame(len(said), len(DAYS), DAYS[: len(said)], said, answer, _outlook_given_yes(learner))


def _belief_in_yes(guess: LabelPredictive) -> Belief:
    # The interval is that of the more probable label; with two labels the other's is its mirror image.
    low, high = guess.interval(0.95)
    return Belief(guess.probabilities[YES], (low, high) if guess.label == YES else (1.0 - high, 1.0 - low))


def _outlook_given_yes(learner: CategoricalNB) -> dict[str, Belief]:
    values = learner.categories("outlook")
    if len(values) < 2:
        return {}
    posterior = learner.posterior("outlook", YES)
    marginals = [posterior.marginal(place) for place in range(len(values))]
    return {value: Belief(one.mean, one.interval(0.95)) for value, one in zip(values, marginals, strict=True)}
