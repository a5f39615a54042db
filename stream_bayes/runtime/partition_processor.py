"""The processing of one partition: its engine, its positions in the log, its outputs and its journal entry."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from stream_bayes.config import Settings
from stream_bayes.engine import Engine
from stream_bayes.engine.forwarding import FORWARDED
from stream_bayes.engine.types import Output, dead_letter
from stream_bayes.errors import EventError, LogError, LogGap
from stream_bayes.eventlog.base import Headers, Log
from stream_bayes.events import (
    NO_LIMITS,
    DeadLetter,
    LabelOutcome,
    LabelRequest,
    Limits,
    Observation,
    Prediction,
    decode,
    decode_records,
    encode,
)
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.persistence.compatibility import LOG
from stream_bayes.records import Offsets, Partition, Record
from stream_bayes.runtime.journal import LEARNER, MARK, JournalEntry, OffsetRange

STAGES = ("read", "decode", "fold", "encode", "commit", "checkpoint")
_MAX_MESSAGE = 300


class StageTimer:
    """Seconds spent in each stage since the worker started; waiting for records is not counted."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.longest = dict.fromkeys(STAGES, 0.0)

    def add(self, stage: str, since: float) -> float:
        """Add the time since a reading of `time.perf_counter` to a stage; gives the reading now."""
        now = time.perf_counter()
        spent = now - since
        self.seconds[stage] += spent
        self.longest[stage] = max(self.longest[stage], spent)
        return now


class ObservationReader:
    """Reads observations of one partition from the log again, for labels that come late."""

    def __init__(self, log: Log, topic: str, partition: int) -> None:
        self._log = log
        self._topic = topic
        self._partition = partition

    def fetch(self, offsets: Iterable[int]) -> dict[int, Observation | None]:
        """The observations at these offsets; None where the log no longer has one."""
        return {offset: self._read(offset) for offset in sorted(offsets)}

    def _read(self, offset: int) -> Observation | None:
        records = self._log.read(self._topic, self._partition, offset)
        if not records or records[0].offset != offset:
            return None
        try:
            event = decode(records[0], Observation, NO_LIMITS)
        except EventError:
            return None
        return event if isinstance(event, Observation) else None


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
            self.stage_events([dead_letter(record, problem)])

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


