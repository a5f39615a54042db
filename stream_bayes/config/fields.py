"""Field types of settings: names, counts, fractions, durations and paths; and the base class of sections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, Strict

from stream_bayes.errors import ParameterError
from stream_bayes.units import milliseconds


def _expand_user(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as problem:
        raise ValueError(str(problem)) from problem


def _refuse_empty(value: Any) -> Any:
    if value == "":
        message = "must not be empty"
        raise ValueError(message)
    return value


def _check_duration(text: str) -> str:
    try:
        milliseconds("it", text)
    except ParameterError as problem:
        # The message of the settings names the key and the value itself.
        raise ValueError(str(problem).removeprefix("it ").partition(";")[0]) from problem
    return text


_NONE = "none"


def _parse_none(value: Any) -> Any:
    return None if value == _NONE else value


def _dump_none(value: Any) -> Any:
    return _NONE if value is None else value


Name = Annotated[str, Field(min_length=1)]
# The names that Kafka allows, so that settings stay valid when the log changes.
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")]
GroupName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,49}$")]
Folder = Annotated[Path, Strict(False), AfterValidator(_expand_user)]
File = Annotated[Path, Strict(False), AfterValidator(_expand_user), BeforeValidator(_refuse_empty)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
PositiveCount = Annotated[int, Field(ge=1, lt=2**63)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Duration = Annotated[str, AfterValidator(_check_duration)]
OR_NONE = BeforeValidator(_parse_none), PlainSerializer(_dump_none)
Limit = Annotated[Count | None, *OR_NONE]
"""A count or None; written "none", since TOML has no null."""


class Section(BaseModel):
    """Base class of a section: frozen, and unknown keys are refused."""

    # Errors must not show the input, which may be a password.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, ser_json_inf_nan="constants", hide_input_in_errors=True
    )
