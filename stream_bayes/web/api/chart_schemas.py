"""What there is to see, as JSON: the session, what answers changed, charts, the state of the worker."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from stream_bayes.web.api.schemas import ApiModel


class SessionBody(ApiModel):
    """What a page needs to know before anything else."""

    csrf: Annotated[str, Field(description="To be sent as X-CSRF-Token with every write that has no bearer token.")]
    secured: Annotated[bool, Field(description="Whether a token is asked for, so that one can log out.")]
    version: str
    group: str
    log: str
    lease_seconds: float
    mail: Annotated[bool, Field(description="Whether the learner reads mail.")]
    numbers: Annotated[bool, Field(description="Whether it predicts numbers.")]
    kinds: Annotated[
        tuple[str, ...], Field(description="Of what there are posteriors; none while there is no checkpoint.")
    ]


class Changes(ApiModel):
    """What the answers changed."""

    today: Annotated[int, Field(description="Answers given today, UTC.")]
    mine: Annotated[int, Field(description="Those of them by the labeller asked about.")]
    differed: Annotated[int, Field(description="Those of today's that were not the filter's guess.")]
    compared: Annotated[int, Field(description="Those of today's that could differ from a guess.")]
    unsure: int
    corrected: int
    error_before: Annotated[
        float | None, Field(description="Wrong guesses among the mails labelled before today's first answer.")
    ]
    error_before_of: Annotated[int, Field(description="Mails labelled before today's first answer.")]
    error_after: Annotated[float | None, Field(description="Among those labelled since.")]
    error_after_of: Annotated[int, Field(description="Mails labelled since.")]


class CurvePoint(ApiModel):
    """How good the predictions were by then, over all partitions."""

    at: datetime
    events: int
    labels: int
    roca: Annotated[float | None, Field(description="(1-ROCA)% of all so far; of several partitions the mean.")]
    log_loss: Annotated[float | None, Field(description="Of all so far.")]
    recent_log_loss: Annotated[float | None, Field(description="Of the last 50 labels or some more.")]
    accuracy: float | None
    error: Annotated[float | None, Field(description="Root mean squared, where numbers are predicted.")] = None


class CalibrationPoint(ApiModel):
    """Of the predictions in one tenth: what was said, what came true."""

    said: float
    observed: float
    count: int


class BudgetPoint(ApiModel):
    """What was asked by then, and what the budget's pace would have asked."""

    at: datetime
    events: int
    asked: int
    planned: float | None


class RatePoint(ApiModel):
    """How fast events were taken, and how many waited."""

    at: datetime
    per_second: float
    lag: int


class HistogramBin(ApiModel):
    """A bar of a histogram."""

    low: float
    high: float
    counts: dict[str, int]


class Charts(ApiModel):
    """Everything that the charts draw."""

    at: datetime
    curve: tuple[CurvePoint, ...]
    calibration: tuple[CalibrationPoint, ...]
    calibration_label: Annotated[str | None, Field(description="The label whose probability is meant.")]
    budget: tuple[BudgetPoint, ...]
    budget_total: int | None
    budget_left: int | None
    rates: tuple[RatePoint, ...]
    histogram: Annotated[tuple[HistogramBin, ...], Field(description="Probabilities said lately.")]
    histogram_of: Annotated[int, Field(description="So many of the newest predictions.")]
    histogram_label: str | None
    expected_error: Annotated[
        float | None, Field(description="The share of these guesses that is wrong, by the probabilities themselves.")
    ]
    scores: Annotated[tuple[HistogramBin, ...], Field(description="Questions by score: open, answered, closed.")]


class AuditBody(ApiModel):
    """The accuracy by questions that were drawn by chance, with its interval of 95 %: without bias."""

    accuracy: float
    low: float
    high: float
    answers: int


class PartitionBody(ApiModel):
    """The newest state of one partition."""

    partition: int
    at: datetime
    age_seconds: Annotated[float, Field(description="Since the worker said so.")]
    stopped: Annotated[bool, Field(description="Whether the worker ended in good order then.")] = False
    events: int
    predictions: int
    labels_learned: int
    labels_requested: int
    labels_remaining: int | None
    open_requests: int
    dead_letters: int
    lag: Annotated[int | None, Field(description="Null: nobody knows, since the worker is silent.")]
    accuracy: Annotated[float | None, Field(description="Of the labelled ones, which may be those asked about.")]
    log_loss: float | None
    roca: float | None
    audit: AuditBody | None
    checkpoint_age_seconds: float | None


class StatusBody(ApiModel):
    """How the worker is doing, and the page."""

    stopped_at: Annotated[
        datetime | None, Field(description="When the worker ended in good order, if all of it has; else null.")
    ] = None

    healthy: Annotated[bool, Field(description="The log can be read, and the worker said something lately.")]
    summary: Annotated[str, Field(description="In a sentence: what is wrong, and what to do.")]
    partitions: tuple[PartitionBody, ...]
    open: int
    taken: int
    log_problem: str | None


class Ready(ApiModel):
    """Whether the page can do its work."""

    ready: bool
    detail: str
