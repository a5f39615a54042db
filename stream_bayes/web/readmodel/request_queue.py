"""Questions to labellers: which are open, who has which before them, and what was answered. No clock, no I/O."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from stream_bayes.errors import StreamBayesError
from stream_bayes.events import LabelRequest

Place = tuple[int, int]
"""Partition and offset of an observation."""

AUDIT = "audit"
"""Stands for a strategy where a question was drawn by chance."""
_MAX_HOLDERS = 1000
MAX_KEPT = 20_000
"""Questions that are remembered; the oldest that are over are forgotten first."""


class RequestRefused(StreamBayesError):
    """A labeller cannot have, or answer, a question: somebody else does, or it is over."""

    code = "refused"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class LeaseOwner(NamedTuple):
    """Who has a question before them: a person, and where they sit; two may have the same name."""

    labeller: str
    seat: str = ""


class SubmittedLabel(NamedTuple):
    """An answer to a question."""

    label: Any
    labeller: str | None
    at: datetime
    learned: bool = False
    """Whether the worker has said so."""


@dataclass
class QueuedRequest:
    """A question and what is known of it."""

    request: LabelRequest
    open: bool = True
    """Whether the worker still waits for an answer."""
    given: SubmittedLabel | None = None
    learned: SubmittedLabel | None = None
    """The last answer that the worker has taken."""
    asked_at: datetime | None = None
    """When the question came to the log."""
    holder: LeaseOwner | None = None
    """Who has it before them."""
    until: float = 0.0
    """When they lose it."""
    score: float = math.nan
    """What the answer is worth by the strategy's score: when it was asked, then by newer models."""
    scored_at: int | None = None
    """When the model was written that gave the score, in nanoseconds; None: the worker gave it."""

    @property
    def place(self) -> Place:
        """Where its observation is."""
        return self.request.source.partition, self.request.source.offset

    @property
    def waits(self) -> bool:
        """Whether it is for somebody to answer."""
        return self.open and self.given is None

    @property
    def state(self) -> str:
        """In a word: open, answered, or closed without an answer."""
        if self.given is not None:
            return "answered"
        return "open" if self.open else "closed"

    def held(self, now: float) -> bool:
        """Whether somebody has it now."""
        return self.holder is not None and now < self.until

    def held_by_another(self, holder: LeaseOwner, now: float) -> bool:
        """Whether somebody else has it now."""
        return self.holder != holder and self.held(now)


