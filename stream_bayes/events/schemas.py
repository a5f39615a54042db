"""Event classes: observations and labels come in; predictions, label requests, dead letters and status go out."""

from __future__ import annotations

from typing import Annotated, Literal, NoReturn, Self

from pydantic import ConfigDict, Field, TypeAdapter, WithJsonSchema, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from stream_bayes.events.fields import (
    MAX_INTEGER,
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
    quote,
)

_TOO_LARGE = "field {} must be within 64 bits if it is an integer"
_CONTENTS = ("features", "text", "raw")
_SCHEMA: JsonDict = {
    "title": "Observation",
    "description": "Something to predict, and to learn from once its label is known.",
    "additionalProperties": True,
    "oneOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in _CONTENTS],
}


class ObservationFields(Event):
    """The fields of an observation in a record: the id may be missing, and their combination is not checked yet."""

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
    def _check_fields(self) -> Self:
        if problem := observation_problem(self):
            _raise_problem(problem)
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
    """The true label of an observation. Integers are within 64 bits."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": True})

    type: Literal["label"] = "label"
    id: Annotated[
        Identifier,
        Field(description="The id of the observation. A number becomes text."),
        WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]}),
    ]
    label: LabelValue
    labeller: Annotated[Identifier | None, Field(description="Who gave the label.")] = None
    at: InputMoment | None = None
    source: Annotated[SourceField | None, Field(description="The place of the observation.")] = None

    @model_validator(mode="after")
    def _check_integers(self) -> Self:
        if type(self.label) is int and _exceeds_64_bits(self.label):
            _raise_problem(_TOO_LARGE.format("'label'"))
        return self


def _exceeds_64_bits(value: int) -> bool:
    """Whether an integer has more than 64 bits.

    Bounds on the pydantic type do not find it: a larger integer would then be accepted as a float.
    """
    return not -MAX_INTEGER <= value + 1 <= MAX_INTEGER + 1


def observation_problem(observation: ObservationFields) -> str | None:
    """Return what is wrong with the combination of fields, each valid by itself; None if nothing is."""
    if type(observation.label) is int and _exceeds_64_bits(observation.label):
        return _TOO_LARGE.format("'label'")
    features = observation.features
    if (features is None) + (observation.text is None) + (observation.raw is None) != 2:
        present = [name for name in _CONTENTS if getattr(observation, name) is not None]
        return f"exactly one of features, text and raw must be given, not {' and '.join(present) or 'none'}"
    if features is not None:
        for name, value in features.items():
            if type(value) is int and _exceeds_64_bits(value):
                return _TOO_LARGE.format(quote(f"features.{name}"))
    return None


def _raise_problem(problem: str) -> NoReturn:
    raise PydanticCustomError("together", "{problem}", {"problem": problem})


class Prediction(Event):
    """The prediction of an observation, made before its label is known."""

    type: Literal["prediction"] = "prediction"
    id: Annotated[str, Field(description="The id of the observation.")]
    label: Annotated[LabelValue | None, Field(description="The predicted label.")] = None
    mean: Annotated[Number | None, Field(description="The predicted number, if the learner is a regressor.")] = None
    probabilities: Annotated[dict[str, Number] | None, Field(description="Of each label.")] = None
    variance: Annotated[Number, Field(description="Of the label or the number.")]
    epistemic_variance: Annotated[
        Number, Field(description="The part of it that more labels would remove; 0 if the learner has no posterior.")
    ]
    action: Annotated[str | None, Field(description="What to do with a mail: deliver, quarantine or ask.")] = None
    source: Annotated[SourceField, Field(description="The place of the observation.")]
    model_version: Annotated[int, Field(description="Number of labels learned before it.")]


class LabelRequest(Event):
    """A request for the label of an observation, addressed to people."""

    type: Literal["label-request"] = "label-request"
    id: Annotated[str, Field(description="The id of the observation.")]
    score: Annotated[Number, Field(description="The score of the observation under the strategy of the settings.")]
    strategy: Annotated[
        str,
        Field(
            description="The strategy that chose it; 'audit' if it was drawn at random, 'coverage' if it is common "
            "although few labels were requested for similar ones."
        ),
    ]
    probability: Annotated[
        Number | None, Field(description="The probability with which the label of such an observation is requested.")
    ] = None
    probabilities: Annotated[dict[str, Number] | None, Field(description="Predictive, of each label.")] = None
    mean: Annotated[Number | None, Field(description="The predicted number, if the learner is a regressor.")] = None
    variance: Number
    epistemic_variance: Annotated[Number | None, Field(description="The part of it that more labels would remove.")] = (
        None
    )
    interval: Annotated[
        tuple[Number, Number] | None, Field(description="95 % credible interval of a probability, or of the number.")
    ] = None
    interval_of: Annotated[
        str | None,
        Field(description="The label whose probability the interval is of; missing for a number."),
    ] = None
    labels: Annotated[tuple[LabelValue, ...] | None, Field(description="The possible labels; missing: any label.")] = (
        None
    )
    abstain_label: Annotated[
        str | None, Field(description="The answer that closes the request without a label; missing: there is none.")
    ] = None
    at: Annotated[Moment | None, Field(description="When it was requested, by the clock of the log.")] = None
    expires_at: Annotated[Moment | None, Field(description="When it is closed if there is no answer.")] = None
    budget_left: Annotated[int | None, Field(description="Labels that may still be requested.")] = None
    source: Annotated[SourceField, Field(description="The place of the observation; the label should name it.")]
    key: str | None = None
    subject: str | None = None
    preview: Annotated[str | None, Field(description="The beginning of the content as text.")] = None


class LabelOutcome(Event):
    """The outcome of a label request, or the correction of a label; in the topic of label requests."""

    type: Literal["label-outcome"] = "label-outcome"
    id: Annotated[str | None, Field(description="The id of the observation; missing if it is not known.")] = None
    outcome: Annotated[
        Literal["answered", "late", "expired", "unsure", "corrected", "refused"],
        Field(description="late: learned after the request expired. refused: the label is a dead letter."),
    ]
    label: Annotated[LabelValue | None, Field(description="The answer.")] = None
    labeller: Annotated[str | None, Field(description="Who answered.")] = None
    open: Annotated[bool, Field(description="Whether the request is still open, as after a refused answer.")]
    source: Annotated[SourceField, Field(description="The place of the observation.")]
    at: Annotated[Moment, Field(description="By the clock of the log.")]


_request_adapter: TypeAdapter[LabelRequest | LabelOutcome] = TypeAdapter(
    Annotated[LabelRequest | LabelOutcome, Field(discriminator="type")]
)


def decode_request(value: bytes) -> LabelRequest | LabelOutcome:
    """Decode an event of the topic of label requests: a request or an outcome."""
    return _request_adapter.validate_json(value)


class DeadLetter(Event):
    """A record that could not be processed, with the reason."""

    type: Literal["dead-letter"] = "dead-letter"
    code: Annotated[str, Field(description="The error code: stable, for counting and filtering.")]
    message: Annotated[str, Field(description="The reason in words.")]
    topic: str
    partition: int
    offset: int
    payload: Annotated[Base64, Field(description="The value of the record.")]
    size: Annotated[int | None, Field(description="Bytes of the value, if the payload is cut.")] = None
    key: Annotated[Base64 | None, Field(description="The key of the record.")] = None
    headers: Annotated[tuple[tuple[str, Base64], ...] | None, Field(description="Of the record.")] = None
    at: Annotated[Moment, Field(description="The timestamp of the record; of lost records, when the gap was found.")]


class AuditFigures(EventPart):
    """Unbiased estimate of the accuracy from label requests drawn at random, with a 95 % interval."""

    accuracy: Number
    low: Number
    high: Number
    answers: Annotated[int, Field(description="Answers that the estimate uses.")]


class LabellerFigures(EventPart):
    """Agreement of one labeller with later labels: mean and 95 % interval of a Beta posterior."""

    agreement: Number
    low: Number
    high: Number
    checked: Annotated[int, Field(description="Labels that another labeller confirmed, or anyone corrected.")]
    labels: Annotated[int, Field(description="Labels that were learned.")]


class Status(Event):
    """Status of one partition of a worker; counts are since the beginning of the stream."""

    type: Literal["status"] = "status"
    at: Moment
    group: str
    partition: int
    started_at: Annotated[Moment, Field(description="When this worker started.")]
    events_in: int
    predictions: int
    labels_learned: int
    labels_requested: Annotated[int, Field(description="Labels requested.")]
    labels_remaining: Annotated[int | None, Field(description="Labels that may still be requested.")] = None
    labels_planned: Annotated[
        Number | None,
        Field(description="Labels that the pacing would have requested by now without a threshold."),
    ] = None
    open_requests: int
    label_outcomes: Annotated[
        dict[str, int],
        Field(
            description="Counts by name: label requests, their outcomes, labels without a request, and suppressed "
            "near-duplicates.",
            default_factory=dict,
        ),
    ]
    audit: Annotated[AuditFigures | None, Field(description="null: too early.")] = None
    labellers: Annotated[dict[str, LabellerFigures], Field(description="The most active ones.", default_factory=dict)]
    duplicates: Annotated[int, Field(description="Observations ignored because their id and content were seen before.")]
    forwarded: Annotated[int, Field(description="Labels forwarded to the partition of their observation.")] = 0
    unknown_fields: Annotated[int, Field(description="Fields of JSON inputs that were ignored.")] = 0
    dead_letters: int
    dead_letters_by_code: dict[str, int]
    lag: Annotated[int, Field(description="Records not read yet.")]
    stage_seconds: Annotated[
        dict[str, Number], Field(description="Time spent: read, decode, fold, encode, commit, checkpoint.")
    ]
    metrics: Annotated[dict[str, int | Number | None], Field(description="Of the predictions so far; null: too early.")]
    calibration: Annotated[
        tuple[tuple[Number, Number, int], ...], Field(description="Mean probability, share observed, count.")
    ] = ()
    checkpoint_age_seconds: Annotated[Number | None, Field(description="null: no checkpoint yet.")] = None
    checkpoint_offset: Annotated[int | None, Field(description="The journal offset of the newest checkpoint.")] = None
    stopped: Annotated[
        bool | None,
        Field(description="True in the last status before a graceful shutdown; else missing."),
    ] = None
    model_version: Annotated[int, Field(description="Number of labels learned.")]
