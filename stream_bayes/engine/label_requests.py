"""Label requests: which observations a label is requested for, and the outcome of each request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from stream_bayes.active import Candidate, Expected, LabelBudget, LabelSelector, Request, RequestReason
from stream_bayes.active.strategies import check_strategy
from stream_bayes.config import LabelSettings, Settings
from stream_bayes.engine.batch_plan import GONE, PlannedAction
from stream_bayes.engine.history import Unlabelled
from stream_bayes.engine.model_adapter import ModelAdapter, Predictions
from stream_bayes.engine.output_events import Outcome, label_answer, label_outcome
from stream_bayes.engine.types import ReplayDecisions
from stream_bayes.errors import ConfigError, EventError, ParameterError
from stream_bayes.events import Label, LabelOutcome, Observation
from stream_bayes.records import Source

# The selector's text for an abstention: no label is empty.
_NOBODY_KNOWS = ""
_PUT_OUT = ("answered", "late", "corrected")


def strategy_of(settings: LabelSettings) -> str:
    """The selection strategy; raises a `ConfigError` that names the known ones if there is none of this name."""
    try:
        return check_strategy(settings.strategy)
    except ParameterError as problem:
        message = f"labels.strategy: {problem}"
        raise ConfigError(message) from problem


def selector_for(settings: LabelSettings, partition: int, partitions: int) -> LabelSelector:
    """The selector of one partition, which owns its share of the budget and of the open requests."""
    most = settings.max_open_requests
    # Each partition may have one open request, where there are fewer than partitions: else some would never ask.
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
    """The label requests of an engine: the decisions of its selector, and an outcome event for each request that ends.

    Where a replay passes a clock with a lead, requests expire as they did when the events were first processed.
    """

    def __init__(self, settings: Settings, model: ModelAdapter, partition: int, partitions: int) -> None:
        self.selector = selector_for(settings.labels, partition, partitions)
        abstain_label = settings.labels.abstain_label or None
        # A text that the learner has declared as a label is a label.
        self.abstain_label = None if abstain_label in model.declared_labels else abstain_label
        """The text by which a labeller abstains; None if there is none."""
        self._topic = settings.topics.observations
        self._partition = partition

    def decide(
        self, planned: PlannedAction, predictions: Predictions, row: int, clock: int, decisions: ReplayDecisions | None
    ) -> RequestReason | None:
        """Decide whether to request the label of an observation, or take the decision of before; the selector notes it.

        Gives the reason for the request, None if there is no request.
        """
        candidate = Candidate(planned.offset, predictions.selection_scores[row], None, planned.content)
        if decisions is None:
            reason = self.selector.question(candidate, clock)
        else:
            reason = decisions.requests.get(planned.offset)
        if reason is not None:
            event = planned.input.event
            assert isinstance(event, Observation)
            candidate = candidate._replace(expected=_expected(predictions, row), title=event.id)
        self.selector.note(candidate, clock, reason)
        return reason

    def are_overdue(self, oldest: int, clock: int) -> bool:
        """Whether there is any request for `expire`."""
        requests = self.selector.requests
        return clock >= requests.due or (requests.first is not None and int(requests.first) < oldest)

    def expire(self, oldest: int, clock: int, lead: int) -> Iterator[LabelOutcome]:
        """Close the requests that are overdue, and those about observations before `oldest`."""
        selector = self.selector
        requests = self.selector.requests
        expired: list[tuple[int | str, Request | None]] = []
        if requests.is_due(clock + lead):
            expired.extend(selector.expire(clock + lead))
        # They are in the order of the observations.
        while (first := requests.first) is not None and int(first) < oldest:
            expired.append((first, selector.close(first)))
            selector.counts["expired"] += 1
        for offset, request in expired:
            yield label_outcome(self._source(int(offset)), "expired", clock, request and request.title)

    def receive_label(self, planned: PlannedAction, clock: int, lead: int) -> LabelOutcome | None:
        """Tell the selector of a label, new or not, or of an abstention; gives the event that is put out, if any."""
        offset = planned.offset
        selector = self.selector
        label = _label_in(planned.input.event)
        assert label is not None
        was_open = offset in selector.requests
        value = _NOBODY_KNOWS if planned.action == "unsure" else planned.label
        outcome = selector.record_answer(offset, value, label.labeller, clock + lead)
        if outcome == "unasked" and not isinstance(planned.before, Unlabelled):
            # Its first label came with it, or so long ago that the selector has forgotten it.
            selector.counts["unasked"] -= 1
            outcome = "repeated" if planned.action == "repeat" else "corrected"
            selector.counts[outcome] += 1
        if outcome in _PUT_OUT or (outcome == "unsure" and was_open):
            return label_answer(self._source(offset), cast(Outcome, outcome), clock, label)
        return None

    def reject(self, event: object, problem: EventError, clock: int) -> LabelOutcome | None:
        """A record became a dead letter; if it was a label for an open request, gives the event about it.

        The request stays open, unless its observation is gone and no other label can be learned.
        """
        offset = problem.observation
        requests = self.selector.requests
        if offset is None or offset not in requests:
            return None
        self.selector.counts["refused"] += 1
        if problem.code == GONE:
            self.selector.close(offset)
        label = _label_in(event)
        if label is None:
            return None
        return label_answer(self._source(offset), "refused", clock, label, still_open=offset in requests)

    def _source(self, offset: int) -> Source:
        return Source(self._topic, self._partition, offset)


def _label_in(event: object) -> Label | None:
    """The label that an event is, or that comes with an observation that was seen before."""
    if isinstance(event, Observation) and event.label is not None:
        return Label(id=event.id, label=event.label, at=event.at)
    return event if isinstance(event, Label) else None


def _expected(predictions: Predictions, row: int) -> Expected | None:
    label = predictions.labels[row]
    probabilities = predictions.probabilities[row]
    return None if label is None or probabilities is None else Expected(label, max(probabilities.values()))
