"""Events of a stream and their JSON form in a log; the field `type` names the kind of event.

`decode` reads an input record, or raises `EventError` with the reason; `encode` writes any event. Output events are
read with `Prediction.model_validate_json(value)` and the like; label requests and their outcomes, which share a topic,
with `decode_request(value)`.

schemas     the event classes (pydantic models)
fields      field types and their JSON form
codec       decoding of JSON, raw mails, texts and CloudEvents
identity    ids of observations
rejections  error codes and messages of records that are no events
"""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from stream_bayes.events.codec import Limits, decode, decode_record
from stream_bayes.events.fields import Event
from stream_bayes.events.rejections import CODES
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
    PredictionReason,
    Status,
    decode_request,
)

__all__ = [
    "CODES",
    "AuditFigures",
    "DeadLetter",
    "Event",
    "Label",
    "LabelOutcome",
    "LabelRequest",
    "LabellerFigures",
    "Limits",
    "Observation",
    "Prediction",
    "PredictionReason",
    "Status",
    "decode",
    "decode_record",
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


def encode(event: Event) -> bytes:
    """Encode an event as compact JSON without the fields that are None; a lone surrogate becomes U+FFFD."""
    try:
        # Not model_dump_json, which makes a str first.
        return event.__pydantic_serializer__.to_json(event, exclude_none=True)
    except PydanticSerializationError:
        content = event.model_dump(mode="json", exclude_none=True)
        return to_json(_without_surrogates(content), inf_nan_mode="strings")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(inner) for key, inner in value.items()}
    return [_without_surrogates(inner) for inner in value] if isinstance(value, list) else value


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each event by its `type`."""
    return {kind.model_fields["type"].default: kind.model_json_schema() for kind in _CLASSES}
