"""`stream-bayes send`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from stream_bayes.cli.app import Json, print_error
from stream_bayes.cli.run import (
    Config,
    LogUrl,
    load_command_settings,
    open_existing_log,
    open_log_for_writing,
    resolve_topic,
)
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import EventError, InputError, LogNotFound

if TYPE_CHECKING:
    from stream_bayes.config import Settings
    from stream_bayes.eventlog.base import Log
    from stream_bayes.events import Label, Observation

_BATCH_SIZE = 300
_TOPIC = "Name or role of the topic, usually observations or labels."


class _OutputRecord(NamedTuple):
    """A record to write."""

    value: bytes
    key: bytes | None
    partition: int | None


def send(
    topic: Annotated[str, typer.Argument(help=_TOPIC, show_default=False)],
    config: Config = None,
    log: LogUrl = None,
    as_json: Json = False,
) -> None:
    """Append events to a topic: JSON lines from standard input.

    All lines are read and validated first; nothing is written if one is invalid. The key of a record is the id of its
    event; a label with a source goes to the partition of the source. A SQLite log that does not exist is created, but
    not for labels: their observations must be in it.
    """
    from stream_bayes.cli.interruption import defer_interrupt

    settings = load_command_settings(config, log)
    name = resolve_topic(settings, topic)
    partitions = _partition_count(settings, name)
    parser = _LineParser(settings, name, partitions)
    with TemporaryFile() as checked:
        for number, line in _read_lines():
            parser.parse(line, number)
            checked.write(line + b"\n")
        checked.seek(0)
        with open_log_for_writing(settings) as source, defer_interrupt() as interrupts:
            sent = _write_records(source, name, map(parser.parse, checked), interrupts)
    typer.echo(json.dumps({"sent": sent}) if as_json else f"{sent:,} record{'' if sent == 1 else 's'} sent to {name}")
    if interrupts:
        raise typer.Exit(STOPPED)


class _LineParser:
    """Parses lines to records of a topic; raises for what the worker would refuse, with the line number."""

    def __init__(self, settings: Settings, topic: str, partitions: int) -> None:
        from stream_bayes.events import Label, Limits, Observation

        self._topic = topic
        self._partitions = partitions
        kinds: dict[str, type[Observation] | type[Label]]
        kinds = {settings.topics.observations: Observation, settings.topics.labels: Label}
        self._kind = kinds.get(topic)
        self._limits = Limits.from_settings(settings.events)

    def parse(self, line: bytes, number: int = 0) -> _OutputRecord:
        """Parse a line."""
        try:
            partition = None if self._kind is None else self._validate(line, self._kind)
            content = json.loads(line)
        except EventError as problem:
            message = f"line {number}: {problem} ({problem.code}); nothing was sent"
        except (ValueError, RecursionError) as problem:
            message = f"line {number} is no JSON: {problem}; nothing was sent"
        else:
            if isinstance(content, dict):
                id_ = content.get("id")
                key = id_.encode("utf-8", "surrogatepass") if isinstance(id_, str) and id_ else None
                return _OutputRecord(line.strip(), key, partition)
            message = f"line {number} is no JSON object; nothing was sent"
        raise InputError(message)

    def _validate(self, line: bytes, kind: type[Observation] | type[Label]) -> int | None:
        """Validate the event; return the partition of the source of a label."""
        from stream_bayes.events import decode
        from stream_bayes.records import Record

        event = decode(Record(self._topic, 0, 0, 0, None, line.strip()), kind, self._limits)
        if not isinstance(event, kind):
            code = "wrong-topic"
            noun = event.type
            message = f"a {noun} does not belong in {self._topic!r}"
            raise EventError(code, message)
        source = getattr(event, "source", None)
        if source is not None and source.partition >= self._partitions:
            code = "wrong-partition"
            message = f"the source is in partition {source.partition}, and there are {self._partitions}"
            raise EventError(code, message)
        return None if source is None else int(source.partition)


def _partition_count(settings: Settings, topic: str) -> int:
    """Return the number of partitions of the inputs; a label and its observation share the partition.

    A log that does not exist has no observations, so labels for it are refused.
    """
    try:
        with open_existing_log(settings) as log:
            return (
                max(len(log.end_offsets(topic)) for topic in (settings.topics.observations, settings.topics.labels))
                or 1
            )
    except LogNotFound as problem:
        if topic == settings.topics.labels:
            message = f"{problem}, so there are no observations to label: check --log"
            raise LogNotFound(message) from problem
        return 1


def _read_lines() -> Iterator[tuple[int, bytes]]:
    """Yield the non-empty lines of standard input with their numbers."""
    if sys.stdin is None:
        message = "there is no standard input"
        raise InputError(message)
    if sys.stdin.isatty():
        print_error("type or paste events, one a line, then press Ctrl-D")
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            yield number, line.strip()


def _write_records(log: Log, topic: str, lines: Iterable[_OutputRecord], interrupts: Sequence[int]) -> int:
    """Append the records in batches until the end or Ctrl-C; return their number."""
    sent = 0
    for sent, (value, key, partition) in enumerate(lines, 1):
        log.append(topic, value, key, partition)
        if sent % _BATCH_SIZE == 0:
            log.commit({})
            if interrupts:
                break
    log.commit({})
    return sent
