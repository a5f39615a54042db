"""The events that an engine puts out: predictions, label requests, label outcomes and dead letters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from stream_bayes.engine.intervals import CredibleInterval, credible_interval
from stream_bayes.engine.model_adapter import Predictions
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import DeadLetter, InputEvent, Label, LabelOutcome, LabelRequest, Observation, Prediction
from stream_bayes.mail.parse.parsed_mail import ParsedMail
from stream_bayes.mail.render.sanitize import printable
from stream_bayes.mail.render.summary import preview, subject, text_preview
from stream_bayes.records import Record, Source

Outcome = Literal["answered", "late", "expired", "unsure", "corrected", "refused"]
_PREVIEW = 200
# The last second of the year 9999: a request may expire later than the last date there is.
_LAST = 253_402_300_799_000
AUDIT = "audit"
"""The strategy of a request that was drawn at random."""
MAX_PAYLOAD = 32 << 20
MAX_LABELS = 1 << 20
"""Bytes of a value, and of a key with headers, that go into a dead letter: it must still be a record itself."""


def prediction(event: InputEvent, predictions: Predictions, row: int, model_version: int) -> Prediction:
    """The prediction of an observation, made before its label is learned."""
    observation = event.event
    assert isinstance(observation, Observation)
    return Prediction(
        id=observation.id,
        label=predictions.labels[row],
        mean=predictions.means[row],
        probabilities=predictions.probabilities[row],
        variance=predictions.variance[row],
        epistemic_variance=predictions.epistemic_variance[row],
        action=predictions.actions[row],
        source=event.record.source,
        model_version=model_version,
    )


def label_request(  # noqa: PLR0913 - all but the prediction are fields of the request
    event: InputEvent,
    predictions: Predictions,
    row: int,
    *,
    strategy: str,
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
        strategy=strategy,
        probabilities=predictions.probabilities[row],
        mean=predictions.means[row],
        variance=predictions.variance[row],
        epistemic_variance=predictions.epistemic_variance[row],
        interval=interval and (interval.low, interval.high),
        interval_of=interval and interval.of,
        labels=labels or None,
        abstain_label=abstain_label,
        at=_moment(at),
        expires_at=_moment(expires_at),
        budget_left=budget_left,
        source=event.record.source,
        key=observation.key,
        subject=_subject(observation, mail),
        preview=_preview(observation, mail),
    )


def _interval(predictions: Predictions, row: int) -> CredibleInterval | None:
    """The credible interval of a prediction; None where the learner has none, which does not stop the request."""
    try:
        return credible_interval(predictions.predictive, row)
    except StreamBayesError:
        return None


def label_outcome(source: Source, outcome: Outcome, clock: int, name: str | None) -> LabelOutcome:
    """The outcome of a label request that ends without a label."""
    return LabelOutcome(id=name or None, outcome=outcome, open=False, source=source, at=_moment(clock))


def label_answer(
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
        at=_moment(clock),
    )


def _moment(clock: int) -> datetime:
    return datetime.fromtimestamp(min(clock, _LAST) / 1000.0, UTC)


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


def dead_letter(record: Record, problem: EventError, clock: int) -> DeadLetter:
    """The dead letter of a record: with the whole record, or its first bytes where that is too large."""
    labels = len(record.key or b"") + sum(len(name) + len(content) for name, content in record.headers)
    cut = len(record.value) > MAX_PAYLOAD or labels > MAX_LABELS
    return DeadLetter(
        code=problem.code,
        message=printable(str(problem)),
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        payload=record.value[:MAX_PAYLOAD],
        size=len(record.value) if cut else None,
        key=None if cut else record.key,
        headers=None if cut else record.headers or None,
        at=_moment(clock),
    )
