"""Which labels a filter is told, and when: the regimes of feedback.

    immediate           each label right after the prediction
    delayed:N           the label of a message after the prediction of the N-th message after it
    first:N             the labels of the first N messages, right after the prediction; then none
    partial:FRACTION    each label with that probability, right after the prediction

A regime turns messages into the rows of `Filter.test_then_train`: predict, then learn what has a label.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from stream_bayes.errors import ParameterError
from stream_bayes.evaluate.corpora import Mail

SEED = 1
"""Of the labels that `partial` tells."""


class Row(NamedTuple):
    """One message for the filter."""

    place: int
    """Which message of the stream, from 0."""
    raw: bytes
    label: str | None
    """None: not to be learned now."""
    scored: bool
    """Whether this is the prediction that counts; a message that is learned later comes again."""


class Feedback(ABC):
    """One pass under a regime; `rows` must see every message once, in order, in pieces of any size."""

    def __init__(self) -> None:
        self._seen = 0

    def rows(self, mails: Iterable[Mail]) -> Iterator[Row]:
        """What the filter sees while these messages come."""
        for mail in mails:
            place, self._seen = self._seen, self._seen + 1
            yield from self._rows_of(place, mail)

    @abstractmethod
    def _rows_of(self, place: int, mail: Mail) -> Iterable[Row]:
        """What the filter sees when this message comes."""


class First(Feedback):
    """The labels of the first messages; of all of them with infinity."""

    def __init__(self, told: float) -> None:
        super().__init__()
        self._told = told

    def _rows_of(self, place: int, mail: Mail) -> Iterable[Row]:
        return (Row(place, mail.raw, mail.label if place < self._told else None, True),)


class Partial(Feedback):
    """Each label with the same probability, drawn message by message."""

    def __init__(self, fraction: float, seed: int = SEED) -> None:
        super().__init__()
        self._fraction = fraction
        self._generator = np.random.default_rng(seed)

    def _rows_of(self, place: int, mail: Mail) -> Iterable[Row]:
        told = self._generator.random() < self._fraction
        return (Row(place, mail.raw, mail.label if told else None, True),)


class Delayed(Feedback):
    """Each label so many messages late; those of the last messages never come.

    Of a message that waits, only so many bytes are kept as are looked at; all of them with None.
    """

    def __init__(self, delay: int, most_bytes: int | None = None) -> None:
        super().__init__()
        self._delay = delay
        self._most_bytes = most_bytes
        self._waiting: deque[Row] = deque()

    def _rows_of(self, place: int, mail: Mail) -> Iterable[Row]:
        yield Row(place, mail.raw, None, True)
        if mail.label is not None:
            self._waiting.append(Row(place, mail.raw[: self._most_bytes], mail.label, False))
        while self._waiting and self._waiting[0].place + self._delay <= place:
            yield self._waiting.popleft()


def open_feedback(text: str, most_bytes: int | None = None) -> Feedback:
    """The regime of that name, at the beginning of its pass; of messages that wait, it keeps at most so many bytes.

    >>> mails = [Mail("a", "spam", b"1"), Mail("b", "ham", b"2")]
    >>> [(row.place, row.label, row.scored) for row in open_feedback("delayed:1").rows(mails)]
    [(0, None, True), (1, None, True), (0, 'spam', False)]
    """
    kind, _, amount = text.partition(":")
    if text == "immediate":
        return First(math.inf)
    if kind == "first" and _is_whole(amount):
        return First(int(amount))
    if kind == "delayed" and _is_whole(amount):
        # A label that comes at once is learned with the prediction: the same by the contract, at half the cost.
        return Delayed(int(amount), most_bytes) if int(amount) else First(math.inf)
    if kind == "partial" and _is_share(amount):
        return Partial(float(amount))
    message = f"feedback must be immediate, delayed:N, first:N or partial:FRACTION (0 to 1); got {text!r}"
    raise ParameterError(message)


def _is_whole(amount: str) -> bool:
    return amount.isascii() and amount.isdigit() and len(amount) < 16


def _is_share(amount: str) -> bool:
    try:
        return 0.0 <= float(amount) <= 1.0
    except ValueError:
        return False
