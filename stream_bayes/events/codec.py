"""The codec of events: encoding as JSON, and decoding of records.

A record that cannot be decoded raises `EventError` and becomes a dead letter.

A record is JSON unless its header `content-type` says otherwise: `message/rfc822` is a raw mail, `text/plain` a text,
`application/cloudevents+json` a CloudEvent whose data is any of these. The attributes of a CloudEvent in binary mode
are read from the headers `ce_id` and `ce_time`.
"""

from __future__ import annotations

import codecs
import unicodedata
from base64 import b64decode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from stream_bayes.config import EventSettings
from stream_bayes.errors import EventError
from stream_bayes.events.fields import MAX_LABEL_LENGTH, Event, Moment, quote
from stream_bayes.events.rejections import (
    Kind,
    event_type,
    exceeds_depth,
    explain_rejection,
    feature_problem,
    parse_object,
    rejection,
    too_deep_error,
    unknown_fields,
)
from stream_bayes.events.schemas import Label, Observation, ObservationFields, observation_problem
from stream_bayes.records import Record, Source

_MAIL = "message/rfc822"
_MAIL_BYTES = _MAIL.encode()
_TEXT = "text/plain"
_UNKNOWN_TYPE = "unknown-content-type"
_CLOUD_EVENT = "application/cloudevents+json"
_JSON = ("application/json", "text/json")
# The depth of an observation with features. A valid event is too deep only if the limit is lower.
_DEEPEST_EVENT = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Python codecs that are no charsets, or whose time is not linear in the length of the text.
_REFUSED_CODECS = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7"})
_MAX_ID_BITS = 1024
_DEFAULT_ID_BYTES = 512
# Unicode categories that no id has: control characters, lone surrogates, line and paragraph separators.
_FORBIDDEN = ("Cc", "Cs", "Zl", "Zp")

_observation_validator = ObservationFields.__pydantic_validator__
_label_validator = Label.__pydantic_validator__
_time_adapter: TypeAdapter[datetime] = TypeAdapter(Moment)


class Limits(NamedTuple):
    """Size limits of records."""

    record_bytes: int = 1 << 20
    """Bytes of a value. Raw mails are exempt: only their beginning is parsed."""
    depth: int = 32
    """Nesting of arrays and objects; the outermost counts as one."""
    id_bytes: int = _DEFAULT_ID_BYTES
    """Bytes of an id in UTF-8."""

    @classmethod
    def from_settings(cls, settings: EventSettings) -> Limits:
        """The limits in the settings."""
        return cls(settings.record_bytes, settings.depth, settings.id_bytes)


NO_LIMITS = Limits(record_bytes=2**62, depth=200, id_bytes=2**62)
"""For records that were accepted before: the limits may have been lowered since."""


class Decoded(NamedTuple):
    """A decoded event, the number of ignored fields and the problem of its label."""

    event: Observation | Label
    unknown_fields: int = 0
    """How many fields of its JSON were ignored."""
    label_problem: EventError | None = None
    """Why the label of an observation was refused; the observation is valid without it."""


class InputEvent(NamedTuple):
    """A record with the event that it holds, or with the error that decoding it raised."""

    record: Record
    event: Observation | Label | EventError
    unknown_fields: int = 0
    """How many fields of its JSON were ignored."""
    label_problem: EventError | None = None
    """Why the label of an observation cannot be used; the observation itself can."""

    @property
    def source(self) -> Source:
        """The place of its record, which the outputs about it name."""
        return Source(self.record.topic, self.record.partition, self.record.offset)


class _Envelope(NamedTuple):
    """Id, time and label that stand in headers or CloudEvent attributes."""

    id: str | None = None
    at: datetime | None = None
    label: str | None = None
    label_problem: EventError | None = None


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


def decode(record: Record, kind: Kind, limits: Limits) -> Observation | Label:
    """Decode the event in a record; JSON without a `type` is of the expected kind.

    Raises `EventError` with one of `CODES`, and no other exception.
    """
    return decode_record(record, kind, limits).event


def decode_records(records: Iterable[Record], observations: str, limits: Limits) -> list[InputEvent]:
    """Decode records of the topic of observations, and of labels; one that cannot be decoded comes with its error."""
    events: list[InputEvent] = []
    for record in records:
        try:
            decoded = decode_record(record, Observation if record.topic == observations else Label, limits)
        except EventError as problem:
            # Its context and traceback would hold the whole batch, which holds it, until Python looks for garbage.
            problem.__context__ = None
            events.append(InputEvent(record, problem.with_traceback(None)))
        else:
            events.append(InputEvent(record, *decoded))
    return events


