"""What a processor puts out, as records that their topics take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stream_bayes.config import Settings
from stream_bayes.engine.forwarding import FORWARDED
from stream_bayes.engine.output_events import dead_letter
from stream_bayes.engine.types import Output
from stream_bayes.errors import EventError, LogError
from stream_bayes.eventlog.base import Headers, Log
from stream_bayes.events import DeadLetter, LabelOutcome, LabelRequest, Prediction, encode
from stream_bayes.records import Record
from stream_bayes.runtime.journal import JournalEntry

_MESSAGE = 300


class Producer:
    """Stages the outputs of one partition; what would be too large for its topic is made shorter first."""

    def __init__(self, settings: Settings, number: int) -> None:
        topics = settings.topics
        self._number = number
        self._journal = settings.journal
        self._labels = topics.labels
        self._group = settings.group.encode()
        self._topics = {
            Prediction: topics.predictions,
            LabelRequest: topics.label_requests,
            LabelOutcome: topics.label_requests,
            DeadLetter: topics.dead_letters,
        }

    def limits(self, log: Log) -> dict[str, int]:
        """How large a record may be, of each topic that is written to."""
        return {topic: log.most_bytes(topic) for topic in (*self._topics.values(), self._labels, self._journal)}

    def stage(self, outputs: Iterable[Output], most: Mapping[str, int], log: Log) -> None:
        """Stage them all for the next commit."""
        for event in outputs:
            topic = self._topics[type(event)]
            value = encode(event)
            name = None if isinstance(event, DeadLetter) else event.id
            key = None if name is None else name.encode("utf-8", "surrogatepass")
            if len(value) + len(key or b"") > most[topic]:
                value = _fitting(event, topic, most[topic] - len(key or b""))
            log.append(topic, value, key, self._number)

    def stage_forwards(self, forwards: Iterable[tuple[Record, int]], most: Mapping[str, int], log: Log) -> None:
        """Stage labels again, each for the partition of its observation; one that is too large is a dead letter."""
        for record, partition in forwards:
            headers = (*record.headers, (FORWARDED, self._group))
            size = len(record.key or b"") + len(record.value)
            size += sum(len(name.encode()) + len(content) for name, content in headers)
            if size <= most[self._labels]:
                log.append(self._labels, record.value, record.key, partition, headers)
            else:
                message = f"its observation is in partition {partition}, and it is too large to be forwarded"
                self.stage([dead_letter(record, EventError("wrong-partition", message), record.timestamp)], most, log)

    def stage_entry(self, entry: JournalEntry, headers: Headers, most: Mapping[str, int], log: Log) -> None:
        """Stage the journal record of a commit."""
        value = entry.encode()
        size = len(value) + sum(len(name) + len(content) for name, content in headers)
        if size > most[self._journal]:
            message = (
                f"the journal record of a commit is of {size:,} bytes, and the topic {self._journal} takes "
                f"{most[self._journal]:,}: lower commit.events, or let the topic take larger records"
            )
            raise LogError(message)
        log.append(self._journal, value, None, self._number, headers)


def _fitting(event: Output, topic: str, most: int) -> bytes:
    """As much of an event as its topic takes: what a person would see goes first, and what can be read again."""
    if isinstance(event, DeadLetter):
        event = _without_payload(event)
    elif isinstance(event, LabelRequest):
        event = event.model_copy(update={"subject": None, "preview": None, "explanation": None})
        event = event if len(encode(event)) <= most else event.model_copy(update={"key": None})
    value = encode(event)
    if len(value) > most:
        message = (
            f"a {event.type} of {len(value):,} bytes is too large for the topic {topic}, which takes {most:,}: let the "
            "topic take larger records, or lower events.id_bytes"
        )
        raise LogError(message)
    return value


def _without_payload(letter: DeadLetter) -> DeadLetter:
    """The record itself is where it came from."""
    size = len(letter.payload) if letter.size is None else letter.size
    place = f"{letter.topic}-{letter.partition}-{letter.offset}"
    note = f" (its {size:,} bytes are too many for a letter here: they are at {place})"
    message = letter.message[: _MESSAGE - len(note)] + note
    return letter.model_copy(update={"message": message, "payload": b"", "size": size, "key": None, "headers": None})
