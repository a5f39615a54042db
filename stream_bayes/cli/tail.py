"""`stream-bayes tail`."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import merge
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import Json, replace_unencodable_output
from stream_bayes.cli.run import Config, Group, LogUrl, load_command_settings, open_existing_log, resolve_topic
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import EventError, LogError

if TYPE_CHECKING:
    from stream_bayes.eventlog.base import Log
    from stream_bayes.records import Partition, Record

_POLL_SECONDS = 0.2
_KEY_CHARACTERS = 40
_VALUE_CHARACTERS = 400
_NAME_CHARACTERS = 60
_TOPIC = "Name or role of the topic: observations, labels, predictions, label-requests, dead-letters, status, journal."


def tail(
    topic: Annotated[str, typer.Argument(help=_TOPIC, show_default=False)],
    config: Config = None,
    log: LogUrl = None,
    group: Group = None,
    lines: Annotated[int, typer.Option(min=0, metavar="N", help="Number of newest records.")] = 10,
    follow: Annotated[bool, typer.Option("--follow", help="Print new records as they arrive, until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Print the newest records of a topic, one a line.

    Prints PARTITION-OFFSET, time (UTC), key and the beginning of the value; label requests, their outcomes and status
    events are summarized. A prediction has the sender and the subject of its mail if the log still has the mail. With
    --json events are printed unchanged, and other records as an object with the value in base64.
    """
    from stream_bayes.cli.interruption import defer_interrupt

    replace_unencodable_output()
    settings = load_command_settings(config, log, group)
    name = resolve_topic(settings, topic)
    with open_existing_log(settings) as source, defer_interrupt() as interrupts:
        ends = dict(source.end_offsets(name))
        if not ends and not follow:
            message = f"the log has no topic {name!r} yet"
            raise LogError(message)
        for record in _newest_records(source, ends, lines):
            _print(record, source, as_json=as_json)
        while follow and not interrupts:
            for record in _read_new(source, name, ends):
                _print(record, source, as_json=as_json)
            time.sleep(_POLL_SECONDS)
    if interrupts:
        raise typer.Exit(STOPPED)


def _newest_records(log: Log, ends: dict[Partition, int], count: int) -> Iterator[Record]:
    """Yield the newest records of all partitions in order of time."""
    starts: dict[Partition, int] = {}
    for topic in {partition.topic for partition in ends}:
        starts |= log.earliest_offsets(topic)
    last = {
        partition: _tail_start(log, partition, (starts.get(partition, 0), end), count)
        for partition, end in ends.items()
    }
    records = (_read_range(log, partition, begin, ends[partition]) for partition, (begin, _) in last.items())
    in_order = merge(*records, key=lambda record: (record.timestamp, record.partition, record.offset))
    count_read = sum(found for _, found in last.values())
    return islice(in_order, max(count_read - count, 0), None)


def _tail_start(log: Log, partition: Partition, span: tuple[int, int], count: int) -> tuple[int, int]:
    """Return the offset where the last records of a partition start, and the number of records from there."""
    first, end = span
    distance = count
    # Offsets may have gaps: look further and further back.
    while True:
        begin = max(end - distance, first)
        found = sum(1 for _ in _read_range(log, partition, begin, end))
        if found >= count or begin == first:
            return begin, found
        distance *= 4


def _read_range(log: Log, partition: Partition, begin: int, end: int) -> Iterator[Record]:
    from stream_bayes.eventlog.base import records_from

    return takewhile(lambda record: record.offset < end, records_from(log, partition, begin))


def _read_new(log: Log, topic: str, ends: dict[Partition, int]) -> Iterator[Record]:
    """Yield the records after these end offsets, and advance the offsets."""
    from stream_bayes.eventlog.base import records_from

    for partition, end in log.end_offsets(topic).items():
        for record in records_from(log, partition, ends.get(partition, 0)):
            ends[partition] = record.offset + 1
            yield record
        ends[partition] = max(ends.get(partition, 0), end)


def _print(record: Record, log: Log, *, as_json: bool) -> None:
    typer.echo(_format_json(record) if as_json else _format_text(record, log))


def _format_text(record: Record, log: Log) -> str:
    from stream_bayes.cli.formatting import format_event
    from stream_bayes.mail.render.sanitize import printable

    position = f"{record.partition}-{record.offset:<8} {_format_time(record)}"
    if (line := format_event(record.value)) is not None:
        return f"{position}  {line}"
    key = "-" if record.key is None else printable(record.key.decode("utf-8", "replace"), _KEY_CHARACTERS)
    value = printable(record.value[: 4 * _VALUE_CHARACTERS].decode("utf-8", "replace"), _VALUE_CHARACTERS)
    name = _mail_name(record.value, log)
    return "  ".join([position, key, *([name] if name else []), value])


def _mail_name(value: bytes, log: Log) -> str:
    """Return sender and subject of the mail of a prediction; "" for other records and if the mail is not there."""
    from pydantic import ValidationError

    from stream_bayes.events import NO_LIMITS, Observation, Prediction, decode
    from stream_bayes.mail.render.sanitize import printable
    from stream_bayes.mail.render.summary import sender, subject

    if b'"prediction"' not in value:
        return ""
    try:
        source = Prediction.model_validate_json(value).source
        found = [record for record in log.read(*source, 1) if record.offset == source.offset]
        # Its record was predicted, whatever the limits of the worker.
        observation = decode(found[0], Observation, NO_LIMITS) if found else None
    except (ValidationError, LogError, EventError):
        return ""
    if not isinstance(observation, Observation):
        return ""
    content = observation.content
    mail = content if isinstance(content, bytes) else b""
    parts = (observation.sender or sender(mail), observation.subject or subject(mail))
    return " | ".join(printable(part, _NAME_CHARACTERS) for part in parts if part)


def _format_time(record: Record) -> str:
    """Format the time of a record; milliseconds if the date is out of range, as times of Kafka senders may be."""
    try:
        return f"{datetime.fromtimestamp(record.timestamp / 1000.0, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{record.timestamp} ms"


def _format_json(record: Record) -> str:
    try:
        text = record.value.decode()
        content = json.loads(text)
    except (ValueError, RecursionError):
        key = None if record.key is None else record.key.decode("utf-8", "replace")
        position = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        return json.dumps({**position, "key": key, "value": b64encode(record.value).decode()})
    # One line for each record, also if it was written on several.
    return json.dumps(content) if "\n" in text or "\r" in text else text
