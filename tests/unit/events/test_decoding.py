from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.errors import EventError
from stream_bayes.events import CODES, Label, Limits, Observation, decode, decode_record
from tests.support.events import HEADERS, LIMITS, MAIL, observed, record_of
from tests.support.fuzzed_records import outcome_of

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([*Observation.model_fields, *Label.model_fields, "unknown"])
NESTED_FEATURES = b'{"id":"a","features":' + b'{"a":' * 31 + b"1" + b"}" * 32


def refused(value: bytes, kind: type[Observation] | type[Label] = Observation, **record: Any) -> tuple[str, str]:
    """The code and the message of the error that a record with this value is."""
    with pytest.raises(EventError) as caught:
        decode(record_of(value, **record), kind, LIMITS)
    return caught.value.code, str(caught.value)


REFUSED = [
    (b"", "empty-record", "the record has no value"),
    (b"x" * (LIMITS.record_bytes + 1), "too-large", "has 1048577 bytes; at most 1048576 are allowed (events.record_by"),
    (b"[" * 33, "too-deep", "nested more than 32 deep (events.depth)"),
    (b"[" * 1_000_000, "too-deep", "nested"),
    (NESTED_FEATURES.replace(b"1", b"[]") + b"}", "too-deep", "nested"),
    (b'["' + b"[" * 100 + b'"]', "wrong-shape", "JSON, but no object"),
    (b"hello", "not-json", "expected value at line 1 column 1"),
    (b'{"id":"a"', "not-json", "EOF"),
    (b'{"id":"\xff"}', "not-json", "unicode"),
    (b'\xef\xbb\xbf{"id":"a"}', "not-json", "byte order mark"),
    (b'{"text":"\\ud800"}', "not-json", "hex escape"),
    (b'{"label":' + b"9" * 5000 + b"}", "not-json", "number out of range"),
    (b"\x00", "not-json", "expected value"),
    (b"null", "wrong-shape", "JSON, but no object"),
    (b'[{"id":"a"}]', "wrong-shape", "JSON, but no object"),
    (b'{"type":"prediction"}', "unknown-event", "type 'prediction' is neither 'observation' nor 'label'"),
    (b'{"type":["label"]}', "unknown-event", "type \"['label']\" is neither"),
    (b'{"type":null}', "unknown-event", "type 'None' is neither"),
    (b'{"id":"a"}', "wrong-shape", "exactly one of features, text and raw must be given, not none"),
    (b'{"text":"a","raw":"YQ=="}', "wrong-shape", "must be given, not text and raw"),
    (b'{"text":null}', "wrong-shape", "must be given, not none"),
    (b'{"txet":"a","\\u001b[2J":1}', "wrong-shape", "unknown field 'txet'; did you mean 'text'?"),
    (b'{"\\u001b[2Jtext":1}', "wrong-shape", r"unknown field '\x1b[2Jtext'; did you mean 'text'?"),
    (b'{"text":5}', "wrong-shape", "field 'text' must be text"),
    (b'{"raw":"*"}', "wrong-shape", "field 'raw' must be base64"),
    (b'{"text":"a","at":5.5}', "wrong-shape", "field 'at' must be a date and time such as 2026-01-31T12:00:00Z"),
    (b'{"features":[1]}', "wrong-shape", "field 'features' must be an object with a text, a boolean or a finite"),
    (b'{"features":{"x":null}}', "wrong-shape", "field 'features.x' must be text, true, false, or a finite number"),
    (b'{"features":{"x":-Infinity}}', "wrong-shape", "field 'features.x' must be text"),
    (b'{"features":{"x":-9223372036854775809}}', "wrong-shape", "field 'features.x' must be within 64 bits"),
    (b'{"features":{"\\u001b":9223372036854775808}}', "wrong-shape", r"field 'features.\x1b' must be within 64 bits"),
    (b'{"id":5.0,"text":"a"}', "wrong-shape", "field 'id' must be text or a whole number"),
    (b'{"id":true,"text":"a"}', "wrong-shape", "field 'id' must be text or a whole number"),
    (b'{"id":"","text":"a"}', "bad-id", "the id is empty"),
    (b'{"id":"a\\u0000","text":"a"}', "bad-id", "the id has control characters in it"),
    (b'{"id":"a\\u2028","text":"a"}', "bad-id", "the id has control characters in it"),
    (b'{"id":"' + b"a" * 1_000_000 + b'","text":"a"}', "bad-id", "the id has 1000000 bytes; at most 512 are allowed"),
    (b'{"type":"label","id":"a"}', "wrong-shape", "field 'label' is missing"),
    (b'{"type":"label","id":"a","label":9223372036854775808}', "wrong-shape", "field 'label' must be within 64 bits"),
    (b'{"type":"label","id":"a","label":1,"labeller":""}', "wrong-shape", "field 'labeller' must be text (not empty)"),
    (b'{"type":"label","label":1}', "wrong-shape", "field 'id' is missing"),
    (b'{"type":"label","id":"a","label":1,"source":[]}', "wrong-shape", "field 'source' must be an object such as"),
    (b'{"type":"label","id":"a","label":1,"source":{"topc":"a"}}', "wrong-shape", "did you mean 'source.topic'?"),
    (
        b'{"type":"label","id":"a","label":1,"source":{"topic":"a","partition":-1,"offset":0}}',
        "wrong-shape",
        "field 'source.partition' must be a whole number, 0 or more",
    ),
    (b'{"type":"label","id":"a","label":1,"source":{"topic":"a"}}', "wrong-shape", "'source.partition' is missing"),
]


