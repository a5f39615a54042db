"""The label selector: which labels to request, and what happens to the requests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from stream_bayes import notebook_html
from stream_bayes.active.audit import Audit
from stream_bayes.active.batch_selection import select_batch
from stream_bayes.active.budget import MAX_AUDIT_RATE, LabelBudget
from stream_bayes.active.coverage import Coverage, has_header, message_of
from stream_bayes.active.labellers import Labellers
from stream_bayes.active.near_duplicates import NearDuplicates
from stream_bayes.active.requests import Candidate, ObservationKey, Request, RequestReason, Requests
from stream_bayes.active.strategies import Strategy, check_strategy, scores
from stream_bayes.active.surprise import SURPRISING, Surprise
from stream_bayes.active.threshold import RECENT_SCORES, Threshold
from stream_bayes.active.uncertainty import expected_of, uncertainty_of
from stream_bayes.active.validation import (
    Clock,
    check_answer,
    check_budget,
    check_key,
    check_labeller,
    check_seed,
    milliseconds_of,
)
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.features.values import plain
from stream_bayes.notebook_html import Html
from stream_bayes.persistence.scalars import stored_counts, stored_text
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.units import milliseconds
from stream_bayes.validation import finite, refuse, whole

# Added to twice the seed: the random numbers that order equal scores are those of no other seed, as are the others.
_TIES = 2**60
_COVERAGE = 2**61
# Coverage looks at this share of the observations, drawn at random: reading one takes some 40 microseconds.
_SAMPLED = 0.25
# If only a period limits the budget, coverage has the share that it has when half of a total is spent.
_SPENT_WITHOUT_TOTAL = 0.5
_RNG_BLOCK = 1024
_COVERAGE_SCORES = "coverage_scores"


class _Chances(NamedTuple):
    """What is known of an observation before it is drawn whether its label is requested."""

    rate: float
    """The share of the messages to request labels for by score."""
    coverage_rate: float
    """The share of the sampled messages to request labels for by coverage."""
    tie: float
    """The random number that orders equal scores."""
    by_score: float
    """The probability of a request for the score."""
    has_header: bool
    coverage: float | None
    """The coverage score; None if the observation is not sampled."""


class LabelSelector:
    """Stream-based active learning: requests the labels that teach most, within a budget.

    A label is requested when the score of its observation ranks high among recent scores, at the rate that the budget
    allows from the first observation on. Only the order of the scores matters, not their scale. Some labels are
    requested for mails that are common and rarely labelled, whatever their score. While all answers are one label, half
    of the requests are drawn by chance. Requests become rarer while answers are not surprising. Near-duplicates of
    observations with a recent request are left out. A few labels are requested at random, for an audit of the accuracy.

    Parameters
    ----------
    strategy
        The name of one of `stream_bayes.active.STRATEGIES`.
    budget
        How many labels may be requested, and how fast.
    score
        Instead of a strategy by name a function of your own: from `Uncertainties` to one score for each row, finite and
        not negative.
    max_open_requests
        The largest number of open requests: a backlog must not flood the labellers. The audit's share of them, at least
        one, is kept for the audit: if the audit paused while other requests wait, it would be biased.
    request_ttl
        The time on the clock of the stream after which a request is closed. It has used up its label of the budget.
    coverage
        The share of the pace, at most, at which labels are requested for mails that are common although few labels were
        requested for similar ones, whatever their score. It grows with the square of the spent share of the total:
        first the learner has to learn, then to notice what it does not know. If only a period limits the budget, a
        quarter of it. 0: only scores decide.
    similarity
        The estimated Jaccard similarity from which two contents are near-duplicates; 1 if they must be equal.
    abstain_label
        The answer that closes a request without a label; None if there is none.
    seed
        The seed of the random numbers, for the audit and for scores near the threshold. From 0 up to 2^53.
    """

    def __init__(
        self,
        strategy: str = "variance",
        budget: LabelBudget | None = None,
        *,
        score: Strategy | None = None,
        max_open_requests: int = 100,
        request_ttl: str | float = "7d",
        coverage: float = 0.3,
        similarity: float = 0.8,
        abstain_label: str | None = "unsure",
        seed: int = 1,
    ) -> None:
        self.strategy = check_strategy(strategy) if score is None else _name_of(score)
        self.scoring: str | Strategy = self.strategy if score is None else score
        """What scores the observations: the name of a strategy, or a function."""
        self.budget = check_budget(budget)
        self.max_open_requests = int(whole("max_open_requests", max_open_requests, ParameterError))
        self.abstain_label = abstain_label
        self.coverage = finite("coverage", coverage)
        if not 0.0 <= self.coverage < 1.0:
            raise refuse("coverage", "from 0 on and below 1", coverage)
        self.similarity = finite("similarity", similarity)
        if not 0.0 < self.similarity <= 1.0:
            raise refuse("similarity", "above 0 and at most 1", similarity)
        self.requests = Requests(milliseconds("request_ttl", request_ttl))
        self.audit = Audit()
        self.labellers = Labellers()
        self.counts: Counter[str] = Counter()
        """Observations and requests by what happened: "requested", "audited", "covered", "answered", ..."""
        self._threshold = Threshold()
        self._coverage = Coverage()
        self._coverage_threshold = Threshold()
        self._near_duplicates = NearDuplicates()
        self._surprise = Surprise()
        self.seed = check_seed(seed)
        self._clock = 0
        self._rng = CounterRng(2 * self.seed)
        self._audit_rng = CounterRng(2 * self.seed + 1)
        self._tie_rng = CounterRng(2 * self.seed + _TIES)
        self._coverage_rng = CounterRng(2 * self.seed + _COVERAGE)
        # A cache, no state: what is known of the observation that came last.
        self._last: tuple[tuple[Any, ...], _Chances] | None = None
        kept = (
            max(math.ceil(self.budget.audit_fraction * self.max_open_requests), 1) if self.budget.audit_fraction else 0
        )
        # Open requests that may be chosen by their score.
        self._max_scored = max(self.max_open_requests - kept, min(self.max_open_requests, 1))

    def request_reason(self, candidate: Candidate, clock: int = 0) -> RequestReason | None:
        """Why to request the label of the observation that came now; None if it is not requested. Changes nothing."""
        budget = self.budget
        waiting = len(self.requests)
        draw = self._audit_rng.uniform(budget.seen)
        if draw < MAX_AUDIT_RATE and waiting < self.max_open_requests and draw < (chance := budget.audit_rate(clock)):
            others = waiting < self._max_scored and budget.may_ask(clock) and not self._is_near_duplicate(candidate)
            return RequestReason(self._probability(candidate, clock) if others else chance, chance)
        if waiting >= self._max_scored or not budget.may_ask(clock):
            return None
        selection = self._selection(candidate, clock)
        if selection is None or self._is_near_duplicate(candidate):
            return None
        return RequestReason(self._probability(candidate, clock), covered=selection == "coverage")

    def note(self, candidate: Candidate, clock: int = 0, reason: RequestReason | None = None) -> None:
        """Record an observation and the decision about it, made now or, in a replay, at the first time.

        A score that is not a finite number from 0 on is refused, and nothing changes.
        """
        if not 0.0 <= candidate.score < math.inf:
            raise refuse("score", "a finite number from 0 on", candidate.score, InputError)
        budget = self.budget
        urgency = self._surprise.urgency
        eligible = reason is None and len(self.requests) < self._max_scored
        if eligible and self._selection(candidate, clock) and self._is_near_duplicate(candidate):
            # A campaign must not lift the threshold for all others.
            self.counts["suppressed"] += 1
        else:
            self._follow(candidate, clock)
        if self._chances(candidate, clock).coverage is not None:
            self._add_to_coverage(candidate.content)
        budget.see(clock, urgency)
        if reason is not None:
            self._open(candidate, clock, reason)

    def ask(self, key: ObservationKey, predictive: Any, clock: Clock = 0, content: Any = None) -> bool:
        """Decide whether to request the label of this observation; the request is then open until `answered`.

        The same label is never requested twice. The clock is in milliseconds or a datetime; it never goes back.
        """
        own = check_key(key)
        score = float(scores(self.scoring, uncertainty_of(predictive))[0])
        candidate = Candidate(own, score, expected_of(predictive), content)
        clock = self._now(clock)
        self.expire(clock)
        if own in self.requests or self.labellers.label_of(own) is not None:
            return False
        reason = self.request_reason(candidate, clock)
        self.note(candidate, clock, reason)
        return reason is not None

    def select_batch(
        self, learner: Any, window: Mapping[ObservationKey, Any], count: int, clock: Clock = 0
    ) -> list[ObservationKey]:
        """Request the labels of the best observations of a window: at most `count`, and within the budget."""
        clock = self._now(clock)
        self.expire(clock)
        rows = list(window.values())
        seed = self.seed + self.budget.seen
        ranked = select_batch(learner, rows, min(count, len(rows)), self.scoring, similarity=self.similarity, seed=seed)
        names = [plain(key) for key in window]
        chosen = list[ObservationKey]()
        for row in ranked:
            free = names[row] not in self.requests and not self._is_near_duplicate(
                Candidate(names[row], 0.0, content=rows[row])
            )
            if free and len(self.requests) < self._max_scored and self.budget.may_ask(clock):
                expected = expected_of(learner.predictive_one(rows[row]))
                self._open(Candidate(names[row], 0.0, expected, rows[row]), clock, RequestReason(1.0))
                chosen.append(names[row])
        for row in rows:
            self._add_to_coverage(row)
            self.budget.see(clock, self._surprise.urgency)
        return chosen

    @property
    def _has_coverage(self) -> bool:
        # Random requests are the baseline of all others.
        return bool(self.coverage) and self.strategy != "random"

    def _add_to_coverage(self, content: Any) -> None:
        message = message_of(content) if self._has_coverage else None
        if message is not None:
            self._coverage.add(message)

    def _open(self, candidate: Candidate, clock: int, reason: RequestReason) -> None:
        if candidate.content is not None:
            self._near_duplicates.add(candidate.key, candidate.content)
        message = message_of(candidate.content) if self._has_coverage else None
        if message is not None:
            self._coverage.add_request(message)
        audited = reason.audited is not None
        self.budget.spend(clock, audit=audited)
        self.counts["requested"] += 1
        self.counts["audited"] += audited
        self.counts["covered"] += reason.covered
        self.requests.open(candidate.key, Request(clock, candidate.expected, reason, candidate.title))

    def answered(self, key: ObservationKey, label: Any, labeller: str | None = None, clock: Clock = 0) -> str:
        """Record an answer; returns answered, unsure, late (it had expired), repeated, corrected or unrequested."""
        clock = milliseconds_of(clock)
        return self.record_answer(check_key(key), check_answer(label), check_labeller(labeller), clock)

    def record_answer(self, key: ObservationKey, label: Any, labeller: str | None, clock: int) -> str:
        """Record an answer as `answered` does, of values that were checked before."""
        if clock >= self.requests.due:
            self.expire(clock)
        request = self.requests.close(key)
        late = self.requests.take_expired(key) if request is None else None
        outcome = self._outcome_of(key, label, request, late)
        if outcome != "unsure":
            self.labellers.record(key, label, labeller)
            self._learn(key, label, request or late)
        elif closed := request or late:
            self._near_duplicates.remove(key)
            self.requests.remember(key, closed)
        # An unsure answer counts only if it closes a request.
        self.counts[outcome] += outcome != "unsure" or request is not None
        return outcome

    def close(self, key: ObservationKey) -> Request | None:
        """Close a request that will not be answered; its near-duplicates may be requested again."""
        self._near_duplicates.remove(key)
        return self.requests.close(key)

    def expire(self, clock: int) -> list[tuple[ObservationKey, Request]]:
        """Close the requests that have expired; their near-duplicates may be requested again."""
        expired = self.requests.expire(clock)
        for key, _ in expired:
            self._near_duplicates.remove(key)
        self.counts["expired"] += len(expired)
        return expired

    def _now(self, clock: Clock) -> int:
        """The time in milliseconds, never before an earlier one."""
        self._clock = max(self._clock, milliseconds_of(clock))
        return self._clock

    def _outcome_of(self, key: ObservationKey, label: Any, request: Request | None, late: Request | None) -> str:
        if self.abstain_label is not None and label == self.abstain_label:
            return "unsure"
        if request is not None or late is not None:
            return "late" if request is None else "answered"
        before = self.labellers.label_of(key)
        if before is None:
            return "unrequested"
        return "repeated" if before == label else "corrected"

    def _learn(self, key: ObservationKey, label: Any, request: Request | None) -> None:
        """Update the surprise, and the audit with whether the prediction was right, as far as is known now."""
        if request is None:
            if key in self.audit.scored:
                self.audit.correct(key, label)
        elif request.expected is not None:
            expected, probability = request.expected
            surprise = 1.0 - probability if expected == label else probability
            # A common message is predicted well, as a rule: that is no reason to slow down.
            expected_well = request.reason.covered and surprise <= SURPRISING
            self._surprise.update(label, None if expected_well else surprise)
            if request.reason.audited is not None:
                self.audit.score(key, expected, label, request.reason.audited)

    def _selection(self, candidate: Candidate, clock: int) -> Literal["score", "coverage"] | None:
        """What the label is to be requested for; None if it is not."""
        chances = self._chances(candidate, clock)
        if self._rng.uniform(self.budget.seen) < chances.by_score:
            return "score"
        if chances.coverage is None or not chances.has_header:
            return None
        # A number below _SAMPLED is uniform, and so is its quotient.
        draw = self._coverage_rng.uniform(self.budget.seen) / _SAMPLED
        return "coverage" if draw < self._by_coverage(chances, chances.coverage) else None

    def _chances(self, candidate: Candidate, clock: int) -> _Chances:
        """What is known of an observation before the draw; computed once for each."""
        budget = self.budget
        urgency = self._surprise.urgency
        key = (budget.seen, budget.used, clock, urgency, candidate.key, candidate.score)
        if self._last is None or self._last[0] != key:
            self._last = key, self._new_chances(candidate, budget.rate(clock, urgency))
        return self._last[1]

    def _new_chances(self, candidate: Candidate, rate: float) -> _Chances:
        message = message_of(candidate.content) if self._has_coverage else None
        headed = message is not None and has_header(message)
        tie = self._tie_rng.uniform(self.budget.seen)
        share = 0.0
        coverage: float | None = None
        if message is not None:
            spent = self.budget.spent_share
            share = self.coverage * (_SPENT_WITHOUT_TOTAL if spent is None else spent) ** 2
            if self._coverage_rng.uniform(self.budget.seen) < _SAMPLED:
                coverage = self._coverage.score(message) if headed else 0.0
        # At a rate of 1 all labels are requested.
        own = rate * (1.0 - share) if headed and rate < 1.0 else rate
        by_score = self._threshold.probability(candidate.score, tie, own)
        if self._surprise.one_label:
            # A learner that knows one label cannot tell where the other one is: half of the time chance decides.
            by_score = 0.5 * (by_score + own)
        return _Chances(own, min(rate * share / _SAMPLED, 1.0), tie, by_score, headed, coverage)

    def _by_coverage(self, chances: _Chances, coverage: float) -> float:
        """The probability of a request for coverage, if the observation is sampled."""
        return self._coverage_threshold.probability(coverage, chances.tie, chances.coverage_rate)

    def _probability(self, candidate: Candidate, clock: int) -> float:
        """The probability that the label of such an observation is requested: by audit, score or coverage."""
        chances = self._chances(candidate, clock)
        probabilities = [self.budget.audit_rate(clock), chances.by_score]
        if chances.has_header:
            message = message_of(candidate.content)
            assert message is not None
            probabilities.append(_SAMPLED * self._by_coverage(chances, self._coverage.score(message)))
        return 1.0 - math.prod(1.0 - probability for probability in probabilities)

    def _follow(self, candidate: Candidate, clock: int) -> None:
        """Take the scores of an observation into the thresholds."""
        chances = self._chances(candidate, clock)
        self._threshold.follow(candidate.score, chances.tie, chances.rate)
        if chances.coverage is not None:
            # Texts without a header have the lowest score, so that mails are compared with all messages.
            self._coverage_threshold.follow(chances.coverage, chances.tie, chances.coverage_rate)

    def _is_near_duplicate(self, candidate: Candidate) -> bool:
        return candidate.content is not None and self._near_duplicates.find(candidate.content, self.similarity)

    def __repr__(self) -> str:
        """The strategy, the budget and the requests by outcome, in one line."""
        return notebook_html.one_line(type(self).__name__, self._summary())

    def _repr_html_(self) -> Html:
        """Return what a notebook shows: the strategy, the budget, the requests by outcome, and the audit."""
        return notebook_html.card(type(self).__name__, self._summary() | self.audit.summary(), self.audit.figure())

    def _summary(self) -> dict[str, object]:
        rows: dict[str, object] = {"strategy": self.strategy, **self.budget.summary()}
        rows["open requests"] = f"{len(self.requests):,} of at most {self.max_open_requests:,}"
        rows["outcomes"] = notebook_html.entries_text({name: n for name, n in self.counts.items() if n}) or "none yet"
        return rows

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The state for a checkpoint: scalars as JSON, and arrays."""
        scalars = {
            "strategy": self.strategy,
            "budget": self.budget.state(),
            "threshold": self._threshold.state(),
            "coverage_threshold": self._coverage_threshold.state(),
            "surprise": self._surprise.state(),
            "requests": self.requests.state(),
            "audit": self.audit.state(),
            "labellers": self.labellers.state(),
            "counts": dict(sorted(self.counts.items())),
        }
        arrays = {
            **self._near_duplicates.arrays(),
            **self._threshold.arrays(),
            **self._coverage.arrays(),
            _COVERAGE_SCORES: self._coverage_threshold.arrays()[RECENT_SCORES],
        }
        return scalars, arrays

    def restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        """Restore what `state` returned into a new selector, whose settings may differ."""
        self._last = None
        self.budget.restore(scalars["budget"])
        # Scores of different strategies cannot be compared.
        if stored_text(scalars["strategy"], "selector.strategy") == self.strategy:
            self._threshold.restore(scalars["threshold"], arrays)
        self._coverage.restore(arrays)
        self._coverage_threshold.restore(scalars["coverage_threshold"], {RECENT_SCORES: arrays[_COVERAGE_SCORES]})
        self._surprise.restore(scalars["surprise"])
        self.requests.restore(scalars["requests"])
        self.audit.restore(scalars["audit"])
        self.labellers.restore(scalars["labellers"])
        self.counts = Counter(stored_counts(scalars["counts"], "selector.counts"))
        self._near_duplicates.restore(arrays)


def _name_of(score: Any) -> str:
    """The name of a function of a user, by which a checkpoint knows whether scores can be compared."""
    if not callable(score):
        raise refuse("score", "a function from Uncertainties to scores", score)
    kind = score if hasattr(score, "__qualname__") else type(score)
    return f"{kind.__module__}.{kind.__qualname__}"


class CounterRng:
    """Counter-based random numbers (Philox): the n-th uniform number of a seed, without any state.

    A replay gets the same numbers, in any order and in every process, and a checkpoint need not store a generator.

    >>> CounterRng(seed=1).uniform(10) == CounterRng(seed=1).uniform(10) != CounterRng(seed=2).uniform(10)
    True
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        # A cache, no state: the block of numbers that was used last.
        self._block = -1
        self._numbers = [0.0]

    def uniform(self, index: int) -> float:
        """The number at this index, from 0 up to 1."""
        block, within = divmod(index, _RNG_BLOCK)
        if block != self._block:
            generator = np.random.Generator(np.random.Philox(key=self._seed, counter=block << 64))
            self._block = block
            self._numbers = generator.random(_RNG_BLOCK).tolist()
        return self._numbers[within]
