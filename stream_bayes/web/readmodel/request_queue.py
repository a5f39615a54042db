"""Queue of label requests with leases and submitted labels. It has no clock and does no I/O."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from stream_bayes.engine.label_requests import UNSCORED
from stream_bayes.errors import StreamBayesError
from stream_bayes.events import LabelRequest

PartitionOffset = tuple[int, int]
"""Partition and offset of an observation."""

_MAX_OWNERS = 1000
MAX_KEPT = 20_000
"""Requests kept in memory. The oldest closed ones are dropped first."""


class RequestRefused(StreamBayesError):
    """A labeller may not lease or answer a request: it is leased to another labeller, or it is unknown or closed."""

    code = "refused"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class LeaseOwner(NamedTuple):
    """The owner of a lease: a labeller and the browser session. Two people may use the same name."""

    labeller: str
    session_id: str = ""


class SubmittedLabel(NamedTuple):
    """A label submitted for a request."""

    label: Any
    labeller: str | None
    at: datetime
    learned: bool = False
    """Whether the worker has reported that it learned the label."""


@dataclass
class QueuedRequest:
    """A label request and its state."""

    request: LabelRequest
    open: bool = True
    """Whether the worker still waits for a label."""
    submitted: SubmittedLabel | None = None
    learned: SubmittedLabel | None = None
    """The last label that the worker accepted."""
    requested_at: datetime | None = None
    """The timestamp of the request in the log."""
    owner: LeaseOwner | None = None
    """The owner of the lease."""
    leased_until: float = 0.0
    """When the lease ends."""
    score: float = math.nan
    """The acquisition score: the one of the request first, then those of newer models."""
    scored_at: int | None = None
    """When the checkpoint that gave the score was written, in nanoseconds. None: the worker gave the score."""

    @property
    def place(self) -> PartitionOffset:
        """Partition and offset of the observation."""
        return self.request.source.partition, self.request.source.offset

    @property
    def is_waiting(self) -> bool:
        """Whether it is open and has no label yet."""
        return self.open and self.submitted is None

    @property
    def state(self) -> str:
        """One of open, answered, or closed (without a label)."""
        if self.submitted is not None:
            return "answered"
        return "open" if self.open else "closed"

    def is_leased(self, now: float) -> bool:
        """Whether a lease is running."""
        return self.owner is not None and now < self.leased_until

    def is_leased_to_other(self, owner: LeaseOwner, now: float) -> bool:
        """Whether another owner has a running lease."""
        return self.owner != owner and self.is_leased(now)


class RequestQueue:
    """Label requests by the place of their observation, ordered by score.

    A leased request is not leased to another owner until the lease ends, a label is submitted, or it is released.
    Times are in seconds, by any monotonic clock.
    """

    def __init__(self, lease: float) -> None:
        self.lease = lease
        self._requests: OrderedDict[PartitionOffset, QueuedRequest] = OrderedDict()
        # Requests without a label, the next one first.
        self._waiting: list[QueuedRequest] = []
        # An owner has at most one lease.
        self._leased: dict[LeaseOwner, QueuedRequest] = {}
        self.strategy: str | None = None
        """The strategy of the newest request. None before the first."""

    def __len__(self) -> int:
        """The number of requests without a label."""
        return len(self._waiting)

    def add(self, request: LabelRequest, at: datetime | None = None) -> None:
        """Add a request of the worker. A known one is ignored."""
        queued = QueuedRequest(request, requested_at=at, score=request.score)
        if queued.place in self._requests:
            return
        self._requests[queued.place] = queued
        insort(self._waiting, queued, key=_order)
        if request.strategy not in UNSCORED:
            self.strategy = request.strategy
        self._drop_closed()

    def _drop_closed(self) -> None:
        while len(self._requests) > MAX_KEPT and len(self._requests) > len(self._waiting):
            place, queued = self._requests.popitem(last=False)
            if queued.is_waiting:
                self._requests[place] = queued

    def get(self, place: PartitionOffset) -> QueuedRequest:
        """Return the request for an observation. Raise `RequestRefused` if there is none."""
        queued = self._requests.get(place)
        if queued is None:
            code = "unknown"
            message = f"there is no label request for the observation {place[0]}-{place[1]}, or it is too old"
            raise RequestRefused(code, message)
        return queued

    def find(self, place: PartitionOffset) -> QueuedRequest | None:
        """Return the request for an observation, or None."""
        return self._requests.get(place)

    def waiting(self) -> list[QueuedRequest]:
        """Return the requests without a label, the highest score first, then the oldest."""
        return self._waiting[:]

    def count(self, now: float) -> tuple[int, int]:
        """Count the requests without a label, and those of them that are leased."""
        return len(self._waiting), sum(queued.is_waiting and queued.is_leased(now) for queued in self._leased.values())

    def take(self, owner: LeaseOwner, skip: Collection[PartitionOffset], now: float) -> QueuedRequest | None:
        """Lease the next request to an owner: the one already leased to them, else the one with the highest score."""
        if len(self._leased) > _MAX_OWNERS:
            self._leased = {name: queued for name, queued in self._leased.items() if queued.is_leased(now)}
        own = self._leased.get(owner)
        if own is None or not own.is_waiting or not own.is_leased(now) or own.place in skip:
            free = (queued for queued in self._waiting if not queued.is_leased_to_other(owner, now))
            own = next((queued for queued in free if queued.place not in skip), None)
        if own is not None:
            self._lease_to(own, owner, now)
        return own

    def renew(self, place: PartitionOffset, owner: LeaseOwner, now: float) -> float:
        """Renew the lease and return its seconds. Raise `RequestRefused` if another owner has it."""
        queued = self.get(place)
        if queued.submitted is not None and queued.submitted.labeller != owner.labeller:
            code = "answered"
            message = "another labeller has answered this request in the meantime"
            raise RequestRefused(code, message)
        if queued.is_leased_to_other(owner, now):
            code = "leased"
            message = "another labeller has this request now: your lease has ended"
            raise RequestRefused(code, message)
        self._lease_to(queued, owner, now)
        return self.lease

    def release(self, place: PartitionOffset, owner: LeaseOwner) -> None:
        """End the lease, if this owner has it."""
        if self.get(place).owner == owner:
            self._end_lease(owner)

    def reopen(self, place: PartitionOffset, owner: LeaseOwner, now: float) -> QueuedRequest:
        """Lease a request to the labeller who answered it, so that they can correct their label."""
        queued = self.get(place)
        if queued.submitted is None or queued.submitted.labeller != owner.labeller:
            code = "not-yours"
            message = "you can only reopen a request that you answered yourself"
            raise RequestRefused(code, message)
        self._lease_to(queued, owner, now)
        return queued

    def _lease_to(self, queued: QueuedRequest, owner: LeaseOwner, now: float) -> None:
        if queued.owner != owner:
            self._end_lease(owner)
            self._end_lease(queued.owner)
        queued.owner = owner
        queued.leased_until = now + self.lease
        self._leased[owner] = queued

    def _end_lease(self, owner: LeaseOwner | None) -> None:
        queued = None if owner is None else self._leased.pop(owner, None)
        if queued is not None:
            queued.owner = None

    def set_label(self, place: PartitionOffset, submitted: SubmittedLabel | None) -> None:
        """Set the label of a request. With None the request waits for a label again."""
        queued = self._requests.get(place)
        if queued is None:
            return
        self._end_lease(queued.owner)
        was_waiting = queued.is_waiting
        queued.submitted = submitted
        self._reposition(queued, was_waiting=was_waiting)

    def close(self, place: PartitionOffset, submitted: SubmittedLabel | None) -> None:
        """Close a request, with the label that the worker accepted or without one. A newer label is kept."""
        queued = self._requests.get(place)
        if queued is None:
            return
        was_waiting = queued.is_waiting
        queued.open = False
        self._reposition(queued, was_waiting=was_waiting)
        if submitted is None:
            return
        queued.learned = submitted
        newest = queued.submitted
        if newest is None or newest.label == submitted.label or newest.at <= submitted.at:
            self.set_label(place, submitted)

    def refuse(self, place: PartitionOffset, label: Any, *, still_open: bool) -> SubmittedLabel | None:
        """Withdraw a label that the worker refused, and return the label that counts now, if any."""
        queued = self._requests.get(place)
        if queued is None:
            return None
        was_waiting = queued.is_waiting
        queued.open = still_open
        self._reposition(queued, was_waiting=was_waiting)
        if queued.submitted is not None and queued.submitted.label == label:
            self.set_label(place, queued.learned)
        return queued.submitted

    def _reposition(self, queued: QueuedRequest, *, was_waiting: bool) -> None:
        if queued.is_waiting and not was_waiting:
            insort(self._waiting, queued, key=_order)
        elif was_waiting and not queued.is_waiting:
            del self._waiting[bisect_left(self._waiting, _order(queued), key=_order)]

    def rescore(self, place: PartitionOffset, score: float, scored_at: int) -> None:
        """Set the score by a newer model. With NaN the request keeps its score."""
        queued = self._requests.get(place)
        if queued is None:
            return
        is_waiting = queued.is_waiting
        if is_waiting:
            del self._waiting[bisect_left(self._waiting, _order(queued), key=_order)]
        queued.scored_at = scored_at
        if not math.isnan(score):
            queued.score = score
        if is_waiting:
            insort(self._waiting, queued, key=_order)

    def rank(self, queued: QueuedRequest) -> float | None:
        """Return the share of the other waiting requests with a lower score. None without a score or others."""
        others = len(self._waiting) - queued.is_waiting
        if math.isnan(queued.score) or others < 1:
            return None
        # After all that have the same score.
        behind = bisect_right(self._waiting, -queued.score, key=lambda one: _order(one)[0])
        return (len(self._waiting) - behind) / others

    def scored(self) -> Iterator[tuple[float, str]]:
        """Return the score and the state of each request."""
        return ((queued.request.score, queued.state) for queued in self._requests.values())


def _order(queued: QueuedRequest) -> tuple[float, int, int]:
    source = queued.request.source
    return (math.inf if math.isnan(queued.score) else -queued.score, source.offset, source.partition)
