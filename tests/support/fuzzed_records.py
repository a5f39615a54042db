"""Random invalid records: each must decode to an event, or to an error with a known code."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from stream_bayes.errors import EventError
from stream_bayes.events import CODES, Label, Limits, Observation, decode, encode
from stream_bayes.records import Record
from tests.support.events import GOLDEN, MAIL, record_of
from tests.support.mutations import cut_out, cut_short, double, flip_bits, insert_noise, splice

LIMITS = Limits(record_bytes=4096)
"""Less than by default, so that what is too large need not be large."""

# Those that may come in more often than those that may not.
_INPUTS = tuple(value for value, event in GOLDEN.items() if isinstance(event, Observation | Label))
_VALID = (*_INPUTS * 4, *GOLDEN)
_OBJECTS: tuple[dict[str, Any], ...] = tuple(map(json.loads, _VALID))
_NAMES = tuple(
    sorted({name for content in _OBJECTS for name in content} | {"", "lable", "Type", "\x00", "ｉｄ", "x" * 600})
)
_ODD_TEXTS = (
    *("", "\x00", "a\nb", "\u2028", "x" * 513, "é" * 300, "=", "YQ", "-_-_", "2026-01-31", "99999-01-01"),
    "1e400",
)
_ODD_NUMBERS = (*(0, -1, 2**63, -(2**63) - 1, 10**30, 10**400, 1e308, -0.0), float("nan"), float("inf"))
_ODD_OBJECTS: tuple[Any, ...] = (
    None,
    True,
    [],
    {},
    [[]],
    {"": {}},
    {"topic": 1},
    {"x": float("nan")},
    {"x": None},
    [1] * 50,
)
_PIECES = (
    *(
        b"[" * 40,
        b"{" * 300,
        b'{"a":' * 50,
        b"]",
        b"}",
        b'"',
        b"\\",
        b",",
        b":",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xff",
        b"null",
    ),
    *(b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"9" * 25, b"-", b"0x1", b"\\ud800", b"\\u0000", b'"type":"label",'),
    *(
        b'"id":"b",',
        b'"text":"b",',
        b'"raw":"*",',
        b"/*",
        b" " * 5000,
        b'"features":{"a":[1]},',
        b"\xed\xa0\x80",
        b"\r\n",
    ),
)
_CONTENT_TYPES = (
    *(b"message/rfc822", b"application/json", b"text/plain", b"", b"\xff", b"message/rfc822;" + b"x" * 99),
    *(b"text/plain; charset=utf-16", b"text/plain;charset=\xff", b"application/cloudevents+json"),
)
_TIMES = (b"2026-01-31T12:00:00Z", b"1769860800000", b"\xff", b"")


def outcome_of(record: Record, kind: type[Observation] | type[Label], limits: Limits | None = None) -> str:
    """The type of the event in a record, which must survive being written and read again, or the code of the error."""
    limits = limits or Limits()
    try:
        event = decode(record, kind, limits)
    except EventError as problem:
        code = problem.code
        message = str(problem)
        if code not in CODES or len(message) > 300 or not message.isprintable():
            complaint = f"the error {code!r} with the message {message!r} of {record!r}"
            raise AssertionError(complaint) from problem
        return code
    except Exception as problem:
        complaint = f"{type(problem).__name__} from {record!r}"
        raise AssertionError(complaint) from problem
    assert type(event) in {Observation, Label}, f"{event!r} from {record!r}"
    # What was raw before is longer as base64.
    again = decode(record._replace(value=encode(event), headers=()), kind, limits._replace(record_bytes=1 << 20))
    assert again == event, f"{event!r} and, read again, {again!r} from {record!r}"
    return event.type


def random_record(rng: random.Random) -> Record:
    """A record of noise, of a damaged event, or of an event with odd fields."""
    value = rng.choice(_MAKERS)(rng)
    key = rng.choice((None, b"", b"key", b"\xff", b"k" * 600, value[:20]))
    headers: tuple[tuple[str, bytes], ...] = ()
    if rng.random() < 0.15:
        headers = tuple(
            (name, rng.choice((b"spam", b"", b"\xff\x00", value[:20]))) for name in ("label", "id", "ce_id", "other")
        )
        headers = (*headers, ("ce_time", rng.choice(_TIMES)))
        headers = (("Content-Type", rng.choice(_CONTENT_TYPES)), *rng.sample(headers, rng.randrange(4)))
    elif value.startswith(b'{"specversion"'):
        headers = (("content-type", b"application/cloudevents+json"),)
    return record_of(value, key, headers)


def _noise(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 2, 50, 200, 5000)))


def _noise_of_json(rng: random.Random) -> bytes:
    return bytes(rng.choices(b'{}[]",:\\ \n0123456789eE+-.truefalsnNIy\xff\x00', k=rng.randrange(60)))


def _mutated(rng: random.Random) -> bytes:
    value = rng.choice(_VALID)
    for _ in range(rng.randrange(3)):
        value = rng.choice(_MUTATIONS)(value, _VALID, rng)
    return value


def _with_a_piece(value: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    place = rng.randrange(len(value) + 1)
    return value[:place] + rng.choice(_PIECES) + value[place:]


def _with_other_fields(rng: random.Random) -> bytes:
    content = dict(rng.choice(_OBJECTS))
    for _ in range(rng.randrange(1, 3)):
        name = rng.choice(_NAMES if rng.random() < 0.5 else tuple(content) or _NAMES)
        if rng.random() < 0.3:
            content.pop(name, None)
        else:
            content[name] = rng.choice(rng.choice((_ODD_TEXTS, _ODD_NUMBERS, _ODD_OBJECTS)))
    return json.dumps(content, ensure_ascii=rng.random() < 0.5).encode()


def _cloud_event(rng: random.Random) -> bytes:
    """The attributes and the data of a CloudEvent, some of them odd."""
    content: dict[str, Any] = {"specversion": "1.0", "id": "ce-1", "time": "2026-01-31T12:00:00Z"}
    content["data"] = rng.choice((rng.choice(_OBJECTS), "text", rng.choice(_ODD_OBJECTS)))
    if rng.random() < 0.3:
        content["data_base64"] = rng.choice(("YQ==", "*", b64encode(rng.choice(_VALID)).decode()))
        content["datacontenttype"] = rng.choice(("message/rfc822", "text/plain", "application/json", "image/gif"))
    if rng.random() < 0.3:
        content[rng.choice(("id", "time", "label", "datacontenttype"))] = rng.choice((*_ODD_TEXTS, *_ODD_NUMBERS))
    return json.dumps(content).encode()


def _mail(rng: random.Random) -> bytes:
    return rng.choice(_MUTATIONS)(MAIL, _VALID, rng)


_MUTATIONS = (flip_bits, cut_short, cut_out, double, splice, insert_noise, _with_a_piece, _with_a_piece)
_MAKERS = (
    _noise,
    _noise_of_json,
    _mail,
    _mutated,
    _mutated,
    _mutated,
    _with_other_fields,
    _with_other_fields,
    _cloud_event,
)