@pytest.mark.parametrize(("value", "code", "reason"), REFUSED, ids=[f"{n}-{row[1]}" for n, row in enumerate(REFUSED)])
def test_records_that_are_no_event_are_refused_with_code_and_reason(value: bytes, code: str, reason: str) -> None:
    found, message = refused(value)
    assert found == code
    assert reason in message
    assert len(message) <= 300
    assert message.isprintable()


def test_every_code_is_tested() -> None:
    assert {row[1] for row in REFUSED} | {"unknown-content-type"} == CODES


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        b'{"features":{' + b",".join(b'"%x":[]' % n for n in range(90_000)) + b"}}",
        b"{" + b",".join(b'"%x":0' % n for n in range(100_000)) + b"}",
        b'{"text":' + b'"\\"' * 100_000,
        b"[" + b"[]," * 100_000,
        b'{"' + b"k" * 1_000_000 + b'":1}',
    ],
)
def test_a_record_with_a_thousand_errors_has_one_short_message(value: bytes) -> None:
    code, message = refused(value)
    assert code in {"wrong-shape", "not-json"}
    assert len(message) <= 300


def test_nesting_is_counted_outside_of_texts_only() -> None:
    assert observed(json.dumps({"text": '\\"' + "[" * 1000}).encode()).text == '\\"' + "[" * 1000
    assert refused(b'{"text":"' + b'\\"[' * 100)[0] == "not-json"
    with pytest.raises(EventError, match="more than 1 deep"):
        observed(b'{"features":{}}', limits=Limits(depth=1))


@pytest.mark.parametrize("kind", [Observation, Label])
def test_an_event_with_a_type_may_come_in_either_topic(kind: type[Observation] | type[Label]) -> None:
    for value in (b'{"type":"label","id":"a","label":1}', b'{"label":1,"id":"a","type":"label"}'):
        assert decode(record_of(value), kind, LIMITS) == Label(id="a", label=1)
    assert decode(record_of(b'{"text":"b","id":"a","type":"observation"}'), kind, LIMITS) == Observation(
        id="a", text="b"
    )
    assert refused(b'{"type":"observation","id":"a","label":1}', kind)[1].startswith("exactly one of")


def test_without_a_type_the_topic_decides() -> None:
    assert decode(record_of(b'{"id":"a","label":1}'), Label, LIMITS) == Label(id="a", label=1)
    assert refused(b'{"id":"a","label":1}') == (
        "wrong-shape",
        "exactly one of features, text and raw must be given, not none",
    )
    assert refused(b'{"id":"a","text":"b"}', Label) == ("wrong-shape", "field 'label' is missing")


def test_of_a_field_given_twice_the_last_counts() -> None:
    assert observed(b'{"id":"a","text":"b","id":"c","text":"d"}') == Observation(id="c", text="d")


@pytest.mark.parametrize("key", [b"k-1", None, b"", b"\xff"])
def test_item01_without_an_id_it_is_the_place_and_never_the_key(key: bytes | None) -> None:
    expected = "emails-2-7"
    assert observed(b'{"text":"b"}', key) == Observation(id=expected, text="b")
    assert observed(b'{"text":"b","id":null}', key).id == expected
    assert observed(MAIL, key, HEADERS) == Observation(id=expected, raw=MAIL)
    assert observed(b'{"text":"b","id":"given"}', key).id == "given"


