"""What an engine says, as events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from stream_bayes.engine.intervals import CredibleInterval, credible_interval
from stream_bayes.engine.model_adapter import PredictionColumns, PredictionRow
from stream_bayes.engine.types import InputEvent
from stream_bayes.errors import EventError, StreamBayesError
from stream_bayes.events import DeadLetter, Label, LabelOutcome, LabelRequest, Observation, Prediction
from stream_bayes.mail.render.summary import beginning, harmless, preview, subject
from stream_bayes.records import Record, Source

What = Literal["answered", "late", "expired", "unsure", "corrected", "refused"]
_PREVIEW = 200
# The last second of the year 9999: a question may be open for longer than dates go.
_LAST = 253_402_300_799_000
AUDIT = "audit"
"""Instead of a strategy, where chance has chosen."""
MAX_PAYLOAD = 32 << 20
MAX_LABELS = 1 << 20
"""Bytes of a value, and of a key with headers, that go into a dead letter: it must still be a record itself."""


def prediction(arrival: InputEvent, said: PredictionColumns, row: int, model_version: int) -> Prediction:
    """What is said of an observation before its label is learned."""
    event = arrival.event
    assert isinstance(event, Observation)
    return Prediction(
        id=event.id,
        label=said.labels[row],
        mean=said.means[row],
        probabilities=said.probabilities[row],
        variance=said.variance[row],
        epistemic_variance=said.epistemic_variance[row],
        action=said.actions[row],
        source=arrival.record.source,
        model_version=model_version,
    )


class RequestDetails(NamedTuple):
    """What a question says besides the observation."""

    strategy: str
    """By which it was chosen, or `AUDIT`."""
    budget_left: int | None
    at: int
    """On the clock of the log, in milliseconds."""
    request_ttl: int
    """After so many more it is closed."""
    labels: tuple[Any, ...]
    """The possible answers; empty if nobody knows them."""
    abstain_label: str | None
    """The answer that nobody knows; None if there is none."""


def label_request(arrival: InputEvent, predicted: PredictionRow, asking: RequestDetails) -> LabelRequest:
    """The question what an observation is, with what a person wants to see of it."""
    event = arrival.event
    (said, row, _) = predicted
    assert isinstance(event, Observation)
    bounds = _bounds(predicted)
    return LabelRequest(
        id=event.id,
        score=said.worth[row],
        strategy=asking.strategy,
        probabilities=said.probabilities[row],
        mean=said.means[row],
        variance=said.variance[row],
        epistemic_variance=said.epistemic_variance[row],
        interval=bounds and (bounds.low, bounds.high),
        interval_of=bounds and bounds.of,
        labels=asking.labels or None,
        abstain_label=asking.abstain_label,
        at=_moment(asking.at),
        expires_at=_moment(asking.at + asking.request_ttl),
        budget_left=asking.budget_left,
        source=arrival.record.source,
        key=event.key,
        subject=_subject(event),
        preview=_preview(event),
    )


def _bounds(predicted: PredictionRow) -> CredibleInterval | None:
    """None where the learner has no such belief: what was predicted is asked about all the same."""
    try:
        return credible_interval(predicted.said.predictions, predicted.number)
    except StreamBayesError:
        return None


def label_outcome(source: Source, outcome: What, clock: int, name: str | None) -> LabelOutcome:
    """What became of a question without an answer."""
    return LabelOutcome(id=name or None, outcome=outcome, open=False, source=source, at=_moment(clock))


def label_answer(source: Source, outcome: What, clock: int, answer: Label, *, still_open: bool = False) -> LabelOutcome:
    """What became of an answer, and of its question."""
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


def _subject(event: Observation) -> str | None:
    if event.subject is not None:
        return harmless(event.subject)
    return None if event.raw is None else subject(event.raw)


def _preview(event: Observation) -> str:
    content = event.content
    if isinstance(content, bytes):
        return preview(content, _PREVIEW)
    if isinstance(content, str):
        return beginning(content, _PREVIEW)
    return harmless(", ".join(f"{name} = {value}" for name, value in list(content.items())[:_PREVIEW]), _PREVIEW)


def dead_letter(record: Record, problem: EventError, clock: int) -> DeadLetter:
    """A record that could not be used: whole, or its beginning where a letter could not hold it."""
    labels = len(record.key or b"") + sum(len(name) + len(content) for name, content in record.headers)
    cut = len(record.value) > MAX_PAYLOAD or labels > MAX_LABELS
    return DeadLetter(
        code=problem.code,
        message=harmless(str(problem)),
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        payload=record.value[:MAX_PAYLOAD],
        size=len(record.value) if cut else None,
        key=None if cut else record.key,
        headers=None if cut else record.headers or None,
        at=_moment(clock),
    )
