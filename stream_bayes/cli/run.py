"""`stream-bayes run`."""

from __future__ import annotations

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
_FOLDER = "Folder of checkpoints; by default next to the file of the log, and for Kafka ./checkpoints."
PARTITIONS = "Number of partitions of topics that do not exist yet."
KAFKA_DEBUG = "STREAM_BAYES_KAFKA_DEBUG"
"""If this environment variable is set, the log of the Kafka client is shown."""

Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings; by default ./stream_bayes.toml if it exists.")
]
LogUrl = Annotated[str | None, typer.Option("--log", metavar="URL", help=_LOG)]
Group = Annotated[str | None, typer.Option(metavar="NAME", help="The consumer group.")]
Checkpoints = Annotated[Path | None, typer.Option("--checkpoints", metavar="FOLDER", help=_FOLDER)]


def run(
    config: Config = None,
    log: LogUrl = None,
    group: Group = None,
    checkpoints: Checkpoints = None,
    partitions: Annotated[int | None, typer.Option(min=1, help=PARTITIONS)] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Stop at the end of the log.")] = False,
    as_json: Json = False,
) -> None:
    """Predict and learn from a log until stopped.

    On SIGTERM or Ctrl-C it finishes the batch, commits, writes a checkpoint and exits with code 0; a second signal
    exits at once with 130. If it was started with SIGINT ignored, as background jobs of scripts are, only SIGTERM stops
    it. After a crash the next run continues from the last commit. It waits for a broker that does not answer, and makes
    the file of a log that does not exist; with --drain it does neither at startup. --json prints log messages as JSON
    lines.
    """
    from stream_bayes.eventlog.factory import check_exists
    from stream_bayes.runtime import Worker
    from stream_bayes.runtime.logging import report_to_stderr
    from stream_bayes.runtime.worker import tune_gc

    settings = load_command_settings(config, log, group, checkpoints)
    check_engine_settings(settings)
    if drain:
        check_exists(settings.log)
    report_to_stderr(as_json=as_json)
    tune_gc()
    exit_on_signals()
    with open_group_log(settings, partitions, wait=not drain) as source:
        worker = Worker(settings, source)
        stop_on_signals(worker)
        worker.run(drain=drain)


def check_engine_settings(settings: Settings) -> None:
    """Validate the learner and the label settings before the log is opened."""
    from stream_bayes.engine.label_requests import selector_for
    from stream_bayes.engine.model_adapter import ModelAdapter, open_learner

    ModelAdapter(open_learner(settings.learner))
    selector_for(settings.labels, 0, 1)


def load_command_settings(
    config: Path | None, log: str | None = None, group: str | None = None, checkpoints: Path | None = None
) -> Settings:
    """Load the settings with the options of the command line."""
    from stream_bayes.config import load_settings

    overrides = {"log": log, "group": group, "checkpoint.folder": checkpoints}
    return load_settings(config, os.environ, overrides).settings


@contextmanager
def open_group_log(settings: Settings, partitions: int | None = None, *, wait: bool = False) -> Iterator[Log]:
    """Open the log for the consumer group of the settings.

    New topics get `partitions`, by default as many as the inputs have. With `wait`, an unavailable log is retried.
    """
    from stream_bayes.eventlog.retry import RetryPolicy

    retry = RetryPolicy()
    # A stopping policy raises errors at once.
    retry.stopping = not wait
    count = retry(lambda: _partition_count(settings, partitions))
    inputs = settings.topics.observations, settings.topics.labels
    with (
        _instance_id(settings) as instance_id,
        retry(lambda: _open_log(settings, settings.group, inputs, count, instance_id)) as log,
    ):
        yield log


def open_existing_log(settings: Settings) -> Log:
    """Open the log to read single records; raise if it does not exist."""
    from stream_bayes.eventlog import factory

    _show_kafka_client_if_asked()
    return factory.open_existing_log(settings)


def open_log_for_writing(settings: Settings, partitions: int | None = None) -> Log:
    """Open the log to append records; new topics get `partitions`, by default as many as the inputs have."""
    return _open_log(settings, partitions=_partition_count(settings, partitions))


def _open_log(
    settings: Settings,
    group: str | None = None,
    topics: Sequence[str] = (),
    partitions: int = 1,
    instance_id: str | None = None,
) -> Log:
    from stream_bayes.eventlog.factory import open_log

    _show_kafka_client_if_asked()
    return open_log(
        settings.log, group, topics, partitions, kafka=settings.kafka, instance_id=instance_id, sqlite=settings.sqlite
    )


def _partition_count(settings: Settings, requested: int | None) -> int:
    """Return the number of partitions of the inputs; raise if it differs from the one requested."""
    with _open_log(settings) as log:
        known = {topic: len(log.end_offsets(topic)) for topic in (settings.topics.observations, settings.topics.labels)}
    for topic, count in known.items():
        if requested is not None and count not in (0, requested):
            noun = "partition" if count == 1 else "partitions"
            message = f"{topic!r} has {count} {noun}, not {requested}: leave --partitions out, or name other topics"
            raise LogError(message)
    return requested or max(known.values()) or 1


@contextmanager
def _instance_id(settings: Settings) -> Iterator[str | None]:
    """Hold the group instance id of this worker; None for a log without consumer groups."""
    if not settings.log.startswith("kafka://"):
        yield None
        return
    from stream_bayes.eventlog.kafka.instance_id import InstanceIdLease

    # In the temporary folder of the machine, since ids must differ on the whole machine.
    folder = Path(gettempdir()) / f"stream_bayes-{os.getuid()}" / settings.group
    with InstanceIdLease(folder, settings.kafka.instance_id) as lease:
        yield lease.instance_id


def _show_kafka_client_if_asked() -> None:
    """Show the log of the Kafka client if the environment asks for it."""
    if not os.environ.get(KAFKA_DEBUG):
        return
    logger = logging.getLogger("kafka")
    logger.setLevel(logging.INFO)
    logger.handlers = [logging.StreamHandler()]


def resolve_topic(settings: Settings, name: str) -> str:
    """Return a topic by its name or its role, such as `predictions`; `journal` is that of the group."""
    topics: dict[str, str] = {**dict(settings.topics), "journal": settings.journal}
    if name in topics.values():
        return name
    role = name.replace("-", "_")
    if role in topics:
        return topics[role]
    known = ", ".join(role.replace("_", "-") for role in topics)
    message = f"{name!r} is not a topic of the settings: use one of {known}, or the name of the topic"
    raise InputError(message)


def exit_on_signals() -> None:
    """Exit at once on a signal, as long as no worker has started."""

    def handle(*_: int | FrameType | None) -> None:
        try:
            logging.getLogger(__name__).info("stopped before it had begun")
        finally:
            # Even if the signal interrupted the writing of another line.
            os._exit(0)

    handle_signals(handle, signal.SIGTERM, signal.SIGINT)


def stop_on_signals(worker: Worker) -> None:
    """Shut down gracefully at the first signal, and exit at once at the second."""

    def handle(*_: int | FrameType | None) -> None:
        # No exception: it would be lost while compiled code calls back into Python.
        if worker.stopping:
            os._exit(STOPPED)
        worker.stop()

    handle_signals(handle, signal.SIGTERM, signal.SIGINT)
