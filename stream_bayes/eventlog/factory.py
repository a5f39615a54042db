"""Opening of a log by its address, the setting `log`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stream_bayes.config import KafkaSettings, Settings, SqliteSettings, parse_servers, redact_url
from stream_bayes.errors import LogError, LogNotFound
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.sqlite import SqliteLog

if TYPE_CHECKING:
    from stream_bayes.eventlog.kafka.log import KafkaLog

SQLITE = "sqlite:///"
KAFKA = "kafka://"


def open_log(  # noqa: PLR0913 - all but the address have defaults
    url: str,
    group: str | None = None,
    topics: Sequence[str] = (),
    partitions: int = 1,
    *,
    kafka: KafkaSettings | None = None,
    instance_id: str | None = None,
    sqlite: SqliteSettings | None = None,
) -> Log:
    """The log at an address.

    `sqlite:///relative/path.db` or `sqlite:////absolute/path.db` is a file, `kafka://host:port,host:port` a cluster.
    With a group it reads these topics as a member of that consumer group; a topic that does not exist is created with
    `partitions`. `kafka` (settings of the connection) and `instance_id` (the stable name of this worker in the group)
    are for a cluster only, `sqlite` is for a file only.
    """
    if url.startswith(SQLITE) and len(url) > len(SQLITE):
        most = (sqlite or SqliteSettings()).record_bytes
        return SqliteLog(url.removeprefix(SQLITE), group, topics, partitions, record_bytes=most)
    if url.startswith(KAFKA):
        servers = parse_servers(url)
        return _kafka_log()(servers, group, topics, partitions, kafka, instance_id)
    message = (
        f"{redact_url(url)!r} is not the address of a log. Write {SQLITE}relative/path.db or "
        f"{SQLITE}/absolute/path.db (three slashes, then the path), or {KAFKA}host:port,host:port for a Kafka cluster"
    )
    raise LogError(message)


def open_existing_log(settings: Settings, *, lock_seconds: float | None = None) -> Log:
    """The log of the settings, without a group: to read single records, and to append some.

    LogNotFound if it is a file that does not exist: none is created. `lock_seconds` is how long to wait for a file that
    another process has locked, by default as `SqliteLog` does.
    """
    if not settings.log.startswith(SQLITE):
        return open_log(settings.log, kafka=settings.kafka)
    check_exists(settings.log)
    if lock_seconds is None:
        return open_log(settings.log, sqlite=settings.sqlite)
    return SqliteLog(settings.log.removeprefix(SQLITE), wait=lock_seconds, record_bytes=settings.sqlite.record_bytes)


def check_exists(url: str) -> None:
    """Raise LogNotFound if the log is a file that does not exist."""
    path = url.removeprefix(SQLITE)
    if url.startswith(SQLITE) and path and not Path(path).exists():
        message = f"there is no such log ({path})"
        raise LogNotFound(message)


def _kafka_log() -> type[KafkaLog]:
    """The class, imported when it is needed: the Kafka client takes a while to load."""
    try:
        from stream_bayes.eventlog.kafka.log import KafkaLog  # noqa: PLC0415
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] != "kafka":
            raise
        message = "a log on Kafka needs the package kafka-python, which is not installed: pip install kafka-python"
        raise LogError(message) from problem
    return KafkaLog
