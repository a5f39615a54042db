"""Fixtures of a worker that has written several checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stream_bayes.config import Settings
from tests.support.checkpointed_worker import feed_more, resume_worker
from tests.support.workers import settings_in


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a worker has done some work, with several checkpoints."""
    folder = tmp_path_factory.mktemp("worked")
    for first in (0, 50, 100):
        feed_more(folder, first)
        resume_worker(settings_in(folder, checkpoint={"events": 20}))
    return folder


@pytest.fixture
def settings(tmp_path: Path, worked: Path) -> Settings:
    """Of a copy of it."""
    shutil.copytree(worked, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path, checkpoint={"events": 20})
