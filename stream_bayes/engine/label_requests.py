"""The questions of an engine: which observations people are asked about, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from stream_bayes.active import Candidate, Expected, LabelBudget, LabelSelector, Request, RequestReason
from stream_bayes.active.strategies import check_strategy
from stream_bayes.config import LabelSettings, Settings
from stream_bayes.engine.batch_plan import GONE, PlannedAction
from stream_bayes.engine.history import Unlabelled
from stream_bayes.engine.model_adapter import ModelAdapter, PredictionRow
from stream_bayes.engine.output_events import What, label_answer, label_outcome
from stream_bayes.engine.types import ReplayDecisions
from stream_bayes.errors import ConfigError, EventError, ParameterError
from stream_bayes.events import Label, LabelOutcome, Observation
from stream_bayes.records import Source

# What the selector is told when nobody knows a label: no label is empty.
_NOBODY_KNOWS = ""
_PUT_OUT = ("answered", "late", "corrected")


def strategy_of(settings: LabelSettings) -> str:
    """The name of the score, which must be a known one: else a `ConfigError` names those that are."""
    try:
        return check_strategy(settings.strategy)
    except ParameterError as problem:
        message = f"labels.strategy: {problem}"
        raise ConfigError(message) from problem


def selector_for(settings: LabelSettings, partition: int, partitions: int) -> LabelSelector:
    """The selector of one partition, which owns its share of the budget and of the questions at a time."""
    most = settings.max_open_requests
    # Where there are fewer than partitions, each has one: else some would never ask.
    own = max(most // partitions + (partition < most % partitions), min(most, 1))
    whole = LabelBudget(
        settings.budget, settings.per_period, settings.period, settings.reserve, settings.audit_fraction
    )
    return LabelSelector(
        strategy_of(settings),
        whole.share(partition, partitions),
        max_open_requests=own,
        request_ttl=settings.request_ttl,
        similarity=settings.similarity,
        abstain_label=_NOBODY_KNOWS,
        seed=settings.seed + partition,
    )


class LabelRequests:
    """A selector in an engine: its decisions, or those of before; and an event for each end of a question."""

    def __init__(self, settings: Settings, model: ModelAdapter, partition: int, partitions: int) -> None:
        self.selector = selector_for(settings.labels, partition, partitions)
        abstain_label = settings.labels.abstain_label or None
        # Where it is a label like any other, it is one.
        self.abstain_label = None if abstain_label in model.declared_labels else abstain_label
        """The answer that is no label; None if there is none."""
        self._topic = settings.topics.observations
        self._partition = partition

    def question(
        self, step: PlannedAction, row: PredictionRow, clock: int, decided: ReplayDecisions | None
    ) -> RequestReason | None:
        """Whether and why to ask about an observation without a label: decided now, or before; it is noted."""
        candidate = Candidate(step.offset, row.worth, None, row.content)
        question = self.selector.question(candidate, clock) if decided is None else decided.asked.get(step.offset)
        if question is not None:
            event = step.arrival.event
            assert isinstance(event, Observation)
            candidate = candidate._replace(expected=_expected(row), title=event.id)
        self.selector.note(candidate, clock, question)
        return question

    def are_over(self, oldest: int, clock: int) -> bool:
        """Whether there is any for `closed` to close."""
        requests = self.selector.requests
        return clock >= requests.due or (requests.first is not None and int(requests.first) < oldest)

    def closed(self, oldest: int, clock: int, lead: int) -> Iterator[LabelOutcome]:
        """Close what has waited too long, by a clock with a lead, and what is about observations before this one."""
        selector = self.selector
        requests = self.selector.requests
        gone: list[tuple[int | str, Request | None]] = []
        if requests.is_due(clock + lead):
            gone.extend(selector.expire(clock + lead))
        # They are in the order of the observations.
        while (first := requests.first) is not None and int(first) < oldest:
            gone.append((first, selector.close(first)))
            selector.counts["expired"] += 1
        for place, request in gone:
            yield label_outcome(self._source(int(place)), "expired", clock, request and request.title)

    def answered(self, step: PlannedAction, clock: int, lead: int) -> LabelOutcome | None:
        """A label came, new or not, or the answer that nobody knows; the lead is as for `closed`."""
        offset = step.offset
        selector = self.selector
        event = _answer_in(step.arrival.event)
        assert event is not None
        asked = offset in selector.requests
        known = not isinstance(step.before, Unlabelled)
        told = _NOBODY_KNOWS if step.action == "unsure" else step.label
        outcome = selector.answered(offset, told, event.labeller, clock + lead)
        if outcome == "unasked" and known:
            # Its first label came with it, or so long ago that the selector has forgotten it.
            selector.counts["unasked"] -= 1
            outcome = "repeated" if step.action == "repeat" else "corrected"
            selector.counts[outcome] += 1
        if outcome in _PUT_OUT or (outcome == "unsure" and asked):
            return label_answer(self._source(offset), cast(What, outcome), clock, event)
        return None

    def refused(self, event: object, problem: EventError, clock: int) -> LabelOutcome | None:
        """A record became a dead letter; if it was an answer, the question stays open unless it can have no other."""
        offset = problem.observation
        requests = self.selector.requests
        if offset is None or offset not in requests:
            return None
        self.selector.counts["refused"] += 1
        if problem.code == GONE:
            self.selector.close(offset)
        answer = _answer_in(event)
        if answer is None:
            return None
        return label_answer(self._source(offset), "refused", clock, answer, still_open=offset in requests)

    def _source(self, offset: int) -> Source:
        return Source(self._topic, self._partition, offset)


def _answer_in(event: object) -> Label | None:
    """The label that an event is, or that comes with an observation that was seen before."""
    if isinstance(event, Observation) and event.label is not None:
        return Label(id=event.id, label=event.label, at=event.at)
    return event if isinstance(event, Label) else None


def _expected(row: PredictionRow) -> Expected | None:
    label = row.said.labels[row.number]
    table = row.said.probabilities[row.number]
    return None if label is None or table is None else Expected(label, max(table.values()))
