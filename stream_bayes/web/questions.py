"""Questions to labellers: which are open, who has which before them, and what was answered. No clock, no I/O."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from stream_bayes.errors import StreamBayesError
from stream_bayes.events import LabelRequest

Place = tuple[int, int]
"""Partition and offset of an observation."""

MOST_KEPT = 20_000
"""Questions that are remembered; the oldest that are over are forgotten first."""


class QuestionRefused(StreamBayesError):
    """A labeller cannot have, or answer, a question: somebody else does, or it is over."""

    code = "refused"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Given(NamedTuple):
    """An answer to a question."""

    label: Any
    labeller: str | None
    at: datetime
    learned: bool = False
    """Whether the worker has said so."""


@dataclass
class Entry:
    """A question and what is known of it."""

    request: LabelRequest
    open: bool = True
    """Whether the worker still waits for an answer."""
    given: Given | None = None
    holder: str | None = None
    """Who has it before them."""
    until: float = 0.0
    """When they lose it."""

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

    def held_by_another(self, labeller: str, now: float) -> bool:
        """Whether somebody else has it now."""
        return self.holder != labeller and self.held(now)


class Questions:
    """All questions that are remembered, by the places of their observations.

    A question that a labeller takes is nobody else's until the lease is over, the answer is given, or it is let go of.
    Times are in seconds, by any clock that does not go back.
    """

    def __init__(self, lease: float) -> None:
        self.lease = lease
        self._entries: OrderedDict[Place, Entry] = OrderedDict()
        self._waiting: dict[Place, Entry] = {}
        self._scores: list[float] = []

    def ask(self, request: LabelRequest) -> None:
        """The worker asks."""
        entry = Entry(request)
        if entry.place in self._entries:
            return
        self._entries[entry.place] = self._waiting[entry.place] = entry
        if not math.isnan(request.score):
            insort(self._scores, request.score)
        self._forget()

    def _forget(self) -> None:
        while len(self._entries) > MOST_KEPT and len(self._entries) > len(self._waiting):
            place, entry = self._entries.popitem(last=False)
            if entry.waits:
                self._entries[place] = entry
            elif not math.isnan(entry.request.score):
                del self._scores[bisect_left(self._scores, entry.request.score)]

    def get(self, place: Place) -> Entry:
        """The question about an observation; a `QuestionRefused` where there is none."""
        entry = self._entries.get(place)
        if entry is None:
            code = "unknown"
            message = f"nothing was asked about the observation {place[0]}-{place[1]}, or it was long ago"
            raise QuestionRefused(code, message)
        return entry

    def known(self, place: Place) -> Entry | None:
        """The question about an observation, if there is one."""
        return self._entries.get(place)

    def waiting(self) -> list[Entry]:
        """Those without an answer, the highest variance first; of equals the oldest."""
        return sorted(self._waiting.values(), key=_order)

    def count(self, now: float) -> tuple[int, int]:
        """How many wait for an answer, and how many of these somebody has before them."""
        return len(self._waiting), sum(entry.held(now) for entry in self._waiting.values())

    def take(self, labeller: str, skip: Collection[Place], now: float) -> Entry | None:
        """The next question for a labeller, theirs for the time of a lease: what they have already, else the best."""
        free = [entry for entry in self._waiting.values() if not entry.held_by_another(labeller, now)]
        own = [entry for entry in free if entry.held(now)]
        wanted = [entry for entry in (own or free) if entry.place not in skip]
        wanted = wanted or [entry for entry in free if entry.place not in skip]
        if not wanted:
            return None
        chosen = min(wanted, key=_order)
        self._hand(chosen, labeller, now)
        return chosen

    def hold(self, place: Place, labeller: str, now: float) -> float:
        """Have a question for one more lease; how long that is. A `QuestionRefused` where somebody else has it."""
        entry = self.get(place)
        if entry.given is not None and entry.given.labeller != labeller:
            code = "answered"
            message = "somebody else has answered this question meanwhile"
            raise QuestionRefused(code, message)
        if entry.held_by_another(labeller, now):
            code = "taken"
            message = "somebody else has this question before them: it was yours until its time was over"
            raise QuestionRefused(code, message)
        self._hand(entry, labeller, now)
        return self.lease

    def release(self, place: Place, labeller: str) -> None:
        """Let go of a question, if the labeller has it."""
        entry = self.get(place)
        if entry.holder == labeller:
            entry.holder = None

    def reopen(self, place: Place, labeller: str, now: float) -> Entry:
        """Take up again a question that this labeller has answered, to answer it otherwise."""
        entry = self.get(place)
        if entry.given is None or entry.given.labeller != labeller:
            code = "not-yours"
            message = "only an answer of your own can be taken up again"
            raise QuestionRefused(code, message)
        self._hand(entry, labeller, now)
        return entry

    def _hand(self, entry: Entry, labeller: str, now: float) -> None:
        for other in self._waiting.values():
            if other.holder == labeller and other is not entry:
                other.holder = None
        entry.holder, entry.until = labeller, now + self.lease

    def give(self, place: Place, given: Given | None) -> None:
        """An answer is in the log, or what was said to be is not: then the question waits again."""
        entry = self._entries.get(place)
        if entry is None:
            return
        entry.given, entry.holder = given, None
        if entry.waits:
            self._waiting[place] = entry
        else:
            self._waiting.pop(place, None)

    def end(self, place: Place, *, still_open: bool, given: Given | None) -> None:
        """The worker has said what became of a question."""
        entry = self._entries.get(place)
        if entry is None:
            return
        entry.open = still_open
        if still_open or given is not None:
            self.give(place, given)
        else:
            self._waiting.pop(place, None)

    def rank(self, score: float) -> float | None:
        """Which share of all questions that are remembered was worth less; None where there is nothing to compare."""
        if len(self._scores) < 2:
            return None
        return bisect_left(self._scores, score) / (len(self._scores) - 1)

    def scored(self) -> Iterator[tuple[float, str]]:
        """The score of each question, and its state."""
        return ((entry.request.score, entry.state) for entry in self._entries.values())


def _order(entry: Entry) -> tuple[float, int, int]:
    variance, (_, partition, offset) = entry.request.variance, entry.request.source
    return (0.0 if math.isnan(variance) else -variance, offset, partition)
