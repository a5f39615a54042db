"""Events of a stream and their JSON form in a log; the field `type` names the kind of event.

`decode` reads an input record, or raises `EventError` with the reason; `encode` writes any event. Output events are
read with `Prediction.model_validate_json(value)` and the like; label requests and their outcomes, which share a topic,
with `decode_request(value)`.

schemas     the event classes (pydantic models)
fields      field types and their JSON form
codec       encoding as JSON; decoding of JSON, raw mails, texts and CloudEvents; ids of observations
rejections  error codes and messages of records that are no events
"""

from __future__ import annotations

from typing import Any

from stream_bayes.events.codec import NO_LIMITS, InputEvent, Limits, decode, decode_record, decode_records, encode
from stream_bayes.events.fields import Event
from stream_bayes.events.rejections import CODES, DEAD_LETTER_CODES
from stream_bayes.events.schemas import (
    AuditFigures,
    DeadLetter,
    Label,
    LabellerFigures,
    LabelOutcome,
    LabelRequest,
    Observation,
    ObservationFields,
    Prediction,
    Status,
    decode_request,
)

__all__ = [
    "CODES",
    "DEAD_LETTER_CODES",
    "NO_LIMITS",
    "AuditFigures",
    "DeadLetter",
    "Event",
    "InputEvent",
    "Label",
    "LabelOutcome",
    "LabelRequest",
    "LabellerFigures",
    "Limits",
    "Observation",
    "Prediction",
    "Status",
    "decode",
    "decode_record",
    "decode_records",
    "decode_request",
    "encode",
    "schemas",
]

_CLASSES: tuple[type[Event], ...] = (
    ObservationFields,
    Label,
    Prediction,
    LabelRequest,
    LabelOutcome,
    DeadLetter,
    Status,
)


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each event by its `type`."""
    return {kind.model_fields["type"].default: kind.model_json_schema() for kind in _CLASSES}
