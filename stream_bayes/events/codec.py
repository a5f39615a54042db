"""From a record to an event, or to the one kind of error that makes it a dead letter.

A record is JSON unless its header `content-type` says otherwise: `message/rfc822` is a raw mail, `text/plain` a text,
`application/cloudevents+json` a CloudEvent whose data is any of these. The attributes of a CloudEvent in binary mode
are read from the headers `ce_id` and `ce_time`.
"""

from __future__ import annotations

import codecs
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from stream_bayes.errors import EventError
from stream_bayes.events.fields import LONGEST_LABEL, Moment
from stream_bayes.events.identity import check_id, decoded_id, id_of
from stream_bayes.events.quoting import shown
from stream_bayes.events.rejections import (
    Kind,
    bad_feature,
    deeper_than,
    kind_of,
    object_of,
    rejection,
    rejection_of,
    too_deep,
    unknown_fields,
)
from stream_bayes.events.schemas import Label, Observation, ObservationFields, trouble_of
from stream_bayes.records import Record

_MAIL = "message/rfc822"
_MAIL_BYTES = _MAIL.encode()
_TEXT = "text/plain"
_UNKNOWN_TYPE = "unknown-content-type"
_CLOUD_EVENT = "application/cloudevents+json"
_JSON = ("application/json", "text/json")
# An observation with features; what is right otherwise can only be too deep if even less is allowed.
_DEEPEST_EVENT = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Codecs of Python that are no charsets, or whose time grows faster than the text.
_NO_CHARSETS = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7"})
_MAX_ID_BITS = 1024

_fields_of_observation = ObservationFields.__pydantic_validator__
_validator_of_label = Label.__pydantic_validator__
_moment: TypeAdapter[datetime] = TypeAdapter(Moment)


class Limits(NamedTuple):
    """What a record may be at most."""

    record_bytes: int = 1 << 20
    """Of a value, but for raw mails: of these only the beginning is looked at."""
    depth: int = 32
    """Of arrays and objects within each other, the outermost counted as one."""
    id_bytes: int = 512
    """Of an id in UTF-8."""


class Decoded(NamedTuple):
    """The event in a record, and what was found beside it."""

    event: Observation | Label
    unknown_fields: int = 0
    """How many fields of its JSON were ignored."""
    label_problem: EventError | None = None
    """Why the label in the header of a mail or a text is none: the observation itself is good without it."""


class _Envelope(NamedTuple):
    """What a sender says of an observation outside of its content."""

    id: str | None = None
    at: datetime | None = None
    label: str | None = None
    label_problem: EventError | None = None


def decode(record: Record, kind: Kind, limits: Limits) -> Observation | Label:
    """The event in a record; JSON without a `type` is of the kind expected.

    Raises `EventError` with one of `CODES`, and never anything else.
    """
    return decode_record(record, kind, limits).event


def decode_record(record: Record, kind: Kind, limits: Limits) -> Decoded:
    """The event in a record with the number of fields that were ignored; errors as those of `decode`."""
    value = record.value
    if not value:
        raise rejection("empty-record", "the record has no value")
    if record.headers:
        headers = {name.lower(): content or b"" for name, content in record.headers}
        decoded = _from_headers(value, headers, kind, limits)
    else:
        _check_size(value, limits)
        decoded = _from_json(value, kind, limits.depth)
    event = decoded.event
    if not event.id:
        object.__setattr__(event, "id", id_of(record))
    else:
        check_id(event.id, limits.id_bytes)
    return decoded


def _check_size(value: bytes, limits: Limits) -> None:
    if len(value) > limits.record_bytes:
        message = f"the record has {len(value)} bytes; at most {limits.record_bytes} are allowed (events.record_bytes)"
        raise rejection("too-large", message)


# Records with headers


def _from_headers(value: bytes, headers: Mapping[str, bytes], kind: Kind, limits: Limits) -> Decoded:
    given = headers.get("content-type")
    if given == _MAIL_BYTES:
        return _observed({"raw": value}, headers, limits)
    name = _JSON[0] if given is None else given.decode("utf-8", "replace")
    content_type = _without_parameters(name)
    if content_type == _MAIL:
        return _observed({"raw": value}, headers, limits)
    _check_size(value, limits)
    if content_type == _TEXT:
        return _observed({"text": _text_of(value, name)}, headers, limits)
    if content_type == _CLOUD_EVENT:
        decoded = _from_cloud_event(value, kind, limits)
    elif content_type in _JSON:
        decoded = _from_json(value, kind, limits.depth)
    else:
        known = f"{_MAIL}, {_TEXT}, {_JSON[0]} nor {_CLOUD_EVENT}"
        raise rejection(_UNKNOWN_TYPE, f"content-type {shown(name)} is neither {known}")
    if isinstance(decoded.event, Observation):
        given_id = None if decoded.event.id else _given_id(headers, limits)
        given_time = _given_time(headers) if decoded.event.at is None else None
        label: str | None = None
        problem: EventError | None = None
        if "label" in headers:
            label, problem = _given_label(headers["label"])
        decoded = _filled(decoded, _Envelope(given_id, given_time, label, problem))
    return decoded


