"""`stream-bayes run`."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import STOPPED, Json
from stream_bayes.errors import InputError, LogError

if TYPE_CHECKING:
    from stream_bayes.config import Settings
    from stream_bayes.log.base import Log
    from stream_bayes.worker import Worker

Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings; by default ./stream_bayes.toml if it exists.")
]
LogUrl = Annotated[str | None, typer.Option("--log", metavar="URL", help="The log, as sqlite:///path/to/file.db.")]
Group = Annotated[str | None, typer.Option(metavar="NAME", help="On whose behalf the log is read.")]
Checkpoints = Annotated[
    Path | None, typer.Option("--checkpoints", metavar="FOLDER", help="Where they are; by default beside the log.")
]
_PARTITIONS = "Into how many parts topics are cut that do not exist yet."


def run(
    config: Config = None,
    log: LogUrl = None,
    group: Group = None,
    checkpoints: Checkpoints = None,
    partitions: Annotated[int | None, typer.Option(min=1, help=_PARTITIONS)] = None,
    until_end: Annotated[bool, typer.Option("--until-end", help="Stop when all there is has been read.")] = False,
    as_json: Json = False,
) -> None:
    """Predict and learn from a log until it is stopped.

    SIGTERM or Ctrl-C: it finishes the batch, commits, writes a checkpoint and ends with code 0. Whatever else ends it,
    the next run goes on where the last commit was. --json prints its messages as JSON, one a line.
    """
    from stream_bayes.worker import Worker
    from stream_bayes.worker.garbage import look_rarely
    from stream_bayes.worker.reports import report_to_stderr

    settings = settings_from(config, log, group, checkpoints)
    _check_engine(settings)
    report_to_stderr(as_json=as_json)
    look_rarely()
    with opened(settings, partitions) as source:
        worker = Worker(settings, source)
        stop_on_signals(worker)
        worker.run(until_end=until_end)


def _check_engine(settings: Settings) -> None:
    """Refuse what an engine would refuse, before there is a log and a line that says it has started."""
    from stream_bayes.engine.model import Model, open_learner
    from stream_bayes.engine.questions import selector_for

    Model(open_learner(settings.learner))
    selector_for(settings.labels, 0, 1)


def settings_from(
    config: Path | None, log: str | None = None, group: str | None = None, checkpoints: Path | None = None
) -> Settings:
    """The settings of the file and the environment, and what the command line says besides."""
    from stream_bayes.config import load_settings

    given = {"log": log, "group": group, "checkpoint.folder": checkpoints}
    return load_settings(config, os.environ, given).settings


def opened(settings: Settings, partitions: int | None = None) -> Log:
    """The log, open for the group of the settings; new topics get so many partitions, or as many as those of now."""
    from stream_bayes.log.opening import open_log

    inputs = settings.topics.observations, settings.topics.labels
    with open_log(settings.log) as log:
        known = {topic: len(log.ends(topic)) for topic in inputs}
    for topic, there in known.items():
        if partitions is not None and there not in (0, partitions):
            noun = "partition" if there == 1 else "partitions"
            message = f"{topic!r} has {there} {noun} already, and that cannot change; leave --partitions out"
            raise LogError(message)
    return open_log(settings.log, settings.group, inputs, partitions or max(known.values()) or 1)


def existing(settings: Settings) -> Log:
    """The log, open for single records; where there is none, none is made."""
    from stream_bayes.log.opening import open_log

    path = Path(settings.log.removeprefix("sqlite:///"))
    if settings.log.startswith("sqlite:///") and not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such log", str(path))
    return open_log(settings.log)


def topic_named(settings: Settings, name: str) -> str:
    """A topic by its own name or by what it is for: `predictions`, `label-requests`, ..; `journal` is the group's."""
    topics: dict[str, str] = {**dict(settings.topics), "journal": settings.journal}
    if name in topics.values():
        return name
    role = name.replace("-", "_")
    if role in topics:
        return topics[role]
    known = ", ".join(role.replace("_", "-") for role in topics)
    message = f"{name!r} is no topic of the settings: name one of {known}, or its own name"
    raise InputError(message)


def stop_on_signals(worker: Worker) -> None:
    """Stop in good order at the first signal, and at once at the second."""

    def handle(*_: int | FrameType | None) -> None:
        # No exception: one raised while compiled code calls back into Python would be lost.
        if worker.stopping:
            os._exit(STOPPED)
        worker.stop()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
