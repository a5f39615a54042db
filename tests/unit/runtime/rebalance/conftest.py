"""Fixtures of a log whose partitions several workers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.config import Settings
from stream_bayes.eventlog.memory import MemoryStore
from tests.support.shared_log import PARTITIONS, SharedLog, feed_more
from tests.support.workers import INPUTS, settings_in


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of frequent checkpoints."""
    return settings_in(tmp_path, checkpoint={"events": 40})


@pytest.fixture
def store() -> MemoryStore:
    """Two partitions of inputs."""
    made = MemoryStore(PARTITIONS)
    feed_more(made, 0)
    return made


@pytest.fixture
def log(store: MemoryStore, settings: Settings) -> SharedLog:
    """Of the worker that the test is about; at first it reads everything."""
    return SharedLog(store, settings.group, INPUTS)