def decode_record(record: Record, kind: Kind, limits: Limits) -> Decoded:
    """Decode a record as `decode` does, and return what was ignored or refused as well."""
    value = record.value
    if not value:
        raise rejection("empty-record", "the record has no value")
    if record.headers:
        headers = {name.lower(): content or b"" for name, content in record.headers}
        decoded = _decode_with_headers(value, headers, kind, limits)
    else:
        _check_size(value, limits)
        decoded = _decode_json(value, kind, limits.depth)
    event = decoded.event
    if not event.id:
        object.__setattr__(event, "id", _default_id(record))
    else:
        check_id(event.id, limits.id_bytes)
    problem = decoded.label_problem
    if problem is not None:
        decoded = decoded._replace(label_problem=EventError(problem.code, str(problem), record.offset))
    return decoded


def _check_size(value: bytes, limits: Limits) -> None:
    if len(value) > limits.record_bytes:
        message = f"the record has {len(value)} bytes; at most {limits.record_bytes} are allowed (events.record_bytes)"
        raise rejection("too-large", message)


# Ids of observations


def check_id(id_: str, max_bytes: int) -> None:
    """Raise `EventError` for an id that is empty, too long, or has control characters."""
    # The length of the string and `isprintable` are cheap and decide nearly every id.
    if not id_:
        raise rejection("bad-id", "the id is empty")
    if len(id_) * 4 > max_bytes and (size := len(id_.encode("utf-8", "surrogatepass"))) > max_bytes:
        raise rejection("bad-id", f"the id has {size} bytes; at most {max_bytes} are allowed (events.id_bytes)")
    if not id_.isprintable() and any(unicodedata.category(character) in _FORBIDDEN for character in id_):
        raise rejection("bad-id", "the id has control characters in it")


def id_header(name: str) -> tuple[tuple[str, bytes], ...]:
    """Return the record header `id`; empty if the name is no valid id, so that the default id is used."""
    try:
        check_id(name, _DEFAULT_ID_BYTES)
    except EventError:
        return ()
    return (("id", name.encode()),)