class RequestQueue:
    """All questions that are remembered, by the places of their observations.

    A question that a labeller takes is nobody else's until the lease is over, the answer is given, or it is let go of.
    Times are in seconds, by any clock that does not go back.
    """

    def __init__(self, lease: float) -> None:
        self.lease = lease
        self._entries: OrderedDict[Place, QueuedRequest] = OrderedDict()
        # Those without an answer, the next one first.
        self._waiting: list[QueuedRequest] = []
        # What each of them took last: one has no more than one question before them.
        self._taken: dict[LeaseOwner, QueuedRequest] = {}
        self.strategy: str | None = None
        """The score by which the newest question was chosen; None before the first."""

    def __len__(self) -> int:
        """How many wait for an answer."""
        return len(self._waiting)

    def ask(self, request: LabelRequest, at: datetime | None = None) -> None:
        """The worker asks."""
        entry = QueuedRequest(request, asked_at=at, score=request.score)
        if entry.place in self._entries:
            return
        self._entries[entry.place] = entry
        insort(self._waiting, entry, key=_order)
        if request.strategy != AUDIT:
            self.strategy = request.strategy
        self._forget()

    def _forget(self) -> None:
        while len(self._entries) > MAX_KEPT and len(self._entries) > len(self._waiting):
            place, entry = self._entries.popitem(last=False)
            if entry.waits:
                self._entries[place] = entry

    def get(self, place: Place) -> QueuedRequest:
        """The question about an observation; a `RequestRefused` where there is none."""
        entry = self._entries.get(place)
        if entry is None:
            code = "unknown"
            message = f"nothing was asked about the observation {place[0]}-{place[1]}, or it was long ago"
            raise RequestRefused(code, message)
        return entry

    def known(self, place: Place) -> QueuedRequest | None:
        """The question about an observation, if there is one."""
        return self._entries.get(place)

    def waiting(self) -> list[QueuedRequest]:
        """Those without an answer, the highest score first; of equals the oldest."""
        return self._waiting[:]

    def count(self, now: float) -> tuple[int, int]:
        """How many wait for an answer, and how many of these somebody has before them."""
        return len(self._waiting), sum(entry.waits and entry.held(now) for entry in self._taken.values())

    def take(self, holder: LeaseOwner, skip: Collection[Place], now: float) -> QueuedRequest | None:
        """The next question for a labeller, theirs for the time of a lease: what they have already, else the best."""
        if len(self._taken) > _MAX_HOLDERS:
            self._taken = {who: entry for who, entry in self._taken.items() if entry.held(now)}
        own = self._taken.get(holder)
        if own is None or not own.waits or not own.held(now) or own.place in skip:
            free = (entry for entry in self._waiting if not entry.held_by_another(holder, now))
            own = next((entry for entry in free if entry.place not in skip), None)
        if own is not None:
            self._hand(own, holder, now)
        return own

    def hold(self, place: Place, holder: LeaseOwner, now: float) -> float:
        """Have a question for one more lease; how long that is. A `RequestRefused` where somebody else has it."""
        entry = self.get(place)
        if entry.given is not None and entry.given.labeller != holder.labeller:
            code = "answered"
            message = "somebody else has answered this question meanwhile"
            raise RequestRefused(code, message)
        if entry.held_by_another(holder, now):
            code = "taken"
            message = "somebody else has this question before them: it was yours until its time was over"
            raise RequestRefused(code, message)
        self._hand(entry, holder, now)
        return self.lease

    def release(self, place: Place, holder: LeaseOwner) -> None:
        """Let go of a question, if they have it."""
        if self.get(place).holder == holder:
            self._let_go(holder)

    def reopen(self, place: Place, holder: LeaseOwner, now: float) -> QueuedRequest:
        """Take up again a question that this labeller has answered, to answer it otherwise."""
        entry = self.get(place)
        if entry.given is None or entry.given.labeller != holder.labeller:
            code = "not-yours"
            message = "only an answer of your own can be taken up again"
            raise RequestRefused(code, message)
        self._hand(entry, holder, now)
        return entry

    def _hand(self, entry: QueuedRequest, holder: LeaseOwner, now: float) -> None:
        if entry.holder != holder:
            self._let_go(holder)
            self._let_go(entry.holder)
        entry.holder = holder
        entry.until = now + self.lease
        self._taken[holder] = entry

    def _let_go(self, holder: LeaseOwner | None) -> None:
        entry = None if holder is None else self._taken.pop(holder, None)
        if entry is not None:
            entry.holder = None

    def give(self, place: Place, given: SubmittedLabel | None) -> None:
        """An answer is in the log, or what was said to be is not: then the question waits again."""
        entry = self._entries.get(place)
        if entry is None:
            return
        self._let_go(entry.holder)
        waited = entry.waits
        entry.given = given
        self._line_up(entry, waited=waited)

    def end(self, place: Place, given: SubmittedLabel | None) -> None:
        """The worker has closed a question, with the answer that it took or without one; a newer answer stays."""
        entry = self._entries.get(place)
        if entry is None:
            return
        waited = entry.waits
        entry.open = False
        self._line_up(entry, waited=waited)
        if given is None:
            return
        entry.learned = given
        now = entry.given
        if now is None or now.label == given.label or now.at <= given.at:
            self.give(place, given)

    def refuse(self, place: Place, label: Any, *, still_open: bool) -> SubmittedLabel | None:
        """The worker has refused an answer: what counts now is what it took before, if anything."""
        entry = self._entries.get(place)
        if entry is None:
            return None
        waited = entry.waits
        entry.open = still_open
        self._line_up(entry, waited=waited)
        if entry.given is not None and entry.given.label == label:
            self.give(place, entry.learned)
        return entry.given

    def _line_up(self, entry: QueuedRequest, *, waited: bool) -> None:
        if entry.waits and not waited:
            insort(self._waiting, entry, key=_order)
        elif waited and not entry.waits:
            del self._waiting[bisect_left(self._waiting, _order(entry), key=_order)]

    def rescore(self, place: Place, score: float, scored_at: int) -> None:
        """A newer model has scored a question; one that it cannot score (NaN) keeps its score."""
        entry = self._entries.get(place)
        if entry is None:
            return
        waits = entry.waits
        if waits:
            del self._waiting[bisect_left(self._waiting, _order(entry), key=_order)]
        entry.scored_at = scored_at
        if not math.isnan(score):
            entry.score = score
        if waits:
            insort(self._waiting, entry, key=_order)

    def rank(self, entry: QueuedRequest) -> float | None:
        """The share of the other open questions that are worth less; None where there is nothing to compare."""
        others = len(self._waiting) - entry.waits
        if math.isnan(entry.score) or others < 1:
            return None
        # Behind all that are worth as much.
        behind = bisect_right(self._waiting, -entry.score, key=lambda one: _order(one)[0])
        return (len(self._waiting) - behind) / others

    def scored(self) -> Iterator[tuple[float, str]]:
        """The score of each question, and its state."""
        return ((entry.request.score, entry.state) for entry in self._entries.values())


def _order(entry: QueuedRequest) -> tuple[float, int, int]:
    source = entry.request.source
    return (math.inf if math.isnan(entry.score) else -entry.score, source.offset, source.partition)
