"""The settings of a worker, from TOML, environment and command line; unknown ones are refused."""

from stream_bayes.config.kafka import KafkaSettings, servers_of, without_secrets
from stream_bayes.config.loader import FILE, PREFIX, SECRETS, Loaded, load_settings
from stream_bayes.config.settings import (
    CheckpointSettings,
    CommitSettings,
    EngineSettings,
    EventSettings,
    LabelSettings,
    LearnerSettings,
    RetentionSettings,
    Settings,
    SqliteSettings,
    StatusSettings,
    TopicSettings,
)
from stream_bayes.config.web import WebSettings

__all__ = [
    "FILE",
    "PREFIX",
    "SECRETS",
    "CheckpointSettings",
    "CommitSettings",
    "EngineSettings",
    "EventSettings",
    "KafkaSettings",
    "LabelSettings",
    "LearnerSettings",
    "Loaded",
    "RetentionSettings",
    "Settings",
    "SqliteSettings",
    "StatusSettings",
    "TopicSettings",
    "WebSettings",
    "load_settings",
    "servers_of",
    "without_secrets",
]
