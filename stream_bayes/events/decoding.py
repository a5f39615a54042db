"""From a record to an event, or to the one kind of error that makes it a dead letter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import ValidationError

from stream_bayes.events.fields import LONGEST_LABEL
from stream_bayes.events.identity import check_id, decoded_id, id_of
from stream_bayes.events.inputs import Label, Observation, ObservationFields, trouble_of
from stream_bayes.events.quoting import shown
from stream_bayes.events.refusals import Kind, deeper_than, refusal, refusal_of, tag_of, too_deep
from stream_bayes.records import Record

_MAIL = b"message/rfc822"
_JSON = (b"application/json", b"text/json")
# An observation with features; what is right otherwise can only be too deep if even less is allowed.
_DEEPEST_EVENT = 2

_fields_of_observation = ObservationFields.__pydantic_validator__
_validator_of_label = Label.__pydantic_validator__


class Limits(NamedTuple):
    """What a record may be at most."""

    record_bytes: int = 1 << 20
    depth: int = 32
    """Of arrays and objects within each other, the outermost counted as one."""
    id_bytes: int = 512
    """Of an id in UTF-8."""


def decode(record: Record, kind: Kind, limits: Limits) -> Observation | Label:
    """The event in a record: a raw mail if its header says so, else JSON: of its own `type`, or of the kind expected.

    Raises `EventError` with one of `CODES`, and never anything else.
    """
    value = record.value
    if not value:
        raise refusal("empty-record", "the record has no value")
    if len(value) > limits.record_bytes:
        message = f"the record has {len(value)} bytes; at most {limits.record_bytes} are allowed (events.record_bytes)"
        raise refusal("too-large", message)
    if record.headers:
        headers = {name.lower(): content or b"" for name, content in record.headers}
        if _is_mail(headers):
            return _mail(record, headers, limits)
    event = _from_json(value, kind, limits.depth)
    if not event.id:
        object.__setattr__(event, "id", id_of(record))
    else:
        check_id(event.id, limits.id_bytes)
    return event


def _is_mail(headers: Mapping[str, bytes]) -> bool:
    given = headers.get("content-type", _JSON[0])
    content_type = given.partition(b";")[0].strip().lower()
    if content_type != _MAIL and content_type not in _JSON:
        code, name = "unknown-content-type", shown(given.decode("utf-8", "replace"))
        raise refusal(code, f"content-type {name} is neither message/rfc822 nor application/json")
    return content_type == _MAIL


def _mail(record: Record, headers: Mapping[str, bytes], limits: Limits) -> Observation:
    given = headers.get("id")
    id_ = id_of(record) if given is None else decoded_id(given, limits.id_bytes)
    fields: dict[str, object] = {"id": id_, "raw": record.value}
    if "label" in headers:
        try:
            label = headers["label"].decode().strip()
        except UnicodeDecodeError:
            raise refusal("wrong-shape", "the label in the header is not UTF-8") from None
        if not 0 < len(label) <= LONGEST_LABEL:
            raise refusal("wrong-shape", f"the label in the header must have 1 to {LONGEST_LABEL} characters")
        fields["label"] = label
    event: Observation = _fields_of_observation.validate_python(fields, self_instance=Observation.__new__(Observation))
    return event


def _from_json(value: bytes, kind: Kind, most_depth: int) -> Observation | Label:
    try:
        event = _read(value, kind)
    except ValidationError as problem:
        other = Label if kind is Observation else Observation
        if tag_of(value) != other.model_fields["type"].default:
            raise refusal_of(value, kind, most_depth, problem) from None
        try:
            event = _read(value, other)
        except ValidationError as deeper:
            raise refusal_of(value, other, most_depth, deeper) from None
    if most_depth < _DEEPEST_EVENT and deeper_than(value, most_depth):
        raise too_deep(most_depth)
    return event


def _read(value: bytes, kind: Kind) -> Observation | Label:
    """An event; the id of an observation may be None still, since the validator of its fields alone fills it in."""
    if kind is Label:
        label: Label = _validator_of_label.validate_json(value)
        return label
    event: Observation = _fields_of_observation.validate_json(value, self_instance=Observation.__new__(Observation))
    if problem := trouble_of(event):
        raise refusal("wrong-shape", problem)
    return event
