"""Where the log of a chaos run is."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stream_bayes.config import KafkaSettings
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.factory import open_log
from tests.chaos.messages import EMAILS, LABELS, MAX_A_COMMIT

SESSION_SECONDS = 6.0
"""After which a silent worker's partitions are another's: as short as it can be."""
_PARTITIONS = 4
_WORKERS = 2
_LEAD = 200


class LogLocation(NamedTuple):
    """A log by its address, and what is particular about its kind."""

    url: str
    partitions: int = 1
    workers: int = 1
    """How many work at the same time."""
    lead: int = 0
    """By how many messages an e-mail comes before its labels, where offsets have gaps; see Script."""
    look_seconds: float = 0.002
    """How often to ask it how far things are."""

    @property
    def most_a_commit(self) -> int:
        """Messages that a producer commits together, at most."""
        return self.lead or MAX_A_COMMIT

    def open(self, group: str | None = None) -> Log:
        """For reading and writing, and on behalf of a group for its inputs."""
        topics = () if group is None else (EMAILS, LABELS)
        kafka = KafkaSettings(session_seconds=SESSION_SECONDS)
        return open_log(self.url, group, topics, self.partitions, kafka=kafka)


def sqlite_place(folder: Path, partitions: int = 1) -> LogLocation:
    """A file in a folder, for one worker at a time."""
    return LogLocation(f"sqlite:///{folder}/log.db", partitions)


def kafka_place(address: str) -> LogLocation:
    """A broker, for two workers."""
    return LogLocation(f"kafka://{address}", _PARTITIONS, _WORKERS, _LEAD, look_seconds=0.05)
