"""What the page asks and is told, as JSON: the bodies of the API's requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, WithJsonSchema

from stream_bayes.events.fields import LabelValue

_LONGEST_NAME = 64
_MAX_SKIPPED = 1000

Labeller = Annotated[
    str,
    Field(
        min_length=1,
        max_length=_LONGEST_NAME,
        pattern=r"^[^\W_][\w .@'-]*$",
        description="Who answers: a name that this person keeps.",
    ),
]
Answer = Annotated[LabelValue, Field(description="A label: a text, a boolean or a number.")]
Number = Annotated[int, Field(ge=0, lt=2**31)]
Offset = Annotated[int, Field(ge=0, lt=2**63)]
Interval = Annotated[
    tuple[float, float],
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}),
    Field(description="Credible, of 95 %."),
]


class ApiModel(BaseModel):
    """A JSON object; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Problem(ApiModel):
    """Why a request was not carried out."""

    code: Annotated[str, Field(description="The kind of problem: stable, for programs.")]
    detail: Annotated[str, Field(description="What is wrong and what to do, for people.")]


class RequestPlace(ApiModel):
    """Where an observation is: what identifies it for ever."""

    partition: Number
    offset: Offset


class SpanBody(ApiModel):
    """A run of a text as a person may see it: nothing in it is ever markup."""

    kind: Annotated[
        Literal["text", "link", "mark"],
        Field(description="A mark says what is not shown: a hidden character, a script, a picture, a frame."),
    ]
    text: str
    host: Annotated[str | None, Field(description="Of a link: where it really leads, in ASCII.")] = None
    url: Annotated[str | None, Field(description="Of a link that may be opened: http or https.")] = None


class ContributionBody(ApiModel):
    """What one feature adds to the log-odds, or to the mean."""

    kind: Annotated[str, Field(description="word, pair, host, sender, network, field, feature, ...")]
    text: str
    share: Annotated[float, Field(description="Towards `towards` if positive.")]
    seen: Annotated[int | None, Field(description="Labelled events that had it.")] = None
    seen_towards: Annotated[int | None, Field(description="Those of them with the label `towards`.")] = None
    note: Annotated[str | None, Field(description="Why the share has another sign than these counts, if it has.")] = (
        None
    )


class PredictionBody(ApiModel):
    """What the newest checkpoint believes of an observation; nothing is learned from it."""

    partition: int
    model_version: Annotated[int, Field(description="Labels it had learned.")]
    checkpoint_at: Annotated[datetime | None, Field(description="When the checkpoint was written.")] = None
    label: Answer | None = None
    probabilities: dict[str, float] | None = None
    mean: Annotated[float | None, Field(description="Instead, where numbers are predicted.")] = None
    interval: Interval
    interval_of: Annotated[str | None, Field(description="The label whose probability the interval is of.")] = None
    variance: Annotated[float | None, Field(description="Null: infinite.")]
    epistemic_variance: Annotated[float | None, Field(description="Ignorance: what more labels would remove.")]
    aleatoric_variance: Annotated[float | None, Field(description="Noise: what would stay.")]
    action: Annotated[str | None, Field(description="Of a mail: deliver or quarantine.")] = None
    towards: Annotated[str | None, Field(description="The label that positive shares speak for.")] = None
    total: Annotated[float | None, Field(description="Log-odds of `towards`, or the mean: all shares together.")] = None
    reasons: tuple[ContributionBody, ...] = ()
    rest: Annotated[dict[str, float], Field(description="What is left of the total, by name.", default_factory=dict)]


class RequestScore(ApiModel):
    """Why a question was asked, as it was then."""

    at: Annotated[datetime | None, Field(description="When it came to the log.")]
    expires_at: datetime | None
    strategy: Annotated[str, Field(description="By which score it was chosen; 'audit' if by chance.")]
    score: Annotated[float | None, Field(description="What the answer is worth by it.")]
    score_now: Annotated[float | None, Field(description="By a newer model; null: none has scored it since.")] = None
    rank: Annotated[float | None, Field(description="The share of the other open questions that are worth less.")] = (
        None
    )
    probabilities: dict[str, float] | None = None
    mean: float | None = None
    variance: float | None = None
    epistemic_variance: float | None = None
    interval: Interval | None = None
    interval_of: str | None = None
    budget_left: int | None = None


class AnswerBody(ApiModel):
    """An answer that was given."""

    label: Answer
    labeller: str | None
    at: datetime
    learned: Annotated[bool, Field(description="Whether the worker has taken it.")]


