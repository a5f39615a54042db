"""What is said of a wrong setting: its name, its value, where it was given, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

_LONGEST_VALUE = 80
_PHRASES = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must be letters, digits, underscores, hyphens and dots, no dot first; a topic has at "
    "most 100 of them, a group 50",
    "path_type": "must be the path of a folder",
    "dict_type": "must be a table of names and values",
}

_MAY_BE_NONE = (("labels", "budget"), ("labels", "per_period"))
_BOUNDS = {
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}


class Given(NamedTuple):
    """A value, and where it was given."""

    value: Any
    origin: str


def unknown(name: str, origin: str, known: Iterable[str], what: str = "setting") -> str:
    """Of a name that means nothing."""
    names = sorted(known)
    if near := get_close_matches(name, names, n=1):
        hint = f"did you mean {near[0]!r}?"
    else:
        section = name.partition(".")[0]
        inside = [other for other in names if other.startswith(f"{section}.")]
        hint = f"known are {', '.join(inside or dict.fromkeys(other.partition('.')[0] for other in names))}"
    return f"unknown {what} {_short(name)} ({origin}): {hint}"


def not_a_section(name: str, given: Given, hint: str) -> str:
    """Of a single value where several settings belong."""
    return f"{name} = {_short(given.value)} ({given.origin}): {name} is a section; {hint}"


def explained(problem: ErrorDetails, given: Mapping[str, Given]) -> str:
    """Of a value that a setting cannot have."""
    if problem["type"] == "same_topic":
        return _same_topic(problem["ctx"]["topic"], problem["ctx"]["keys"], given)
    if problem["type"] == "no_limit":
        origin = given["labels.budget"].origin
        return f"labels.budget = 'none' ({origin}): without a total, labels.per_period must be set"
    key = ".".join(map(str, problem["loc"][:2]))
    value, origin = given.get(key) or given[str(problem["loc"][0])]
    return f"{key} = {_short(value)} ({origin}): {_allowed(problem)}"


def _allowed(problem: ErrorDetails) -> str:
    kind = problem["type"]
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**problem["ctx"])
    phrase = _PHRASES.get(kind) or problem["msg"].removeprefix("Value error, ")
    return f"{phrase}, or 'none'" if kind == "int_type" and problem["loc"] in _MAY_BE_NONE else phrase


def _same_topic(topic: str, keys: Iterable[str], given: Mapping[str, Given]) -> str:
    default = Given(None, "default")
    places = " and ".join(f"topics.{key} ({given.get(f'topics.{key}', default).origin})" for key in keys)
    return f"{places} are both {topic!r}: every topic needs a name of its own"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
