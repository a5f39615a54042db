"""The topics of a worker: checks of their configuration, and their numbers of partitions."""

from __future__ import annotations

import logging

from stream_bayes.config import Settings
from stream_bayes.errors import LogError
from stream_bayes.eventlog.base import Log
from stream_bayes.records import Partition
from stream_bayes.runtime.journal import JournalEntry

logger = logging.getLogger("stream_bayes.runtime")


def count_of(settings: Settings, log: Log) -> int:
    """The number of partitions of the inputs; the outputs are given as many."""
    topics = settings.topics
    count = len(log.end_offsets(topics.observations))
    others = len(log.end_offsets(topics.labels))
    if count != others:
        message = (
            f"{topics.observations!r} has {count} partitions and {topics.labels!r} has {others}: a "
            "label is looked for in the partition of its observation, so they must have the same number"
        )
        raise LogError(message)
    for topic in (topics.predictions, topics.label_requests, topics.dead_letters, topics.status, settings.journal):
        log.ensure(topic, count)
    return count


def check_topics(settings: Settings, log: Log) -> None:
    """Raise `LogError` for topics from which a model cannot be rebuilt, unless the settings allow them."""
    topics = settings.topics
    for topic in (topics.observations, topics.labels, settings.journal):
        if not log.keeps_all(topic):
            reason = f"{topic!r} is compacted: of records with the same key only the last is kept"
            if settings.kafka.on_offset_gap == "fail":
                message = f"{reason}, so that a model could not be made again. Set its cleanup.policy to delete"
                raise LogError(message)
            logger.warning("a model cannot be made again from its inputs", extra={"fields": {"reason": reason}})
    for topic in (topics.observations, topics.labels):
        if not log.has_log_append_time(topic):
            fields = {"topic": topic, "remedy": "set its message.timestamp.type to LogAppendTime"}
            logger.warning("whoever sends a record says when it came", extra={"fields": fields})


def shares_of(settings: Settings, log: Log, count: int) -> int:
    """The number of partitions that share a group's label budget: those that existed when the group began.

    Partitions that were added later have models of their own and request no labels: else more labels would be requested
    than the budget allows. The settings say whether to go on at all after that.
    """
    at_start = _count_at_start(settings, log, count)
    if at_start >= count:
        return count
    topic = settings.topics.observations
    happened = f"{topic!r} has {count} partitions now, and had {at_start} when the group {settings.group!r} began"
    if settings.kafka.on_offset_gap == "fail":
        message = (
            f"{happened}: a key leads to another partition since, so that a label without a source may miss its "
            "observation, and the label budget was shared between those of then. Use another group for a new start, or "
            'set kafka.on_offset_gap = "earliest": then the new partitions get models of their own, that ask for no '
            "labels"
        )
        raise LogError(message)
    fields = {"reason": happened}
    logger.warning("the new partitions ask for no labels", extra={"fields": fields})
    return at_start


def _count_at_start(settings: Settings, log: Log, count: int) -> int:
    """The number of partitions in the journals; the current number if they have none."""
    begins = log.earliest_offsets(settings.journal)
    for number in range(count):
        place = Partition(settings.journal, number)
        found = log.read(*place, begins[place]) if place in begins else []
        if found:
            return JournalEntry.decode(found[0]).policy.partitions
    return count
