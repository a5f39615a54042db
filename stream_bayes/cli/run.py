"""`stream-bayes run`."""

from __future__ import annotations

import errno
import logging
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import Json
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import InputError, LogError
from stream_bayes.signals import handle_signals

if TYPE_CHECKING:
    from stream_bayes.config import Settings
    from stream_bayes.eventlog.base import Log
    from stream_bayes.runtime import Worker

_LOG = "The log: sqlite:///path/to/file.db, or kafka://host:port,host:port."
_FOLDER = "Where they are; by default beside the log's file, and for Kafka in ./checkpoints."
PARTITIONS = "Into how many parts topics are cut that do not exist yet."
KAFKA_DEBUG = "STREAM_BAYES_KAFKA_DEBUG"
"""Where this is in the environment, what the Kafka client logs is seen."""

Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings; by default ./stream_bayes.toml if it exists.")
]
LogUrl = Annotated[str | None, typer.Option("--log", metavar="URL", help=_LOG)]
Group = Annotated[str | None, typer.Option(metavar="NAME", help="On whose behalf the log is read.")]
Checkpoints = Annotated[Path | None, typer.Option("--checkpoints", metavar="FOLDER", help=_FOLDER)]


def run(
    config: Config = None,
    log: LogUrl = None,
    group: Group = None,
    checkpoints: Checkpoints = None,
    partitions: Annotated[int | None, typer.Option(min=1, help=PARTITIONS)] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Stop when all there is has been read.")] = False,
    as_json: Json = False,
) -> None:
    """Predict and learn from a log until it is stopped.

    SIGTERM or Ctrl-C: it finishes the batch, commits, writes a checkpoint and ends with code 0; a second one ends it
    at once with 130. Started with SIGINT ignored, as a script's background job is, it ends on SIGTERM alone. Whatever
    else ends it, the next run goes on where the last commit was. A broker that does not answer is waited for, with
    --drain not at the beginning. --json prints its messages as JSON, one a line.
    """
    from stream_bayes.runtime import Worker
    from stream_bayes.runtime.logging import report_to_stderr
    from stream_bayes.runtime.worker import tune_gc

    settings = settings_from(config, log, group, checkpoints)
    check_engine(settings)
    report_to_stderr(as_json=as_json)
    tune_gc()
    end_on_signals()
    with opened(settings, partitions, patient=not drain) as source:
        worker = Worker(settings, source)
        stop_on_signals(worker)
        worker.run(drain=drain)


def check_engine(settings: Settings) -> None:
    """Refuse what an engine would refuse, before there is a log and a line that says it has started."""
    from stream_bayes.engine.label_requests import selector_for
    from stream_bayes.engine.model_adapter import ModelAdapter, open_learner

    ModelAdapter(open_learner(settings.learner))
    selector_for(settings.labels, 0, 1)


def settings_from(
    config: Path | None, log: str | None = None, group: str | None = None, checkpoints: Path | None = None
) -> Settings:
    """The settings of the file and the environment, and what the command line says besides."""
    from stream_bayes.config import load_settings

    given = {"log": log, "group": group, "checkpoint.folder": checkpoints}
    return load_settings(config, os.environ, given).settings


@contextmanager
def opened(settings: Settings, partitions: int | None = None, *, patient: bool = False) -> Iterator[Log]:
    """The log, open for the group of the settings; new topics get so many partitions, or as many as those of now.

    Who is patient waits for one that may be there later.
    """
    from stream_bayes.eventlog.retry import RetryPolicy

    retry = RetryPolicy()
    # Then an error is an error, also one that may pass.
    retry.stopping = not patient
    count = retry(lambda: _agreed(settings, partitions))
    inputs = settings.topics.observations, settings.topics.labels
    with _member(settings) as member, retry(lambda: _open(settings, settings.group, inputs, count, member)) as log:
        yield log


def existing(settings: Settings) -> Log:
    """The log, open for single records; where there is none, none is made."""
    path = Path(settings.log.removeprefix("sqlite:///"))
    if settings.log.startswith("sqlite:///") and not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such log", str(path))
    return _open(settings)


def writable(settings: Settings, partitions: int | None = None) -> Log:
    """The log, open for new records; new topics get so many partitions, or as many as the inputs have."""
    return _open(settings, partitions=_agreed(settings, partitions))


def _open(
    settings: Settings,
    group: str | None = None,
    topics: Sequence[str] = (),
    partitions: int = 1,
    member: str | None = None,
) -> Log:
    from stream_bayes.eventlog.factory import open_log

    if os.environ.get(KAFKA_DEBUG):
        _show_client()
    return open_log(
        settings.log, group, topics, partitions, kafka=settings.kafka, member=member, sqlite=settings.sqlite
    )


def _agreed(settings: Settings, wanted: int | None) -> int:
    """How many partitions the inputs have or get; an error where that is not what is wanted."""
    with _open(settings) as log:
        known = {topic: len(log.end_offsets(topic)) for topic in (settings.topics.observations, settings.topics.labels)}
    for topic, there in known.items():
        if wanted is not None and there not in (0, wanted):
            noun = "partition" if there == 1 else "partitions"
            message = f"{topic!r} has {there} {noun}, not {wanted}: leave --partitions out, or name other topics"
            raise LogError(message)
    return wanted or max(known.values()) or 1


@contextmanager
def _member(settings: Settings) -> Iterator[str | None]:
    """The name of this worker in its group, held by it alone; none where the log has no use for one."""
    if not settings.log.startswith("kafka://"):
        yield None
        return
    from stream_bayes.eventlog.kafka.instance_id import InstanceIdLease

    # Of the machine, not of the folder that a worker was started in: names must differ on the whole machine.
    folder = Path(gettempdir()) / f"stream_bayes-{os.getuid()}" / settings.group
    with InstanceIdLease(folder, settings.kafka.instance_id) as slot:
        yield slot.member


def _show_client() -> None:
    """Let what the Kafka client says be seen."""
    logger = logging.getLogger("kafka")
    logger.setLevel(logging.INFO)
    logger.handlers = [logging.StreamHandler()]


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


def end_on_signals() -> None:
    """End at once while there is nothing that would have to be finished: no worker reads yet."""

    def handle(*_: int | FrameType | None) -> None:
        try:
            logging.getLogger(__name__).info("stopped before it had begun")
        finally:
            # Also where the signal came in the middle of writing another line.
            os._exit(0)

    handle_signals(handle, signal.SIGTERM, signal.SIGINT)


def stop_on_signals(worker: Worker) -> None:
    """Stop in good order at the first signal, and at once at the second."""

    def handle(*_: int | FrameType | None) -> None:
        # No exception: one raised while compiled code calls back into Python would be lost.
        if worker.stopping:
            os._exit(STOPPED)
        worker.stop()

    handle_signals(handle, signal.SIGTERM, signal.SIGINT)
