"""Which observations are worth a question, and what becomes of the questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stream_bayes.active.audit import Audit
from stream_bayes.active.budget import LabelBudget
from stream_bayes.active.draws import Draws
from stream_bayes.active.labellers import Labellers
from stream_bayes.active.requests import Expected, Place, Request, Requests
from stream_bayes.active.scores import check_strategy, doubt_of, scores
from stream_bayes.active.similar import Similar
from stream_bayes.active.threshold import Threshold
from stream_bayes.active.urgency import Urgency
from stream_bayes.active.windows import pick
from stream_bayes.durations import milliseconds
from stream_bayes.errors import ParameterError
from stream_bayes.posteriors.checked import finite, refuse, whole
from stream_bayes.snapshot import Arrays


class Question(NamedTuple):
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


class LabelSelector:
    """Spends a budget of labels on the observations whose answers teach most.

    An observation is asked about when its score is among the highest of late: above a quantile that follows the stream,
    at the rate that the budget allows, with some chance at the edge. Questions become rarer while answers do not
    surprise. What looks nearly the same
    as something asked lately is not asked again. A few questions are drawn by chance, for an audit of the accuracy.

    Parameters
    ----------
    score
        The name of one of `stream_bayes.active.STRATEGIES`.
    budget
        How many, and how fast.
    open_requests
        Questions that may wait for an answer at a time: a backlog must not flood those who answer.
    expires
        After this time on the clock of the stream a question is closed. It has cost its label.
    similarity
        From this estimated share of common parts on, two contents are nearly the same; 1 if they must be the same.
    unsure
        The answer that closes a question without a label; None if there is none.
    seed
        Of what chance decides: the audit, and what is asked of scores near the threshold.
    """

    def __init__(
        self,
        score: str = "epistemic",
        budget: LabelBudget | None = None,
        *,
        open_requests: int = 100,
        expires: str | float = "7d",
        similarity: float = 0.8,
        unsure: str | None = "unsure",
        seed: int = 1,
    ) -> None:
        self.strategy = check_strategy(score)
        self.budget = LabelBudget(total=1000) if budget is None else budget
        self.open_requests = int(whole("open_requests", open_requests, ParameterError))
        self.unsure = unsure
        self.similarity = finite("similarity", similarity)
        if not 0.0 < self.similarity <= 1.0:
            raise refuse("similarity", "above 0 and at most 1", similarity)
        self.requests = Requests(milliseconds("expires", expires))
        self.audit, self.labellers = Audit(), Labellers()
        self.counts: Counter[str] = Counter()
        """Of what became of observations and questions: "asked", "audited", "suppressed", "answered", ..."""
        self._threshold, self._similar = Threshold(), Similar()
        self._urgency = Urgency()
        self._draws, self._audit_draws = (Draws(2 * int(whole("seed", seed, ParameterError)) + own) for own in (0, 1))

    def question(self, candidate: Candidate, clock: int = 0) -> Question | None:
        """Whether and why to ask about the observation that came now; changes nothing."""
        if len(self.requests) >= self.open_requests:
            return None
        budget = self.budget
        draw = self._audit_draws.at(budget.seen)
        if draw < budget.most_audit_rate and draw < (chance := budget.audit_rate(clock)):
            return Question(chance)
        if not self._is_let_through(candidate) or not budget.may_ask(clock):
            return None
        return None if self._is_similar(candidate) else Question()

    def note(self, candidate: Candidate, clock: int = 0, question: Question | None = None) -> None:
        """The observation came by, and this was decided: now, or when the events came for the first time."""
        budget, urgency = self.budget, self._urgency.value
        has_room = len(self.requests) < self.open_requests
        if question is None and has_room and self._is_let_through(candidate) and self._is_similar(candidate):
            # A campaign must not lift the threshold for all others.
            self.counts["suppressed"] += 1
        else:
            self._threshold.follow(candidate.score, budget.rate(clock, urgency))
        budget.see(clock, urgency)
        if question is not None:
            audited = question.audited is not None
            budget.spend(clock, audit=audited)
            self.counts["asked"] += 1
            self.counts["audited"] += audited
            place, _, expected, content, title = candidate
            self.requests.open(place, Request(clock, expected, question.audited, title))
            if content is not None:
                self._similar.add(place, content)

    def ask(self, place: Place, predictive: Any, clock: int = 0, content: Any = None) -> bool:
        """Whether to ask for the label of this observation; a question is open then, until `answered`."""
        self.expire(clock)
        score = float(scores(self.strategy, doubt_of(predictive))[0])
        candidate = Candidate(place, score, expected_of(predictive), content)
        question = self.question(candidate, clock)
        self.note(candidate, clock, question)
        return question is not None

    def pick(self, learner: Any, window: Sequence[Any], count: int, clock: int = 0) -> list[int]:
        """The best rows of a window, at most so many and no more than the budget allows; they are paid for."""
        rows: list[int] = []
        for row in pick(learner, window, min(count, len(window)), self.strategy, similarity=self.similarity):
            if not self.budget.may_ask(clock):
                break
            self.budget.spend(clock)
            rows.append(row)
        self.counts["asked"] += len(rows)
        for _ in window:
            self.budget.see(clock, self._urgency.value)
        return rows

    def answered(self, place: Place, label: Any, labeller: str | None = None, clock: int = 0) -> str:
        """What this answer is: answered, unsure, late, repeated, corrected or unasked."""
        outcome = self._outcome_of(place, label)
        request = self.requests.close(place)
        if outcome != "unsure":
            self.labellers.said(place, label, labeller)
        if request is not None and outcome == "answered":
            self._learn(request, label)
        if request is not None and outcome == "unsure":
            self._similar.remove(place)
        self.counts[outcome] += 1
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

    def _outcome_of(self, place: Place, label: Any) -> str:
        if self.unsure is not None and label == self.unsure:
            return "unsure"
        if place in self.requests:
            return "answered"
        if self.requests.take_expired(place):
            return "late"
        before = self.labellers.label_of(place)
        if before is None:
            return "unasked"
        return "repeated" if before == label else "corrected"

    def _learn(self, request: Request, label: Any) -> None:
        """How surprising the answer was; and whether the prediction was right, if it is of the audit."""
        if request.expected is None or request.expected.label is None:
            return
        right = request.expected.label == label
        probability = request.expected.probability
        self._urgency.hear(label, 1.0 - probability if right else probability)
        if request.audited is not None:
            self.audit.add(right, request.audited)

    def _is_let_through(self, candidate: Candidate) -> bool:
        return self._draws.at(self.budget.seen) < self._threshold.probability(candidate.score)

    def _is_similar(self, candidate: Candidate) -> bool:
        return candidate.content is not None and self._similar.find(candidate.content, self.similarity)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """All that is remembered: as JSON, and arrays."""
        scalars = {
            "budget": self.budget.state(),
            "threshold": self._threshold.state(),
            "urgency": self._urgency.state(),
            "requests": self.requests.state(),
            "audit": self.audit.state(),
            "labellers": self.labellers.state(),
            "counts": dict(sorted(self.counts.items())),
        }
        return scalars, self._similar.arrays()

    def restore(self, scalars: dict[str, Any], arrays: Arrays) -> None:
        """Take over what `state` gave; this one is fresh from its constructor, its settings may be others."""
        self.budget.restore(scalars["budget"])
        self._threshold.restore(scalars["threshold"])
        self._urgency.restore(scalars["urgency"])
        self.requests.restore(scalars["requests"])
        self.audit.restore(scalars["audit"])
        self.labellers.restore(scalars["labellers"])
        self.counts = Counter(scalars["counts"])
        self._similar.restore(arrays)


def expected_of(predictive: Any) -> Expected | None:
    """The most probable label of a predictive; None where numbers are predicted, or no label is known."""
    table = predictive if isinstance(predictive, Mapping) else getattr(predictive, "probabilities", None)
    if not table:
        return None
    label = max(table, key=table.__getitem__)
    return Expected(label, float(table[label]))
