"""Kinds of settings: what a section is, and what names, counts, shares and paths may be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, Strict

from stream_bayes.errors import ParameterError
from stream_bayes.units import milliseconds


def _home_folder(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as problem:
        raise ValueError(str(problem)) from problem


def _not_empty(value: Any) -> Any:
    if value == "":
        message = "must not be empty"
        raise ValueError(message)
    return value


def _span(text: str) -> str:
    try:
        milliseconds("it", text)
    except ParameterError as problem:
        # Without "it" and the value, which the message has already.
        raise ValueError(str(problem).removeprefix("it ").partition(";")[0]) from problem
    return text


_NONE = "none"


def _from_text(value: Any) -> Any:
    return None if value == _NONE else value


def _to_text(value: Any) -> Any:
    return _NONE if value is None else value


Name = Annotated[str, Field(min_length=1)]
# What Kafka allows, so that settings need not change when the log does.
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")]
GroupName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,49}$")]
Folder = Annotated[Path, Strict(False), AfterValidator(_home_folder)]
File = Annotated[Path, Strict(False), AfterValidator(_home_folder), BeforeValidator(_not_empty)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
PositiveCount = Annotated[int, Field(ge=1, lt=2**63)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Span = Annotated[str, AfterValidator(_span)]
OR_NONE = BeforeValidator(_from_text), PlainSerializer(_to_text)
Limit = Annotated[Count | None, *OR_NONE]
"""A number or None; as text "none", since TOML has no such value."""


class Section(BaseModel):
    """Settings that stand together; frozen, and unknown ones are refused."""

    # An error that shows what it was given would show passwords.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, ser_json_inf_nan="constants", hide_input_in_errors=True
    )
