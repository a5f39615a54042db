"""The producer of one partition: stages output events as records, no larger than their topics take."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from stream_bayes.config import Settings
from stream_bayes.engine.forwarding import FORWARDED
from stream_bayes.engine.types import Output, dead_letter
from stream_bayes.errors import EventError, LogError
from stream_bayes.eventlog.base import Headers, Log
from stream_bayes.events import DeadLetter, LabelOutcome, LabelRequest, Prediction, encode
from stream_bayes.records import Record
from stream_bayes.runtime.journal import JournalEntry

_MAX_MESSAGE = 300


class Producer:
    """Stages the outputs of one partition for the next commit; an event that is too large is made shorter first."""

    def __init__(self, settings: Settings, number: int, log: Log) -> None:
        topics = settings.topics
        self._number = number
        self._log = log
        self._journal = settings.journal
        self._labels = topics.labels
        self._group = settings.group.encode()
        self._topics = {
            Prediction: topics.predictions,
            LabelRequest: topics.label_requests,
            LabelOutcome: topics.label_requests,
            DeadLetter: topics.dead_letters,
        }
        # Asked once: while events are processed nothing may fail any more.
        self._max_bytes = {
            topic: log.max_record_bytes(topic) for topic in {*self._topics.values(), self._labels, self._journal}
        }

    def stage_events(self, events: Iterable[Output]) -> None:
        """Stage output events."""
        for event in events:
            topic = self._topics[type(event)]
            max_bytes = self._max_bytes[topic]
            value = encode(event)
            name = None if isinstance(event, DeadLetter) else event.id
            key = None if name is None else name.encode("utf-8", "surrogatepass")
            if len(value) + len(key or b"") > max_bytes:
                value = _shortened(event, topic, max_bytes - len(key or b""))
            self._log.append(topic, value, key, self._number)

    def stage_forward(self, record: Record, partition: int) -> None:
        """Stage a label again, for the partition of its observation; one that is too large is a dead letter."""
        headers = (*record.headers, (FORWARDED, self._group))
        size = len(record.key or b"") + len(record.value)
        size += sum(len(name.encode()) + len(content) for name, content in headers)
        if size <= self._max_bytes[self._labels]:
            self._log.append(self._labels, record.value, record.key, partition, headers)
        else:
            message = f"its observation is in partition {partition}, and it is too large to be forwarded"
            problem = EventError("wrong-partition", message)
            self.stage_events([dead_letter(record, problem, record.timestamp)])

    def stage_entry(self, entry: JournalEntry, headers: Headers) -> None:
        """Stage the journal record of a commit."""
        value = entry.encode()
        size = len(value) + sum(map(len, chain.from_iterable(headers)))
        max_bytes = self._max_bytes[self._journal]
        if size > max_bytes:
            message = (
                f"the journal record of a commit is of {size:,} bytes, and the topic {self._journal} takes "
                f"{max_bytes:,}: lower commit.events, or let the topic take larger records"
            )
            raise LogError(message)
        self._log.append(self._journal, value, None, self._number, headers)


def _shortened(event: Output, topic: str, most: int) -> bytes:
    """An event without its longest fields: the preview for people, and the payload, which can be read again."""
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
    """A dead letter that names the place of its record instead of holding it."""
    size = len(letter.payload) if letter.size is None else letter.size
    place = f"{letter.topic}-{letter.partition}-{letter.offset}"
    note = f" (its {size:,} bytes are too many for a letter here: they are at {place})"
    message = letter.message[: _MAX_MESSAGE - len(note)] + note
    return letter.model_copy(update={"message": message, "payload": b"", "size": size, "key": None, "headers": None})
