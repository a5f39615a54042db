"""All settings: the sections, their defaults and their limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from stream_bayes.config.fields import (
    Count,
    Duration,
    Folder,
    Fraction,
    GroupName,
    Limit,
    Name,
    Positive,
    PositiveCount,
    Section,
    TopicName,
)
from stream_bayes.config.kafka import SCHEME, KafkaSettings, parse_servers
from stream_bayes.config.web import WebSettings
from stream_bayes.errors import LogError

_SQLITE = "sqlite:///"


def _check_log_url(url: str) -> str:
    """Refuse an invalid Kafka address, and an address with a password, which would be printed with it."""
    if url.startswith(SCHEME) or ("@" in url and not url.startswith("sqlite:")):
        try:
            parse_servers(url)
        except LogError as problem:
            raise PydanticCustomError("address", "{text}", {"text": str(problem)}) from None
    return url


class TopicSettings(Section):
    """The names of the topics; all must differ."""

    observations: TopicName = "emails"
    """Input: observations, with or without a label."""
    labels: TopicName = "labels"
    """Input: labels of earlier observations."""
    predictions: TopicName = "predictions"
    """Output: one prediction for each observation."""
    label_requests: TopicName = "label-requests"
    """Output: label requests and their outcomes."""
    dead_letters: TopicName = "dead-letters"
    """Output: records that could not be processed, with the reason."""
    status: TopicName = "status"
    """Output: counters and metrics of each partition."""
    journal: TopicName = "journal"
    """Internal: one entry for each commit; the name of the group is appended to the name of the topic."""

    @model_validator(mode="after")
    def _check_distinct(self) -> Self:
        keys_of: dict[str, list[str]] = {}
        for key, topic in self:
            keys_of.setdefault(topic, []).append(key)
        for topic, keys in keys_of.items():
            if len(keys) > 1:
                raise PydanticCustomError("same_topic", "same topic", {"topic": topic, "keys": keys})
        return self


class LearnerSettings(Section):
    """The learner: a class of this package, and the arguments of its constructor."""

    name: Name = "SpamFilter"
    """The name of the class."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The arguments by name, such as `{prior_precision = 2.0}`; `prior = "none"` is `prior=None`."""


class SqliteSettings(Section):
    """A log in one SQLite file."""

    record_bytes: Annotated[int, Field(ge=1 << 20, le=512 << 20)] = 64 << 20
    """Maximum size of a record: key, value and headers together."""


class EventSettings(Section):
    """Limits of input records; a record beyond them becomes a dead letter."""

    record_bytes: PositiveCount = 1 << 20
    """Maximum size of a value. Raw mails are exempt: only their beginning is parsed."""
    depth: Annotated[int, Field(ge=2, le=200)] = 32
    """Maximum nesting of JSON. An observation with features has depth 2; the parser itself stops at 200."""
    id_bytes: PositiveCount = 512
    """Maximum size of an id in UTF-8."""


class EngineSettings(Section):
    """How much history the engine keeps in memory."""

    label_history: Annotated[int, Field(ge=1, le=2**32)] = 10_000_000
    """Observations whose label state is known (learned or not): about one byte each."""
    dedup_window: Annotated[int, Field(ge=1, le=2**26)] = 100_000
    """Observations whose id is known, to detect duplicates and to find the observation of a label."""
    observation_cache_bytes: Count = 64 << 20
    """Cache of recent observations for labels that arrive later; older ones are read from the log again."""


class LabelSettings(Section):
    """Label requests: the budget, the strategy, and the time to live."""

    budget: Limit = 1000
    """Labels in total; "none" if only `per_period` limits them."""
    per_period: Limit = None
    """Labels within any window of one period."""
    period: Duration = "1d"
    """The length of the window of `per_period`, such as 12h or 1d."""
    reserve: Fraction = 0.1
    """Fraction of the budget spent at full pace only while answers are surprising."""
    audit_fraction: Fraction = 0.05
    """Fraction of the budget spent on random requests, which estimate the accuracy."""
    expected_events: Limit = None
    """The expected number of observations, to pace `budget` by; "none" if it is unknown."""
    max_open_requests: Count = 100
    """Label requests that are open at the same time."""
    request_ttl: Duration = "7d"
    """A request without an answer is closed after this time; it still counts against the budget."""
    strategy: Name = "variance"
    """The query strategy: one of `stream_bayes.active.STRATEGIES`."""
    coverage: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.3
    """Share of the pace, at most, for messages that are common although few labels were requested for similar ones."""
    similarity: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.8
    """An observation this similar to a recent request is not requested; 1: only exact duplicates."""
    abstain_label: str | None = "unsure"
    """The answer that closes a request without a label; "" if there is none."""
    seed: Annotated[int, Field(ge=0, lt=2**52)] = 1
    """Seed of the random numbers of the selector."""

    @model_validator(mode="after")
    def _check_limit(self) -> Self:
        if self.budget is None and self.per_period is None:
            raise PydanticCustomError("no_limit", "no limit", {})
        return self


class CommitSettings(Section):
    """A batch is committed after this many events or milliseconds, whichever comes first."""

    events: PositiveCount = 1000
    """Events of a batch."""
    milliseconds: PositiveCount = 100
    """Time since the last batch."""


class CheckpointSettings(Section):
    """A checkpoint is written after this many events or seconds, whichever comes first."""

    folder: Folder | None = None
    """By default next to the file of the log; a relative path is relative to the working directory."""
    events: PositiveCount = 100_000
    """Events since the last checkpoint."""
    seconds: Positive = 60.0
    """Time since the last checkpoint."""
    keep: PositiveCount = 3
    """Checkpoints that are kept."""


class StatusSettings(Section):
    """The interval of status events."""

    seconds: Positive = 5.0
    """Time between two status events of a partition."""


class RetentionSettings(Section):
    """Older records are deleted from the log once no group needs them; by default none are."""

    days: Positive | None = None
    """Age from which a record may be deleted."""


class Settings(Section):
    """All settings."""

    log: Annotated[Name, AfterValidator(_check_log_url)] = "sqlite:///stream_bayes.db"
    """sqlite:///path/to/file.db, or kafka://host:port,host:port."""
    group: GroupName = "stream-bayes"
    """The consumer group; each group has its own positions, journal and model."""
    topics: TopicSettings = TopicSettings()
    learner: LearnerSettings = LearnerSettings()
    events: EventSettings = EventSettings()
    engine: EngineSettings = EngineSettings()
    labels: LabelSettings = LabelSettings()
    commit: CommitSettings = CommitSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()
    status: StatusSettings = StatusSettings()
    retention: RetentionSettings = RetentionSettings()
    kafka: KafkaSettings = KafkaSettings()
    sqlite: SqliteSettings = SqliteSettings()
    web: WebSettings = WebSettings()

    @property
    def journal(self) -> str:
        """The topic of the journal; each group has its own."""
        return f"{self.topics.journal}-{self.group}"

    @property
    def checkpoint_folder(self) -> Path:
        """The folder of checkpoints: the one set, else next to the file of the log; for Kafka ./checkpoints.

        Workers on several machines share it, or rebuild missing checkpoints from the journal.
        """
        file = self.log.removeprefix(_SQLITE)
        beside = Path("checkpoints" if file == self.log else f"{file}.checkpoints")
        return self.checkpoint.folder or beside
