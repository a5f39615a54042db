"""Feedback regimes: which labels a filter learns, and when.

    immediate           each label right after the prediction
    delayed:N           the label of a message after the prediction of the N-th message after it
    first:N             the labels of the first N messages, right after the prediction; then none
    partial:FRACTION    each label with that probability, right after the prediction
    active:BUDGET        the labels of the messages that a selector requests (`evaluation.active_learning`)

A regime turns messages into the rows of `Filter.test_then_train`: predict, then learn what has a label.
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
from stream_bayes.evaluation.label_delay import AT_ONCE, Delay, LabelSchedule, is_whole, open_delay
from stream_bayes.evaluation.stream import Stream

SEED = 1
"""Of what is drawn by chance, unless another one is given."""

Wanted = Callable[[int], bool]
"""Whether the label of the message at a place is told; asked once for each place, in order."""


class FeedbackRow(NamedTuple):
    """One message for the filter."""

    place: int
    """Which message of the stream, from 0."""
    raw: bytes
    label: str | None
    """None: not to be learned now."""
    scored: bool
    """Whether this is the prediction that counts; a message that is learned later comes again."""


class Feedback:
    """One pass under a regime; `rows` must see every message once, in order, in pieces of any size, then `end`.

    Labels that come late wait; those of the last messages never come. Of a message that waits, only so many bytes are
    kept as are looked at; all of them with None.
    """

    def __init__(self, wanted: Wanted, delay: Delay = AT_ONCE, most_bytes: int | None = None) -> None:
        self._wanted = wanted
        # A label that comes at once is learned with the prediction: the same by the contract, at half the cost.
        self._at_once = delay == AT_ONCE
        self._times = LabelSchedule(delay)
        self._most_bytes = most_bytes
        self._seen = 0
        self._waiting: deque[tuple[int, FeedbackRow]] = deque()

    @property
    def waiting(self) -> int:
        """Labels that have not come yet."""
        return len(self._waiting)

    def end(self) -> None:
        """There are no more messages."""
        if not self._at_once:
            self._times.end()

    def rows(self, mails: Iterable[Mail]) -> Iterator[FeedbackRow]:
        """What the filter sees while these messages come."""
        for mail in mails:
            place = self._seen
            self._seen = self._seen + 1
            label = mail.label if self._wanted(place) else None
            if self._at_once:
                yield FeedbackRow(place, mail.raw, label, True)
            else:
                yield from self._late(place, mail.raw, label)

    def _late(self, place: int, raw: bytes, label: str | None) -> Iterator[FeedbackRow]:
        moment = self._times.arrive(raw)
        yield from self._due(moment.before)
        yield FeedbackRow(place, raw, None, True)
        if label is not None:
            self._waiting.append((self._times.due(moment), FeedbackRow(place, raw[: self._most_bytes], label, False)))
        yield from self._due(moment.after)

    def _due(self, now: int) -> Iterator[FeedbackRow]:
        while self._waiting and self._waiting[0][0] <= now:
            yield self._waiting.popleft()[1]


def first(told: float) -> Wanted:
    """The labels of the first messages; of all of them with infinity."""
    return lambda place: place < told


def share(fraction: float, seed: int = SEED) -> Wanted:
    """Each label with the same probability, drawn message by message."""
    generator = np.random.default_rng(seed)
    return lambda _: bool(generator.random() < fraction)


def drawn(count: int, messages: int, seed: int = SEED) -> Wanted:
    """Exactly so many labels of a stream whose length is known, all of them equally likely.

    >>> wanted = drawn(3, 10)
    >>> sum(map(wanted, range(10)))
    3
    """
    places = np.random.default_rng(seed).choice(messages, min(count, messages), replace=False)
    return frozenset(places.tolist()).__contains__


def open_feedback(text: str, most_bytes: int | None = None, seed: int = SEED) -> Feedback | None:
    """The regime of that name, at the beginning of its pass, or None; of messages that wait, so many bytes are kept.

    The seed is that of `partial`.

    >>> mails = [Mail("a", "spam", b"1"), Mail("b", "ham", b"2")]
    >>> [(row.place, row.label, row.scored) for row in open_feedback("delayed:1").rows(mails)]
    [(0, None, True), (1, None, True), (0, 'spam', False)]
    """
    kind, _, amount = text.partition(":")
    if text == "immediate":
        return Feedback(first(math.inf))
    if kind == "first" and is_whole(amount):
        return Feedback(first(int(amount)))
    if kind == "delayed" and is_whole(amount):
        return Feedback(first(math.inf), Delay(int(amount)), most_bytes)
    if kind == "partial" and _is_share(amount):
        return Feedback(share(float(amount), seed))
    return None


def _is_share(amount: str) -> bool:
    try:
        return 0.0 <= float(amount) <= 1.0
    except ValueError:
        return False


ACTIVE = "active"
DEFAULT = LabelSelector(budget=LabelBudget(total=1)).strategy
"""What a `LabelSelector` does unless it is told otherwise."""
FIRST = "first"
RANDOM = "random"
PACED = "random-paced"
STRATEGIES = (DEFAULT, *(name for name in SCORES if name not in {DEFAULT, RANDOM}), PACED, RANDOM, FIRST)
"""All of them, the default first."""
PARTIAL = "partial"
SEEDS = 2**53
"""Seeds are whole numbers from 0 that lie below."""


def check_strategy(name: str) -> str:
    """The name of a strategy, if there is one called so."""
    return check_known(name, STRATEGIES)


class FeedbackRegime(NamedTuple):
    """Feedback as it is asked for; strategy and delay are for "active:BUDGET" alone."""

    feedback: str = "immediate"
    strategy: str | None = None
    """None: the default."""
    delay: str | None = None
    """How late the answers are: messages, or a span of time; None for at once."""
    seed: int = SEED
    """Of what "active:BUDGET" and "partial:FRACTION" draw by chance."""

    def __str__(self) -> str:
        late = f", labels {self.delay} late" if self.delay else ""
        return f"{self.feedback}, {self.named}{late}" if self.is_active else self.feedback

    @property
    def is_active(self) -> bool:
        """Whether labels are asked for."""
        return self.feedback.partition(":")[0] == ACTIVE

    @property
    def draws(self) -> bool:
        """Whether the seed may make a difference."""
        return self.feedback.partition(":")[0] in {ACTIVE, PARTIAL}

    @property
    def budget(self) -> int:
        """How many labels may be asked for."""
        return int(self.feedback.partition(":")[2])

    @property
    def named(self) -> str:
        """The strategy."""
        return DEFAULT if self.strategy is None else self.strategy

    @property
    def late(self) -> Delay:
        """How late answers are."""
        return AT_ONCE if self.delay is None else open_delay(self.delay)

    def check(self) -> None:
        """Refuse what cannot work."""
        if not 0 <= self.seed < SEEDS:
            message = f"seed must be a whole number from 0 to {SEEDS - 1}; got {self.seed}"
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
        if not is_whole(amount) or not int(amount):
            message = f"feedback active:BUDGET needs a number of labels, at least 1; got {self.feedback!r}"
            raise ParameterError(message)
        check_strategy(self.named)
        if self.delay is not None:
            open_delay(self.delay)

    def selector(self) -> LabelSelector | None:
        """What decides message by message; None where it is known beforehand which labels are told."""
        if not self.is_active or self.named in {FIRST, RANDOM}:
            return None
        score = RANDOM if self.named == PACED else self.named
        return LabelSelector(score, LabelBudget(total=self.budget), seed=self.seed)

    def told(self, stream: Stream, most_bytes: int | None) -> Feedback:
        """The labels that are known beforehand to be told; to draw them at random the stream is read through once."""
        if self.is_active:
            if self.named == FIRST:
                return Feedback(first(self.budget), self.late, most_bytes)
            return Feedback(drawn(self.budget, sum(1 for _ in stream), self.seed), self.late, most_bytes)
        found = open_feedback(self.feedback, most_bytes, self.seed)
        assert found is not None  # checked
        return found