@pytest.mark.parametrize("content_type", [b"message/rfc822", b" Message/RFC822 ; charset=utf-8", b"MESSAGE/rfc822;"])
@pytest.mark.parametrize("kind", [Observation, Label])
def test_a_raw_mail_is_an_observation(content_type: bytes, kind: type[Observation] | type[Label]) -> None:
    headers = (("Content-Type", content_type), ("label", b" spam "), ("id", "né".encode()), ("other", b"\xff"))
    event = decode(record_of(MAIL, b"key", headers), kind, LIMITS)
    assert event == Observation(id="né", raw=MAIL, label="spam")
    assert type(event) is Observation


@pytest.mark.parametrize("content_type", [b"application/json", b"Application/JSON; charset=utf-8", b"text/json"])
def test_json_may_say_that_it_is_json(content_type: bytes) -> None:
    assert observed(b'{"text":"b"}', b"a", (("content-type", content_type), ("id", b"b"))) == Observation(
        id="b", text="b"
    )


@pytest.mark.parametrize(
    ("headers", "code", "reason"),
    [
        ({"content-type": b"text/plain\x1b"}, "unknown-content-type", r"content-type 'text/plain\x1b' is neither"),
        ({"content-type": b""}, "unknown-content-type", "content-type '' is neither message/rfc822, text/plain, app"),
        ({"content-type": b"\xff" * 400}, "unknown-content-type", "…' is neither"),
        ({"content-type": b"message/rfc822", "id": b"\xff"}, "bad-id", "the id in the header is not UTF-8"),
        ({"content-type": b"message/rfc822", "id": b""}, "bad-id", "the id is empty"),
        ({"content-type": b"message/rfc822", "id": b"a\r\nb"}, "bad-id", "control characters"),
    ],
)
def test_bad_headers(headers: dict[str, bytes], code: str, reason: str) -> None:
    found, message = refused(MAIL, headers=tuple(headers.items()))
    assert found == code
    assert reason in message


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (b"\xff", "the label in the header is not UTF-8"),
        (b"", "the label in the header must have 1 to 256 characters"),
        (b"x" * 257, "the label in the header must have 1 to 256 characters"),
    ],
)
def test_item04_a_bad_label_in_the_header_leaves_a_good_mail(label: bytes, reason: str) -> None:
    decoded = decode_record(record_of(MAIL, None, (*HEADERS, ("label", label))), Observation, LIMITS)
    assert decoded.event == Observation(id="emails-2-7", raw=MAIL)
    assert decoded.label_problem is not None
    assert (decoded.label_problem.code, str(decoded.label_problem)) == ("wrong-shape", reason)


@given(st.binary(max_size=200), st.none() | st.binary(max_size=8), st.sampled_from([Observation, Label]))
def test_any_bytes_are_an_event_or_an_error(
    value: bytes, key: bytes | None, kind: type[Observation] | type[Label]
) -> None:
    for headers in ((), HEADERS, ((value[:3].decode("latin-1"), value),), (("content-type", value),)):
        outcome_of(record_of(value, key, headers), kind)


@pytest.mark.slow
@given(st.dictionaries(NAMES, JSON_VALUES) | JSON_VALUES, st.sampled_from([Observation, Label]))
def test_any_json_is_an_event_or_an_error(content: object, kind: type[Observation] | type[Label]) -> None:
    outcome_of(record_of(json.dumps(content).encode()), kind)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (b'""', "field 'label' must be text (not empty), true, false, or a finite"),
        (b"1e400", "field 'label' must be"),
        (b"NaN", "field 'label' must be"),
        (b"9223372036854775808", "field 'label' must be within 64 bits"),
    ],
)
def test_item04_an_observation_with_an_invalid_label_is_kept_without_it(label: bytes, reason: str) -> None:
    decoded = decode_record(record_of(b'{"text":"a","label":' + label + b"}"), Observation, LIMITS)
    assert (decoded.event.label, decoded.label_problem is None) == (None, False)
    assert decoded.label_problem is not None
    assert decoded.label_problem.code == "wrong-shape"
    assert reason in str(decoded.label_problem)
    assert decoded.label_problem.__traceback__ is None
