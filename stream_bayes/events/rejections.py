"""Rejection of records: error codes, and messages that name the field and are safe to print."""

from __future__ import annotations

import re
from difflib import get_close_matches
from math import isfinite
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from stream_bayes.errors import EventError
from stream_bayes.events.fields import MAX_QUOTED, quote
from stream_bayes.events.schemas import Label, Observation
from stream_bayes.records import Source

_DECODE_CODES = {
    "empty-record": "The record has no value.",
    "too-large": "The value is larger than `events.record_bytes`.",
    "too-deep": "The JSON is nested deeper than `events.depth`.",
    "not-json": "The value is not JSON, and no header names another content type.",
    "wrong-shape": "A field is missing, misspelled, or has the wrong type.",
    "unknown-event": "The field `type` names neither an observation nor a label.",
    "unknown-content-type": "The header `content-type` names a format that is not read.",
    "bad-id": "The id is empty, not text, longer than `events.id_bytes`, or the place of another record.",
}
_ENGINE_CODES = {
    "wrong-topic": "An observation came in the topic of labels.",
    "id-reused": "Another content has the same id within the deduplication window.",
    "unknown-observation": "No known observation has the id or the place that the label names.",
    "wrong-partition": "The observation is in another topic or partition, and the label cannot be forwarded.",
    "wrong-id": "The observation at the place that the label names has another id.",
    "label-too-old": "The observation of the label is older than `engine.label_history`.",
    "observation-gone": "Retention has removed the observation of the label.",
    "too-many-labels": "There are more different labels than the label history can hold.",
    "bad-input": "The learner refuses the event: a wrong type, a value that is not finite, or an unknown label.",
    "cannot-unlearn": "A correction would take back evidence that the learner does not have.",
    "numerical": "An update would give a result that is not finite.",
}
_WORKER_CODES = {
    "lost-records": "Retention removed records before they were read; `kafka.on_offset_gap` is `earliest`."
}
CODES = frozenset(_DECODE_CODES)
"""All codes of the `EventError` that `decode` raises."""
DEAD_LETTER_CODES = {**_DECODE_CODES, **_ENGINE_CODES, **_WORKER_CODES}
"""The meaning of each code of a dead letter; the reference of the documentation is made from it."""

_MAX_MESSAGE = 300
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Prefix written by schema registry serializers: a zero byte and the schema id.
_REGISTRY_PREFIX_BYTES = 5
Kind = type[Observation] | type[Label]
_KINDS: dict[str, Kind] = {"observation": Observation, "label": Label}
# Bound on the unknown field names that are compared with known ones.
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
_MAIL_HEADER_FIELD = re.compile(rb"(From |[A-Za-z][A-Za-z-]*: ?)")
# A string (terminated or not) or a bracket. The possessive quantifier keeps the time linear.
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)


def rejection(code: str, message: str) -> EventError:
    """Return the error of a rejected record, its message cut to a maximum length."""
    return EventError(code, message if len(message) <= _MAX_MESSAGE else f"{message[: _MAX_MESSAGE - 1]}…")


def parse_object(value: bytes, max_depth: int) -> dict[str, Any]:
    """Parse a value as a JSON object; raise `EventError` if it is none."""
    if exceeds_depth(value, max_depth):
        raise too_deep_error(max_depth)
    try:
        content = from_json(value)
    except ValueError as error:
        raise _not_json(value, error) from None
    if not isinstance(content, dict):
        raise rejection("wrong-shape", "the record is JSON, but no object")
    return content


def event_type(content: dict[str, Any], expected: Kind) -> Kind:
    """Return the event class named by the field `type`; the expected one if there is no such field."""
    if "type" not in content:
        return expected
    kind = _KINDS.get(content["type"]) if isinstance(content["type"], str) else None
    if kind is None:
        raise rejection("unknown-event", f"type {quote(content['type'])} is neither 'observation' nor 'label'")
    return kind


def explain_rejection(content: dict[str, Any], kind: Kind, problem: ValidationError | EventError) -> EventError:
    """Return the error for an object that failed validation; a misspelled field name is reported first."""
    message = _mistyped_field(content, kind)
    if message:
        return rejection("wrong-shape", message)
    return problem if isinstance(problem, EventError) else _first_error(problem)


def _not_json(value: bytes, error: ValueError) -> EventError:
    if value[0] == 0 and len(value) >= _REGISTRY_PREFIX_BYTES:
        schema = int.from_bytes(value[1:_REGISTRY_PREFIX_BYTES], "big")
        message = (
            f"the record starts with the five bytes of a schema registry (schema id {schema}): it has to be sent as "
            "plain JSON, without the serializer of the registry"
        )
        return rejection("not-json", message)
    hint = ""
    if value.startswith(_BYTE_ORDER_MARK):
        hint = " (it starts with a byte order mark)"
    elif _MAIL_HEADER_FIELD.match(value):
        hint = "; a raw mail needs the record header content-type: message/rfc822"
    return rejection("not-json", f"the record is no JSON: {error}{hint}")


def too_deep_error(max_depth: int) -> EventError:
    """Return the error of a record that is nested too deeply."""
    return rejection("too-deep", f"the record is nested more than {max_depth} deep (events.depth)")


def exceeds_depth(value: bytes, most: int) -> bool:
    """Whether arrays and objects are nested deeper than `most`, even if the value is not valid JSON."""
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
    """Return the unknown fields of an object as pairs of path ("" or "source") and name."""
    found = [("", name) for name in content if name not in kind.model_fields]
    source = content.get("source") if kind is Label else None
    if isinstance(source, dict):
        found.extend(("source", name) for name in source if name not in Source._fields)
    return found


def _mistyped_field(content: dict[str, Any], kind: Kind) -> str | None:
    """Return a "did you mean" message for an unknown field that resembles a missing known one."""
    for path, name in unknown_fields(content, kind)[:_MAX_COMPARED]:
        part = content[path] if path else content
        known = Source._fields if path else tuple(kind.model_fields)
        missing = [field for field in known if field not in part]
        near = get_close_matches(name[:MAX_QUOTED], missing, n=1)
        if near:
            prefix = f"{path}." if path else ""
            return f"unknown field {quote(prefix + name)}; did you mean {prefix + near[0]!r}?"
    return None


def feature_problem(features: object) -> str | None:
    """Return a message about the first invalid feature only: a record may have a hundred thousand."""
    for name, value in features.items() if isinstance(features, dict) else ():
        if not isinstance(value, str | int | float) or (isinstance(value, float) and not isfinite(value)):
            return f"field {quote(f'features.{name}')} must be text, true, false, or a finite number"
    return None


def _first_error(problem: ValidationError) -> EventError:
    first = problem.errors(include_url=False, include_input=False)[0]
    location = first["loc"]
    error_type = first["type"]
    if error_type == "together":
        return rejection("wrong-shape", first["ctx"]["problem"])
    # The rest of the location names the member of the union that was tried.
    name = ".".join(map(str, location[: 2 if location[0] == "source" else 1]))
    if error_type == "missing":
        return rejection("wrong-shape", f"field {name!r} is missing")
    if name == "id" and error_type == "string_too_short":
        return rejection("bad-id", "the id is empty")
    return rejection("wrong-shape", f"field {name!r} must be {_EXPECTED.get(name, 'text')}")
