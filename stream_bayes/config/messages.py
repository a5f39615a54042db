"""What is said of a wrong setting: its name, its value, where it was given, and what to write instead."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
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
    "too_short": "must not be empty",
    "string_pattern_mismatch": "must be letters, digits, underscores, hyphens and dots, no dot first; a topic has at "
    "most 100 of them, any other name 50",
    "path_type": "must be a path",
    "bool_type": "must be true or false",
    "literal_error": "must be {expected}",
    "dict_type": "must be a table of names and values",
}

_WITH_SECRETS = ("kafka", "web")
_MAY_BE_NONE = (("labels", "budget"), ("labels", "per_period"), ("kafka", "replication_factor"))
_BOUNDS = {
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}


class SettingValue(NamedTuple):
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


def not_a_section(name: str, given: SettingValue, hint: str) -> str:
    """Of a single value where several settings belong."""
    # Which may be a password.
    shown = "" if name in _WITH_SECRETS else f" = {_short(given.value)}"
    return f"{name}{shown} ({given.origin}): {name} is a section; {hint}"


def explained(problem: ErrorDetails, given: Mapping[str, SettingValue], secrets: Container[str] = ()) -> str:
    """Of a value that a setting cannot have; that of a secret is not shown."""
    kind = problem["type"]
    place = problem["loc"]
    if kind == "same_topic":
        return _same_topic(problem["ctx"]["topic"], problem["ctx"]["keys"], given)
    if kind == "no_limit":
        origin = given["labels.budget"].origin
        return f"labels.budget = 'none' ({origin}): without a total, labels.per_period must be set"
    if kind == "contradiction":
        origins = dict.fromkeys(one.origin for key, one in given.items() if key.startswith(f"{place[0]}."))
        return f"{problem['msg']} ({', '.join(origins)})"
    key = ".".join(map(str, place[:2]))
    value, origin = given.get(key) or given[str(place[0])]
    # What is wrong with an address says what it is, without the password that it may have.
    shown = "" if key in secrets or kind == "address" else f" = {_short(value)}"
    return f"{key}{shown} ({origin}): {_allowed(problem)}"


def _allowed(problem: ErrorDetails) -> str:
    kind = problem["type"]
    if kind in _BOUNDS:
        bounds = {name: int(bound) if bound == int(bound) else bound for name, bound in problem["ctx"].items()}
        return _BOUNDS[kind].format(**bounds)
    phrase = _PHRASES.get(kind, "").format(**problem.get("ctx", {})) or problem["msg"].removeprefix("Value error, ")
    return f"{phrase}, or 'none'" if kind == "int_type" and problem["loc"] in _MAY_BE_NONE else phrase


def _same_topic(topic: str, keys: Iterable[str], given: Mapping[str, SettingValue]) -> str:
    default = SettingValue(None, "default")
    places = " and ".join(f"topics.{key} ({given.get(f'topics.{key}', default).origin})" for key in keys)
    return f"{places} are both {topic!r}: every topic needs a name of its own"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
