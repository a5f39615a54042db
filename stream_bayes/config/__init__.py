"""The settings of a worker, from TOML, environment and command line; unknown ones are refused."""

from stream_bayes.config.loading import FILE, PREFIX, Loaded, load_settings
from stream_bayes.config.settings import (
    CheckpointSettings,
    CommitSettings,
    EngineSettings,
    EventSettings,
    LabelSettings,
    LearnerSettings,
    RetentionSettings,
    Settings,
    StatusSettings,
    TopicSettings,
)

__all__ = [
    "FILE",
    "PREFIX",
    "CheckpointSettings",
    "CommitSettings",
    "EngineSettings",
    "EventSettings",
    "LabelSettings",
    "LearnerSettings",
    "Loaded",
    "RetentionSettings",
    "Settings",
    "StatusSettings",
    "TopicSettings",
    "load_settings",
]
