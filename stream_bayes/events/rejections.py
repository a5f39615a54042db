"""Why a record is no event: a code, and a message that is short, names the field and is harmless to print."""

from __future__ import annotations

import re
from difflib import get_close_matches
from math import isfinite
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from stream_bayes.errors import EventError
from stream_bayes.events.quoting import LONGEST_NAME, shown
from stream_bayes.events.schemas import Label, Observation
from stream_bayes.records import Source

_SIZE = ("empty-record", "too-large", "too-deep")
_CONTENT = ("not-json", "wrong-shape", "unknown-event", "unknown-content-type", "bad-id")
CODES = frozenset(_SIZE + _CONTENT)
"""Every code of an `EventError` that `decode` raises."""

_LONGEST_MESSAGE = 300
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What the serializers of a schema registry put before a value: a zero and the number of the schema.
_REGISTRY_BYTES = 5
Kind = type[Observation] | type[Label]
_KINDS: dict[str, Kind] = {"observation": Observation, "label": Label}
# At most this number of unknown field names are compared with known ones.
_MAX_COMPARED = 20
_EXPECTED = {
    "features": "an object with a text, a boolean or a finite number for each name",
    "raw": "base64",
    "label": "text (not empty), true, false, or a finite number",
    "labeller": "text (not empty)",
    "id": "text or a whole number",
    "at": "a date and time such as 2026-01-31T12:00:00Z, or milliseconds since 1970",
    "source.partition": "a whole number, 0 or more",
    "source.offset": "a whole number, 0 or more",
    "source": 'an object such as {"topic": "emails", "partition": 0, "offset": 7}',
}
_FIELD_OF_A_MAIL = re.compile(rb"(From |[A-Za-z][A-Za-z-]*: ?)")
# A string, also one that never ends, or a bracket. Possessive: time grows with the length alone.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)


def rejection(code: str, message: str) -> EventError:
    """The error of a record that is no event."""
    return EventError(code, message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…")


def object_of(value: bytes, most_depth: int) -> dict[str, Any]:
    """The JSON object that a value is; an `EventError` says why it is none."""
    if deeper_than(value, most_depth):
        raise too_deep(most_depth)
    try:
        content = from_json(value)
    except ValueError as trouble:
        raise _not_json(value, trouble) from None
    if not isinstance(content, dict):
        raise rejection("wrong-shape", "the record is JSON, but no object")
    return content


def kind_of(content: dict[str, Any], expected: Kind) -> Kind:
    """The kind of event that an object says it is, by its `type`; the expected one where it says nothing."""
    if "type" not in content:
        return expected
    kind = _KINDS.get(content["type"]) if isinstance(content["type"], str) else None
    if kind is None:
        raise rejection("unknown-event", f"type {shown(content['type'])} is neither 'observation' nor 'label'")
    return kind


def rejection_of(content: dict[str, Any], kind: Kind, problem: ValidationError | EventError) -> EventError:
    """Why an object is no event of this kind; the problem is that of its known fields."""
    message = _mistyped_field(content, kind)
    if message:
        return rejection("wrong-shape", message)
    return problem if isinstance(problem, EventError) else _first_of(problem)


def _not_json(value: bytes, trouble: ValueError) -> EventError:
    if value[0] == 0 and len(value) >= _REGISTRY_BYTES:
        schema = int.from_bytes(value[1:_REGISTRY_BYTES], "big")
        message = (
            f"the record starts with the five bytes of a schema registry (schema id {schema}): it has to be sent as "
            "plain JSON, without the serializer of the registry"
        )
        return rejection("not-json", message)
    hint = ""
    if value.startswith(_BYTE_ORDER_MARK):
        hint = " (it starts with a byte order mark)"
    elif _FIELD_OF_A_MAIL.match(value):
        hint = "; a raw mail needs the record header content-type: message/rfc822"
    return rejection("not-json", f"the record is no JSON: {trouble}{hint}")


def too_deep(most_depth: int) -> EventError:
    """The error of a record with too many arrays and objects within each other."""
    return rejection("too-deep", f"the record is nested more than {most_depth} deep (events.depth)")


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


def unknown_fields(content: dict[str, Any], kind: Kind) -> list[tuple[str, str]]:
    """The fields of an object that an event of this kind does not have: the object that has it, and its name."""
    found = [("", name) for name in content if name not in kind.model_fields]
    source = content.get("source") if kind is Label else None
    if isinstance(source, dict):
        found.extend(("source", name) for name in source if name not in Source._fields)
    return found


def _mistyped_field(content: dict[str, Any], kind: Kind) -> str | None:
    """A message about an unknown field whose name is close to a known one that is not there."""
    for path, name in unknown_fields(content, kind)[:_MAX_COMPARED]:
        part = content[path] if path else content
        known = Source._fields if path else tuple(kind.model_fields)
        missing = [field for field in known if field not in part]
        near = get_close_matches(name[:LONGEST_NAME], missing, n=1)
        if near:
            prefix = f"{path}." if path else ""
            return f"unknown field {shown(prefix + name)}; did you mean {prefix + near[0]!r}?"
    return None


def bad_feature(features: object) -> str | None:
    """What is wrong with the first feature that cannot be one: a record has room for a hundred thousand."""
    for name, value in features.items() if isinstance(features, dict) else ():
        if not isinstance(value, str | int | float) or (isinstance(value, float) and not isfinite(value)):
            return f"field {shown(f'features.{name}')} must be text, true, false, or a finite number"
    return None


def _first_of(problem: ValidationError) -> EventError:
    first = problem.errors(include_url=False, include_input=False)[0]
    place = first["loc"]
    trouble = first["type"]
    if trouble == "together":
        return rejection("wrong-shape", first["ctx"]["problem"])
    # What else is in the place says which of several types was tried.
    name = ".".join(map(str, place[: 2 if place[0] == "source" else 1]))
    if trouble == "missing":
        return rejection("wrong-shape", f"field {name!r} is missing")
    if name == "id" and trouble == "string_too_short":
        return rejection("bad-id", "the id is empty")
    return rejection("wrong-shape", f"field {name!r} must be {_EXPECTED.get(name, 'text')}")
