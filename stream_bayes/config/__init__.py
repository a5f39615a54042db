"""Settings from a TOML file, the environment and the command line; unknown names are refused.

settings    the sections and their defaults (pydantic models)
kafka       the section `kafka`, and the parsing of kafka:// addresses
web         the section `web`
fields      field types: names, counts, fractions, durations, paths
loader      merging of the sources, with the origin of each value
messages    error messages, with "did you mean" for unknown names
"""

from stream_bayes.config.kafka import KafkaSettings, parse_servers, redact_url
from stream_bayes.config.loader import DEFAULT_FILE, ENV_PREFIX, SECRET_KEYS, LoadedSettings, load_settings
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
    "DEFAULT_FILE",
    "ENV_PREFIX",
    "SECRET_KEYS",
    "CheckpointSettings",
    "CommitSettings",
    "EngineSettings",
    "EventSettings",
    "KafkaSettings",
    "LabelSettings",
    "LearnerSettings",
    "LoadedSettings",
    "RetentionSettings",
    "Settings",
    "SqliteSettings",
    "StatusSettings",
    "TopicSettings",
    "WebSettings",
    "load_settings",
    "parse_servers",
    "redact_url",
]