class PartitionProcessor:
    """Processes one partition of the observations and of the labels.

    A new processor is at the beginning of the stream; `recovery.recover` brings it to the last commit.

    Parameters
    ----------
    settings
        The settings of the worker.
    number, partitions
        The number of the partition, and how many partitions share the label budget.
    log
        Where observations are read from again, and where outputs are staged.
    stages
        Where the time of each stage is counted.
    """

    def __init__(self, settings: Settings, number: int, partitions: int, log: Log, stages: StageTimer) -> None:
        self.settings = settings
        self.number = number
        self.log = log
        self.engine = Engine(settings, number, partitions)
        self.stages = stages
        folder = settings.checkpoint_folder / settings.group / f"partition-{number}"
        self.checkpoint_store = CheckpointStore(folder, settings.checkpoint.keep)
        topics = settings.topics
        self.positions: dict[Partition, int] = {
            Partition(topics.observations, number): 0,
            Partition(topics.labels, number): 0,
        }
        """The offset of the next record of each input."""
        self.journal = Partition(settings.journal, number)
        self.journal_end = 0
        """The offset behind its last journal record: the number of a checkpoint taken now."""
        self.mark: str | None = None
        """The mark of its last journal record, if there is one; see `mark_of`."""
        # Offsets mean nothing in another log.
        self.compatibility_key = {**self.engine.compatibility_key, LOG: log.identity}
        """The settings that a checkpoint must agree with."""
        self.learner = _digest(self.compatibility_key["learner"])
        """A digest of the learner and its settings, which stands in the journal."""
        self.observation_reader = ObservationReader(log, topics.observations, number)
        self._limits = Limits.from_settings(settings.events)
        self._producer = Producer(settings, number, log)
        self._entry = JournalEntry(self.engine.request_policy)
        self._events = 0
        self._next_mark = ""
        # The next point of the learning curve; set after the recovery, which counts events too.
        self._curve_events = 0
        self._curve_labels = 0

    def process(self, records: Sequence[Record]) -> None:
        """Process records and stage the outputs; once the log has been read, nothing can fail."""
        stages = self.stages
        began = time.perf_counter()
        events = decode_records(records, self.settings.topics.observations, self._limits)
        began = stages.add("decode", began)
        plan = self.engine.plan(events)
        began = stages.add("fold", began)
        observations = self.observation_reader.fetch(plan.missing) if plan.missing else {}
        began = stages.add("read", began)
        result = self.engine.apply(plan, observations)
        began = stages.add("fold", began)
        self._producer.stage_events(result.outputs)
        for record, partition in result.forwards:
            self._producer.stage_forward(record, partition)
        stages.add("encode", began)
        self._entry.add(records, result)
        self._events += len(records)
        ends: dict[str, int] = {}
        for record in records:
            ends[record.topic] = record.offset + 1
        for topic, end in ends.items():
            self.positions[Partition(topic, self.number)] = end

    def events_to_curve_point(self) -> int:
        """How many more events there are until the next point of the learning curve."""
        if not self._curve_events:
            self._set_next_curve_point()
        return self._curve_events - self.engine.counts.total()

    def reached_curve_point(self) -> bool:
        """Whether the number of events or of labels is at a point of the learning curve; then the next one is set."""
        if self.engine.counts.total() < self._curve_events and self.engine.model_version < self._curve_labels:
            return False
        self._set_next_curve_point()
        return True

    def _set_next_curve_point(self) -> None:
        self._curve_events = next_curve_count(self.engine.counts.total())
        self._curve_labels = next_curve_count(self.engine.model_version)

    def skip_gap(self, gap: LogGap) -> None:
        """Go on behind records that are gone: a dead letter says which, and the journal where it goes on."""
        letter = DeadLetter(
            code="lost-records",
            message=f"the records {gap.wanted} to {gap.begins - 1} were removed before they were read",
            topic=gap.topic,
            partition=gap.partition,
            offset=gap.wanted,
            payload=b"",
            at=datetime.now(UTC),
        )
        self._producer.stage_events([letter])
        self.begin_at(Partition(gap.topic, gap.partition), gap.begins)

    def begin_at(self, place: Partition, offset: int) -> None:
        """Go on from an offset before which the log has nothing; the journal notes it."""
        self._entry.ranges.append(OffsetRange(*place, offset, offset))
        self.positions[place] = offset

    def stage_entry(self) -> int:
        """Stage the journal record for the next commit; gives the number of events since the last one."""
        events = self._events
        self._events = 0
        if self._entry.ranges:
            self._next_mark = secrets.token_hex(8)
            headers = (LEARNER, self.learner), (MARK, self._next_mark.encode())
            self._producer.stage_entry(self._entry, headers)
            self._entry = JournalEntry(self.engine.request_policy)
        return events

    def committed(self, written: Offsets) -> None:
        """Note a commit, which has written up to these offsets."""
        if self.journal in written:
            self.journal_end = written[self.journal]
            self.mark = self._next_mark


def _digest(compatibility_key: Any) -> bytes:
    return hashlib.sha256(json.dumps(compatibility_key, sort_keys=True).encode()).hexdigest()[:16].encode()


def next_curve_count(count: int) -> int:
    """The next number of events, or labels, at which a learning curve has a point: about a quarter more each time.

    >>> [next_curve_count(count) for count in (0, 1, 7, 100, 1000)]
    [1, 2, 8, 121, 1113]
    """
    point = 1
    while point <= count:
        point = max(point + 1, point * 5 // 4)
    return point


def _shortened(event: Output, topic: str, most: int) -> bytes:
    """An event without its longest fields: the preview for people, and the payload, which can be read again."""
    if isinstance(event, DeadLetter):
        event = _without_payload(event)
    elif isinstance(event, LabelRequest):
        event = event.model_copy(update={"subject": None, "preview": None})
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
