"""The events of a stream, and their form in a log: JSON, with the kind of event as `type`.

`decode` reads what comes in, or says in an `EventError` why it cannot; `encode` writes any event; what went out is
read with `Prediction.model_validate_json(value)` and the like, and label requests, among which their outcomes stand,
with `decode_request(value)`.
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
    """An event as compact JSON without the fields that are None; half a surrogate pair becomes U+FFFD."""
    try:
        # Past model_dump_json, which would make a text of it first.
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
    """The JSON Schema of each event, by its `type`."""
    return {kind.model_fields["type"].default: kind.model_json_schema() for kind in _CLASSES}
