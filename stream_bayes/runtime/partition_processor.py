"""The processing of one partition: its engine, its positions in the log and its journal entry."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from stream_bayes.config import Settings
from stream_bayes.engine import Engine
from stream_bayes.errors import LogGap
from stream_bayes.eventlog.base import Log
from stream_bayes.events import DeadLetter
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.records import Offsets, Partition, Record
from stream_bayes.runtime.decoding import ObservationReader, decode_records, limits_of
from stream_bayes.runtime.journal import LEARNER, MARK, OffsetRange, new_entry
from stream_bayes.runtime.producer import Producer

STAGES = ("read", "decode", "fold", "encode", "commit", "checkpoint")


class StageTimer:
    """Seconds spent in each stage since the worker started; waiting for records is not counted."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.longest = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def measured(self, stage: str) -> Iterator[None]:
        """A context whose duration is added to a stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - begin)

    def add(self, stage: str, spent: float) -> None:
        """Add seconds to a stage."""
        self.seconds[stage] += spent
        self.longest[stage] = max(self.longest[stage], spent)


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
        self.compatibility_key: dict[str, Any] = {}
        """What a checkpoint must agree with; set by recovery."""
        self.learner = _digest(self.engine.model.compatibility_key)
        """A digest of the learner and its settings, which stands in the journal."""
        self.observation_reader = ObservationReader(log, topics.observations, number)
        self._limits = limits_of(settings)
        self._producer = Producer(settings, number, log)
        self._entry = new_entry(self.engine.request_policy)
        self._events = 0
        self._next_mark = ""

    def process(self, records: Sequence[Record]) -> None:
        """Process records and stage the outputs; once the log has been read, nothing can fail."""
        with self.stages.measured("decode"):
            events = decode_records(records, self.settings, self._limits)
        with self.stages.measured("fold"):
            plan = self.engine.plan(events)
        with self.stages.measured("read"):
            observations = self.observation_reader.fetch(plan.missing)
            max_bytes = self._producer.max_bytes()
        with self.stages.measured("fold"):
            result = self.engine.apply(plan, observations)
        with self.stages.measured("encode"):
            self._producer.stage(result.outputs, max_bytes)
            self._producer.stage_forwards(result.forwards, max_bytes)
        self._entry = self._entry.add(records, result)
        self._events += len(records)
        for topic, offset in {record.topic: record.offset for record in records}.items():
            self.positions[Partition(topic, self.number)] = offset + 1

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
        self._producer.stage([letter], self._producer.max_bytes())
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
            self._entry = new_entry(self.engine.request_policy)
        return events

    def committed(self, written: Offsets) -> None:
        """Note a commit, which has written up to these offsets."""
        if self.journal in written:
            self.journal_end = written[self.journal]
            self.mark = self._next_mark


def _digest(compatibility_key: Any) -> bytes:
    return hashlib.sha256(json.dumps(compatibility_key, sort_keys=True).encode()).hexdigest()[:16].encode()
