"""Which labels a filter is told, and when: the regimes of feedback that do not depend on what it predicts.

    immediate           each label right after the prediction
    delayed:N           the label of a message after the prediction of the N-th message after it
    first:N             the labels of the first N messages, right after the prediction; then none
    partial:FRACTION    each label with that probability, right after the prediction

`stream_bayes.evaluate.regime` has the one that does. A regime turns messages into the rows of `Filter.test_then_train`:
predict, then learn what has a label.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from stream_bayes.evaluate.corpora import Mail
from stream_bayes.evaluate.delay import AT_ONCE, Delay, Timetable, is_whole

SEED = 1
"""Of what is drawn by chance, unless another one is given."""

Wanted = Callable[[int], bool]
"""Whether the label of the message at a place is told; asked once for each place, in order."""


class Row(NamedTuple):
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
        self._times = Timetable(delay)
        self._most_bytes = most_bytes
        self._seen = 0
        self._waiting: deque[tuple[int, Row]] = deque()

    @property
    def waiting(self) -> int:
        """Labels that have not come yet."""
        return len(self._waiting)

    def end(self) -> None:
        """There are no more messages."""
        if not self._at_once:
            self._times.end()

    def rows(self, mails: Iterable[Mail]) -> Iterator[Row]:
        """What the filter sees while these messages come."""
        for mail in mails:
            place, self._seen = self._seen, self._seen + 1
            label = mail.label if self._wanted(place) else None
            if self._at_once:
                yield Row(place, mail.raw, label, True)
            else:
                yield from self._late(place, mail.raw, label)

    def _late(self, place: int, raw: bytes, label: str | None) -> Iterator[Row]:
        moment = self._times.arrive(raw)
        yield from self._due(moment.before)
        yield Row(place, raw, None, True)
        if label is not None:
            self._waiting.append((self._times.due(moment), Row(place, raw[: self._most_bytes], label, False)))
        yield from self._due(moment.after)

    def _due(self, now: int) -> Iterator[Row]:
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
