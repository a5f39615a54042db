"""Events as other people's producers write them: CloudEvents, texts, unknown fields, whole numbers as ids."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest

from stream_bayes.errors import EventError
from stream_bayes.events import Label, Limits, Observation, decode, decode_record, encode
from tests.support.events import HEADERS, LIMITS, MAIL, observed, record_of

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
CLOUD_EVENT = (("content-type", b"application/cloudevents+json; charset=utf-8"),)
ATTRIBUTES = {"specversion": "1.0", "id": "ce-1", "source": "/mail", "type": "mail.received", "time": AT.isoformat()}


def cloud_event(**fields: Any) -> Observation:
    """The observation in a CloudEvent in structured mode."""
    return observed(json.dumps({**ATTRIBUTES, **fields}).encode(), b"key", CLOUD_EVENT)


def refused(value: bytes, headers: tuple[tuple[str, bytes], ...] = ()) -> tuple[str, str]:
    """The code and the message of the error of a record."""
    with pytest.raises(EventError) as caught:
        decode(record_of(value, None, headers), Observation, LIMITS)
    return caught.value.code, str(caught.value)


@pytest.mark.parametrize(
    "headers", [(("id", b"given"),), (("ce_id", b"given"),), (("ce_id", b"other"), ("id", b"given"))]
)
def test_item01_the_id_is_that_of_the_header(headers: tuple[tuple[str, bytes], ...]) -> None:
    assert observed(MAIL, b"mailbox", (*HEADERS, *headers)) == Observation(id="given", raw=MAIL)
    assert observed(b'{"text":"b"}', b"mailbox", headers) == Observation(id="given", text="b")
    assert observed(b'{"text":"b","id":"own"}', b"mailbox", headers) == Observation(id="own", text="b")


def test_item01_the_id_of_a_label_is_that_of_its_observation_only() -> None:
    headers = (("ce_id", b"message-7"),)
    assert decode(record_of(b'{"id":"a","label":1}', None, headers), Label, LIMITS) == Label(id="a", label=1)
    with pytest.raises(EventError, match="'id' is missing"):
        decode(record_of(b'{"label":1}', b"key", headers), Label, LIMITS)


def test_item03_a_raw_mail_may_be_larger_than_other_events() -> None:
    limits = Limits(record_bytes=100)
    raw = MAIL + b"x" * 10_000
    assert observed(raw, None, HEADERS, limits) == Observation(id="emails-2-7", raw=raw)
    for headers in ((), (("content-type", b"text/plain"),), CLOUD_EVENT):
        with pytest.raises(EventError, match=r"at most 100 are allowed \(events.record_bytes\)"):
            observed(b'{"text":"' + b"a" * 100 + b'"}', None, headers, limits)


def test_item07_unknown_fields_are_ignored_and_counted() -> None:
    value = b'{"text":"a","tenant":{"name":"x"},"features2":[1],"id":"n"}'
    decoded = decode_record(record_of(value), Observation, LIMITS)
    assert (decoded.event, decoded.unknown_fields) == (Observation(id="n", text="a"), 2)
    value = b'{"id":"n","label":1,"source":{"topic":"emails","partition":0,"offset":1,"epoch":3},"why":"so"}'
    decoded = decode_record(record_of(value), Label, LIMITS)
    assert isinstance(decoded.event, Label)
    assert (decoded.event.source, decoded.unknown_fields) == (("emails", 0, 1), 2)
    assert refused(b'{"text":"a","other":' + b"[" * 40 + b"]" * 40 + b"}")[0] == "too-deep"


def test_item07_whole_numbers_are_ids_and_milliseconds_are_times() -> None:
    event = observed(b'{"text":"a","id":12345678901234567890,"at":1769860800000}')
    assert event == Observation(id="12345678901234567890", text="a", at=AT)
    assert observed(encode(event)) == event
    label = decode(record_of(b'{"id":-5,"label":"ham","at":1769860800000}'), Label, LIMITS)
    assert label == Label(id="-5", label="ham", at=AT)
    assert refused(b'{"text":"a","at":99999999999999999999}')[0] == "wrong-shape"


@pytest.mark.parametrize(
    ("content_type", "value", "text"),
    [
        (b"text/plain", "caf\u00e9".encode(), "caf\u00e9"),
        (b"Text/Plain; charset=ISO-8859-1", b"caf\xe9", "caf\u00e9"),
        (b'text/plain; format=flowed; charset="utf-16-le"', "caf\u00e9".encode("utf-16-le"), "caf\u00e9"),
        (b"text/plain; charset=nobody-knows", "caf\u00e9".encode(), "caf\u00e9"),
        (b"text/plain; charset=hex", b"6869", "6869"),
        (b"text/plain; charset=punycode", b"hi-", "hi-"),
        (b"text/plain; charset=utf-8", b"caf\xe9", "caf\ufffd"),
        (b"text/plain", b'{"text":"no JSON"}', '{"text":"no JSON"}'),
    ],
)
def test_item07_text_plain_is_a_text(content_type: bytes, value: bytes, text: str) -> None:
    headers = (("content-type", content_type), ("label", b"ham"), ("id", b"t"))
    assert observed(value, b"key", headers) == Observation(id="t", text=text, label="ham")


def test_item07_cloud_events_in_structured_mode() -> None:
    assert cloud_event(data={"text": "a", "label": "ham"}) == Observation(id="ce-1", text="a", label="ham", at=AT)
    assert cloud_event(data={"features": {"x": 1}, "id": "own"}).id == "own"
    assert cloud_event(id=7, data={"text": "a"}).id == "7"
    assert cloud_event(data="a text") == Observation(id="ce-1", text="a text", at=AT)
    mail = {"datacontenttype": "message/rfc822", "label": "spam"}
    expected = Observation(id="ce-1", raw=MAIL, label="spam", at=AT)
    assert cloud_event(data_base64=b64encode(MAIL).decode(), **mail) == expected
    assert cloud_event(data="Subject: a\n\nb", **mail).raw == b"Subject: a\n\nb"
    text = {"datacontenttype": "text/plain; charset=latin-1"}
    assert cloud_event(data_base64=b64encode(b"caf\xe9").decode(), **text).text == "caf\u00e9"
    assert cloud_event(data_base64=b64encode(b'{"text":"a"}').decode()).text == "a"
    value = json.dumps({**ATTRIBUTES, "data": {"id": "a", "label": "ham", "more": 1}}).encode()
    decoded = decode_record(record_of(value, None, CLOUD_EVENT), Label, LIMITS)
    assert (decoded.event, decoded.unknown_fields) == (Label(id="a", label="ham"), 1)


def test_item07_cloud_events_in_binary_mode() -> None:
    attributes = (("ce_specversion", b"1.0"), ("ce_id", b"ce-1"), ("ce_time", b"2026-01-31T12:00:00.000000000Z"))
    assert observed(MAIL, b"key", (*HEADERS, *attributes)) == Observation(id="ce-1", raw=MAIL, at=AT)
    json_type = ("content-type", b"application/json")
    assert observed(b'{"text":"a"}', b"key", (json_type, *attributes)) == Observation(id="ce-1", text="a", at=AT)


@pytest.mark.parametrize(
    ("fields", "code", "reason"),
    [
        ({}, "wrong-shape", "must have data"),
        ({"data": [1]}, "wrong-shape", "must have data"),
        ({"data_base64": "*"}, "wrong-shape", "field 'data_base64' must be base64"),
        ({"data": {"txet": "a"}}, "wrong-shape", "did you mean 'text'?"),
        ({"data": {"text": "a"}, "time": "yesterday"}, "wrong-shape", "the time of the CloudEvent, 'yesterday'"),
        ({"data": {"text": "a"}, "id": ["a"]}, "bad-id", "the id of the CloudEvent must be text"),
        (
            {"data_base64": "YQ==", "datacontenttype": "image/gif"},
            "unknown-content-type",
            "datacontenttype 'image/gif'",
        ),
    ],
)
def test_item07_cloud_events_that_cannot_be_read(fields: dict[str, Any], code: str, reason: str) -> None:
    found, message = refused(json.dumps({**ATTRIBUTES, **fields}).encode(), CLOUD_EVENT)
    assert found == code
    assert reason in message


def test_item07_the_bytes_of_a_schema_registry_are_named() -> None:
    code, message = refused(b'\x00\x00\x00\x01\x02{"text":"a"}')
    assert code == "not-json"
    assert "starts with the five bytes of a schema registry (schema id 258)" in message


def test_item07_a_label_beside_the_data_is_that_of_the_observation() -> None:
    cloud = json.dumps({"id": "a", "label": "spam", "data": {"text": "x"}}).encode()
    record = record_of(cloud, None, (("content-type", b"application/cloudevents+json"),))
    assert decode_record(record, Observation, LIMITS).event.label == "spam"
    record = record_of(b'{"text": "x"}', None, (("label", b"spam"),))
    assert decode_record(record, Observation, LIMITS).event.label == "spam"
    record = record_of(b'{"text": "x", "label": "ham"}', None, (("label", b"spam"),))
    assert decode_record(record, Observation, LIMITS).event.label == "ham"
    record = record_of(b'{"text": "x"}', None, (("label", b"\xff"),))
    problem = decode_record(record, Observation, LIMITS).label_problem
    assert problem is not None
    assert problem.code == "wrong-shape"
