"""Bringing an engine to the last commit: by the newest checkpoint, then by the journal."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from stream_bayes.engine import InputEvent, RejectedRecord
from stream_bayes.engine.state import compatibility_key_of, restore
from stream_bayes.errors import CheckpointMismatch, EventError, RecoveryError
from stream_bayes.eventlog.base import Log, records_from
from stream_bayes.events import Observation
from stream_bayes.persistence.compatibility import LOG, shared_differently
from stream_bayes.persistence.scalars import stored_dict, stored_int
from stream_bayes.records import Offsets, Partition, Record
from stream_bayes.runtime.decoding import NO_LIMITS, decode_records, fetch_observations, read_range
from stream_bayes.runtime.journal import LEARNER, JournalEntry, OffsetRange, mark_of
from stream_bayes.runtime.partition_processor import PartitionProcessor

logger = logging.getLogger("stream_bayes.runtime")
_SAY_EVERY = 5.0
_SHOWN = 3
# A commit of the reader before may be finished between the look at the positions and that at the journal.
_ROUNDS = 3


class RecoveryResult(NamedTuple):
    """What it took to be where the last commit left off."""

    checkpoint: int | None
    """The journal offset of the checkpoint it began with."""
    commits: int
    events: int
    """Events that were learned again, silently."""
    seconds: float


def recover(
    processor: PartitionProcessor, log: Log, *, rebuild: bool = False, going: Callable[[], bool] = lambda: True
) -> RecoveryResult | None:
    """Bring a new processor to the last commit, or with `rebuild` make its model anew from what the log still has.

    None if it was given up, since `going` said so or the partition is no longer read here: then nothing may be done
    with the processor.
    """
    return _Recovery(processor, log, rebuild=rebuild, going=going).run()


class _Recovery:
    def __init__(self, processor: PartitionProcessor, log: Log, *, rebuild: bool, going: Callable[[], bool]) -> None:
        self._processor = processor
        self._log = log
        self._lenient = rebuild
        self._going = going
        self._began = time.monotonic()
        self._say_due = self._began + _SAY_EVERY
        self._commits = self._events = 0
        self._listed: Sequence[tuple[int, Path]] = ()
        self._moved: set[Partition] = set()
        self._other_partitions: set[int] = set()
        self._newly_refused: Counter[str] = Counter()
        self._first_refused: list[str] = []

    def run(self) -> RecoveryResult | None:
        processor = self._processor
        log = self._log
        # Offsets mean nothing in another log.
        processor.compatibility_key = {**compatibility_key_of(processor.engine), LOG: log.identity}
        checkpoint = None
        # Before the journal is looked at: a later one is of whoever has the partition by then.
        self._listed = processor.folder.checkpoints()
        for turn in range(_ROUNDS):
            # In this order: what was committed by the first look is in the journal by the second.
            committed = log.committed()
            log.wait_for_open_transactions(processor.journal)
            if not turn:
                checkpoint = self._begin()
            if not self._replay() or not committed.keys() >= processor.positions.keys():
                return None
            own = {place: committed[place] for place in processor.positions}
            if self._lenient:
                self._pass_over(own)
            if processor.positions == own:
                self._say_what_differs()
                return RecoveryResult(checkpoint, self._commits, self._events, time.monotonic() - self._began)
        raise _differ(processor, own)

    def _pass_over(self, committed: Offsets) -> None:
        """What is left of the journal may say nothing of a topic any more."""
        for place in committed.keys() - self._moved:
            self._processor.positions[place] = committed[place]

    # Where to begin

    def _begin(self) -> int | None:
        """Load the checkpoint to begin with, if any."""
        processor = self._processor
        log = self._log
        begin = log.earliest_offsets(processor.journal.topic).get(processor.journal, 0)
        processor.folder.prepare()
        if self._lenient:
            processor.folder.check_log(log.identity)
            processor.journal_end = begin
            return None
        number = self._load(begin)
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

    def _load(self, begin: int) -> int | None:
        processor = self._processor
        log = self._log
        found = processor.folder.newest(processor.compatibility_key)
        end = log.end_offsets(processor.journal.topic).get(processor.journal, 0)
        processor.folder.quarantine(end, self._listed)
        if found is not None and found[0] > end:
            found = processor.folder.newest(processor.compatibility_key)
        if found is None:
            return None
        number, checkpoint = found
        mark = checkpoint.scalars.get("mark")
        # Before its beginning nothing tells the journal from another.
        if number > begin and mark != self._mark_at(number - 1):
            message = (
                f"{processor.folder.path_of(number)} is of a copy of this log that went on by itself. Name the folder "
                "of this log's own checkpoints, or remove that file"
            )
            raise CheckpointMismatch(message)
        restore(processor.engine, checkpoint.scalars, checkpoint.arrays)
        for place in processor.positions:
            positions = stored_dict(checkpoint.scalars.get("positions"), "positions")
            processor.positions[place] = stored_int(positions.get(place.topic), f"positions.{place.topic}")
        processor.journal_end = number
        processor.mark = mark
        return number

    def _mark_at(self, offset: int) -> str | None:
        found = self._log.read(*self._processor.journal, offset)
        return mark_of(found[0]) if found and found[0].offset == offset else None

    # The journal

    def _replay(self) -> bool:
        """From where the processor is to the end of the journal; False if it was given up."""
        processor = self._processor
        for record in records_from(self._log, processor.journal, processor.journal_end):
            entry = JournalEntry.decode(record)
            self._check_partitions(record, entry)
            refused = {(one.topic, one.offset): one for one in entry.refused}
            if not all(self._replay_run(run, record, entry, refused) for run in entry.runs):
                return False
            processor.journal_end = record.offset + 1
            processor.mark = mark_of(record)
            self._commits += 1
            if time.monotonic() >= self._say_due:
                self._say_due = time.monotonic() + _SAY_EVERY
                logger.info("replaying", extra={"fields": {"partition": processor.number, "events": self._events}})
        return self._going()

    def _replay_run(
        self, run: OffsetRange, record: Record, entry: JournalEntry, refused: dict[tuple[str, int], RejectedRecord]
    ) -> bool:
        processor = self._processor
        log = self._log
        place = Partition(run.topic, self._processor.number)
        if run.begin < processor.positions[place]:
            message = f"record {record.offset} of {record.topic!r} goes over {run.topic!r} from {run.begin} again"
            raise RecoveryError(message)
        for records in read_range(log, run, lenient=self._lenient):
            if not self._going():
                return False
            arrivals = decode_records(records, processor.settings, NO_LIMITS)
            arrivals = [_as_then(arrival, refused) for arrival in arrivals]
            outcome = processor.engine.process(
                arrivals, fetch_observations(processor.engine, arrivals, log), entry.decided
            )
            newly = [one for one in outcome.refused if (one.topic, one.offset) not in refused]
            if newly and not self._lenient:
                raise self._not_repeated(newly[0], record)
            self._note_refused(newly)
            self._events += len(records)
        processor.positions[place] = run.end
        self._moved.add(place)
        return True

    def _check_partitions(self, record: Record, entry: JournalEntry) -> None:
        """A budget is kept by its shares, so they stay as they were, but for a new model."""
        if entry.terms is None:
            return
        then = entry.terms.partitions
        now = self._processor.engine.terms.partitions
        if then == now:
            return
        if not self._lenient:
            message = f"record {record.offset} of {record.topic!r} was written for {shared_differently(then, now)}"
            raise RecoveryError(message)
        self._other_partitions.add(then)

    # What differs from then

    def _not_repeated(self, refused: RejectedRecord, entry: Record) -> RecoveryError:
        processor = self._processor
        if dict(entry.headers).get(LEARNER) == processor.learner:
            reason = "the log was changed, or stream_bayes is of another version. Put the log back from a copy"
        else:
            reason = (
                "the journal was written with other learner settings, and there is no checkpoint to go on from "
                f"(learner.name is {processor.settings.learner.name!r} now). Go back to those settings"
            )
        message = (
            f"{refused.topic}-{processor.number}-{refused.offset} was learned when it came and is refused now "
            f"({refused.code}): {reason}, or start a new model with stream-bayes rebuild"
        )
        return RecoveryError(message)

    def _note_refused(self, refused: Sequence[RejectedRecord]) -> None:
        self._newly_refused.update(one.code for one in refused)
        for one in refused[: _SHOWN - len(self._first_refused)]:
            self._first_refused.append(f"{one.topic}-{self._processor.number}-{one.offset} ({one.code})")

    def _say_what_differs(self) -> None:
        engine = self._processor.engine
        own = {"partition": self._processor.number}
        if self._other_partitions:
            budget = engine.selector.budget
            shares = {**own, "labels_requested": budget.used, "share": budget.total}
            fields = {**shares, "then": max(self._other_partitions), "now": engine.terms.partitions}
            logger.warning("the label budget is shared anew between the partitions", extra={"fields": fields})
        if self._newly_refused:
            said = {**own, **self._newly_refused, "first": ", ".join(self._first_refused)}
            logger.warning("learned when they came and refused now", extra={"fields": said})


def _differ(processor: PartitionProcessor, committed: Offsets) -> RecoveryError:
    """The journal and the positions are of one transaction, so they can only differ if somebody changed one of them."""
    place = next(place for place, offset in committed.items() if processor.positions[place] != offset)
    message = (
        f"the group's position in {place.topic}-{place.number} is {committed[place]}, but its journal ends at "
        f"{processor.positions[place]}: somebody changed one of them; use another group, or the log's last copy"
    )
    return RecoveryError(message)


def _as_then(arrival: InputEvent, refused: dict[tuple[str, int], RejectedRecord]) -> InputEvent:
    """What was refused when it came is refused again, whatever would be said of it now.

    Of an observation that was predicted all the same, it is the label alone.
    """
    then = refused.get((arrival.record.topic, arrival.record.offset))
    if then is None:
        return arrival
    problem = EventError(then.code, "as it was when it came", then.observation)
    if isinstance(arrival.event, Observation) and then.observation == then.offset:
        return arrival._replace(label_problem=problem)
    return InputEvent(arrival.record, problem)
