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

from stream_bayes.cli.app import Json, replace_what_cannot_be_written
from stream_bayes.cli.run import Config, Group, LogUrl, existing, settings_from, topic_named
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import LogError

if TYPE_CHECKING:
    from stream_bayes.eventlog.base import Log
    from stream_bayes.records import Partition, Record

_LOOK_EVERY = 0.2
_KEY_CHARACTERS = 40
_VALUE_CHARACTERS = 400
_TOPIC = "Its name, or its role: observations, labels, predictions, label-requests, dead-letters, status, journal."


def tail(
    topic: Annotated[str, typer.Argument(help=_TOPIC, show_default=False)],
    config: Config = None,
    log: LogUrl = None,
    group: Group = None,
    lines: Annotated[int, typer.Option(min=0, metavar="N", help="So many of the newest records.")] = 10,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with those that come, until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Print the newest records of a topic, one a line.

    PARTITION-OFFSET, time (UTC), key and the beginning of the value; of questions, of what became of them, and of the
    status what matters to people. With --json events are printed as they are, and what is no JSON as an object with its
    value in base64.
    """
    from stream_bayes.cli.interruption import interruption

    replace_what_cannot_be_written()
    settings = settings_from(config, log, group)
    name = topic_named(settings, topic)
    with existing(settings) as source, interruption() as pressed:
        ends = dict(source.end_offsets(name))
        if not ends and not follow:
            message = f"the log has no topic {name!r} yet"
            raise LogError(message)
        for record in _newest(source, ends, lines):
            _print(record, as_json=as_json)
        while follow and not pressed:
            for record in _since(source, name, ends):
                _print(record, as_json=as_json)
            time.sleep(_LOOK_EVERY)
    if pressed:
        raise typer.Exit(STOPPED)


def _newest(log: Log, ends: dict[Partition, int], count: int) -> Iterator[Record]:
    """The newest of all partitions together, in the order of their times."""
    firsts: dict[Partition, int] = {}
    for topic in {place.topic for place in ends}:
        firsts |= log.earliest_offsets(topic)
    last = {place: _last(log, place, (firsts.get(place, 0), end), count) for place, end in ends.items()}
    records = (_between(log, place, begin, ends[place]) for place, (begin, _) in last.items())
    in_order = merge(*records, key=lambda record: (record.timestamp, record.partition, record.offset))
    there = sum(found for _, found in last.values())
    return islice(in_order, max(there - count, 0), None)


def _last(log: Log, place: Partition, span: tuple[int, int], count: int) -> tuple[int, int]:
    """Where to begin for the last records of a partition, and how many there are from there: enough, or all of them."""
    first, end = span
    wanted = count
    # Offsets may have gaps: one looks further and further back.
    while True:
        begin = max(end - wanted, first)
        found = sum(1 for _ in _between(log, place, begin, end))
        if found >= count or begin == first:
            return begin, found
        wanted *= 4


def _between(log: Log, place: Partition, begin: int, end: int) -> Iterator[Record]:
    from stream_bayes.eventlog.base import records_from

    return takewhile(lambda record: record.offset < end, records_from(log, place, begin))


def _since(log: Log, topic: str, ends: dict[Partition, int]) -> Iterator[Record]:
    """What has come to a topic since these ends, which are moved."""
    from stream_bayes.eventlog.base import records_from

    for place, end in log.end_offsets(topic).items():
        for record in records_from(log, place, ends.get(place, 0)):
            ends[place] = record.offset + 1
            yield record
        ends[place] = max(ends.get(place, 0), end)


def _print(record: Record, *, as_json: bool) -> None:
    typer.echo(_as_json(record) if as_json else _as_text(record))


def _as_text(record: Record) -> str:
    from stream_bayes.cli.formatting import plain
    from stream_bayes.mail.render.sanitize import printable

    place = f"{record.partition}-{record.offset:<8} {_time(record)}"
    if (line := plain(record.value)) is not None:
        return f"{place}  {line}"
    key = "-" if record.key is None else printable(record.key.decode("utf-8", "replace"), _KEY_CHARACTERS)
    value = printable(record.value[: 4 * _VALUE_CHARACTERS].decode("utf-8", "replace"), _VALUE_CHARACTERS)
    return f"{place}  {key}  {value}"


def _time(record: Record) -> str:
    """When the log had it; as it is where no calendar has it, as the times of senders on Kafka may be."""
    try:
        return f"{datetime.fromtimestamp(record.timestamp / 1000.0, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{record.timestamp} ms"


def _as_json(record: Record) -> str:
    try:
        text = record.value.decode()
        content = json.loads(text)
    except (ValueError, RecursionError):
        key = None if record.key is None else record.key.decode("utf-8", "replace")
        place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        return json.dumps({**place, "key": key, "value": b64encode(record.value).decode()})
    # One line each, also of what was written as several.
    return json.dumps(content) if "\n" in text or "\r" in text else text
