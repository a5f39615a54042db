"""The settings of a worker: what there is, what each is if nobody says otherwise, and what it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from stream_bayes.config.fields import (
    Count,
    Folder,
    GroupName,
    Limit,
    Name,
    Positive,
    PositiveCount,
    Section,
    Share,
    Span,
    TopicName,
)
from stream_bayes.config.kafka import SCHEME, KafkaSettings, servers_of
from stream_bayes.config.web import WebSettings
from stream_bayes.errors import LogError

_SQLITE = "sqlite:///"


def _without_password(url: str) -> str:
    """Refuse what is no address of a Kafka cluster, and what would show a password wherever the log is named."""
    if url.startswith(SCHEME) or ("@" in url and not url.startswith("sqlite:")):
        try:
            servers_of(url)
        except LogError as problem:
            raise PydanticCustomError("address", "{text}", {"text": str(problem)}) from None
    return url


class TopicSettings(Section):
    """The names of the topics, all different."""

    observations: TopicName = "emails"
    labels: TopicName = "labels"
    predictions: TopicName = "predictions"
    label_requests: TopicName = "label-requests"
    dead_letters: TopicName = "dead-letters"
    status: TopicName = "status"
    journal: TopicName = "journal"

    @model_validator(mode="after")
    def _different(self) -> Self:
        keys_of: dict[str, list[str]] = {}
        for key, topic in self:
            keys_of.setdefault(topic, []).append(key)
        for topic, keys in keys_of.items():
            if len(keys) > 1:
                raise PydanticCustomError("same_topic", "same topic", {"topic": topic, "keys": keys})
        return self


class LearnerSettings(Section):
    """Who learns: a class of this package, and the arguments of its constructor."""

    name: Name = "SpamFilter"
    parameters: dict[str, Any] = Field(default_factory=dict)


class SqliteSettings(Section):
    """A log in one file."""

    record_bytes: Annotated[int, Field(ge=1 << 20, le=512 << 20)] = 64 << 20
    """Largest record that is appended: key, value and headers together."""


class EventSettings(Section):
    """What a record may be at most; what is more goes to the dead letters."""

    record_bytes: PositiveCount = 1 << 20
    """Largest value; raw mails may be as large as the log takes, since only their beginning is looked at."""
    depth: Annotated[int, Field(ge=2, le=200)] = 32
    """An observation with features is two deep; the parser itself stops at 200."""
    id_bytes: PositiveCount = 512


class EngineSettings(Section):
    """How much of the past is kept in memory."""

    label_history: Annotated[int, Field(ge=1, le=2**32)] = 10_000_000
    """Observations whose label is known to have been learned or not: about a byte each."""
    dedup_window: Annotated[int, Field(ge=1, le=2**26)] = 100_000
    """Observations whose id is known, to notice one that comes twice and to find that of a label."""
    observation_cache_bytes: Count = 64 << 20
    """Contents of the newest observations, for labels that come later; older ones are read from the log again."""


class LabelSettings(Section):
    """How many labels people are asked for, which ones, and how long an answer is waited for."""

    budget: Limit = 1000
    """In all, for ever; "none" if only `per_period` limits them."""
    per_period: Limit = None
    """Within any span of one period."""
    period: Span = "1d"
    reserve: Share = 0.1
    """The share that is kept back for what is new."""
    audit_fraction: Share = 0.05
    """The share that is drawn by chance, to know the accuracy."""
    max_open_requests: Count = 100
    """At a time."""
    request_ttl: Span = "7d"
    """What nobody has answered by then is closed; it has cost its label."""
    strategy: Name = "epistemic"
    """What makes an observation worth a question: one of `stream_bayes.active.STRATEGIES`."""
    similarity: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.8
    """What has so much in common with something asked about lately is not asked about; 1: only what is the same."""
    abstain_label: str | None = "unsure"
    """The answer that closes a question without a label; "" if there is none."""
    seed: Annotated[int, Field(ge=0, lt=2**52)] = 1

    @model_validator(mode="after")
    def _limited(self) -> Self:
        if self.budget is None and self.per_period is None:
            raise PydanticCustomError("no_limit", "no limit", {})
        return self


class CommitSettings(Section):
    """A commit is made after so many events or milliseconds, whichever comes first."""

    events: PositiveCount = 1000
    milliseconds: PositiveCount = 100


class CheckpointSettings(Section):
    """A checkpoint is written after so many events or seconds, whichever comes first; so many are kept."""

    folder: Folder | None = None
    """By default beside the file of the log; a relative one starts where the worker was started, as that file does."""
    events: PositiveCount = 100_000
    seconds: Positive = 60.0
    keep: PositiveCount = 3


class StatusSettings(Section):
    """A status event is written after so many seconds."""

    seconds: Positive = 5.0


class RetentionSettings(Section):
    """What is older than this is removed from the log once nobody needs it; without it nothing is."""

    days: Positive | None = None


class Settings(Section):
    """Everything that can be set."""

    log: Annotated[Name, AfterValidator(_without_password)] = "sqlite:///stream_bayes.db"
    """sqlite:///path/to/file.db, or kafka://host:port,host:port."""
    group: GroupName = "stream-bayes"
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
        """The topic of the group's journal: groups that read one log go each their own way."""
        return f"{self.topics.journal}-{self.group}"

    @property
    def checkpoint_folder(self) -> Path:
        """Where checkpoints are: in the folder that is set, else beside the file of the log; for Kafka ./checkpoints.

        Workers on several machines share it, or rebuild what they have none of from the journal.
        """
        file = self.log.removeprefix(_SQLITE)
        beside = Path("checkpoints" if file == self.log else f"{file}.checkpoints")
        return self.checkpoint.folder or beside
