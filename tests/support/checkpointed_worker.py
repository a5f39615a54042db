"""A worker with some work and several checkpoints behind it, for the suites about going on."""

from __future__ import annotations

from pathlib import Path

from stream_bayes.config import Settings
from stream_bayes.eventlog.sqlite import SqliteLog
from tests.support.workers import INPUTS, assert_nothing_lost, feed, stream, work


def feed_more(folder: Path, first: int) -> None:
    with SqliteLog(folder / "log.db") as writer:
        feed(writer, stream(50, first))


def resume_worker(settings: Settings) -> None:
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
