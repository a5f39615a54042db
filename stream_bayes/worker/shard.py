"""One partition of a worker: its engine, its place in the log, its checkpoints."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stream_bayes.checkpoint import CheckpointFolder
from stream_bayes.checkpoint.differences import LOG, shared_differently
from stream_bayes.config import Settings
from stream_bayes.engine import Arrival, Engine, Refused
from stream_bayes.engine.state import restore, shaping_of
from stream_bayes.errors import CheckpointMismatch, EventError, RecoveryError
from stream_bayes.events import DeadLetter, LabelOutcome, LabelRequest, Prediction, encode
from stream_bayes.log.base import Log
from stream_bayes.log.reading import records_from
from stream_bayes.records import Partition, Record
from stream_bayes.worker.inputs import NO_LIMITS, arrivals_of, found_for, limits_of, read_run
from stream_bayes.worker.journal import Entry, new_entry
from stream_bayes.worker.stages import Stages

logger = logging.getLogger("stream_bayes.worker")
_SAY_EVERY = 5.0
_SHOWN = 3
# The header of a journal record that says with what learner it was written.
_LEARNER = "learner"


class Recovered(NamedTuple):
    """What it took to be where the last commit left off."""

    checkpoint: int | None
    """The journal offset of the checkpoint it began with."""
    commits: int
    events: int
    """Events that were learned again, silently."""
    seconds: float


class Shard:
    """The part of a worker that owns partition `number` of the observations and of the labels."""

    def __init__(self, settings: Settings, number: int, partitions: int, stages: Stages) -> None:
        self.settings, self.number = settings, number
        self.engine = Engine(settings, number, partitions)
        self.stages = stages
        self.folder = CheckpointFolder(
            settings.checkpoint_folder / settings.group / f"partition-{number}", settings.checkpoint.keep
        )
        self._limits = limits_of(settings)
        self._topics = {
            Prediction: settings.topics.predictions,
            LabelRequest: settings.topics.label_requests,
            LabelOutcome: settings.topics.label_requests,
            DeadLetter: settings.topics.dead_letters,
        }
        inputs = settings.topics.observations, settings.topics.labels
        self.journal = Partition(settings.journal, number)
        self.positions: dict[Partition, int] = {Partition(topic, number): 0 for topic in inputs}
        self.shaping: dict[str, Any] = {}
        """What a checkpoint must agree with; known once it has recovered."""
        self._learner = _digest(self.engine.model.shaping)
        self._entry = new_entry(self.engine.terms)
        self._other_partitions: set[int] = set()
        self._newly_refused: Counter[str] = Counter()
        self._first_refused: list[str] = []

    # Recovery

    def recover(
        self, log: Log, *, rebuild: bool = False, stopping: Callable[[], bool] = lambda: False
    ) -> Recovered | None:
        """From the newest checkpoint, or from nothing, to the last commit, by the journal; None if stopped before."""
        began = time.monotonic()
        # Offsets mean nothing in another log.
        self.shaping = {**shaping_of(self.engine), LOG: log.identity}
        number, position = self._begin(log, rebuild=rebuild)
        commits, events, due = 0, 0, began + _SAY_EVERY
        for record in records_from(log, self.journal, position):
            if stopping():
                return None
            entry = Entry.decode(record)
            self._check_partitions(record, entry, lenient=rebuild)
            self._replay(log, record, entry, lenient=rebuild)
            commits, events = commits + 1, events + entry.events
            if time.monotonic() >= due:
                due = time.monotonic() + _SAY_EVERY
                logger.info("replaying", extra={"fields": {"partition": self.number, "events": events}})
        self._say_what_differs()
        return Recovered(number, commits, events, time.monotonic() - began)

    def _begin(self, log: Log, *, rebuild: bool) -> tuple[int | None, int]:
        """The checkpoint to begin with, if any, and the journal record to go on with."""
        begin = log.beginnings(self.journal.topic).get(self.journal, 0)
        self.folder.prepare()
        if rebuild:
            self.folder.check_log(log.identity)
            return None, begin
        number = self._load(log, self.journal_end(log))
        position = number or 0
        if position < begin:
            message = (
                f"journal {self.number} begins at {begin}, and the newest checkpoint stands for {position}: "
                "put a later checkpoint back, or start a new model from what is left with stream-bayes rebuild"
            )
            raise RecoveryError(message)
        return number, position

    def _load(self, log: Log, most: int) -> int | None:
        found = self.folder.newest(self.shaping)
        if found is not None and found[0] > most:
            self.folder.set_aside(most)
            found = self.folder.newest(self.shaping)
        if found is None:
            return None
        number, checkpoint = found
        mark = self.mark(log, number)
        if mark is not None and checkpoint.scalars.get("mark") != mark:
            message = (
                f"{self.folder.path_of(number)} is of a copy of this log that went on by itself. Name the folder of "
                "this log's own checkpoints, or remove that file"
            )
            raise CheckpointMismatch(message)
        restore(self.engine, checkpoint.scalars, checkpoint.arrays)
        for place in self.positions:
            self.positions[place] = int(checkpoint.scalars["positions"][place.topic])
        return number

    def journal_end(self, log: Log) -> int:
        """The offset that the next journal record will have: the number of a checkpoint taken now."""
        return log.ends(self.journal.topic).get(self.journal, 0)

    def mark(self, log: Log, journal_end: int) -> str | None:
        """What tells the journal up to here from that of a copy of the log; None where retention has removed it."""
        found = log.read(*self.journal, journal_end - 1) if journal_end else []
        if not found or found[0].offset >= journal_end:
            return None
        return hashlib.sha256(b"%d " % found[0].timestamp + found[0].value).hexdigest()[:16]

    def _check_partitions(self, record: Record, entry: Entry, *, lenient: bool) -> None:
        """A budget is kept by its shares, so they stay as they were, but for a new model."""
        if entry.terms is None:
            return
        then, now = entry.terms.partitions, self.engine.terms.partitions
        if then == now:
            return
        if not lenient:
            message = f"record {record.offset} of {record.topic!r} was written for {shared_differently(then, now)}"
            raise RecoveryError(message)
        self._other_partitions.add(then)

    def _replay(self, log: Log, record: Record, entry: Entry, *, lenient: bool) -> None:
        refused = {(one.topic, one.offset): one for one in entry.refused}
        decided = entry.decided
        for run in entry.runs:
            if run.begin < self.positions[Partition(run.topic, self.number)]:
                message = f"record {record.offset} of {record.topic!r} goes over {run.topic!r} from {run.begin} again"
                raise RecoveryError(message)
            for records in read_run(log, run, lenient=lenient):
                arrivals = arrivals_of(records, self.settings, NO_LIMITS)
                arrivals = [_as_then(arrival, refused) for arrival in arrivals]
                outcome = self.engine.process(arrivals, found_for(self.engine, arrivals, log), decided)
                newly = [one for one in outcome.refused if (one.topic, one.offset) not in refused]
                if newly and not lenient:
                    raise self._not_repeated(newly[0], record)
                self._note_refused(newly)
                self._moved(records)

    def _not_repeated(self, refused: Refused, entry: Record) -> RecoveryError:
        if dict(entry.headers).get(_LEARNER) == self._learner:
            reason = "the log was changed, or stream_bayes is of another version. Put the log back from a copy"
        else:
            reason = (
                "the journal was written with other learner settings, and there is no checkpoint to go on from "
                f"(learner.name is {self.settings.learner.name!r} now). Go back to those settings"
            )
        message = (
            f"{refused.topic}-{self.number}-{refused.offset} was learned when it came and is refused now "
            f"({refused.code}): {reason}, or start a new model with stream-bayes rebuild"
        )
        return RecoveryError(message)

    def _note_refused(self, refused: Sequence[Refused]) -> None:
        self._newly_refused.update(one.code for one in refused)
        for one in refused[: _SHOWN - len(self._first_refused)]:
            self._first_refused.append(f"{one.topic}-{self.number}-{one.offset} ({one.code})")

    def _say_what_differs(self) -> None:
        if self._other_partitions:
            budget = self.engine.selector.budget
            own = {"partition": self.number, "labels_used": budget.used, "share": budget.total}
            fields = {**own, "then": max(self._other_partitions), "now": self.engine.terms.partitions}
            logger.warning("the label budget is shared anew between the partitions", extra={"fields": fields})
        if self._newly_refused:
            said = {"partition": self.number, **self._newly_refused, "first": ", ".join(self._first_refused)}
            logger.warning("learned when they came and refused now", extra={"fields": said})

    # The stream

    def take(self, records: Sequence[Record], log: Log) -> None:
        """Fold records and stage what comes of it."""
        with self.stages.measured("decode"):
            arrivals = arrivals_of(records, self.settings, self._limits)
        with self.stages.measured("read"):
            found = found_for(self.engine, arrivals, log)
        with self.stages.measured("fold"):
            outcome = self.engine.process(arrivals, found)
        with self.stages.measured("encode"):
            for event in outcome.outputs:
                name = None if isinstance(event, DeadLetter) else event.id
                key = None if name is None else name.encode("utf-8", "surrogatepass")
                log.append(self._topics[type(event)], encode(event), key, self.number)
        self._entry = self._entry.noted(records, outcome)
        self._moved(records)

    def _moved(self, records: Sequence[Record]) -> None:
        for topic, offset in {record.topic: record.offset for record in records}.items():
            self.positions[Partition(topic, self.number)] = offset + 1

    def stage_entry(self, log: Log) -> int:
        """Stage the journal record of what was taken since the last commit: so many events."""
        events = self._entry.events
        if events:
            log.append(self.journal.topic, self._entry.encode(), None, self.number, ((_LEARNER, self._learner),))
            self._entry = new_entry(self.engine.terms)
        return events


def _digest(shaping: Any) -> bytes:
    """A short name of a learner and its settings."""
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:16].encode()


def _as_then(arrival: Arrival, refused: dict[tuple[str, int], Refused]) -> Arrival:
    """What was refused when it came is refused again, whatever would be said of it now."""
    then = refused.get((arrival.record.topic, arrival.record.offset))
    if then is None:
        return arrival
    return Arrival(arrival.record, EventError(then.code, "as it was when it came", then.observation))
