"""Why a record is no event: a code, and a message that is short, names the field and is harmless to print."""

from __future__ import annotations

import re
from difflib import get_close_matches
from math import isfinite
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from stream_bayes.errors import EventError
from stream_bayes.events.inputs import Label, Observation
from stream_bayes.events.quoting import LONGEST_NAME, shown
from stream_bayes.records import Source

_SIZE = ("empty-record", "too-large", "too-deep")
_CONTENT = ("not-json", "wrong-shape", "unknown-event", "unknown-content-type", "bad-id")
CODES = frozenset(_SIZE + _CONTENT)
"""Every code of an `EventError` that `decode` raises."""

_LONGEST_MESSAGE = 300
_KINDS = ("observation", "label")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Kind = type[Observation] | type[Label]
_EXPECTED = {
    "features": "an object with a text, a boolean or a finite number for each name",
    "raw": "base64",
    "label": "text (not empty), true, false, or a finite number",
    "labeller": "text (not empty)",
    "at": "a date and time such as 2026-01-31T12:00:00Z",
    "source.partition": "a whole number, 0 or more",
    "source.offset": "a whole number, 0 or more",
    "source": 'an object such as {"topic": "emails", "partition": 0, "offset": 7}',
}
_FIELD_OF_A_MAIL = re.compile(rb"(From |[A-Za-z][A-Za-z-]*: ?)")
# A string, also one that never ends, or a bracket. Possessive: time grows with the length alone.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)


def refusal(code: str, message: str) -> EventError:
    """The error of a record that is no event."""
    return EventError(code, message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…")


def refusal_of(value: bytes, kind: Kind, most_depth: int, problem: ValidationError) -> EventError:
    """Why a value that is not of this kind is none."""
    if deeper_than(value, most_depth):
        return too_deep(most_depth)
    try:
        content = from_json(value)
    except ValueError as trouble:
        hint = " (it starts with a byte order mark)" if value.startswith(_BYTE_ORDER_MARK) else ""
        if _FIELD_OF_A_MAIL.match(value):
            hint = "; a raw mail needs the record header content-type: message/rfc822"
        return refusal("not-json", f"the record is no JSON: {trouble}{hint}")
    if not isinstance(content, dict):
        return refusal("wrong-shape", "the record is JSON, but no object")
    if "type" in content and content["type"] not in _KINDS:
        return refusal("unknown-event", f"type {shown(content['type'])} is neither 'observation' nor 'label'")
    # These come first since pydantic would list every one of them, and a record has room for a hundred thousand.
    message = _unknown_field(content, kind) or _bad_feature(content.get("features"))
    return refusal("wrong-shape", message) if message else _first_of(problem)


def too_deep(most_depth: int) -> EventError:
    """The error of a record with too many arrays and objects within each other."""
    return refusal("too-deep", f"the record is nested more than {most_depth} deep (events.depth)")


def deeper_than(value: bytes, most: int) -> bool:
    """Whether more arrays and objects than this stand within each other, whether or not the rest is JSON."""
    if value.count(b"[") + value.count(b"{") <= most:
        return False
    depth = 0
    for found in _BRACKETS.finditer(value):
        if found.lastindex == 1:
            depth += 1
            if depth > most:
                return True
        elif found.lastindex == 2:
            depth -= 1
    return False


def tag_of(value: bytes) -> Any:
    """The `type` of a JSON object; nothing where there is none."""
    try:
        content = from_json(value)
    except ValueError:
        return None
    return content.get("type") if isinstance(content, dict) else None


def _unknown_field(content: dict[str, Any], kind: Kind) -> str | None:
    source = content.get("source")
    parts = (("", content, tuple(kind.model_fields)), ("source.", source, Source._fields))
    for path, part, known in parts:
        for name in part if isinstance(part, dict) else ():
            if name not in known:
                near = get_close_matches(name[:LONGEST_NAME], known, n=1)
                hint = f"did you mean {path + near[0]!r}?" if near else f"known are {', '.join(known)}"
                return f"unknown field {shown(path + name)}; {hint}"
    return None


def _bad_feature(features: object) -> str | None:
    for name, value in features.items() if isinstance(features, dict) else ():
        if not isinstance(value, str | int | float) or (isinstance(value, float) and not isfinite(value)):
            return f"field {shown(f'features.{name}')} must be text, true, false, or a finite number"
    return None


def _first_of(problem: ValidationError) -> EventError:
    first = problem.errors(include_url=False, include_input=False)[0]
    place, trouble = first["loc"], first["type"]
    if trouble == "together":
        return refusal("wrong-shape", first["ctx"]["problem"])
    # What else is in the place says which of several types was tried.
    name = ".".join(map(str, place[: 2 if place[0] == "source" else 1]))
    if trouble == "missing":
        return refusal("wrong-shape", f"field {name!r} is missing")
    if name == "id" and trouble == "string_too_short":
        return refusal("bad-id", "the id is empty")
    return refusal("wrong-shape", f"field {name!r} must be {_EXPECTED.get(name, 'text')}")
