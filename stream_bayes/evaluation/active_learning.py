"""A pass with active learning: the predictions decide, message by message, which labels are requested.

Predicting messages one at a time costs several times as much as predicting many. So a few messages are predicted ahead
as if no label came between them. When a label comes, the predictions after it are discarded, the label is learned, and
the pass continues from there. The predictions are equal to those of the plain loop, bit for bit.
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
from stream_bayes.active.strategies import needs_only_probabilities
from stream_bayes.active.strategies import scores as strategy_scores
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.filters import (
    HAM,
    SPAM,
    FilterScores,
    MailFilter,
    max_bytes,
    slice_features,
    test_then_remember,
)
from stream_bayes.evaluation.label_delay import Delay, LabelSchedule, Moment
from stream_bayes.evaluation.timing import FEATURES, LEARN, Stopwatch
from stream_bayes.learners.base.uncertainties import Uncertainties
from stream_bayes.typing import FloatArray

MAX_AHEAD = 64
# Measured: a call of the filter costs as much as predicting _CALL_BYTES, a message _MESSAGE_BYTES besides its own.
_CALL_BYTES = 36_000
_MESSAGE_BYTES = 600
_GAP_WEIGHT = 0.1


class RequestCounts(NamedTuple):
    """Counts of the label requests of a pass, by what happened to them."""

    counts: dict[str, int]
    """Messages by outcome: "requested", "audited", "covered", "suppressed", "answered", "expired", ..."""
    audit: AuditEstimate | None
    """The estimated accuracy, from requests drawn at random; None without answers to them."""
    probabilities_only: bool
    """Whether the strategy needs more than the probabilities that the filter states, and used those instead."""


class _PendingLabel(NamedTuple):
    """A requested label that has not come yet."""

    due: int
    place: int
    raw: bytes
    label: str


class _Chunk(NamedTuple):
    """Messages with their features and their times."""

    first: int
    mails: Sequence[Mail]
    features: Any
    moments: Sequence[Moment]

    def before(self, due: int) -> int:
        """The number of messages that come before a time."""
        return bisect_left(self.moments, due, key=lambda moment: moment.before)


class ActiveLearningPass:
    """One pass; `process` must see every message once, in order, in chunks of any size, then `end`."""

    def __init__(self, mail_filter: MailFilter, selector: LabelSelector, delay: Delay, watch: Stopwatch) -> None:
        self._filter = mail_filter
        self._selector = selector
        self._watch = watch
        self._schedule = LabelSchedule(delay)
        self._waiting: deque[_PendingLabel] = deque()
        self._learned: list[int] = []
        self._seen = 0
        # Messages between requests, as a moving average, and since the last request.
        self._gap = 1.0
        self._since = 0
        # The cost of a call of the filter, in messages.
        self._call = 1.0
        self._probabilities_only = False
        self._bytes = max_bytes(mail_filter)
        # A label this late discards no prediction that was made together with its own message.
        self._least_ahead = delay.messages + 1 if delay.span is None else MAX_AHEAD

    @property
    def requests(self) -> RequestCounts:
        """Counts of the requests so far, by what happened to them."""
        return RequestCounts(dict(+self._selector.counts), self._selector.audit.estimate(), self._probabilities_only)

    @property
    def waiting(self) -> int:
        """The number of requested labels that have not come yet."""
        return len(self._waiting)

    def end(self) -> None:
        """End the stream."""
        self._schedule.end()

    def process(self, mails: Sequence[Mail]) -> tuple[FilterScores, list[int]]:
        """The scores of these messages, and the indices of messages whose labels were learned meanwhile."""
        with self._watch.stage(FEATURES):
            features = self._filter.features([mail.raw for mail in mails])
        chunk = _Chunk(self._seen, mails, features, [self._schedule.arrive(mail.raw) for mail in mails])
        self._call = _CALL_BYTES * len(mails) / sum(_MESSAGE_BYTES + len(mail.raw) for mail in mails)
        self._learned = []
        parts: list[FilterScores] = []
        begin = 0
        with self._watch.stage(LEARN):
            while begin < len(mails):
                parts.append(self._predict_ahead(chunk, begin))
                begin += len(parts[-1].log_odds)
            self._learn(chunk.moments[-1].after)
        self._seen += len(mails)
        return FilterScores.concatenate(parts), self._learned

    def _predict_ahead(self, chunk: _Chunk, begin: int) -> FilterScores:
        """The scores of the next messages, up to the one before which a label comes."""
        previous = self._take_previous(chunk, begin)
        self._learn(chunk.moments[begin].before)
        end = min(begin + self._ahead(), len(chunk.mails))
        if self._waiting:
            end = min(end, chunk.before(self._waiting[0].due))
        labels = [*(pending.label for pending in previous), *[None] * (end - begin)]
        features = slice_features(self._filter, chunk.features, begin - len(previous), end)
        scores = test_then_remember(self._filter, features, labels, [label is not None for label in labels])
        kept = slice(len(previous), None)
        end = self._request(chunk, begin, self._scores(scores)[kept].tolist(), _expected(scores.log_odds[kept]))
        return scores.select(slice(len(previous), len(previous) + end - begin))

    def _request(self, chunk: _Chunk, begin: int, scores: Sequence[float], expected: Sequence[Expected]) -> int:
        """Request labels of these messages; returns the message from which predictions are discarded for a label."""
        selector = self._selector
        at = begin
        end = begin + len(scores)
        while at < end:
            mail = chunk.mails[at]
            clock = chunk.moments[at].clock
            candidate = Candidate(chunk.first + at, scores[at - begin], expected[at - begin], mail.raw)
            selector.expire(clock)
            reason = selector.request_reason(candidate, clock)
            selector.note(candidate, clock, reason)
            self._since += 1
            if reason is not None:
                self._gap = self._gap + _GAP_WEIGHT * (self._since - self._gap)
                self._since = 0
                end = min(end, self._schedule_label(chunk, at))
            at += 1
        return end

    def _schedule_label(self, chunk: _Chunk, at: int) -> int:
        """Schedule the requested label of a message; returns the message before which it comes."""
        mail = chunk.mails[at]
        due = self._schedule.due(chunk.moments[at])
        if mail.label is None:
            return len(chunk.mails)
        self._waiting.append(_PendingLabel(due, chunk.first + at, mail.raw[: self._bytes], mail.label))
        return chunk.before(due)

    def _ahead(self) -> int:
        """The number of messages to predict: n cost c + n, and n^2 / 2 g are discarded if requests are g apart."""
        best = math.isqrt(int(2.0 * self._call * max(self._gap, self._since)))
        return min(max(best, self._least_ahead), MAX_AHEAD)

    def _take_previous(self, chunk: _Chunk, begin: int) -> list[_PendingLabel]:
        """The previous message, if its label is the only one to learn now: a single call learns it and predicts."""
        due = [pending for pending in self._waiting if pending.due <= chunk.moments[begin].before]
        if not begin or [pending.place for pending in due] != [chunk.first + begin - 1]:
            return []
        self._record(self._waiting.popleft())
        return due

    def _learn(self, now: int) -> None:
        """Learn the labels that have come."""
        due: list[_PendingLabel] = []
        while self._waiting and self._waiting[0].due <= now:
            due.append(self._waiting.popleft())
            self._record(due[-1])
        if due:
            features = self._filter.features([pending.raw for pending in due])
            test_then_remember(self._filter, features, [pending.label for pending in due], [True] * len(due))

    def _record(self, pending: _PendingLabel) -> None:
        self._learned.append(pending.place)
        self._selector.answered(pending.place, pending.label)

    def _scores(self, scores: FilterScores) -> FloatArray:
        strategy = self._selector.strategy
        if scores.predictions is not None:
            return strategy_scores(strategy, scores.predictions.uncertainties())
        self._probabilities_only = not needs_only_probabilities(strategy)
        return strategy_scores(strategy, _uncertainties(scores.log_odds))


def _expected(log_odds: FloatArray) -> list[Expected]:
    """The most probable labels by the log-odds."""
    labels = [SPAM if odds > 0.0 else HAM for odds in log_odds.tolist()]
    probabilities = expit(np.abs(log_odds)).tolist()
    return [Expected(label, probability) for label, probability in zip(labels, probabilities, strict=True)]


def _uncertainties(log_odds: FloatArray) -> Uncertainties:
    """The uncertainties of a filter that states log-odds only."""
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
