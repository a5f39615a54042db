"""One partition of a worker: its engine, its place in the log, its checkpoints."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
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
from stream_bayes.runtime.timing import StageTimer


class PartitionProcessor:
    """The part of a worker that owns partition `number`, of so many, of the observations and of the labels.

    A new one is at the beginning of the stream; `recovery.recover` brings it to the last commit.
    """

    def __init__(self, settings: Settings, number: int, partitions: int, stages: StageTimer) -> None:
        self.settings = settings
        self.number = number
        self.engine = Engine(settings, number, partitions)
        self.stages = stages
        self.folder = CheckpointStore(
            settings.checkpoint_folder / settings.group / f"partition-{number}", settings.checkpoint.keep
        )
        inputs = settings.topics.observations, settings.topics.labels
        self.positions: dict[Partition, int] = {Partition(topic, number): 0 for topic in inputs}
        self.journal = Partition(settings.journal, number)
        self.journal_end = 0
        """The offset behind its last journal record: the number of a checkpoint taken now."""
        self.mark: str | None = None
        """That of its last journal record, as far as there is one; see `mark_of`."""
        self.compatibility_key: dict[str, Any] = {}
        """What a checkpoint must agree with; known once it has recovered."""
        self.learner = _digest(self.engine.model.compatibility_key)
        """A short name of the learner and its settings, which stands in the journal."""
        self._limits = limits_of(settings)
        self._outbox = Producer(settings, number)
        self._entry = new_entry(self.engine.request_policy)
        self._taken = 0
        self._next_mark = ""

    def take(self, records: Sequence[Record], log: Log) -> None:
        """Fold records and stage what comes of it; once the log has given what is needed for it, nothing can fail."""
        with self.stages.measured("decode"):
            events = decode_records(records, self.settings, self._limits)
        with self.stages.measured("fold"):
            plan = self.engine.plan(events)
        with self.stages.measured("read"):
            reader = ObservationReader(log, self.settings.topics.observations, self.number)
            observations = reader.fetch(plan.missing)
            most = self._outbox.limits(log)
        with self.stages.measured("fold"):
            result = self.engine.apply(plan, observations)
        with self.stages.measured("encode"):
            self._outbox.stage(result.outputs, most, log)
            self._outbox.stage_forwards(result.forwards, most, log)
        self._entry = self._entry.add(records, result)
        self._taken += len(records)
        for topic, offset in {record.topic: record.offset for record in records}.items():
            self.positions[Partition(topic, self.number)] = offset + 1

    def skip_gap(self, gap: LogGap, log: Log) -> None:
        """Go on behind records that are gone: a letter says which, and the journal where it goes on."""
        letter = DeadLetter(
            code="lost-records",
            message=f"the records {gap.wanted} to {gap.begins - 1} were removed before they were read",
            topic=gap.topic,
            partition=gap.partition,
            offset=gap.wanted,
            payload=b"",
            at=datetime.now(UTC),
        )
        self._outbox.stage([letter], self._outbox.limits(log), log)
        self.begin_at(Partition(gap.topic, gap.partition), gap.begins)

    def begin_at(self, place: Partition, offset: int) -> None:
        """Go on from here, which the journal says: there is nothing before it."""
        self._entry.ranges.append(OffsetRange(*place, offset, offset))
        self.positions[place] = offset

    def stage_entry(self, log: Log) -> int:
        """Stage the journal record of what was taken since the last commit: so many events."""
        events = self._taken
        self._taken = 0
        if self._entry.ranges:
            self._next_mark = secrets.token_hex(8)
            headers = (LEARNER, self.learner), (MARK, self._next_mark.encode())
            most = self._outbox.limits(log)
            self._outbox.stage_entry(self._entry, headers, most, log)
            self._entry = new_entry(self.engine.request_policy)
        return events

    def committed(self, written: Offsets) -> None:
        """A commit has written this far: what was staged is in the journal."""
        if self.journal in written:
            self.journal_end = written[self.journal]
            self.mark = self._next_mark


def _digest(compatibility_key: Any) -> bytes:
    return hashlib.sha256(json.dumps(compatibility_key, sort_keys=True).encode()).hexdigest()[:16].encode()