def _id_from_header(value: bytes, max_bytes: int) -> str:
    """Decode and check the id in a record header."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise rejection("bad-id", "the id in the header is not UTF-8") from None
    check_id(text, max_bytes)
    return text


def _default_id(record: Record) -> str:
    """Return TOPIC-PARTITION-OFFSET, the id of an observation whose sender gave none.

    The key is not used: many records share one, such as all mails of a mailbox.
    """
    return f"{record.topic}-{record.partition}-{record.offset}"


# Records with headers


def _decode_with_headers(value: bytes, headers: Mapping[str, bytes], kind: Kind, limits: Limits) -> Decoded:
    header = headers.get("content-type")
    if header == _MAIL_BYTES:
        return _decode_content({"raw": value}, headers, limits)
    name = _JSON[0] if header is None else header.decode("utf-8", "replace")
    content_type = _without_parameters(name)
    if content_type == _MAIL:
        return _decode_content({"raw": value}, headers, limits)
    _check_size(value, limits)
    if content_type == _TEXT:
        return _decode_content({"text": _decode_text(value, name)}, headers, limits)
    if content_type == _CLOUD_EVENT:
        decoded = _decode_cloud_event(value, kind, limits)
    elif content_type in _JSON:
        decoded = _decode_json(value, kind, limits.depth)
    else:
        known = f"{_MAIL}, {_TEXT}, {_JSON[0]} nor {_CLOUD_EVENT}"
        raise rejection(_UNKNOWN_TYPE, f"content-type {quote(name)} is neither {known}")
    if isinstance(decoded.event, Observation):
        id_ = None if decoded.event.id else _id_in_headers(headers, limits)
        at = _time_in_headers(headers) if decoded.event.at is None else None
        label: str | None = None
        problem: EventError | None = None
        if "label" in headers:
            label, problem = _decode_label(headers["label"])
        decoded = _apply_envelope(decoded, _Envelope(id_, at, label, problem))
    return decoded


def _without_parameters(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _decode_text(value: bytes, content_type: str) -> str:
    """Decode a text by the charset of its content type; UTF-8 if there is none or it is unknown."""
    charset = "utf-8"
    for parameter in content_type.split(";")[1:]:
        name, _, content = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = content.strip().strip("\"'")
    try:
        if codecs.lookup(charset).name in _REFUSED_CODECS:
            charset = "utf-8"
        text = value.decode(charset, "replace")
    except (LookupError, ValueError):
        text = value.decode("utf-8", "replace")
    # UTF-16 can hold lone surrogates.
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _id_in_headers(headers: Mapping[str, bytes], limits: Limits) -> str | None:
    value = headers.get("id", headers.get("ce_id"))
    return None if value is None else _id_from_header(value, limits.id_bytes)


def _time_in_headers(headers: Mapping[str, bytes]) -> datetime | None:
    value = headers.get("ce_time")
    return None if value is None else _parse_time(value.decode("utf-8", "replace"))


def _parse_time(value: object) -> datetime:
    try:
        return _time_adapter.validate_json(to_json(value))
    except ValueError:
        message = f"the time of the CloudEvent, {quote(value)}, is no date and time such as 2026-01-31T12:00:00Z"
        raise rejection("wrong-shape", message) from None


def _decode_label(value: bytes) -> tuple[str | None, EventError | None]:
    """Return the label in the header, or the reason why it is refused."""
    try:
        return _check_label(value.decode())
    except UnicodeDecodeError:
        return None, rejection("wrong-shape", "the label in the header is not UTF-8")


def _check_label(value: str) -> tuple[str | None, EventError | None]:
    label = value.strip()
    if not 0 < len(label) <= MAX_LABEL_LENGTH:
        return None, rejection("wrong-shape", f"the label in the header must have 1 to {MAX_LABEL_LENGTH} characters")
    return label, None


def _decode_content(fields: dict[str, Any], headers: Mapping[str, bytes], limits: Limits) -> Decoded:
    """Build an observation whose content is the record value; id, time and label come from the headers."""
    problem = None
    fields["id"] = _id_in_headers(headers, limits)
    if "ce_time" in headers:
        fields["at"] = _time_in_headers(headers)
    if "label" in headers:
        fields["label"], problem = _decode_label(headers["label"])
    return _validate_observation(fields, problem)


def _validate_observation(fields: dict[str, Any], label_problem: EventError | None) -> Decoded:
    event: Observation = _observation_validator.validate_python(fields, self_instance=Observation.__new__(Observation))
    return Decoded(event, 0, label_problem)


def _apply_envelope(decoded: Decoded, envelope: _Envelope) -> Decoded:
    """Fill missing id, time and label from the envelope; the label of the content takes precedence."""
    event = decoded.event
    has_label = event.label is not None or decoded.label_problem is not None
    for name in ("id", "at") if has_label else ("id", "at", "label"):
        if getattr(event, name) is None and getattr(envelope, name) is not None:
            object.__setattr__(event, name, getattr(envelope, name))
    return decoded if has_label else decoded._replace(label_problem=envelope.label_problem)


# CloudEvents in structured mode


def _decode_cloud_event(value: bytes, kind: Kind, limits: Limits) -> Decoded:
    attributes = parse_object(value, limits.depth)
    data = attributes.get("data")
    content_type = attributes.get("datacontenttype")
    content_type = content_type if isinstance(content_type, str) else _JSON[0]
    if isinstance(encoded := attributes.get("data_base64"), str):
        try:
            data = b64decode(encoded, validate=True)
        except ValueError:
            raise rejection("wrong-shape", "field 'data_base64' must be base64") from None
    envelope = _parse_envelope(attributes)
    if isinstance(data, dict):
        decoded = _decode_object(data, kind)
    elif isinstance(data, str | bytes):
        decoded = _decode_cloud_data(data, content_type, envelope, kind, limits)
    else:
        raise rejection("wrong-shape", "the CloudEvent must have data: an object, a text, or base64 as data_base64")
    return _apply_envelope(decoded, envelope) if isinstance(decoded.event, Observation) else decoded


def _parse_envelope(attributes: dict[str, Any]) -> _Envelope:
    """Read id, time and the extension attribute `label` of a CloudEvent."""
    label: str | None = None
    problem: EventError | None = None
    if isinstance(attributes.get("label"), str):
        label, problem = _check_label(attributes["label"])
    id_ = _with_text_id(attributes).get("id")
    if id_ is not None and not isinstance(id_, str):
        raise rejection("bad-id", "the id of the CloudEvent must be text")
    at = None if attributes.get("time") is None else _parse_time(attributes["time"])
    return _Envelope(id_ or None, at, label, problem)


def _decode_cloud_data(
    data: str | bytes, content_type: str, envelope: _Envelope, kind: Kind, limits: Limits
) -> Decoded:
    """Decode CloudEvent data that is a string, or bytes from base64."""
    form = _without_parameters(content_type)
    if form == _MAIL:
        raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
        return _validate_observation({"raw": raw, "label": envelope.label}, envelope.label_problem)
    if isinstance(data, str):
        return _validate_observation({"text": data, "label": envelope.label}, envelope.label_problem)
    if form == _TEXT:
        text = _decode_text(data, content_type)
        return _validate_observation({"text": text, "label": envelope.label}, envelope.label_problem)
    if form in _JSON:
        return _decode_json(data, kind, limits.depth)
    known = f"{_MAIL}, {_TEXT} nor {_JSON[0]}"
    raise rejection(_UNKNOWN_TYPE, f"datacontenttype {quote(content_type)} is neither {known}")


# JSON


def _decode_json(value: bytes, kind: Kind, max_depth: int) -> Decoded:
    try:
        event = _validate_json(value, kind)
    except (ValidationError, EventError):
        return _decode_object(parse_object(value, max_depth), kind)
    if max_depth < _DEEPEST_EVENT and exceeds_depth(value, max_depth):
        raise too_deep_error(max_depth)
    return Decoded(event)


def _validate_json(value: bytes, kind: Kind) -> Observation | Label:
    """Validate JSON as an event; the id of an observation may still be None, and is set by `decode_record`."""
    if kind is Label:
        label: Label = _label_validator.validate_json(value)
        return label
    event: Observation = _observation_validator.validate_json(value, self_instance=Observation.__new__(Observation))
    if problem := observation_problem(event):
        raise rejection("wrong-shape", problem)
    return event


def _decode_object(content: dict[str, Any], expected: Kind) -> Decoded:
    """Decode a JSON object leniently.

    Unknown fields are ignored, an id may be an integer, and a time may be in milliseconds since 1970. If only the label
    of an observation is invalid, the observation is decoded without it.
    """
    kind = event_type(content, expected)
    if message := feature_problem(content.get("features")):
        raise rejection("wrong-shape", message)
    unknown = unknown_fields(content, kind)
    fields = {name: value for name, value in _with_text_id(content).items() if name in kind.model_fields}
    if any(path == "source" for path, _ in unknown):
        fields["source"] = {name: value for name, value in fields["source"].items() if ("source", name) not in unknown}
    if type(fields.get("at")) is int:
        fields["at"] = _from_milliseconds(fields["at"])
    try:
        event = _validate_json(to_json(fields, inf_nan_mode="constants"), kind)
    except (ValidationError, EventError) as problem:
        # The traceback would make a reference cycle with this frame.
        refused = explain_rejection(content, kind, problem).with_traceback(None)
        unlabelled = None if kind is Label else _validate_without_label(fields)
        if unlabelled is None:
            raise refused from None
        return Decoded(unlabelled, len(unknown), refused)
    return Decoded(event, len(unknown))


def _validate_without_label(fields: dict[str, Any]) -> Observation | Label | None:
    """Validate an observation without its label; None if it has none, or another field is invalid."""
    unlabelled = {name: value for name, value in fields.items() if name != "label"}
    if len(unlabelled) == len(fields):
        return None
    try:
        return _validate_json(to_json(unlabelled, inf_nan_mode="constants"), Observation)
    except (ValidationError, EventError):
        return None


def _with_text_id(content: dict[str, Any]) -> dict[str, Any]:
    """Return the object with an integer id converted to text."""
    id_ = content.get("id")
    return {**content, "id": str(id_)} if type(id_) is int and id_.bit_length() <= _MAX_ID_BITS else content


def _from_milliseconds(milliseconds: int) -> object:
    """Convert milliseconds since 1970 to an ISO time; return the number itself if it is out of range."""
    try:
        return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat()
    except OverflowError:
        return milliseconds
