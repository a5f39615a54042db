"""JSON schemas of the API: request and response bodies of label requests, predictions, charts and status."""

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
        description="The name of the person who answers.",
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
    """Base of all bodies: immutable, unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Problem(ApiModel):
    """The body of an error response."""

    code: Annotated[str, Field(description="The kind of problem: stable, for programs.")]
    detail: Annotated[str, Field(description="What is wrong and what to do, for people.")]


class RequestPlace(ApiModel):
    """Partition and offset of an observation."""

    partition: Number
    offset: Offset


class SpanBody(ApiModel):
    """A span of text to be shown: never markup."""

    kind: Annotated[
        Literal["text", "link", "mark"],
        Field(description="A mark names what is not shown: a hidden character, a script, a picture, a frame."),
    ]
    text: str
    host: Annotated[str | None, Field(description="Of a link: the host that it leads to, in ASCII.")] = None
    url: Annotated[str | None, Field(description="Of a link that may be opened: http or https.")] = None


class ContributionBody(ApiModel):
    """The contribution of one feature to the log-odds, or to the mean."""

    kind: Annotated[str, Field(description="word, pair, host, sender, network, field, feature, ...")]
    text: str
    share: Annotated[float, Field(description="Towards `towards` if positive.")]
    seen: Annotated[int | None, Field(description="Labelled events that had it.")] = None
    seen_towards: Annotated[int | None, Field(description="Those of them with the label `towards`.")] = None
    note: Annotated[str | None, Field(description="Why the share has another sign than these counts, if it has.")] = (
        None
    )


class PredictionBody(ApiModel):
    """The prediction of the newest checkpoint for an observation, with its explanation."""

    partition: int
    model_version: Annotated[int, Field(description="Labels that the model had learned.")]
    checkpoint_at: Annotated[datetime | None, Field(description="When the checkpoint was written.")] = None
    label: Answer | None = None
    probabilities: dict[str, float] | None = None
    mean: Annotated[float | None, Field(description="Instead, where numbers are predicted.")] = None
    interval: Interval
    interval_of: Annotated[str | None, Field(description="The label whose probability the interval is of.")] = None
    variance: Annotated[float | None, Field(description="Null: infinite.")]
    epistemic_variance: Annotated[float | None, Field(description="The part that more labels would remove.")]
    aleatoric_variance: Annotated[float | None, Field(description="The part that would remain: noise.")]
    action: Annotated[str | None, Field(description="Of a mail: deliver or quarantine.")] = None
    towards: Annotated[str | None, Field(description="The label that positive shares support.")] = None
    total: Annotated[float | None, Field(description="Log-odds of `towards`, or the mean: all shares together.")] = None
    reasons: tuple[ContributionBody, ...] = ()
    rest: Annotated[
        dict[str, float], Field(description="The remaining parts of the total, by name.", default_factory=dict)
    ]


class SelectionBody(ApiModel):
    """Why a label was requested, at the time of the request."""

    at: Annotated[datetime | None, Field(description="The timestamp of the request in the log.")]
    expires_at: datetime | None
    strategy: Annotated[
        str,
        Field(description="The query strategy; 'audit' if drawn at random, 'coverage' if common but rarely labelled."),
    ]
    score: Annotated[float | None, Field(description="The acquisition score at the time of the request.")]
    score_now: Annotated[
        float | None, Field(description="The score by a newer model; null: none has scored it since.")
    ] = None
    rank: Annotated[float | None, Field(description="The share of the other open requests with a lower score.")] = None
    probabilities: dict[str, float] | None = None
    mean: float | None = None
    variance: float | None = None
    epistemic_variance: float | None = None
    interval: Interval | None = None
    interval_of: str | None = None
    budget_left: int | None = None


class AnswerBody(ApiModel):
    """A submitted label."""

    label: Answer
    labeller: str | None
    at: datetime
    learned: Annotated[bool, Field(description="Whether the worker has learned it.")]


class RequestSummary(ApiModel):
    """A label request in the list."""

    place: RequestPlace
    id: str
    subject: str | None
    variance: float | None
    score: Annotated[float | None, Field(description="The acquisition score, by the newest model.")]
    probabilities: dict[str, float] | None
    mean: float | None
    requested_at: datetime | None
    leased: Annotated[bool, Field(description="Whether it is leased now.")]


class RequestList(ApiModel):
    """The open label requests, the highest score first."""

    open: Annotated[int, Field(description="The number of open requests.")]
    leased: Annotated[int, Field(description="The number of leased requests.")]
    requests: tuple[RequestSummary, ...]


class RequestBody(ApiModel):
    """A label request as a labeller reads it."""

    place: RequestPlace
    id: str
    content: Annotated[
        Literal["mail", "text", "features", "nothing"],
        Field(description="The kind of the observation; nothing: it cannot be shown."),
    ]
    sender: str | None
    subject: str | None
    spans: tuple[SpanBody, ...]
    features: Annotated[
        dict[str, str] | None, Field(description="The features of the observation, instead of a text.")
    ] = None
    attachments: tuple[str, ...] = ()
    size: Annotated[int, Field(description="Bytes of the observation.")]
    cut: Annotated[bool, Field(description="Whether only its beginning is shown.")]
    missing: Annotated[str | None, Field(description="Why the observation cannot be shown.")] = None
    choices: Annotated[tuple[Answer, ...], Field(description="The possible labels; empty: any label.")]
    numbers: Annotated[bool, Field(description="Whether the answer is a number.")]
    abstain_label: Annotated[str | None, Field(description="The abstain label; null: there is none.")]
    selection: SelectionBody
    prediction: PredictionBody | None = None
    no_prediction: Annotated[str | None, Field(description="Why there is no prediction.")] = None
    lease_seconds: Annotated[float | None, Field(description="Seconds of the lease.")] = None
    answer: Annotated[AnswerBody | None, Field(description="The earlier label of a reopened request.")] = None


class NextRequest(ApiModel):
    """The next label request for a labeller, if there is one."""

    request: RequestBody | None
    open: int
    leased: int


class LeaseRequest(ApiModel):
    """Who renews, releases or reopens a lease."""

    labeller: Labeller
    session_id: Annotated[
        str,
        Field(
            max_length=64,
            pattern=r"^[A-Za-z0-9-]*$",
            description="The browser session: two people may use the same name.",
        ),
    ] = ""


class TakeRequest(LeaseRequest):
    """Who wants the next label request, and which ones to skip."""

    skip: Annotated[tuple[RequestPlace, ...], Field(max_length=_MAX_SKIPPED)] = ()


class LabelSubmission(LeaseRequest):
    """A label for a request."""

    label: Answer


class LabelReceipt(ApiModel):
    """The receipt of a label that is in the log."""

    place: RequestPlace
    correction: Annotated[bool, Field(description="Whether it replaces an earlier label.")]
    predicted_label: Annotated[Answer | None, Field(description="The predicted label at the time of the request.")]
    differs: Annotated[bool | None, Field(description="Whether the label differs from the predicted one.")]


class LeaseBody(ApiModel):
    """The remaining seconds of a lease."""

    seconds: float


class TryRequest(ApiModel):
    """An observation to predict: exactly one of text, raw and features."""

    text: Annotated[str | None, Field(max_length=1_000_000)] = None
    raw: Annotated[str | None, Field(max_length=1_400_000, description="A whole message in base64.")] = None
    features: Annotated[
        dict[str, StrictFloat | StrictStr | StrictBool | StrictInt] | None, Field(max_length=10_000)
    ] = None
    subject: Annotated[str | None, Field(max_length=1000)] = None
    sender: Annotated[str | None, Field(max_length=1000)] = None
    partition: Annotated[Number | None, Field(description="Whose model; by default the one with the most labels.")] = (
        None
    )


class DensityBody(ApiModel):
    """A posterior density as points of a curve."""

    kind: str
    text: str
    meaning: Annotated[str, Field(description="The quantity that the posterior is of.")]
    family: Annotated[str, Field(description="Beta, Normal, ... with its parameters.")]
    mean: float
    interval: Interval
    seen: int | None
    seen_towards: int | None
    x: tuple[float, ...]
    y: tuple[float, ...]
    note: str | None = None


class SessionBody(ApiModel):
    """The session of the page at its start."""

    csrf: Annotated[str, Field(description="Send it as X-CSRF-Token with every write without a bearer token.")]
    secured: Annotated[bool, Field(description="Whether the page needs a token, and so has a logout.")]
    version: str
    group: str
    log: str
    lease_seconds: float
    mail: Annotated[bool, Field(description="Whether the learner reads mail.")]
    numbers: Annotated[bool, Field(description="Whether it predicts numbers.")]
    kinds: Annotated[tuple[str, ...], Field(description="The kinds of posteriors; empty without a checkpoint.")]


class DailyStatsBody(ApiModel):
    """The labels of today, and the error rate before and after them."""

    today: Annotated[int, Field(description="Labels submitted today, UTC.")]
    mine: Annotated[int, Field(description="Those of the labeller in the query.")]
    differed: Annotated[int, Field(description="Labels of today that differ from the predicted one.")]
    compared: Annotated[int, Field(description="Labels of today that can be compared with a prediction.")]
    abstained: int
    corrected: int
    error_before: Annotated[
        float | None, Field(description="The error rate over the observations labelled before today's first label.")
    ]
    error_before_of: Annotated[int, Field(description="Observations labelled before today's first label.")]
    error_after: Annotated[float | None, Field(description="The error rate over those labelled since.")]
    error_after_of: Annotated[int, Field(description="Observations labelled since.")]


class CurvePoint(ApiModel):
    """A point of the learning curve, over all partitions."""

    at: datetime
    events: int
    labels: int
    roca: Annotated[float | None, Field(description="(1-ROCA)% so far; the mean over partitions.")]
    log_loss: Annotated[float | None, Field(description="The mean so far.")]
    recent_log_loss: Annotated[float | None, Field(description="The mean over the last 50 labels or some more.")]
    accuracy: float | None
    error: Annotated[float | None, Field(description="Root mean squared, where numbers are predicted.")] = None


class CalibrationPoint(ApiModel):
    """The predictions in one tenth: the mean predicted probability, and the observed frequency."""

    predicted: float
    observed: float
    count: int


class BudgetPoint(ApiModel):
    """The number of labels requested by then, and the number planned by the budget."""

    at: datetime
    events: int
    requested: int
    planned: float | None


class RatePoint(ApiModel):
    """Throughput and lag."""

    at: datetime
    per_second: float
    lag: int


class HistogramBin(ApiModel):
    """A bin of a histogram."""

    low: float
    high: float
    counts: dict[str, int]


class Charts(ApiModel):
    """The data of all charts."""

    at: datetime
    curve: tuple[CurvePoint, ...]
    calibration: tuple[CalibrationPoint, ...]
    calibration_label: Annotated[str | None, Field(description="The label that the probabilities are of.")]
    budget: tuple[BudgetPoint, ...]
    budget_total: int | None
    budget_left: int | None
    rates: tuple[RatePoint, ...]
    histogram: Annotated[tuple[HistogramBin, ...], Field(description="Probabilities of the newest predictions.")]
    histogram_of: Annotated[int, Field(description="The number of predictions in the histogram.")]
    histogram_label: str | None
    expected_error: Annotated[
        float | None, Field(description="The expected error rate of these predictions, by their probabilities.")
    ]
    scores: Annotated[tuple[HistogramBin, ...], Field(description="Label requests by score: open, answered, closed.")]


class AuditBody(ApiModel):
    """The unbiased accuracy by randomly drawn label requests, with its 95 % interval."""

    accuracy: float
    low: float
    high: float
    answers: int


class PartitionBody(ApiModel):
    """The newest status of one partition."""

    partition: int
    at: datetime
    age_seconds: Annotated[float, Field(description="The age of the newest status event.")]
    stopped: Annotated[bool, Field(description="Whether the worker was shut down gracefully.")] = False
    events: int
    predictions: int
    labels_learned: int
    labels_requested: int
    labels_remaining: int | None
    open_requests: int
    dead_letters: int
    lag: Annotated[int | None, Field(description="Null: unknown, since the worker is silent.")]
    accuracy: Annotated[
        float | None, Field(description="Over all labelled observations, which may be the requested ones.")
    ]
    log_loss: float | None
    roca: float | None
    audit: AuditBody | None
    checkpoint_age_seconds: float | None


class StatusBody(ApiModel):
    """The state of the worker and of the page."""

    stopped_at: Annotated[
        datetime | None, Field(description="When the whole worker was shut down gracefully; else null.")
    ] = None
    healthy: Annotated[bool, Field(description="Whether the log can be read and the worker has reported recently.")]
    summary: Annotated[str, Field(description="One sentence: what is wrong, and what to do.")]
    partitions: tuple[PartitionBody, ...]
    open: int
    leased: int
    log_problem: str | None


class Ready(ApiModel):
    """Readiness of the page."""

    ready: bool
    detail: str
