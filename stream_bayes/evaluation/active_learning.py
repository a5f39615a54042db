"""A pass in which labels are asked for: what is predicted decides, message by message, whose label is told.

Predicting one message at a time costs several times as much as predicting many. So a few messages are predicted ahead
as if none of them were asked about; what was predicted after the first label that comes is thrown away, the label is
learned, and it goes on from there. The predictions are those of the plain loop, bit for bit.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from stream_bayes.active import Candidate, Expected, LabelSelector
from stream_bayes.active.audit import AuditEstimate
from stream_bayes.active.strategies import scores as worths
from stream_bayes.active.uncertainty import Uncertainties, uncertainties_of
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.filters import HAM, SPAM, FilterScores, MailFilter, check_scores, most_bytes, part_of
from stream_bayes.evaluation.label_delay import Delay, LabelSchedule, Moment
from stream_bayes.evaluation.timing import FEATURES, LEARN, Stopwatch
from stream_bayes.typing import FloatArray

MAX_AHEAD = 64
# Measured: a call of the filter costs about as much as predicting so many bytes, and a message so many besides its own.
_CALL_BYTES = 36_000
_MESSAGE_BYTES = 600
_FOLLOW = 0.1
# What probabilities alone can tell.
_STATED = frozenset({"variance", "margin", "entropy", "random"})


class RequestCounts(NamedTuple):
    """What became of the questions of a pass."""

    counts: dict[str, int]
    """Messages by outcome: "asked", "audited", "suppressed", "answered", "expired", ..."""
    audit: AuditEstimate | None
    """Of the accuracy, from the questions drawn by chance; None without answers to them."""
    stand_in: bool
    """Whether the filter states no more than probabilities, and the strategy had to do with them."""


class _Late(NamedTuple):
    """A label that is on its way."""

    due: int
    place: int
    raw: bytes
    label: str


class _Chunk(NamedTuple):
    """Messages with their features and when they come."""

    first: int
    mails: Sequence[Mail]
    features: Any
    moments: Sequence[Moment]

    def before(self, due: int) -> int:
        """How many of the messages come before that time."""
        return bisect_left(self.moments, due, key=lambda moment: moment.before)


class ActiveLearningPass:
    """One pass; `over` must see every message once, in order, in pieces of any size, then `end`."""

    def __init__(self, chosen: MailFilter, selector: LabelSelector, delay: Delay, watch: Stopwatch) -> None:
        self._filter = chosen
        self._selector = selector
        self._watch = watch
        self._times = LabelSchedule(delay)
        self._waiting: deque[_Late] = deque()
        self._told: list[int] = []
        self._seen = 0
        # Messages from one question to the next, as of late, and since the last one.
        self._gap = 1.0
        self._since = 0
        # What a call of the filter costs, in messages.
        self._call = 1.0
        self._stand_in = False
        self._bytes = most_bytes(chosen)
        # Labels that late make nothing void that was predicted with their own message.
        self._never_void = delay.messages + 1 if delay.span is None else MAX_AHEAD

    @property
    def asked(self) -> RequestCounts:
        """What became of the questions so far."""
        return RequestCounts(dict(+self._selector.counts), self._selector.audit.estimate(), self._stand_in)

    @property
    def waiting(self) -> int:
        """Labels that were asked for and have not come yet."""
        return len(self._waiting)

    def end(self) -> None:
        """There are no more messages."""
        self._times.end()

    def over(self, mails: Sequence[Mail]) -> tuple[FilterScores, list[int]]:
        """What the filter says of these messages, and the places of messages whose labels it was told meanwhile."""
        with self._watch.stage(FEATURES):
            features = self._filter.features([mail.raw for mail in mails])
        chunk = _Chunk(self._seen, mails, features, [self._times.arrive(mail.raw) for mail in mails])
        self._call = _CALL_BYTES * len(mails) / sum(_MESSAGE_BYTES + len(mail.raw) for mail in mails)
        self._told = []
        parts: list[FilterScores] = []
        begin = 0
        with self._watch.stage(LEARN):
            while begin < len(mails):
                parts.append(self._piece(chunk, begin))
                begin += len(parts[-1].log_odds)
            self._learn(chunk.moments[-1].after)
        self._seen += len(mails)
        return FilterScores.joined(parts), self._told

    def _piece(self, chunk: _Chunk, begin: int) -> FilterScores:
        """What is said of the next messages, up to the one before which a label comes."""
        with_last = self._last(chunk, begin)
        self._learn(chunk.moments[begin].before)
        end = min(begin + self._ahead(), len(chunk.mails))
        if self._waiting:
            end = min(end, chunk.before(self._waiting[0].due))
        labels = [*(late.label for late in with_last), *[None] * (end - begin)]
        features = part_of(self._filter, chunk.features, begin - len(with_last), end)
        said = self._filter.test_then_train(features, labels)
        check_scores(self._filter.name, len(labels), said)
        kept = slice(len(with_last), None)
        end = self._choose(chunk, begin, self._worths(said)[kept].tolist(), _expected(said.log_odds[kept]))
        return said.taken(slice(len(with_last), len(with_last) + end - begin))

    def _choose(self, chunk: _Chunk, begin: int, worth: Sequence[float], expected: Sequence[Expected]) -> int:
        """Ask about some of these messages; where a label comes, and what was predicted from there on is void."""
        selector = self._selector
        at = begin
        end = begin + len(worth)
        while at < end:
            mail = chunk.mails[at]
            clock = chunk.moments[at].clock
            candidate = Candidate(chunk.first + at, worth[at - begin], expected[at - begin], mail.raw)
            selector.expire(clock)
            question = selector.question(candidate, clock)
            selector.note(candidate, clock, question)
            self._since += 1
            if question is not None:
                self._gap = self._gap + _FOLLOW * (self._since - self._gap)
                self._since = 0
                end = min(end, self._promise(chunk, at))
            at += 1
        return end

    def _promise(self, chunk: _Chunk, at: int) -> int:
        """The label of this message is on its way; the message before which it comes."""
        mail = chunk.mails[at]
        due = self._times.due(chunk.moments[at])
        if mail.label is None:
            return len(chunk.mails)
        self._waiting.append(_Late(due, chunk.first + at, mail.raw[: self._bytes], mail.label))
        return chunk.before(due)

    def _ahead(self) -> int:
        """How many messages to predict: n cost c + n, and n^2 / 2 g of them are void if questions are g apart."""
        best = math.isqrt(int(2.0 * self._call * max(self._gap, self._since)))
        return min(max(best, self._never_void), MAX_AHEAD)

    def _last(self, chunk: _Chunk, begin: int) -> list[_Late]:
        """The message just before, if its label is the only one to be learned now: one call does both."""
        due = [late for late in self._waiting if late.due <= chunk.moments[begin].before]
        if not begin or [late.place for late in due] != [chunk.first + begin - 1]:
            return []
        self._note(self._waiting.popleft())
        return due

    def _learn(self, now: int) -> None:
        """Teach the labels that have come."""
        due: list[_Late] = []
        while self._waiting and self._waiting[0].due <= now:
            due.append(self._waiting.popleft())
            self._note(due[-1])
        if due:
            features = self._filter.features([late.raw for late in due])
            self._filter.test_then_train(features, [late.label for late in due])

    def _note(self, late: _Late) -> None:
        self._told.append(late.place)
        self._selector.answered(late.place, late.label)

    def _worths(self, said: FilterScores) -> FloatArray:
        strategy = self._selector.strategy
        if said.predictions is not None:
            return worths(strategy, uncertainties_of(said.predictions))
        self._stand_in = strategy not in _STATED
        return worths(strategy, _doubts(said.log_odds))


def _expected(log_odds: FloatArray) -> list[Expected]:
    """What log-odds say will be the answers."""
    labels = [SPAM if odds > 0.0 else HAM for odds in log_odds.tolist()]
    return [Expected(*said) for said in zip(labels, expit(np.abs(log_odds)).tolist(), strict=True)]


def _doubts(log_odds: FloatArray) -> Uncertainties:
    """Of a filter that says no more than log-odds."""
    probabilities = np.stack((expit(-log_odds), expit(log_odds)), axis=1)
    none = np.empty((len(log_odds), 0))
    unknown = np.full(len(log_odds), np.nan)
    return Uncertainties(
        probabilities=probabilities,
        variance=probabilities.prod(axis=1),
        epistemic_variance=unknown,
        latent_variance=unknown,
        members=none,
        latent_mean=unknown,
        counts=none,
    )
