"""`stream-bayes send`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from stream_bayes.cli.app import Json, say
from stream_bayes.cli.run import Config, LogUrl, existing, settings_from, topic_named, writable
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import EventError, InputError

if TYPE_CHECKING:
    from stream_bayes.config import Settings
    from stream_bayes.eventlog.base import Log
    from stream_bayes.events import Label, Observation

_AT_ONCE = 300
_TOPIC = "Its name, or its role: observations or labels, as a rule."


class _Line(NamedTuple):
    """A record to be written."""

    value: bytes
    key: bytes | None
    partition: int | None


def send(
    topic: Annotated[str, typer.Argument(help=_TOPIC, show_default=False)],
    config: Config = None,
    log: LogUrl = None,
    as_json: Json = False,
) -> None:
    """Append events to a topic: JSON objects from standard input, one a line.

    All lines are read and checked first, and nothing is written if one is bad. The key of a record is the id of its
    event; a label that names its source goes to the partition of that.
    """
    from stream_bayes.cli.interruption import interruption

    settings = settings_from(config, log)
    name = topic_named(settings, topic)
    partitions = _partitions(settings)
    reader = _Reader(settings, name, partitions)
    with TemporaryFile() as checked:
        for number, line in _lines():
            reader.read(line, number)
            checked.write(line + b"\n")
        checked.seek(0)
        with writable(settings) as source, interruption() as pressed:
            sent = _write(source, name, map(reader.read, checked), pressed)
    typer.echo(json.dumps({"sent": sent}) if as_json else f"{sent:,} record{'' if sent == 1 else 's'} sent to {name}")
    if pressed:
        raise typer.Exit(STOPPED)


class _Reader:
    """From lines to records of a topic; what the worker would refuse there is an error that names its line."""

    def __init__(self, settings: Settings, topic: str, partitions: int) -> None:
        from stream_bayes.events import Label, Observation
        from stream_bayes.runtime.decoding import limits_of

        self._topic = topic
        self._partitions = partitions
        kinds: dict[str, type[Observation] | type[Label]]
        kinds = {settings.topics.observations: Observation, settings.topics.labels: Label}
        self._kind = kinds.get(topic)
        self._limits = limits_of(settings)

    def read(self, line: bytes, number: int = 0) -> _Line:
        """The record of a line."""
        try:
            partition = None if self._kind is None else self._checked(line, self._kind)
            content = json.loads(line)
        except EventError as problem:
            message = f"line {number}: {problem} ({problem.code}); nothing was sent"
        except (ValueError, RecursionError) as problem:
            message = f"line {number} is no JSON: {problem}; nothing was sent"
        else:
            if isinstance(content, dict):
                id_ = content.get("id")
                key = id_.encode("utf-8", "surrogatepass") if isinstance(id_, str) and id_ else None
                return _Line(line.strip(), key, partition)
            message = f"line {number} is no JSON object; nothing was sent"
        raise InputError(message)

    def _checked(self, line: bytes, kind: type[Observation] | type[Label]) -> int | None:
        """The partition of a label's source, if the line is what belongs here."""
        from stream_bayes.events import decode
        from stream_bayes.records import Record

        event = decode(Record(self._topic, 0, 0, 0, None, line.strip()), kind, self._limits)
        if not isinstance(event, kind):
            code = "wrong-topic"
            noun = event.type
            message = f"a {noun} does not belong into {self._topic!r}"
            raise EventError(code, message)
        source = getattr(event, "source", None)
        if source is not None and source.partition >= self._partitions:
            code = "wrong-partition"
            message = f"the source is in partition {source.partition}, and there are {self._partitions}"
            raise EventError(code, message)
        return None if source is None else int(source.partition)


def _partitions(settings: Settings) -> int:
    """How many the inputs have: those of a label and of its observation must be the same."""
    try:
        with existing(settings) as log:
            return (
                max(len(log.end_offsets(topic)) for topic in (settings.topics.observations, settings.topics.labels))
                or 1
            )
    except FileNotFoundError:
        return 1


def _lines() -> Iterator[tuple[int, bytes]]:
    """What stands in standard input, but empty lines, each with its number."""
    if sys.stdin is None:
        message = "there is no standard input"
        raise InputError(message)
    if sys.stdin.isatty():
        say("type or paste events, one a line, then press Ctrl-D")
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            yield number, line.strip()


def _write(log: Log, topic: str, lines: Iterable[_Line], pressed: Sequence[int]) -> int:
    """Append all, some hundred in a transaction, or what there is until Ctrl-C; how many."""
    sent = 0
    for sent, (value, key, partition) in enumerate(lines, 1):
        log.append(topic, value, key, partition)
        if sent % _AT_ONCE == 0:
            log.commit({})
            if pressed:
                break
    log.commit({})
    return sent