class RequestSummary(ApiModel):
    """A question in the list."""

    place: RequestPlace
    id: str
    subject: str | None
    variance: float | None
    score: Annotated[float | None, Field(description="What the answer is worth, by the newest model.")]
    probabilities: dict[str, float] | None
    mean: float | None
    asked_at: datetime | None
    taken: Annotated[bool, Field(description="Whether a labeller has it before them now.")]


class RequestList(ApiModel):
    """The open questions, the highest score first."""

    open: Annotated[int, Field(description="All that are open.")]
    taken: Annotated[int, Field(description="Those that labellers have before them.")]
    requests: tuple[RequestSummary, ...]


class RequestBody(ApiModel):
    """A question as a labeller reads it."""

    place: RequestPlace
    id: str
    content: Annotated[
        Literal["mail", "text", "features", "nothing"], Field(description="What the observation is, if it is there.")
    ]
    sender: str | None
    subject: str | None
    pieces: tuple[SpanBody, ...]
    features: Annotated[
        dict[str, str] | None, Field(description="Instead of a text, where the observation is made of features.")
    ] = None
    attachments: tuple[str, ...] = ()
    size: Annotated[int, Field(description="Bytes of the observation.")]
    cut: Annotated[bool, Field(description="Whether only its beginning is shown.")]
    missing: Annotated[str | None, Field(description="Why the observation cannot be shown, if it cannot.")] = None
    choices: Annotated[tuple[Answer, ...], Field(description="The possible answers; empty: any label is.")]
    numbers: Annotated[bool, Field(description="Whether the answer is a number.")]
    abstain_label: Annotated[str | None, Field(description="The answer that nobody knows; missing: there is none.")]
    asked: RequestScore
    opinion: PredictionBody | None = None
    no_opinion: Annotated[str | None, Field(description="Why there is none, if there is none.")] = None
    lease_seconds: Annotated[float | None, Field(description="For so long nobody else gets it.")] = None
    answer: Annotated[AnswerBody | None, Field(description="The answer it has already, when it is taken up again.")] = (
        None
    )


class NextRequest(ApiModel):
    """The next question for a labeller, if there is one."""

    question: RequestBody | None
    open: int
    taken: int


class LeaseRequest(ApiModel):
    """Who has, or lets go of, or takes up again a question."""

    labeller: Labeller
    seat: Annotated[
        str,
        Field(max_length=64, pattern=r"^[A-Za-z0-9-]*$", description="Where they sit: two may have the same name."),
    ] = ""


class TakeRequest(LeaseRequest):
    """Who wants the next question, and which ones not now."""

    skip: Annotated[tuple[RequestPlace, ...], Field(max_length=_MAX_SKIPPED)] = ()


class LabelSubmission(LeaseRequest):
    """An answer."""

    label: Answer


class LabelReceipt(ApiModel):
    """An answer is in the log."""

    place: RequestPlace
    correction: Annotated[bool, Field(description="Whether it replaces an earlier answer.")]
    guess: Annotated[Answer | None, Field(description="What the filter had thought when it asked.")]
    differs: Annotated[bool | None, Field(description="Whether the answer is another than that.")]


class LeaseBody(ApiModel):
    """Whether the labeller still has the question, and for how long."""

    seconds: float


class TryRequest(ApiModel):
    """Something to be predicted: exactly one of text, raw and features."""

    text: Annotated[str | None, Field(max_length=1_000_000)] = None
    raw: Annotated[str | None, Field(max_length=1_400_000, description="A whole message in base64.")] = None
    features: Annotated[
        dict[str, StrictFloat | StrictStr | StrictBool | StrictInt] | None, Field(max_length=10_000)
    ] = None
    subject: Annotated[str | None, Field(max_length=1000)] = None
    sender: Annotated[str | None, Field(max_length=1000)] = None
    partition: Annotated[Number | None, Field(description="Whose model; by default that which knows most.")] = None


class DensityBody(ApiModel):
    """The posterior of something a model has learned."""

    kind: str
    text: str
    meaning: Annotated[str, Field(description="What it is the posterior of.")]
    family: Annotated[str, Field(description="Beta, Normal, ... with its parameters.")]
    mean: float
    interval: Interval
    seen: int | None
    seen_towards: int | None
    x: tuple[float, ...]
    y: tuple[float, ...]
    note: str | None = None
