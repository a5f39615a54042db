"""One partition of a worker: its engine, its place in the log, its checkpoints."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from stream_bayes.checkpoint import CheckpointFolder
from stream_bayes.config import Settings
from stream_bayes.engine import Arrival, Engine, Outcome
from stream_bayes.engine.state import restore, shaping_of
from stream_bayes.errors import EventError, RecoveryError
from stream_bayes.events import DeadLetter, LabelRequest, Prediction, encode
from stream_bayes.log.base import Log
from stream_bayes.records import Partition, Record
from stream_bayes.snapshot.files import flush_folder
from stream_bayes.worker.inputs import NO_LIMITS, arrivals_of, found_for, limits_of, read_run
from stream_bayes.worker.journal import Entry, new_entry, read_journal
from stream_bayes.worker.stages import Stages

logger = logging.getLogger("stream_bayes.worker")
_SAY_EVERY = 5.0


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
            settings.checkpoint.folder / settings.group / f"partition-{number}", settings.checkpoint.keep
        )
        self._limits = limits_of(settings)
        self._topics = {
            Prediction: settings.topics.predictions,
            LabelRequest: settings.topics.label_requests,
            DeadLetter: settings.topics.dead_letters,
        }
        inputs = settings.topics.observations, settings.topics.labels
        self.positions: dict[Partition, int] = {Partition(topic, number): 0 for topic in inputs}
        self.shaping: dict[str, Any] = {}
        """What a checkpoint must agree with; known once it has recovered."""
        self._entry = new_entry()

    # Recovery

    def recover(self, log: Log, *, rebuild: bool = False) -> Recovered:
        """From the newest checkpoint, or from nothing, to the last commit, by the journal."""
        began = time.monotonic()
        # Offsets mean nothing in another log.
        self.shaping = {**shaping_of(self.engine), "log": log.identity}
        journal = Partition(self.settings.journal, self.number)
        begin = log.beginnings(journal.topic).get(journal, 0)
        number = None if rebuild else self._load(log.ends(journal.topic).get(journal, 0))
        position = number or 0
        if position < begin and not rebuild:
            message = (
                f"journal {self.number} begins at {begin}, and the newest checkpoint stands for {position}: "
                "put a later checkpoint back, or start a new model from what is left with stream-bayes rebuild"
            )
            raise RecoveryError(message)
        commits, events, due = 0, 0, began + _SAY_EVERY
        for record in read_journal(log, journal, max(position, begin)):
            entry = Entry.decode(record)
            self._replay(log, entry, lenient=rebuild)
            commits, events = commits + 1, events + entry.events
            if time.monotonic() >= due:
                due = time.monotonic() + _SAY_EVERY
                logger.info("replaying", extra={"fields": {"partition": self.number, "events": events}})
        return Recovered(number, commits, events, time.monotonic() - began)

    def _load(self, most: int) -> int | None:
        found = self.folder.newest(self.shaping)
        while found is not None and found[0] > most:
            self._set_aside(found[0], most)
            found = self.folder.newest(self.shaping)
        if found is None:
            return None
        number, checkpoint = found
        restore(self.engine, checkpoint.scalars, checkpoint.arrays)
        for place in self.positions:
            self.positions[place] = int(checkpoint.scalars["positions"][place.topic])
        return number

    def _set_aside(self, number: int, most: int) -> None:
        """Rename a checkpoint of a journal that is no more: once this one is longer, it would pass for one of it."""
        path = self.folder.path_of(number)
        aside = path.rename(path.with_name(f"{path.name}.ahead"))
        flush_folder(aside.parent)
        logger.warning(
            "%s is ahead of the journal, which ends at %d: it is now %s, and not used", path, most, aside.name
        )

    def _replay(self, log: Log, entry: Entry, *, lenient: bool) -> None:
        refused = {(topic, offset): code for topic, offset, code in entry.refused}
        asked = set(entry.asked)
        for run in entry.runs:
            for records in read_run(log, run):
                arrivals = arrivals_of(records, self.settings, NO_LIMITS)
                arrivals = [_as_then(arrival, refused) for arrival in arrivals]
                outcome = self.engine.process(arrivals, found_for(self.engine, arrivals, log), asked)
                self._check_repeated(outcome, refused, lenient=lenient)
                self._moved(records)

    def _check_repeated(self, outcome: Outcome, refused: dict[tuple[str, int], str], *, lenient: bool) -> None:
        for topic, offset, code in outcome.refused:
            if (topic, offset) not in refused:
                message = f"{topic}-{self.number}-{offset} was learned when it came and is refused now ({code})"
                if not lenient:
                    advice = "; put the log back from a copy, or start a new model with stream-bayes rebuild"
                    raise RecoveryError(message + advice)
                logger.warning(message)

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
                key = event.id.encode("utf-8", "surrogatepass") if not isinstance(event, DeadLetter) else None
                log.append(self._topics[type(event)], encode(event), key, self.number)
        self._entry = self._entry.noted(records, outcome)
        self._moved(records)

    def _moved(self, records: Sequence[Record]) -> None:
        for topic, offset in {record.topic: record.offset for record in records}.items():
            self.positions[Partition(topic, self.number)] = offset + 1

    def stage_entry(self, log: Log) -> None:
        """Stage the journal record of what was taken since the last commit."""
        if self._entry.runs:
            log.append(self.settings.journal, self._entry.encode(), None, self.number)
            self._entry = new_entry()


def _as_then(arrival: Arrival, refused: dict[tuple[str, int], str]) -> Arrival:
    """What was refused when it came is refused again, whatever would be said of it now."""
    code = refused.get((arrival.record.topic, arrival.record.offset))
    return arrival if code is None else Arrival(arrival.record, EventError(code, "as it was when it came"))
