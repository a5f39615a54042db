"""Label requests of an engine: the decision of the selector, the request event, and its outcome."""

from __future__ import annotations

from typing import Any, Literal, cast

from stream_bayes.active import Candidate, Expected, LabelBudget, LabelSelector, Request, RequestReason
from stream_bayes.active.strategies import check_strategy
from stream_bayes.config import LabelSettings, Settings
from stream_bayes.engine.batch_plan import GONE, PlannedAction
from stream_bayes.engine.history import Unlabelled
from stream_bayes.engine.intervals import CredibleInterval, credible_interval
from stream_bayes.engine.model_adapter import ModelAdapter, Predictions
from stream_bayes.engine.types import Output, ReplayDecisions, moment
from stream_bayes.errors import ConfigError, EventError, ParameterError, StreamBayesError
from stream_bayes.events import InputEvent, Label, LabelOutcome, LabelRequest, Observation
from stream_bayes.mail.parse.parsed_mail import ParsedMail
from stream_bayes.mail.render.sanitize import printable
from stream_bayes.mail.render.summary import preview, subject, text_preview
from stream_bayes.records import Source

Outcome = Literal["answered", "late", "expired", "unsure", "corrected", "refused"]
AUDIT = "audit"
"""The strategy of a request that was drawn at random."""
COVERAGE = "coverage"
"""The strategy of a request for an observation that is common although few labels were requested for similar ones."""
UNSCORED = (AUDIT, COVERAGE)
"""The strategies of requests that were not chosen by their score."""
_PREVIEW = 200
# The selector's text for an abstention: no label is empty.
_ABSTENTION = ""
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
        settings.budget,
        settings.per_period,
        settings.period,
        settings.reserve,
        settings.audit_fraction,
        settings.expected_events,
    )
    return LabelSelector(
        strategy_of(settings),
        whole.share(partition, partitions),
        max_open_requests=own,
        request_ttl=settings.request_ttl,
        coverage=settings.coverage,
        similarity=settings.similarity,
        abstain_label=_ABSTENTION,
        seed=settings.seed + partition,
    )


class LabelRequests:
    """The label requests of an engine: the decisions of its selector, and an outcome event for each request that ends.

    Where a replay passes a clock with a lead, requests expire as they did when the events were first processed. It
    passes no `outputs`: then no outcome event is made.
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
            reason = self.selector.request_reason(candidate, clock)
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

    def expire(self, oldest: int, clock: int, lead: int, outputs: list[Output] | None) -> None:
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
        if outputs is not None:
            for offset, request in expired:
                source = self._source(int(offset))
                outputs.append(_closed_outcome(source, "expired", clock, request and request.title))

    def receive_label(self, planned: PlannedAction, clock: int, lead: int, outputs: list[Output] | None) -> None:
        """Record a label, new or not, or an abstention; its outcome is put out if it closes or corrects a request."""
        offset = planned.offset
        selector = self.selector
        event = planned.input.event
        label = event if isinstance(event, Label) else _label_in(event)
        assert label is not None
        was_open = offset in selector.requests
        value = _ABSTENTION if planned.action == "unsure" else planned.label
        outcome = selector.record_answer(offset, value, label.labeller, clock + lead)
        if outcome == "unrequested" and not isinstance(planned.before, Unlabelled):
            # Its first label came with it, or so long ago that the selector has forgotten it.
            selector.counts["unrequested"] -= 1
            outcome = "repeated" if planned.action == "repeat" else "corrected"
            selector.counts[outcome] += 1
        if outputs is not None and (outcome in _PUT_OUT or (outcome == "unsure" and was_open)):
            outputs.append(_answer_outcome(self._source(offset), cast(Outcome, outcome), clock, label))

    def reject(self, event: object, problem: EventError, clock: int, outputs: list[Output] | None) -> None:
        """Record that a record became a dead letter; if it was a label for an open request, its outcome is put out.

        The request stays open, unless its observation is gone and no other label can be learned.
        """
        offset = problem.observation
        requests = self.selector.requests
        if offset is None or offset not in requests:
            return
        self.selector.counts["refused"] += 1
        if problem.code == GONE:
            self.selector.close(offset)
        label = _label_in(event)
        if outputs is not None and label is not None:
            still_open = offset in requests
            outputs.append(_answer_outcome(self._source(offset), "refused", clock, label, still_open=still_open))

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


def label_request(  # noqa: PLR0913 - all but the prediction are fields of the request
    event: InputEvent,
    predictions: Predictions,
    row: int,
    *,
    strategy: str,
    reason: RequestReason,
    budget_left: int | None,
    at: int,
    expires_at: int,
    labels: tuple[Any, ...],
    abstain_label: str | None,
) -> LabelRequest:
    """The request for the label of an observation, with what a labeller wants to see of it.

    Times are milliseconds on the clock of the log. `labels` are the possible labels, none if they are unknown.
    """
    observation = event.event
    assert isinstance(observation, Observation)
    interval = _interval(predictions, row)
    mail = None if observation.raw is None else ParsedMail(observation.raw)
    return LabelRequest(
        id=observation.id,
        score=predictions.selection_scores[row],
        strategy=_strategy_name(strategy, reason),
        probability=reason.probability,
        probabilities=predictions.probabilities[row],
        mean=predictions.means[row],
        variance=predictions.variance[row],
        epistemic_variance=predictions.epistemic_variance[row],
        interval=interval and (interval.low, interval.high),
        interval_of=interval and interval.of,
        labels=labels or None,
        abstain_label=abstain_label,
        at=moment(at),
        expires_at=moment(expires_at),
        budget_left=budget_left,
        source=event.source,
        key=observation.key,
        subject=_subject(observation, mail),
        preview=_preview(observation, mail),
    )


def _strategy_name(strategy: str, reason: RequestReason) -> str:
    if reason.audited is not None:
        return AUDIT
    return COVERAGE if reason.covered else strategy


def _interval(predictions: Predictions, row: int) -> CredibleInterval | None:
    """The credible interval of a prediction; None where the learner has none, which does not stop the request."""
    try:
        return credible_interval(predictions.predictive, row)
    except StreamBayesError:
        return None


def _closed_outcome(source: Source, outcome: Outcome, clock: int, name: str | None) -> LabelOutcome:
    """The outcome of a label request that ends without a label."""
    return LabelOutcome(id=name or None, outcome=outcome, open=False, source=source, at=moment(clock))


def _answer_outcome(
    source: Source, outcome: Outcome, clock: int, answer: Label, *, still_open: bool = False
) -> LabelOutcome:
    """The outcome of a label for a label request."""
    return LabelOutcome(
        id=answer.id,
        outcome=outcome,
        label=answer.label,
        labeller=answer.labeller,
        open=still_open,
        source=source,
        at=moment(clock),
    )


def _subject(event: Observation, mail: ParsedMail | None) -> str | None:
    if event.subject is not None:
        return printable(event.subject)
    return None if mail is None else subject(mail)


def _preview(event: Observation, mail: ParsedMail | None) -> str:
    if mail is not None:
        return preview(mail, _PREVIEW)
    if event.text is not None:
        return text_preview(event.text, _PREVIEW)
    content = event.features or {}
    return printable(", ".join(f"{name} = {value}" for name, value in list(content.items())[:_PREVIEW]), _PREVIEW)
