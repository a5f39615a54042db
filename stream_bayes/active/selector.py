"""Which observations are worth a question, and what becomes of the questions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from stream_bayes.active.annotators import Annotators
from stream_bayes.active.audit import Audit
from stream_bayes.active.batch_selection import select_batch
from stream_bayes.active.budget import LabelBudget
from stream_bayes.active.counter_rng import CounterRng
from stream_bayes.active.near_duplicates import NearDuplicates
from stream_bayes.active.requests import Candidate, Place, Request, RequestReason, Requests
from stream_bayes.active.strategies import check_strategy, scores
from stream_bayes.active.surprise import Surprise
from stream_bayes.active.threshold import Threshold
from stream_bayes.active.uncertainty import expected_of, uncertainty_of
from stream_bayes.active.validation import (
    Clock,
    check_answer,
    check_budget,
    check_labeller,
    check_place,
    check_seed,
    milliseconds_of,
)
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.features.values import plain
from stream_bayes.persistence.scalars import stored_counts, stored_text
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.units import milliseconds
from stream_bayes.validation import finite, refuse, whole

# Added to twice the seed: the random numbers that order equal scores are those of no other seed.
_TIES = 2**60


class LabelSelector:
    """Spends a budget of labels on the observations whose answers teach most.

    An observation is asked about when its score ranks high among recent scores, at the rate that the budget allows from
    the first observation on. Only the order of the scores matters, not their scale. Questions become rarer while
    answers do not surprise. What looks nearly the same as something asked lately is not asked again. A few questions
    are drawn by chance, for an audit of the accuracy.

    Parameters
    ----------
    score
        The name of one of `stream_bayes.active.STRATEGIES`.
    budget
        How many, and how fast.
    max_open_requests
        Questions that may wait for an answer at a time: a backlog must not flood those who answer. The audit's share of
        them, one at least, is kept for the audit: it must not pause while the others wait, or it would not be fair.
    request_ttl
        After this time on the clock of the stream a question is closed. It has cost its label.
    similarity
        From this estimated share of common parts on, two contents are nearly the same; 1 if they must be the same.
    abstain_label
        The answer that closes a question without a label; None if there is none.
    seed
        Of what chance decides: the audit, and what is asked of scores near the threshold. From 0 up to 2^53.
    """

    def __init__(
        self,
        score: str = "epistemic",
        budget: LabelBudget | None = None,
        *,
        max_open_requests: int = 100,
        request_ttl: str | float = "7d",
        similarity: float = 0.8,
        abstain_label: str | None = "unsure",
        seed: int = 1,
    ) -> None:
        self.strategy = check_strategy(score)
        self.budget = check_budget(budget)
        self.max_open_requests = int(whole("max_open_requests", max_open_requests, ParameterError))
        self.abstain_label = abstain_label
        self.similarity = finite("similarity", similarity)
        if not 0.0 < self.similarity <= 1.0:
            raise refuse("similarity", "above 0 and at most 1", similarity)
        self.requests = Requests(milliseconds("request_ttl", request_ttl))
        self.audit = Audit()
        self.labellers = Annotators()
        self.counts: Counter[str] = Counter()
        """Of what became of observations and questions: "asked", "audited", "suppressed", "answered", ..."""
        self._threshold = Threshold()
        self._similar = NearDuplicates()
        self._urgency = Surprise()
        self.seed = check_seed(seed)
        self._clock = 0
        self._draws = CounterRng(2 * self.seed)
        self._audit_draws = CounterRng(2 * self.seed + 1)
        self._tie_draws = CounterRng(2 * self.seed + _TIES)
        kept = (
            max(math.ceil(self.budget.audit_fraction * self.max_open_requests), 1) if self.budget.audit_fraction else 0
        )
        # Places among the open questions for those chosen by their score.
        self._places = max(self.max_open_requests - kept, min(self.max_open_requests, 1))

    def question(self, candidate: Candidate, clock: int = 0) -> RequestReason | None:
        """Whether and why to ask about the observation that came now; changes nothing."""
        budget = self.budget
        waiting = len(self.requests)
        draw = self._audit_draws.at(budget.seen)
        if (
            draw < budget.most_audit_rate
            and waiting < self.max_open_requests
            and draw < (chance := budget.audit_rate(clock))
        ):
            return RequestReason(chance)
        if waiting >= self._places or not self._is_let_through(candidate, clock) or not budget.may_ask(clock):
            return None
        return None if self._is_similar(candidate) else RequestReason()

    def note(self, candidate: Candidate, clock: int = 0, question: RequestReason | None = None) -> None:
        """The observation came by, and this was decided: now, or when the events came for the first time.

        Refused, with nothing changed, where the score is no finite number from 0 on.
        """
        if not 0.0 <= candidate.score < math.inf:
            raise refuse("score", "a finite number from 0 on", candidate.score, InputError)
        budget = self.budget
        urgency = self._urgency.value
        has_room = len(self.requests) < self._places
        if question is None and has_room and self._is_let_through(candidate, clock) and self._is_similar(candidate):
            # A campaign must not lift the threshold for all others.
            self.counts["suppressed"] += 1
        else:
            tie = self._tie_draws.at(budget.seen)
            self._threshold.follow(candidate.score, tie, budget.rate(clock, urgency))
        budget.see(clock, urgency)
        if question is not None:
            self._open(candidate, clock, question)

    def ask(self, place: Place, predictive: Any, clock: Clock = 0, content: Any = None) -> bool:
        """Whether to ask for the label of this observation; a question is open then, until `answered`.

        Never twice about the same one. The clock is in milliseconds or a datetime; it never falls.
        """
        own = check_place(place)
        score = float(scores(self.strategy, uncertainty_of(predictive))[0])
        candidate = Candidate(own, score, expected_of(predictive), content)
        clock = self._now(clock)
        self.expire(clock)
        if own in self.requests or self.labellers.label_of(own) is not None:
            return False
        question = self.question(candidate, clock)
        self.note(candidate, clock, question)
        return question is not None

    def select_batch(self, learner: Any, window: Mapping[Place, Any], count: int, clock: Clock = 0) -> list[Place]:
        """The best observations of a window, at most so many and no more than may be asked; questions are open then."""
        clock = self._now(clock)
        self.expire(clock)
        rows = list(window.values())
        seed = self.seed + self.budget.seen
        ranked = select_batch(
            learner, rows, min(count, len(rows)), self.strategy, similarity=self.similarity, seed=seed
        )
        names = [plain(place) for place in window]
        chosen = list[Place]()
        for row in ranked:
            free = names[row] not in self.requests and not self._is_similar(
                Candidate(names[row], 0.0, content=rows[row])
            )
            if free and len(self.requests) < self._places and self.budget.may_ask(clock):
                expected = expected_of(learner.predictive_one(rows[row]))
                self._open(Candidate(names[row], 0.0, expected, rows[row]), clock, RequestReason())
                chosen.append(names[row])
        for _ in rows:
            self.budget.see(clock, self._urgency.value)
        return chosen

    def _open(self, candidate: Candidate, clock: int, question: RequestReason) -> None:
        place, _, expected, content, title = candidate
        if content is not None:
            self._similar.add(place, content)
        audited = question.audited is not None
        self.budget.spend(clock, audit=audited)
        self.counts["asked"] += 1
        self.counts["audited"] += audited
        self.requests.open(place, Request(clock, expected, question.audited, title))

    def answered(self, place: Place, label: Any, labeller: str | None = None, clock: Clock = 0) -> str:
        """What this answer is: answered, unsure, late (its question had ended), repeated, corrected or unasked."""
        own = check_place(place)
        value = check_answer(label)
        name = check_labeller(labeller)
        self.expire(milliseconds_of(clock))
        request = self.requests.close(own)
        late = self.requests.take_expired(own) if request is None else None
        outcome = self._outcome_of(own, value, request, late)
        if outcome != "unsure":
            self.labellers.said(own, value, name)
            self._learn(own, value, request or late)
        elif asked := request or late:
            self._similar.remove(own)
            self.requests.remember(own, asked)
        # An answer that says nothing counts where it closes a question.
        self.counts[outcome] += outcome != "unsure" or request is not None
        return outcome

    def close(self, place: Place) -> Request | None:
        """No answer will come any more; what looks like it may be asked about again."""
        self._similar.remove(place)
        return self.requests.close(place)

    def expire(self, clock: int) -> list[tuple[Place, Request]]:
        """Close the questions that have waited too long; what looks like them may be asked about again."""
        gone = self.requests.expire(clock)
        for place, _ in gone:
            self._similar.remove(place)
        self.counts["expired"] += len(gone)
        return gone

    def _now(self, clock: Clock) -> int:
        """The time, which has not gone back."""
        self._clock = max(self._clock, milliseconds_of(clock))
        return self._clock

    def _outcome_of(self, place: Place, label: Any, request: Request | None, late: Request | None) -> str:
        if self.abstain_label is not None and label == self.abstain_label:
            return "unsure"
        if request is not None or late is not None:
            return "late" if request is None else "answered"
        before = self.labellers.label_of(place)
        if before is None:
            return "unasked"
        return "repeated" if before == label else "corrected"

    def _learn(self, place: Place, label: Any, request: Request | None) -> None:
        """How surprising an answer was; and for the audit, whether the prediction was right, as far as is known now."""
        if request is None:
            self.audit.correct(place, label)
        elif request.expected is not None:
            expected, probability = request.expected
            self._urgency.hear(label, 1.0 - probability if expected == label else probability)
            if request.audited is not None:
                self.audit.judge(place, expected, label, request.audited)

    def _is_let_through(self, candidate: Candidate, clock: int) -> bool:
        budget = self.budget
        tie = self._tie_draws.at(budget.seen)
        rate = budget.rate(clock, self._urgency.value)
        return self._draws.at(budget.seen) < self._threshold.probability(candidate.score, tie, rate)

    def _is_similar(self, candidate: Candidate) -> bool:
        return candidate.content is not None and self._similar.find(candidate.content, self.similarity)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """All that is remembered: as JSON, and arrays."""
        scalars = {
            "strategy": self.strategy,
            "budget": self.budget.state(),
            "threshold": self._threshold.state(),
            "urgency": self._urgency.state(),
            "requests": self.requests.state(),
            "audit": self.audit.state(),
            "labellers": self.labellers.state(),
            "counts": dict(sorted(self.counts.items())),
        }
        return scalars, {**self._similar.arrays(), **self._threshold.arrays()}

    def restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        """Take over what `state` gave; this one is fresh from its constructor, its settings may be others."""
        self.budget.restore(scalars["budget"])
        # Scores of another strategy do not compare with these.
        if stored_text(scalars["strategy"], "selector.strategy") == self.strategy:
            self._threshold.restore(scalars["threshold"], arrays)
        self._urgency.restore(scalars["urgency"])
        self.requests.restore(scalars["requests"])
        self.audit.restore(scalars["audit"])
        self.labellers.restore(scalars["labellers"])
        self.counts = Counter(stored_counts(scalars["counts"], "selector.counts"))
        self._similar.restore(arrays)
