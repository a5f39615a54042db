"""One-line formats of label requests, label outcomes and status events."""

from __future__ import annotations

from math import sqrt
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from stream_bayes.events import LabelOutcome, LabelRequest, Status
from stream_bayes.mail.render.sanitize import printable

_ID_CHARACTERS = 40
_NAME_CHARACTERS = 20
_TEXT_CHARACTERS = 60
_MAX_LABELLERS = 3

_event: TypeAdapter[LabelRequest | LabelOutcome | Status] = TypeAdapter(
    Annotated[LabelRequest | LabelOutcome | Status, Field(discriminator="type")]
)


def format_event(value: bytes) -> str | None:
    """Format a record value that is one of these events; None for any other."""
    # A cheap test first: most records are other events, and long.
    if b'"label-' not in value and b'"status"' not in value:
        return None
    try:
        event = _event.validate_json(value)
    except ValidationError:
        return None
    if isinstance(event, LabelRequest):
        return _format_request(event)
    return _format_outcome(event) if isinstance(event, LabelOutcome) else _format_status(event)


def _format_request(event: LabelRequest) -> str:
    parts = [f"{'requested':<9} {printable(event.id, _ID_CHARACTERS)}", f"{event.strategy} {event.score:.3g}"]
    if event.probabilities:
        label = max(event.probabilities, key=event.probabilities.__getitem__)
        parts.append(f"{printable(label, _NAME_CHARACTERS)} {event.probabilities[label]:.3f}")
    if event.mean is not None:
        parts.append(f"{event.mean:.3g} ± {sqrt(max(event.variance, 0.0)):.3g}")
    if event.budget_left is not None:
        parts.append(f"{event.budget_left} left")
    text = " | ".join(filter(None, (event.subject, event.preview)))
    return "  ".join([*parts, printable(text, _TEXT_CHARACTERS)] if text else parts)


def _format_outcome(event: LabelOutcome) -> str:
    name = event.id if event.id is not None else f"{event.source.topic} {event.source.partition}-{event.source.offset}"
    parts = [f"{event.outcome:<9} {printable(name, _ID_CHARACTERS)}"]
    if event.label is not None:
        by = "" if event.labeller is None else f" by {printable(event.labeller, _NAME_CHARACTERS)}"
        parts.append(f"{printable(str(event.label), _ID_CHARACTERS)}{by}")
    return "  ".join([*parts, "still open"] if event.open else parts)


def _format_status(event: Status) -> str:
    left = "" if event.labels_remaining is None else f", {event.labels_remaining} left"
    again = f", duplicates {event.duplicates}" if event.duplicates else ""
    parts = [
        f"{event.events_in} events, {event.labels_learned} learned, lag {event.lag}, dead {event.dead_letters}{again}",
        f"requested {event.labels_requested} ({event.open_requests} open{left})",
    ]
    if event.audit is not None:
        audit = event.audit
        parts.append(f"audit {audit.accuracy:.3f} ({audit.low:.3f} to {audit.high:.3f}) of {audit.answers}")
    if event.labellers:
        parts.append(_format_labellers(event))
    return "  ".join(parts)


def _format_labellers(event: Status) -> str:
    """Format the agreement of the most active labellers."""
    shown = [
        f"{printable(name, _NAME_CHARACTERS)} {figures.agreement:.2f}"
        for name, figures in list(event.labellers.items())[:_MAX_LABELLERS]
    ]
    more = len(event.labellers) - len(shown)
    return f"agree: {', '.join(shown)}{f' and {more} more' if more else ''}"
