"""A worker with some work and several checkpoints behind it, for the suites about going on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stream_bayes.config import Settings
from stream_bayes.eventlog.sqlite import SqliteLog
from tests.support.workers import INPUTS, assert_nothing_lost, feed, settings_in, stream, work


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a worker has done some work, with several checkpoints."""
    folder = tmp_path_factory.mktemp("worked")
    for first in (0, 50, 100):
        more(folder, first)
        go_on(settings_in(folder, checkpoint={"events": 20}))
    return folder


@pytest.fixture
def settings(tmp_path: Path, worked: Path) -> Settings:
    """Of a copy of it."""
    shutil.copytree(worked, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path, checkpoint={"events": 20})


def more(folder: Path, first: int) -> None:
    with SqliteLog(folder / "log.db") as writer:
        feed(writer, stream(50, first))


def go_on(settings: Settings) -> None:
    with SqliteLog(path_of(settings), settings.group, INPUTS) as log:
        work(settings, log)


def path_of(settings: Settings) -> Path:
    return Path(settings.log.removeprefix("sqlite:///"))


def files(settings: Settings) -> list[Path]:
    """The checkpoints, the newest first."""
    return sorted(settings.checkpoint_folder.rglob("*.safetensors"), reverse=True)


def check(settings: Settings) -> None:
    with SqliteLog(path_of(settings)) as log:
        assert_nothing_lost(settings, log)