def _without_parameters(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _text_of(value: bytes, content_type: str) -> str:
    """A text in the charset of its content type; UTF-8 where none is named, or an unknown one."""
    charset = "utf-8"
    for parameter in content_type.split(";")[1:]:
        name, _, content = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = content.strip().strip("\"'")
    try:
        if codecs.lookup(charset).name in _NO_CHARSETS:
            charset = "utf-8"
        text = value.decode(charset, "replace")
    except (LookupError, ValueError):
        text = value.decode("utf-8", "replace")
    # A charset of two bytes a character can hold halves of pairs.
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _given_id(headers: Mapping[str, bytes], limits: Limits) -> str | None:
    given = headers.get("id", headers.get("ce_id"))
    return None if given is None else decoded_id(given, limits.id_bytes)


def _given_time(headers: Mapping[str, bytes]) -> datetime | None:
    given = headers.get("ce_time")
    return None if given is None else _time_of(given.decode("utf-8", "replace"))


def _time_of(given: object) -> datetime:
    try:
        return _moment.validate_json(to_json(given))
    except ValueError:
        message = f"the time of the CloudEvent, {shown(given)}, is no date and time such as 2026-01-31T12:00:00Z"
        raise rejection("wrong-shape", message) from None


def _given_label(given: bytes) -> tuple[str | None, EventError | None]:
    """The label in the header, or why it is none."""
    try:
        return _checked_label(given.decode())
    except UnicodeDecodeError:
        return None, rejection("wrong-shape", "the label in the header is not UTF-8")


def _checked_label(given: str) -> tuple[str | None, EventError | None]:
    label = given.strip()
    if not 0 < len(label) <= LONGEST_LABEL:
        return None, rejection("wrong-shape", f"the label in the header must have 1 to {LONGEST_LABEL} characters")
    return label, None


def _observed(fields: dict[str, Any], headers: Mapping[str, bytes], limits: Limits) -> Decoded:
    """An observation whose content is the value of its record, and all else in the headers."""
    problem = None
    fields["id"] = _given_id(headers, limits)
    if "ce_time" in headers:
        fields["at"] = _given_time(headers)
    if "label" in headers:
        fields["label"], problem = _given_label(headers["label"])
    return _validated(fields, problem)


def _validated(fields: dict[str, Any], label_problem: EventError | None) -> Decoded:
    event: Observation = _fields_of_observation.validate_python(fields, self_instance=Observation.__new__(Observation))
    return Decoded(event, 0, label_problem)


def _filled(decoded: Decoded, envelope: _Envelope) -> Decoded:
    """An observation with what it does not say itself and its envelope does; its own label comes before another."""
    event = decoded.event
    has_label = event.label is not None or decoded.label_problem is not None
    for name in ("id", "at") if has_label else ("id", "at", "label"):
        if getattr(event, name) is None and getattr(envelope, name) is not None:
            object.__setattr__(event, name, getattr(envelope, name))
    return decoded if has_label else decoded._replace(label_problem=envelope.label_problem)


# CloudEvents in structured mode


def _from_cloud_event(value: bytes, kind: Kind, limits: Limits) -> Decoded:
    attributes = object_of(value, limits.depth)
    data = attributes.get("data")
    content_type = attributes.get("datacontenttype")
    content_type = content_type if isinstance(content_type, str) else _JSON[0]
    if isinstance(encoded := attributes.get("data_base64"), str):
        try:
            data = b64decode(encoded, validate=True)
        except ValueError:
            raise rejection("wrong-shape", "field 'data_base64' must be base64") from None
    envelope = _envelope_in(attributes)
    if isinstance(data, dict):
        decoded = _from_object(data, kind)
    elif isinstance(data, str | bytes):
        decoded = _from_data(data, content_type, envelope, kind, limits)
    else:
        raise rejection("wrong-shape", "the CloudEvent must have data: an object, a text, or base64 as data_base64")
    return _filled(decoded, envelope) if isinstance(decoded.event, Observation) else decoded


def _envelope_in(attributes: dict[str, Any]) -> _Envelope:
    """The attributes of a CloudEvent, and the extension `label`."""
    label: str | None = None
    problem: EventError | None = None
    if isinstance(attributes.get("label"), str):
        label, problem = _checked_label(attributes["label"])
    given_id = _with_text_id(attributes).get("id")
    if given_id is not None and not isinstance(given_id, str):
        raise rejection("bad-id", "the id of the CloudEvent must be text")
    at = None if attributes.get("time") is None else _time_of(attributes["time"])
    return _Envelope(given_id or None, at, label, problem)


def _from_data(data: str | bytes, content_type: str, envelope: _Envelope, kind: Kind, limits: Limits) -> Decoded:
    """The event in the data of a CloudEvent that is a text, or was base64."""
    form = _without_parameters(content_type)
    if form == _MAIL:
        raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
        return _validated({"raw": raw, "label": envelope.label}, envelope.label_problem)
    if isinstance(data, str):
        return _validated({"text": data, "label": envelope.label}, envelope.label_problem)
    if form == _TEXT:
        text = _text_of(data, content_type)
        return _validated({"text": text, "label": envelope.label}, envelope.label_problem)
    if form in _JSON:
        return _from_json(data, kind, limits.depth)
    known = f"{_MAIL}, {_TEXT} nor {_JSON[0]}"
    raise rejection(_UNKNOWN_TYPE, f"datacontenttype {shown(content_type)} is neither {known}")


# JSON


def _from_json(value: bytes, kind: Kind, most_depth: int) -> Decoded:
    try:
        event = _read(value, kind)
    except (ValidationError, EventError):
        return _from_object(object_of(value, most_depth), kind)
    if most_depth < _DEEPEST_EVENT and deeper_than(value, most_depth):
        raise too_deep(most_depth)
    return Decoded(event)


def _read(value: bytes, kind: Kind) -> Observation | Label:
    """An event; the id of an observation may be None still, since the validator of its fields alone fills it in."""
    if kind is Label:
        label: Label = _validator_of_label.validate_json(value)
        return label
    event: Observation = _fields_of_observation.validate_json(value, self_instance=Observation.__new__(Observation))
    if problem := trouble_of(event):
        raise rejection("wrong-shape", problem)
    return event


def _from_object(content: dict[str, Any], expected: Kind) -> Decoded:
    """The event in an object as other people's producers write it.

    Unknown fields are ignored, an id may be a whole number, and a time may be in milliseconds since 1970. Where the
    label of an observation is all that is wrong, the observation is good without it.
    """
    kind = kind_of(content, expected)
    if message := bad_feature(content.get("features")):
        raise rejection("wrong-shape", message)
    unknown = unknown_fields(content, kind)
    fields = {name: value for name, value in _with_text_id(content).items() if name in kind.model_fields}
    if any(path == "source" for path, _ in unknown):
        fields["source"] = {name: value for name, value in fields["source"].items() if ("source", name) not in unknown}
    if type(fields.get("at")) is int:
        fields["at"] = _from_milliseconds(fields["at"])
    try:
        event = _read(to_json(fields, inf_nan_mode="constants"), kind)
    except (ValidationError, EventError) as problem:
        # The traceback would hold this frame, which holds it.
        refused = rejection_of(content, kind, problem).with_traceback(None)
        unlabelled = None if kind is Label else _read_without_label(fields)
        if unlabelled is None:
            raise refused from None
        return Decoded(unlabelled, len(unknown), refused)
    return Decoded(event, len(unknown))


def _read_without_label(fields: dict[str, Any]) -> Observation | Label | None:
    """An observation without its label; None if it has none, or something else is wrong with it."""
    others = {name: value for name, value in fields.items() if name != "label"}
    if len(others) == len(fields):
        return None
    try:
        return _read(to_json(others, inf_nan_mode="constants"), Observation)
    except (ValidationError, EventError):
        return None


def _with_text_id(content: dict[str, Any]) -> dict[str, Any]:
    """The object with its id as text, where it is a whole number."""
    given = content.get("id")
    return {**content, "id": str(given)} if type(given) is int and given.bit_length() <= _MAX_ID_BITS else content


def _from_milliseconds(given: int) -> object:
    """The time from milliseconds since 1970, as JSON has it; the number itself where there is no such time."""
    try:
        return (_EPOCH + timedelta(milliseconds=given)).isoformat()
    except OverflowError:
        return given
