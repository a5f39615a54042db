"""Error messages of settings: the name, the value, its origin, and what is allowed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

_MAX_VALUE = 80
_ERROR_TEXTS = {
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

_SECRET_SECTIONS = ("kafka", "web")
_MAY_BE_NONE = (("labels", "budget"), ("labels", "per_period"), ("kafka", "replication_factor"))
_BOUNDS = {
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}


class SettingValue(NamedTuple):
    """A value and its origin."""

    value: Any
    origin: str


def unknown_name_message(name: str, origin: str, known: Iterable[str], what: str = "setting") -> str:
    """Return the message for an unknown name, with "did you mean" if a known one is close."""
    names = sorted(known)
    if near := get_close_matches(name, names, n=1):
        hint = f"did you mean {near[0]!r}?"
    else:
        section = name.partition(".")[0]
        inside = [other for other in names if other.startswith(f"{section}.")]
        hint = f"known are {', '.join(inside or dict.fromkeys(other.partition('.')[0] for other in names))}"
    return f"unknown {what} {_abbreviate(name)} ({origin}): {hint}"


def not_a_section_message(name: str, setting: SettingValue, hint: str) -> str:
    """Return the message for a single value in place of a section."""
    # The value may be a password.
    shown = "" if name in _SECRET_SECTIONS else f" = {_abbreviate(setting.value)}"
    return f"{name}{shown} ({setting.origin}): {name} is a section; {hint}"


def error_message(problem: ErrorDetails, values: Mapping[str, SettingValue], secrets: Container[str] = ()) -> str:
    """Return the message for an invalid value; the value of a secret is not shown."""
    kind = problem["type"]
    location = problem["loc"]
    if kind == "same_topic":
        return _same_topic(problem["ctx"]["topic"], problem["ctx"]["keys"], values)
    if kind == "no_limit":
        origin = values["labels.budget"].origin
        return f"labels.budget = 'none' ({origin}): without a total, labels.per_period must be set"
    if kind == "contradiction":
        origins = dict.fromkeys(setting.origin for key, setting in values.items() if key.startswith(f"{location[0]}."))
        return f"{problem['msg']} ({', '.join(origins)})"
    key = ".".join(map(str, location[:2]))
    value, origin = values.get(key) or values[str(location[0])]
    # The message about an address names it already, without its password.
    shown = "" if key in secrets or kind == "address" else f" = {_abbreviate(value)}"
    return f"{key}{shown} ({origin}): {_constraint(problem)}"


def _constraint(problem: ErrorDetails) -> str:
    kind = problem["type"]
    if kind in _BOUNDS:
        bounds = {name: int(bound) if bound == int(bound) else bound for name, bound in problem["ctx"].items()}
        return _BOUNDS[kind].format(**bounds)
    phrase = _ERROR_TEXTS.get(kind, "").format(**problem.get("ctx", {})) or problem["msg"].removeprefix("Value error, ")
    return f"{phrase}, or 'none'" if kind == "int_type" and problem["loc"] in _MAY_BE_NONE else phrase


def _same_topic(topic: str, keys: Iterable[str], values: Mapping[str, SettingValue]) -> str:
    default = SettingValue(None, "default")
    topics = " and ".join(f"topics.{key} ({values.get(f'topics.{key}', default).origin})" for key in keys)
    return f"{topics} are both {topic!r}: every topic needs its own name"


def _abbreviate(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"
