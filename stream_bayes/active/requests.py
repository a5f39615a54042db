"""Label requests: the open ones, and those that expired without an answer."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from stream_bayes.persistence.scalars import (
    LARGEST_INT,
    stored_bool,
    stored_float,
    stored_int,
    stored_key,
    stored_label,
    stored_list,
    stored_text,
)

ObservationKey = int | str
"""Identifies an observation: its offset, or its id."""
# The number of expired requests that are kept, to recognise late answers.
_MAX_EXPIRED = 10_000
_KEPT = ("open", "expired")
# Rounding may take a probability above 1.
_MOST_PROBABLE = 1.0 + 1e-6


class Expected(NamedTuple):
    """The prediction for an observation when its label was requested."""

    label: Any
    """The most probable label; None if there is none yet, or if numbers are predicted."""
    probability: float
    """The predicted probability of that label."""


class RequestReason(NamedTuple):
    """Why a label is requested."""

    probability: float
    """The probability that the label of such an observation was requested, for any reason."""
    audited: float | None = None
    """The probability with which it was drawn for the audit; None if it was not drawn for it."""
    covered: bool = False
    """Whether it was selected for its coverage, and not for its score."""


class Candidate(NamedTuple):
    """An observation that came without a label."""

    key: ObservationKey
    score: float
    """The value of its label by the strategy."""
    expected: Expected | None = None
    content: Any = None
    """The content by which near-duplicates are found; None if they are not looked for."""
    title: str = ""
    """Its id, for display."""


class Request(NamedTuple):
    """An open request for a label."""

    requested_at: int
    """On the clock of the stream, in milliseconds."""
    expected: Expected | None
    reason: RequestReason
    title: str
    """The id of the observation, for display."""


class Requests(dict[ObservationKey, Request]):
    """The open requests by their observations, oldest first, and those that expired.

    It is changed by its own methods only, those after `due`.
    """

    def __init__(self, ttl: int) -> None:
        super().__init__()
        self._ttl = ttl
        self._expired: dict[ObservationKey, Request] = {}
        self.first: ObservationKey | None = None
        """The observation of the oldest request; None if there is none."""
        self.due = math.inf
        """The time at which the oldest request expires."""

    def open(self, key: ObservationKey, request: Request) -> None:
        """Add a request."""
        self[key] = request
        if self.first is None or self.first == key:
            self._update_first()

    def close(self, key: ObservationKey) -> Request | None:
        """Remove the request that is answered or never will be."""
        request = self.pop(key, None)
        if key == self.first:
            self._update_first()
        return request

    def is_due(self, clock: int) -> bool:
        """Whether a request has expired."""
        return clock >= self.due

    def _update_first(self) -> None:
        # Updated when it changes, not for each observation.
        self.first = next(iter(self), None)
        self.due = math.inf if self.first is None else self[self.first].requested_at + self._ttl

    def expire(self, clock: int) -> list[tuple[ObservationKey, Request]]:
        """Close the requests that have expired; the clock never goes back, so they are the first ones."""
        expired: list[tuple[ObservationKey, Request]] = []
        while self.first is not None and self.is_due(clock):
            key = self.first
            expired.append((key, self.pop(key)))
            self.remember(*expired[-1])
            self._update_first()
        return expired

    def remember(self, key: ObservationKey, request: Request) -> None:
        """Keep a request that was closed without a label: a late answer may come."""
        self._expired[key] = request
        if len(self._expired) > _MAX_EXPIRED:
            del self._expired[next(iter(self._expired))]

    def take_expired(self, key: ObservationKey) -> Request | None:
        """Remove and return the request, if it was closed without a label."""
        return self._expired.pop(key, None)

    def state(self) -> dict[str, Any]:
        """The requests, for a checkpoint."""
        return {
            name: [
                [key, request.requested_at, request.expected, [*request.reason], request.title]
                for key, request in kept.items()
            ]
            for name, kept in zip(_KEPT, (self, self._expired), strict=True)
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        waiting, expired = (_requests_of(state[name], f"requests.{name}") for name in _KEPT)
        self.clear()
        self.update(waiting)
        self._expired = expired
        self._update_first()


def _requests_of(state: Any, name: str) -> dict[ObservationKey, Request]:
    entries = [stored_list(entry, name, 1 + len(Request._fields)) for entry in stored_list(state, name)]
    return {stored_key(key, name): _request_of(name, *fields) for key, *fields in entries}


def _request_of(name: str, requested_at: Any, expected: Any, reason: Any, title: Any) -> Request:
    return Request(
        stored_int(requested_at, name, -LARGEST_INT),
        None if expected is None else _expected_of(name, *stored_list(expected, name, 2)),
        _reason_of(name, *stored_list(reason, name, len(RequestReason._fields))),
        stored_text(title, name),
    )


def _expected_of(name: str, label: Any, probability: Any) -> Expected:
    known = None if label is None else stored_label(label, name)
    return Expected(known, stored_float(probability, name, 0.0, _MOST_PROBABLE))


def _reason_of(name: str, probability: Any, audited: Any, covered: Any) -> RequestReason:
    return RequestReason(
        stored_float(probability, name, 0.0, 1.0),
        None if audited is None else stored_float(audited, name, 0.0, 1.0),
        stored_bool(covered, name),
    )
