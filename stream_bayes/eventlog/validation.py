"""Checks of arguments that every log makes, the errors they raise, and the partition of a key."""

from __future__ import annotations

import re
import zlib
from collections.abc import Container, Sequence

from stream_bayes.errors import LogError, ParameterError
from stream_bayes.eventlog.base import MAX_RECORD_BYTES, Headers
from stream_bayes.records import Offsets, Partition

MAX_POLL_BYTES = 32 << 20
"""A poll ends with the record that reaches this, so that a thousand large records do not fill the memory."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def is_name(name: str) -> bool:
    """Whether there can be a topic or a group of this name: what a broker and a file system accept."""
    return _NAME.fullmatch(name) is not None and name not in {".", ".."}


def check_name(kind: str, name: str) -> None:
    """Raise `ParameterError` for any other name."""
    if not is_name(name):
        message = f"{name!r:.120} cannot be the name of a {kind}: use 1 to 100 letters, digits, dots, - and _"
        raise ParameterError(message)


def check_subscription(group: str | None, topics: Sequence[str], partitions: int) -> None:
    """Refuse a group without topics, topics without a group, a topic named twice, and names that cannot be."""
    if isinstance(topics, str):
        message = f"topics must be a list of names, not the text {topics!r}"
        raise ParameterError(message)
    if (group is None) != (not topics):
        message = f"a group reads topics: give both or none, not group={group!r} with topics={tuple(topics)!r}"
        raise ParameterError(message)
    if len(set(topics)) < len(topics):
        message = f"each topic can be read once only, not {tuple(topics)!r}"
        raise ParameterError(message)
    if partitions < 1:
        message = f"a topic has at least one partition, not {partitions}"
        raise ParameterError(message)
    if group is not None:
        check_name("group", group)
    for topic in topics:
        check_name("topic", topic)


def check_record(value: object, key: object, headers: Headers, most: int = MAX_RECORD_BYTES) -> None:
    """Refuse what is not bytes, headers without a name, and records of more bytes than the log takes."""
    if not isinstance(value, bytes) or not isinstance(key, bytes | None):
        message = f"a record is of bytes, not of {type(value).__name__} with a key of {type(key).__name__}"
        raise ParameterError(message)
    size = len(value) + (0 if key is None else len(key))
    for name, content in headers:
        size += header_bytes(name, content)
    if size > most:
        message = f"a record of {size:,} bytes is too large for a log: at most {most:,} are taken"
        raise LogError(message)


def header_bytes(name: object, content: object) -> int:
    """The size of a header; refuses one that is not a text with bytes."""
    if not isinstance(name, str) or not isinstance(content, bytes):
        message = f"a header is a text with bytes, not {type(name).__name__} with {type(content).__name__}"
        raise ParameterError(message)
    try:
        return len(name.encode()) + len(content)
    except UnicodeEncodeError as problem:
        message = f"the name of a header must be valid Unicode, not {name!r:.120}"
        raise ParameterError(message) from problem


def check_most(most: int) -> None:
    """Refuse to ask for less than one record."""
    if most < 1:
        message = f"ask for at least one record, not {most}"
        raise ParameterError(message)


def check_offsets(offsets: Offsets, reads: Container[Partition]) -> None:
    """Refuse positions of partitions that are not read, and offsets below 0."""
    for partition, offset in offsets.items():
        if partition not in reads:
            message = f"{partition.topic}[{partition.number}] is not read here, so it has no position to set"
            raise ParameterError(message)
        if offset < 0:
            message = f"{partition.topic}[{partition.number}]: an offset is 0 or more, not {offset}"
            raise ParameterError(message)


def beyond_the_end(partition: Partition, offset: int, end: int) -> LogError:
    """The error of a position after the last record."""
    message = (
        f"{partition.topic}[{partition.number}] ends at offset {end}, so {offset} cannot be a position in it. "
        "Is this the log that the position was taken from?"
    )
    return LogError(message)


def no_such_partition(topic: str, number: int, count: int) -> LogError:
    """The error of a record for a partition that its topic does not have."""
    message = f"the topic {topic} has no partition {number}: its {count} are numbered from 0 to {count - 1}"
    return LogError(message)


def too_few_partitions(topic: str, count: int, wanted: int) -> LogError:
    """The error of a topic that cannot be made larger."""
    message = (
        f"the topic {topic} has {count} partitions and needs {wanted}, since outputs go to the partition with the "
        "number of their input: add partitions to it, or name another topic"
    )
    return LogError(message)


def no_group(what: str) -> LogError:
    """The error of a call that only a reading log understands."""
    message = f"{what} needs a log that was opened with a group and its topics"
    return LogError(message)


def chosen_partition(key: bytes | None, count: int, turn: int) -> int:
    """The partition of a key, by CRC-32: always the same one; records without a key take turns."""
    return (turn if key is None else zlib.crc32(key)) % count
