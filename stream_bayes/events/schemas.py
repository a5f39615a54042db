"""What comes in: observations and labels."""

from __future__ import annotations

from typing import Annotated, Literal, NoReturn, Self

from pydantic import ConfigDict, Field, TypeAdapter, WithJsonSchema, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from stream_bayes.events.fields import (
    Base64,
    Event,
    EventPart,
    FeatureValue,
    Identifier,
    InputMoment,
    LabelValue,
    Moment,
    Number,
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


class Prediction(Event):
    """What is believed of an observation before its label is known."""

    type: Literal["prediction"] = "prediction"
    id: Annotated[str, Field(description="The id of the observation.")]
    label: Annotated[LabelValue | None, Field(description="The label that is decided for.")] = None
    mean: Annotated[Number | None, Field(description="Instead of a label, where numbers are predicted.")] = None
    probabilities: Annotated[dict[str, Number] | None, Field(description="Of each label.")] = None
    variance: Annotated[Number, Field(description="Of the label or the number.")]
    epistemic_variance: Annotated[Number, Field(description="The part of it that more labels would remove.")]
    action: Annotated[str | None, Field(description="What to do with a mail: deliver, quarantine or ask.")] = None
    source: Annotated[SourceField, Field(description="The place of the observation.")]
    model_version: Annotated[int, Field(description="How many labels had been learned.")]


class PredictionReason(EventPart):
    """A part of the explanation of a prediction."""

    what: str
    log_odds: Annotated[Number, Field(description="Its share of the log odds.")]


class LabelRequest(Event):
    """A question to people: what is this observation?"""

    type: Literal["label-request"] = "label-request"
    id: Annotated[str, Field(description="The id of the observation.")]
    score: Annotated[Number, Field(description="How much the answer is worth, by the strategy of the settings.")]
    strategy: Annotated[str, Field(description="Why it is asked: by which score, or 'audit' if drawn by chance.")]
    probabilities: Annotated[dict[str, Number] | None, Field(description="Of each label, as believed.")] = None
    mean: Annotated[Number | None, Field(description="Instead, where numbers are predicted.")] = None
    variance: Number
    epistemic_variance: Annotated[Number | None, Field(description="The part of it that more labels would remove.")] = (
        None
    )
    interval: Annotated[
        tuple[Number, Number] | None, Field(description="Credible, of 95 %: of a probability, or of the number.")
    ] = None
    interval_of: Annotated[
        str | None, Field(description="The label whose probability it is of; missing: the number's, or none is known.")
    ] = None
    labels: Annotated[
        tuple[LabelValue, ...] | None, Field(description="The answers that are possible; missing: any label is.")
    ] = None
    abstain_label: Annotated[
        str | None, Field(description="The answer that closes it without a label; missing: there is none.")
    ] = None
    at: Annotated[Moment | None, Field(description="When it was asked, by the clock of the log.")] = None
    expires_at: Annotated[Moment | None, Field(description="When it is closed if nobody has answered.")] = None
    budget_left: Annotated[int | None, Field(description="How many more labels may be asked for.")] = None
    source: Annotated[SourceField, Field(description="The place of the observation; the label should name it.")]
    key: str | None = None
    subject: str | None = None
    preview: Annotated[str | None, Field(description="The beginning of the content as text.")] = None
    explanation: tuple[PredictionReason, ...] | None = None


class LabelOutcome(Event):
    """What became of a question, or of a label that was corrected; in the topic of the questions."""

    type: Literal["label-outcome"] = "label-outcome"
    id: Annotated[
        str | None, Field(description="The id of the observation; missing if it was asked by an older version.")
    ] = None
    outcome: Annotated[
        Literal["answered", "late", "expired", "unsure", "corrected", "refused"],
        Field(description="Late: learned after it had expired. Refused: the label is a dead letter."),
    ]
    label: Annotated[LabelValue | None, Field(description="What the answer was.")] = None
    labeller: Annotated[str | None, Field(description="Who answered.")] = None
    open: Annotated[bool, Field(description="Whether an answer is still waited for: after one that was refused.")]
    source: Annotated[SourceField, Field(description="The place of the observation.")]
    at: Annotated[Moment, Field(description="By the clock of the log.")]


_asked: TypeAdapter[LabelRequest | LabelOutcome] = TypeAdapter(
    Annotated[LabelRequest | LabelOutcome, Field(discriminator="type")]
)


def decode_request(value: bytes) -> LabelRequest | LabelOutcome:
    """An event of the topic of the questions: one that was asked, or what became of it."""
    return _asked.validate_json(value)


class DeadLetter(Event):
    """A record that could not be used, whole, with the reason."""

    type: Literal["dead-letter"] = "dead-letter"
    code: Annotated[str, Field(description="The kind of problem: stable, for counting and filtering.")]
    message: Annotated[str, Field(description="What is wrong, for people.")]
    topic: str
    partition: int
    offset: int
    payload: Annotated[Base64, Field(description="The value of the record.")]
    size: Annotated[int | None, Field(description="Bytes of the value, if not all of the record is here.")] = None
    key: Annotated[Base64 | None, Field(description="The key of the record.")] = None
    headers: Annotated[tuple[tuple[str, Base64], ...] | None, Field(description="Of the record.")] = None
    at: Annotated[Moment, Field(description="When the log had received the record.")]


class AuditFigures(EventPart):
    """The accuracy as questions drawn by chance show it, without bias, with an interval of 95 %."""

    accuracy: Number
    low: Number
    high: Number
    answers: Annotated[int, Field(description="That it rests on.")]


class LabellerFigures(EventPart):
    """How often later labels agreed with those of one labeller: the mean and the 95 % interval of a Beta posterior."""

    agreement: Number
    low: Number
    high: Number
    checked: Annotated[int, Field(description="Labels that somebody else confirmed, or anybody corrected.")]
    labels: Annotated[int, Field(description="That were learned.")]


class Status(Event):
    """How a worker and one partition of it are doing; counts are since the beginning of the stream."""

    type: Literal["status"] = "status"
    at: Moment
    group: str
    partition: int
    started_at: Annotated[Moment, Field(description="When this worker started.")]
    events_in: int
    predictions: int
    labels_learned: int
    labels_requested: Annotated[int, Field(description="Labels asked for.")]
    labels_remaining: Annotated[int | None, Field(description="Labels that may still be asked for.")] = None
    labels_planned: Annotated[
        Number | None, Field(description="Labels that the pace would have asked for by now, were everything urgent.")
    ] = None
    open_requests: int
    label_outcomes: Annotated[
        dict[str, int], Field(description="What became of questions and labels.", default_factory=dict)
    ]
    audit: Annotated[AuditFigures | None, Field(description="None: too early.")] = None
    labellers: Annotated[dict[str, LabellerFigures], Field(description="Of the busiest.", default_factory=dict)]
    duplicates: Annotated[int, Field(description="Observations ignored: their id and content had come before.")]
    forwarded: Annotated[int, Field(description="Labels sent on to the partition of their observation.")] = 0
    unknown_fields: Annotated[int, Field(description="Fields of JSON inputs that were ignored.")] = 0
    dead_letters: int
    dead_letters_by_code: dict[str, int]
    lag: Annotated[int, Field(description="Records that wait to be read.")]
    stage_seconds: Annotated[dict[str, Number], Field(description="Time spent: read, decode, fold, encode, commit.")]
    metrics: Annotated[dict[str, int | Number | None], Field(description="Of the predictions so far; null: too early.")]
    calibration: Annotated[
        tuple[tuple[Number, Number, int], ...], Field(description="Mean probability, share observed, count.")
    ] = ()
    checkpoint_age_seconds: Annotated[Number | None, Field(description="None: no checkpoint yet.")] = None
    checkpoint_offset: Annotated[int | None, Field(description="The journal offset of the newest checkpoint.")] = None
    stopped: Annotated[
        bool | None, Field(description="True in the last one of a worker that ended in good order; else missing.")
    ] = None
    model_version: Annotated[int, Field(description="How many labels have been learned.")]
