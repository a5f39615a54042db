"""What comes in: observations and labels."""

from __future__ import annotations

from typing import Annotated, Literal, NoReturn, Self

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from stream_bayes.events.fields import (
    Base64,
    Event,
    FeatureValue,
    Identifier,
    InputMoment,
    LabelValue,
    SourceField,
    Text,
    within_64_bits,
)
from stream_bayes.events.quoting import shown

_TOO_LARGE = "field {} must be within 64 bits if it is an integer"
_CONTENTS = ("features", "text", "raw")
_SCHEMA: JsonDict = {
    "title": "Observation",
    "description": "Something to predict, and to learn from once its label is known.",
    "additionalProperties": True,
    "oneOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in _CONTENTS],
}


class ObservationFields(Event):
    """The fields of an observation as a record has them: no id may be given, and none is checked against another."""

    model_config = ConfigDict(json_schema_extra=_SCHEMA)

    type: Literal["observation"] = "observation"
    id: Annotated[
        Identifier | None,
        Field(description="If missing: the header id or ce_id of the record, else its place. A number becomes text."),
        WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}, {"type": "null"}]}),
    ] = None
    features: Annotated[dict[Text, FeatureValue] | None, Field(description="Values by name.")] = None
    text: Text | None = None
    raw: Annotated[Base64 | None, Field(description="A whole message as it was received (RFC 822).")] = None
    label: Annotated[LabelValue | None, Field(description="What it is, where that is known already.")] = None
    at: InputMoment | None = None
    key: Annotated[Text | None, Field(description="What observations are grouped by, such as a tenant.")] = None
    subject: Text | None = None
    sender: Text | None = None
    mailbox: Text | None = None


class Observation(ObservationFields):
    """Something to predict, and to learn from once its label is known.

    Exactly one of `features`, `text` and `raw` is given. Integers are within 64 bits.
    """

    id: Identifier

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if problem := trouble_of(self):
            _refuse(problem)
        return self

    @property
    def content(self) -> dict[str, str | bool | int | float] | str | bytes:
        """Whichever of features, text and raw is given."""
        if self.raw is not None:
            return self.raw
        if self.text is not None:
            return self.text
        return self.features or {}

    def __hash__(self) -> int:
        features = None if self.features is None else frozenset(self.features.items())
        return hash((self.id, features, self.text, self.raw, self.label))


class Label(Event):
    """What an observation turned out to be. Integers are within 64 bits."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": True})

    type: Literal["label"] = "label"
    id: Annotated[
        Identifier,
        Field(description="The id of the observation. A number becomes text."),
        WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]}),
    ]
    label: LabelValue
    labeller: Annotated[Identifier | None, Field(description="Who says so.")] = None
    at: InputMoment | None = None
    source: Annotated[SourceField | None, Field(description="The place of the observation.")] = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not within_64_bits(self.label):
            _refuse(_TOO_LARGE.format("'label'"))
        return self


def trouble_of(observation: ObservationFields) -> str | None:
    """What the fields of an observation, each right by itself, cannot be together; nothing if they can."""
    if not within_64_bits(observation.label):
        return _TOO_LARGE.format("'label'")
    features = observation.features
    if (features is None) + (observation.text is None) + (observation.raw is None) != 2:
        given = [name for name in _CONTENTS if getattr(observation, name) is not None]
        return f"exactly one of features, text and raw must be given, not {' and '.join(given) or 'none'}"
    if features is not None:
        for name, value in features.items():
            if type(value) is int and not within_64_bits(value):
                return _TOO_LARGE.format(shown(f"features.{name}"))
    return None


def _refuse(problem: str) -> NoReturn:
    raise PydanticCustomError("together", "{problem}", {"problem": problem})
