"""Recovery: bring the engine of a partition to the last commit of its group.

Recovery has three steps: load the newest checkpoint, replay the journal from there, and verify that the positions
reached are those that the group has committed.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from stream_bayes.engine import RejectedRecord
from stream_bayes.engine.state import restore
from stream_bayes.errors import CheckpointMismatch, EventError, RecoveryError
from stream_bayes.eventlog.base import Log, records_from
from stream_bayes.eventlog.validation import MAX_POLL_BYTES
from stream_bayes.events import NO_LIMITS, InputEvent, Observation, decode_records
from stream_bayes.persistence.compatibility import shared_differently
from stream_bayes.persistence.scalars import stored_dict, stored_int
from stream_bayes.records import Offsets, Partition, Record
from stream_bayes.runtime.journal import LEARNER, JournalEntry, OffsetRange, mark_of
from stream_bayes.runtime.partition_processor import PartitionProcessor

logger = logging.getLogger("stream_bayes.runtime")
_PROGRESS_SECONDS = 5.0
_MAX_SHOWN = 3
# A commit of the reader before may be finished between the look at the positions and that at the journal.
_MAX_ATTEMPTS = 3
_CHUNK = 1000


class RecoveryResult(NamedTuple):
    """The counts and times of a recovery."""

    checkpoint: int | None
    """The journal offset of the checkpoint that was loaded; None if there was none."""
    commits: int
    events: int
    """The number of events that were replayed."""
    seconds: float


def recover(
    processor: PartitionProcessor, *, rebuild: bool = False, going: Callable[[], bool] = lambda: True
) -> RecoveryResult | None:
    """Bring a new processor to the last commit; with `rebuild` make a new model from what the log still has.

    Gives None if recovery was given up, because `going` returned False or the partition is no longer read here. Then
    the processor must not be used.
    """
    return _Recovery(processor, rebuild=rebuild, going=going).run()


class _Recovery:
    def __init__(self, processor: PartitionProcessor, *, rebuild: bool, going: Callable[[], bool]) -> None:
        self._processor = processor
        self._engine = processor.engine
        self._log = processor.log
        self._rebuild = rebuild
        self._going = going
        self._began = time.monotonic()
        self._progress_due = self._began + _PROGRESS_SECONDS
        self._commits = 0
        self._events = 0
        self._replayed: set[Partition] = set()
        self._other_partition_counts: set[int] = set()
        self._newly_rejected: Counter[str] = Counter()
        self._first_rejected: list[str] = []

    def run(self) -> RecoveryResult | None:
        processor = self._processor
        # Before the journal is read: a checkpoint that appears later is that of the next owner of the partition.
        checkpoints = processor.checkpoint_store.checkpoints()
        checkpoint = None
        for attempt in range(_MAX_ATTEMPTS):
            # In this order: what was committed by the first call is in the journal by the second.
            committed = self._log.committed()
            self._log.wait_for_open_transactions(processor.journal)
            if not attempt:
                checkpoint = self._load_checkpoint(checkpoints)
            if not self._replay_journal() or not committed.keys() >= processor.positions.keys():
                return None
            if self._verify_positions(committed):
                self._log_differences()
                return RecoveryResult(checkpoint, self._commits, self._events, time.monotonic() - self._began)
        raise _wrong_positions(processor, committed)

    # Load checkpoint

    def _load_checkpoint(self, checkpoints: Sequence[tuple[int, Path]]) -> int | None:
        """Load the newest checkpoint that fits; gives its journal offset, None if there is none or for a rebuild."""
        processor = self._processor
        log = self._log
        begin = log.earliest_offsets(processor.journal.topic).get(processor.journal, 0)
        processor.checkpoint_store.prepare()
        if self._rebuild:
            processor.checkpoint_store.check_log(log.identity)
            processor.journal_end = begin
            return None
        number = self._restore_newest(begin, checkpoints)
        if processor.journal_end < begin:
            message = (
                f"journal {processor.number} begins at {begin}, and the newest checkpoint stands for "
                f"{processor.journal_end}: put a later checkpoint back, or start a new model from what is left "
                "with stream-bayes rebuild"
            )
            raise RecoveryError(message)
        if number is None and log.read(*processor.journal, 0):
            fields = {"partition": processor.number}
            logger.info("no checkpoint: learning all again from the journal", extra={"fields": fields})
        return number

    def _restore_newest(self, begin: int, checkpoints: Sequence[tuple[int, Path]]) -> int | None:
        processor = self._processor
        found = processor.checkpoint_store.newest(processor.compatibility_key)
        end = self._log.end_offsets(processor.journal.topic).get(processor.journal, 0)
        processor.checkpoint_store.quarantine(end, checkpoints)
        if found is not None and found[0] > end:
            found = processor.checkpoint_store.newest(processor.compatibility_key)
        if found is None:
            return None
        number, checkpoint = found
        mark = checkpoint.scalars.get("mark")
        # A checkpoint at the beginning of the journal has no record before it whose mark could be compared.
        if number > begin and mark != self._mark_at(number - 1):
            path = processor.checkpoint_store.path_of(number)
            message = (
                f"the checkpoint {path} was written from another copy of this log: record {number - 1} of the journal "
                f"{processor.journal.topic!r} is not the one that it was written after. Set checkpoint.folder to the "
                "checkpoints of this log, or remove that file"
            )
            raise CheckpointMismatch(message)
        restore(self._engine, checkpoint.scalars, checkpoint.arrays)
        positions = stored_dict(checkpoint.scalars.get("positions"), "positions")
        for place in processor.positions:
            processor.positions[place] = stored_int(positions.get(place.topic), f"positions.{place.topic}")
        processor.journal_end = number
        processor.mark = mark
        return number

    def _mark_at(self, offset: int) -> str | None:
        found = self._log.read(*self._processor.journal, offset)
        return mark_of(found[0]) if found and found[0].offset == offset else None

    # Replay journal

    def _replay_journal(self) -> bool:
        """Replay from where the processor is to the end of the journal; False if that was given up."""
        processor = self._processor
        for record in records_from(self._log, processor.journal, processor.journal_end):
            entry = JournalEntry.decode(record)
            self._check_partitions(record, entry)
            if not self._replay_entry(record, entry):
                return False
            processor.journal_end = record.offset + 1
            processor.mark = mark_of(record)
            self._commits += 1
            if time.monotonic() >= self._progress_due:
                self._progress_due = time.monotonic() + _PROGRESS_SECONDS
                logger.info("replaying", extra={"fields": {"partition": processor.number, "events": self._events}})
        return self._going()

    def _replay_entry(self, record: Record, entry: JournalEntry) -> bool:
        """Process the records of a commit again, in the order of then; False if that was given up.

        Ranges are short where mails and labels come in turn: as when they were first processed, one call of the engine
        is for many of them.
        """
        positions = self._processor.positions
        batch: list[Record] = []
        size = 0
        for offsets in entry.ranges:
            place = Partition(offsets.topic, self._processor.number)
            if offsets.begin < positions[place]:
                message = (
                    f"journal record {record.offset} of {record.topic!r} repeats offset {offsets.begin} of "
                    f"{offsets.topic!r}, which earlier records have processed up to {positions[place]}. The journal is "
                    "damaged, or two groups wrote to it: restore the log from a backup, or begin with another group"
                )
                raise RecoveryError(message)
            for records in _read_range(self._log, offsets, lenient=self._rebuild):
                if not self._going():
                    return False
                batch += records
                size += sum(len(one.value) for one in records)
                if len(batch) >= _CHUNK or size >= MAX_POLL_BYTES:
                    self._replay_batch(batch, record, entry)
                    batch = []
                    size = 0
            positions[place] = offsets.end
            self._replayed.add(place)
        if batch:
            self._replay_batch(batch, record, entry)
        return True

    def _replay_batch(self, records: Sequence[Record], journal_record: Record, entry: JournalEntry) -> None:
        processor = self._processor
        events = decode_records(records, processor.settings.topics.observations, NO_LIMITS)
        rejected = {(one.topic, one.offset): one for one in entry.rejected}
        if rejected:
            events = [_as_first_time(event, rejected) for event in events]
        plan = self._engine.plan(events, entry.decisions)
        observations = processor.observation_reader.fetch(plan.missing) if plan.missing else {}
        result = self._engine.apply(plan, observations)
        newly_rejected = [one for one in result.rejected if (one.topic, one.offset) not in rejected]
        if newly_rejected:
            if not self._rebuild:
                raise self._not_repeated(newly_rejected[0], journal_record)
            self._note_rejected(newly_rejected)
        self._events += len(records)

    def _check_partitions(self, record: Record, entry: JournalEntry) -> None:
        """Refuse a journal whose label budget was shared between another number of partitions, but for a rebuild."""
        then = entry.policy.partitions
        now = self._engine.request_policy.partitions
        if then == now:
            return
        if not self._rebuild:
            message = f"record {record.offset} of {record.topic!r} was written for {shared_differently(then, now)}"
            raise RecoveryError(message)
        self._other_partition_counts.add(then)

    # Verify positions

    def _verify_positions(self, committed: Offsets) -> bool:
        """Whether the positions reached are those committed; a rebuild takes over those of topics without a journal."""
        positions = self._processor.positions
        for place in positions:
            if self._rebuild and place not in self._replayed:
                positions[place] = committed[place]
        return all(committed[place] == offset for place, offset in positions.items())

    # Differences from the first time

    def _not_repeated(self, rejected: RejectedRecord, entry: Record) -> RecoveryError:
        processor = self._processor
        if dict(entry.headers).get(LEARNER) == processor.learner:
            reason = "the log was changed, or stream_bayes is of another version. Put the log back from a copy"
        else:
            reason = (
                "the journal was written with other learner settings, and there is no checkpoint to go on from "
                f"(learner.name is {processor.settings.learner.name!r} now). Go back to those settings"
            )
        message = (
            f"{rejected.topic}-{processor.number}-{rejected.offset} was learned when it came and is refused now "
            f"({rejected.code}): {reason}, or start a new model with stream-bayes rebuild"
        )
        return RecoveryError(message)

    def _note_rejected(self, rejected: Sequence[RejectedRecord]) -> None:
        self._newly_rejected.update(one.code for one in rejected)
        for one in rejected[: _MAX_SHOWN - len(self._first_rejected)]:
            self._first_rejected.append(f"{one.topic}-{self._processor.number}-{one.offset} ({one.code})")

    def _log_differences(self) -> None:
        partition = {"partition": self._processor.number}
        if self._other_partition_counts:
            budget = self._engine.selector.budget
            shares = {**partition, "labels_requested": budget.used, "share": budget.total}
            now = self._engine.request_policy.partitions
            fields = {**shares, "then": max(self._other_partition_counts), "now": now}
            logger.warning(
                "the shares of the label budget have changed with the number of partitions", extra={"fields": fields}
            )
        if self._newly_rejected:
            rejected = {**partition, **self._newly_rejected, "first": ", ".join(self._first_rejected)}
            logger.warning("learned when they came and refused now", extra={"fields": rejected})


def _wrong_positions(processor: PartitionProcessor, committed: Offsets) -> RecoveryError:
    """The error of positions that differ: the journal and the positions are committed in one transaction."""
    place = next(place for place, offset in processor.positions.items() if committed[place] != offset)
    message = (
        f"the group's position in {place.topic}-{place.number} is {committed[place]}, but its journal ends at "
        f"{processor.positions[place]}: one of them was changed from outside; use another group, or the log's last copy"
    )
    return RecoveryError(message)


def _as_first_time(event: InputEvent, rejected: dict[tuple[str, int], RejectedRecord]) -> InputEvent:
    """The event as it was first processed: a record that was rejected then is rejected again.

    Of an observation that was predicted all the same, only the label is rejected.
    """
    then = rejected.get((event.record.topic, event.record.offset))
    if then is None:
        return event
    problem = EventError(then.code, "as it was when it came", then.observation)
    if isinstance(event.event, Observation) and then.observation == then.offset:
        return event._replace(label_problem=problem)
    return InputEvent(event.record, problem)


def _read_range(log: Log, offsets: OffsetRange, *, lenient: bool = False) -> Iterator[list[Record]]:
    """The records of a range in chunks; raises `RecoveryError` if some are gone, unless `lenient`."""
    position = offsets.begin
    while position < offsets.end:
        found = log.read(offsets.topic, offsets.partition, position, min(offsets.end - position, _CHUNK))
        records = [record for record in found if record.offset < offsets.end]
        begins = records[0].offset if records else offsets.end
        # The last offset of a range is that of a record, so that there is no gap at its end.
        if not records and lenient:
            return
        if not lenient and (not records or (begins > position and _removed(log, offsets, position))):
            message = (
                f"{offsets.topic}-{offsets.partition} no longer has the records {position} to {begins - 1}, which the "
                "model has to learn again: put the log back from a copy, or start a new model with stream-bayes rebuild"
            )
            raise RecoveryError(message)
        yield records
        position = records[-1].offset + 1


def _removed(log: Log, offsets: OffsetRange, position: int) -> bool:
    """Whether retention removed the record at an offset; else the log never gave the offset to a record."""
    earliest = log.earliest_offsets(offsets.topic)
    return earliest.get(Partition(offsets.topic, offsets.partition), 0) > position
