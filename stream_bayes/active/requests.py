"""Questions that wait for an answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from stream_bayes.persistence.scalars import (
    LARGEST_INT,
    stored_float,
    stored_int,
    stored_key,
    stored_label,
    stored_list,
    stored_text,
)

Place = int | str
"""What a question is about: the offset of an observation, or its id."""
# Of so many questions that nobody answered in time it is remembered that they were asked.
_MAX_EXPIRED = 10_000
_KEPT = ("open", "expired")
# Rounding may take a probability above 1.
_MOST_PROBABLE = 1.0 + 1e-6


class Expected(NamedTuple):
    """What was predicted for an observation when it was asked about."""

    label: Any
    """The most probable one; None while there is none, or where numbers are predicted."""
    probability: float
    """Of that label."""


class RequestReason(NamedTuple):
    """Why an observation is asked about."""

    audited: float | None = None
    """The probability with which it was drawn for the audit; None if it was chosen for its score."""


class Candidate(NamedTuple):
    """An observation that came without a label."""

    place: Place
    score: float
    """What its label is worth, by the strategy."""
    expected: Expected | None = None
    content: Any = None
    """To find near-duplicates by; None if there is no need."""
    title: str = ""
    """Its id, for people."""


class Request(NamedTuple):
    """A question that is open."""

    asked_at: int
    """On the clock of the stream, in milliseconds."""
    expected: Expected | None
    audited: float | None
    """The probability with which it was drawn for the audit; None if it was chosen for its score."""
    title: str
    """The id of the observation, for people."""


class Requests:
    """The open questions in the order in which they were asked; those too old are closed."""

    def __init__(self, ttl: int) -> None:
        self._ttl = ttl
        self._open: dict[Place, Request] = {}
        self._expired: dict[Place, Request] = {}
        self.first: Place | None = None
        """What the oldest question is about; None while there is none."""
        self.due = math.inf
        """From this time on it has waited too long."""

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._open)

    def __contains__(self, place: Place) -> bool:
        return place in self._open

    def open(self, place: Place, request: Request) -> None:
        """One more question."""
        self._open[place] = request
        if self.first is None or self.first == place:
            self._look_at_first()

    def close(self, place: Place) -> Request | None:
        """The question is answered, or will never be."""
        request = self._open.pop(place, None)
        if place == self.first:
            self._look_at_first()
        return request

    def is_due(self, clock: int) -> bool:
        """Whether a question has waited too long."""
        return clock >= self.due

    def _look_at_first(self) -> None:
        # Looked at when it changes, and not for each observation.
        self.first = next(iter(self._open), None)
        self.due = math.inf if self.first is None else self._open[self.first].asked_at + self._ttl

    def expire(self, clock: int) -> list[tuple[Place, Request]]:
        """Close those that waited too long; the clock never falls, so they are the first ones."""
        gone: list[tuple[Place, Request]] = []
        while self.first is not None and self.is_due(clock):
            place = self.first
            gone.append((place, self._open.pop(place)))
            self.remember(*gone[-1])
            self._look_at_first()
        return gone

    def remember(self, place: Place, request: Request) -> None:
        """It was asked and closed without a label; one may come yet."""
        self._expired[place] = request
        if len(self._expired) > _MAX_EXPIRED:
            del self._expired[next(iter(self._expired))]

    def take_expired(self, place: Place) -> Request | None:
        """The question, if it was asked and closed without a label; it is forgotten then."""
        return self._expired.pop(place, None)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            name: [[place, *request] for place, request in kept.items()]
            for name, kept in zip(_KEPT, (self._open, self._expired), strict=True)
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        self._open, self._expired = (_requests_of(state[name], f"requests.{name}") for name in _KEPT)
        self._look_at_first()


def _requests_of(state: Any, name: str) -> dict[Place, Request]:
    entries = [stored_list(entry, name, 1 + len(Request._fields)) for entry in stored_list(state, name)]
    return {stored_key(place, name): _request_of(name, *fields) for place, *fields in entries}


def _request_of(name: str, asked_at: Any, expected: Any, audited: Any, title: Any) -> Request:
    return Request(
        stored_int(asked_at, name, -LARGEST_INT),
        None if expected is None else _expected_of(name, *stored_list(expected, name, 2)),
        None if audited is None else stored_float(audited, name, 0.0, 1.0),
        stored_text(title, name),
    )


def _expected_of(name: str, label: Any, probability: Any) -> Expected:
    known = None if label is None else stored_label(label, name)
    return Expected(known, stored_float(probability, name, 0.0, _MOST_PROBABLE))
