"""Feedback regimes: which labels a filter learns, and when.

    immediate           each label right after the prediction
    delayed:N           the label of a message after the prediction of the N-th message after it
    first:N             the labels of the first N messages, right after the prediction; then none
    partial:FRACTION    each label with that probability, right after the prediction
    active:BUDGET        the labels of the messages that a selector requests (`evaluation.active_learning`)

A regime turns messages into the rows of `MailFilter.test_then_train`: predict, then learn the rows with a label.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from stream_bayes.active import STRATEGIES as SCORES
from stream_bayes.active import LabelBudget, LabelSelector
from stream_bayes.active.strategies import check_strategy as check_known
from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.label_delay import AT_ONCE, Delay, LabelSchedule, is_count, parse_delay
from stream_bayes.evaluation.stream import Stream

SEED = 1
"""The default seed of random choices."""

LabelCondition = Callable[[int], bool]
"""Whether the filter learns the label of the message at an index; called once for each index, in order."""


class FeedbackRow(NamedTuple):
    """One row for the filter: a message to predict, to learn, or both."""

    place: int
    """The index of the message in the stream, from 0."""
    raw: bytes
    label: str | None
    """The label to learn; None if it is not learned now."""
    scored: bool
    """Whether the prediction counts; a message that is learned later has a second row."""


class Feedback:
    """One pass under a regime; `rows` must see every message once, in order, in pieces of any size, then `end`.

    Delayed labels wait; those of the last messages never come. Of a waiting message the first `max_bytes` are kept, or
    all bytes if it is None.
    """

    def __init__(self, condition: LabelCondition, delay: Delay = AT_ONCE, max_bytes: int | None = None) -> None:
        self._condition = condition
        # A label without delay is learned in the row of its prediction: equivalent by the contract, at half the cost.
        self._immediate = delay == AT_ONCE
        self._schedule = LabelSchedule(delay)
        self._max_bytes = max_bytes
        self._seen = 0
        self._waiting: deque[tuple[int, FeedbackRow]] = deque()

    @property
    def waiting(self) -> int:
        """Labels that have not come yet."""
        return len(self._waiting)

    def end(self) -> None:
        """End the stream."""
        if not self._immediate:
            self._schedule.end()

    def rows(self, mails: Iterable[Mail]) -> Iterator[FeedbackRow]:
        """The rows for the filter while these messages come."""
        for mail in mails:
            place = self._seen
            self._seen += 1
            label = mail.label if self._condition(place) else None
            if self._immediate:
                yield FeedbackRow(place, mail.raw, label, True)
            else:
                yield from self._delayed(place, mail.raw, label)

    def _delayed(self, place: int, raw: bytes, label: str | None) -> Iterator[FeedbackRow]:
        moment = self._schedule.arrive(raw)
        yield from self._due(moment.before)
        yield FeedbackRow(place, raw, None, True)
        if label is not None:
            self._waiting.append((self._schedule.due(moment), FeedbackRow(place, raw[: self._max_bytes], label, False)))
        yield from self._due(moment.after)

    def _due(self, now: int) -> Iterator[FeedbackRow]:
        while self._waiting and self._waiting[0][0] <= now:
            yield self._waiting.popleft()[1]


def first_messages(count: float) -> LabelCondition:
    """The labels of the first messages; all labels if `count` is infinite."""
    return lambda place: place < count


def random_fraction(fraction: float, seed: int = SEED) -> LabelCondition:
    """Each label with the same probability, independently."""
    generator = np.random.default_rng(seed)
    return lambda _: bool(generator.random() < fraction)


def random_sample(count: int, messages: int, seed: int = SEED) -> LabelCondition:
    """A random sample of labels of exactly this size, of a stream of known length.

    >>> condition = random_sample(3, 10)
    >>> sum(map(condition, range(10)))
    3
    """
    places = np.random.default_rng(seed).choice(messages, min(count, messages), replace=False)
    return frozenset(places.tolist()).__contains__


def open_feedback(text: str, max_bytes: int | None = None, seed: int = SEED) -> Feedback | None:
    """The feedback of this name at the beginning of a pass; None if there is none of this name.

    Of waiting messages the first `max_bytes` are kept. The seed is that of `partial`.

    >>> mails = [Mail("a", "spam", b"1"), Mail("b", "ham", b"2")]
    >>> [(row.place, row.label, row.scored) for row in open_feedback("delayed:1").rows(mails)]
    [(0, None, True), (1, None, True), (0, 'spam', False)]
    """
    kind, _, amount = text.partition(":")
    if text == "immediate":
        return Feedback(first_messages(math.inf))
    if kind == "first" and is_count(amount):
        return Feedback(first_messages(int(amount)))
    if kind == "delayed" and is_count(amount):
        return Feedback(first_messages(math.inf), Delay(int(amount)), max_bytes)
    if kind == "partial" and _is_fraction(amount):
        return Feedback(random_fraction(float(amount), seed))
    return None


def _is_fraction(amount: str) -> bool:
    try:
        return 0.0 <= float(amount) <= 1.0
    except ValueError:
        return False


ACTIVE = "active"
DEFAULT_STRATEGY = LabelSelector(budget=LabelBudget(total=1)).strategy
"""The default strategy of a `LabelSelector`."""
FIRST = "first"
RANDOM = "random"
PACED = "random-paced"
_SCORED = (name for name in SCORES if name not in {DEFAULT_STRATEGY, RANDOM})
STRATEGIES = (DEFAULT_STRATEGY, *_SCORED, PACED, RANDOM, FIRST)
"""All strategies, the default first."""
PARTIAL = "partial"
MAX_SEED = 2**53
"""Seeds are integers from 0 up to, but not including, this one."""


def check_strategy(name: str) -> str:
    """Check the name of a strategy."""
    return check_known(name, STRATEGIES)


class FeedbackRegime(NamedTuple):
    """The description of a feedback regime; strategy and delay are for "active:BUDGET" only."""

    feedback: str = "immediate"
    strategy: str | None = None
    """The name of the strategy; None for the default one."""
    delay: str | None = None
    """The delay of labels, in messages or as a span of time; None for no delay."""
    seed: int = SEED
    """The seed of "active:BUDGET" and "partial:FRACTION"."""

    def __str__(self) -> str:
        late = f", labels {self.delay} late" if self.delay else ""
        return f"{self.feedback}, {self.strategy_name}{late}" if self.is_active else self.feedback

    @property
    def is_active(self) -> bool:
        """Whether a strategy requests labels."""
        return self.feedback.partition(":")[0] == ACTIVE

    @property
    def uses_seed(self) -> bool:
        """Whether the result depends on the seed."""
        return self.feedback.partition(":")[0] in {ACTIVE, PARTIAL}

    @property
    def budget(self) -> int:
        """The number of labels that may be requested."""
        return int(self.feedback.partition(":")[2])

    @property
    def strategy_name(self) -> str:
        """The name of the strategy."""
        return DEFAULT_STRATEGY if self.strategy is None else self.strategy

    @property
    def label_delay(self) -> Delay:
        """The delay of labels."""
        return AT_ONCE if self.delay is None else parse_delay(self.delay)

    def check(self) -> None:
        """Check the description."""
        if not 0 <= self.seed < MAX_SEED:
            message = f"seed must be a whole number from 0 to {MAX_SEED - 1}; got {self.seed}"
            raise ParameterError(message)
        if self.is_active:
            self._check_active()
        elif open_feedback(self.feedback) is None:
            known = "immediate, delayed:N, first:N, partial:FRACTION (0 to 1) or active:BUDGET"
            message = f"feedback must be {known}; got {self.feedback!r}"
            raise ParameterError(message)
        elif self.strategy is not None or self.delay is not None:
            message = "a strategy and a delay go with feedback active:BUDGET; all labels late are feedback delayed:N"
            raise ParameterError(message)

    def _check_active(self) -> None:
        amount = self.feedback.partition(":")[2]
        if not is_count(amount) or not int(amount):
            message = f"feedback active:BUDGET needs a number of labels, at least 1; got {self.feedback!r}"
            raise ParameterError(message)
        check_strategy(self.strategy_name)
        if self.delay is not None:
            parse_delay(self.delay)

    def selector(self) -> LabelSelector | None:
        """The selector that decides for each message; None if the labels to learn are known beforehand."""
        if not self.is_active or self.strategy_name in {FIRST, RANDOM}:
            return None
        strategy = RANDOM if self.strategy_name == PACED else self.strategy_name
        return LabelSelector(strategy, LabelBudget(total=self.budget), seed=self.seed)

    def scheduled(self, stream: Stream, max_bytes: int | None) -> Feedback:
        """The feedback whose labels are known beforehand; for a random sample the stream is read once to count it."""
        if self.is_active:
            if self.strategy_name == FIRST:
                return Feedback(first_messages(self.budget), self.label_delay, max_bytes)
            return Feedback(random_sample(self.budget, sum(1 for _ in stream), self.seed), self.label_delay, max_bytes)
        feedback = open_feedback(self.feedback, max_bytes, self.seed)
        assert feedback is not None  # `check` refuses other names
        return feedback
