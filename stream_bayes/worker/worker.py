"""The loop: poll, decode, fold, append, commit, now and then a checkpoint. All I/O of a running engine is here."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from stream_bayes.config import Settings
from stream_bayes.errors import LogError, RecoveryError, SnapshotError, reason_of
from stream_bayes.events import encode
from stream_bayes.log.base import Log
from stream_bayes.records import Offsets, Partition, Record
from stream_bayes.worker.keeping import Keeper
from stream_bayes.worker.reports import Compiling, say_started
from stream_bayes.worker.retention import Retention
from stream_bayes.worker.shard import Shard
from stream_bayes.worker.stages import Stages
from stream_bayes.worker.status import Narrator, status_of

logger = logging.getLogger("stream_bayes.worker")
Result = TypeVar("Result")

# A stop is noticed after so many seconds of waiting at the latest.
_LONGEST_WAIT = 0.2
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class Worker:
    """Runs the engines of all partitions of a log until it is stopped; whatever kills it, the next one goes on.

    Everything that comes of a record is committed together with the position behind it, so each observation has exactly
    one prediction and each label is learned exactly once. `run` first brings the engines to the last commit.

    Parameters
    ----------
    settings
        What to read, to learn and to write.
    log
        Open for the settings' group and its two input topics; the caller closes it.
    """

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings, self.log = settings, log
        self.stages = Stages()
        self.events = 0
        """Events taken since the worker started."""
        self.stopping = False
        """Whether `stop` was called."""
        self._uncommitted = 0
        self._commit_due = 0.0
        self._status_due = 0.0
        self._started_at = datetime.now(UTC)
        self.shards: dict[int, Shard] = {}
        self._keepers: dict[int, Keeper] = {}
        self._compiling = Compiling()

    def stop(self) -> None:
        """Finish the batch, commit, write a checkpoint and return from `run`; may be called by a signal's handler."""
        self.stopping = True

    def run(self, *, until_end: bool = False) -> None:
        """Work until `stop` is called or the log ends; with `until_end` also when everything there is has been read.

        Raises `SnapshotError`, after everything else was done, where the last checkpoint cannot be written.
        """
        say_started(self.settings)
        try:
            with self._compiling:
                self._make_topics()
                if not self.recover():
                    logger.info("stopped before it had recovered")
                    return
                narrator = Narrator(self.shards.values(), self.log)
                self._work(narrator, until_end=until_end)
                self._finish(narrator)
        finally:
            # Once the log is let go of, another worker may write checkpoints.
            for keeper in self._keepers.values():
                keeper.wait()

    def _make_topics(self) -> None:
        """Those that it writes to: a log that is locked cannot make one in the middle of a batch."""
        topics = self.settings.topics
        outputs = topics.predictions, topics.label_requests, topics.dead_letters, topics.status, self.settings.journal
        for topic in outputs:
            self._insist(partial(self.log.append, topic, b"", partition=0))
        self.log.discard()

    def _work(self, narrator: Narrator, *, until_end: bool) -> None:
        retention = Retention(self.settings, self.log)
        self._status_due = time.monotonic() + self.settings.status.seconds
        while not self.stopping:
            records = self._poll()
            self._take(records)
            at_end = not records and (until_end or self.log.ended)
            if at_end:
                break
            self._commit_if_due()
            narrator.say_if_due()
            # What is not committed yet may need old observations, and the journal does not say so yet.
            if not self._uncommitted:
                self._insist(lambda: retention.trim_if_due(self.shards.values()))

    def recover(self, *, rebuild: bool = False) -> bool:
        """Bring the engine of each partition to the last commit, or with `rebuild` make it anew from the journal.

        False if it was stopped before that: then nothing may be done with the engines.
        """
        committed = self.log.committed()
        numbers = self._partitions(committed)
        for number in numbers:
            shard = Shard(self.settings, number, len(numbers), self.stages)
            recovered = shard.recover(self.log, rebuild=rebuild, stopping=lambda: self.stopping)
            if recovered is None:
                return False
            _check_positions(shard, {place: committed.get(place, 0) for place in shard.positions})
            begins = {place.topic: offset for place, offset in shard.positions.items()}
            fields = {"partition": number, **recovered._asdict(), "begins": begins}
            logger.info("recovered", extra={"fields": fields})
            self.shards[number] = shard
            self._keepers[number] = Keeper(shard, recovered.checkpoint, self.log)
        self.log.seek(committed)
        return True

    def rebuild(self) -> bool:
        """Make new models from the journal, and let their checkpoints replace all others; False if stopped before."""
        if not self.recover(rebuild=True):
            return False
        for keeper in self._keepers.values():
            keeper.finish()
        for keeper in self._keepers.values():
            keeper.drop_others()
        return True

    def _partitions(self, committed: Offsets) -> list[int]:
        topics = self.settings.topics
        numbers, others = (
            sorted(place.number for place in committed if place.topic == topic)
            for topic in (topics.observations, topics.labels)
        )
        if numbers != others:
            message = (
                f"{topics.observations!r} has {len(numbers)} partitions and {topics.labels!r} has {len(others)}: a "
                "label is looked for in the partition of its observation, so they must have the same number"
            )
            raise LogError(message)
        return numbers

    def _poll(self) -> list[Record]:
        due = self._commit_due if self._uncommitted else self._status_due
        timeout = min(max(due - time.monotonic(), 0.0), _LONGEST_WAIT)
        most = max(self.settings.commit.events - self._uncommitted, 1)
        # Waiting is no work: only a poll that found something counts.
        began = time.perf_counter()
        records = self._insist(lambda: self.log.poll(most, 0.0))
        if records:
            self.stages.add("read", time.perf_counter() - began)
            return records
        return self._insist(lambda: self.log.poll(most, timeout)) if timeout else records

    def _take(self, records: list[Record]) -> None:
        if not records:
            return
        if not self._uncommitted:
            self._commit_due = time.monotonic() + self.settings.commit.milliseconds / 1000.0
        for number, shard in self.shards.items():
            own = [record for record in records if record.partition == number]
            if own:
                shard.take(own, self.log)
        self._uncommitted += len(records)
        self.events += len(records)

    def _commit_if_due(self) -> None:
        now = time.monotonic()
        status = now >= self._status_due
        full = self._uncommitted >= self.settings.commit.events or (self._uncommitted and now >= self._commit_due)
        if not (status or full):
            return
        if status:
            self._status_due = now + self.settings.status.seconds
            self._stage_status()
        self._commit()

    def _stage_status(self) -> None:
        for number, shard in self.shards.items():
            status = status_of(shard, self._keepers[number], self.log, self._started_at)
            self.log.append(self.settings.topics.status, encode(status), None, number)

    def _commit(self) -> None:
        with self.stages.measured("commit"):
            events = {number: shard.stage_entry(self.log) for number, shard in self.shards.items()}
            offsets = {place: offset for shard in self.shards.values() for place, offset in shard.positions.items()}
            self._insist(lambda: self.log.commit(offsets))
        if self._uncommitted:
            self._compiling.over()
        self._uncommitted = 0
        for number, keeper in self._keepers.items():
            keeper.committed(events[number])

    def _finish(self, narrator: Narrator) -> None:
        self._stage_status()
        self._commit()
        problems = []
        for keeper in self._keepers.values():
            try:
                keeper.finish()
            except (OSError, SnapshotError) as problem:
                problems.append(problem)
        logger.info("stopped", extra={"fields": narrator.totals._asdict()})
        if problems:
            message = f"everything is committed, but the last checkpoint was not written: {reason_of(problems[0])}"
            raise SnapshotError(message) from problems[0]

    def _insist(self, work: Callable[[], Result]) -> Result:
        """Try again while somebody else holds the log; nothing is lost meanwhile."""
        pause = _FIRST_PAUSE
        while True:
            try:
                return work()
            except LogError as problem:
                if self.stopping or not problem.retriable:
                    raise
                logger.warning("waiting for the log", extra={"fields": {"reason": str(problem)}})
                time.sleep(pause)
                pause = min(2.0 * pause, _LONGEST_PAUSE)


def _check_positions(shard: Shard, committed: dict[Partition, int]) -> None:
    """The journal and the positions are of one transaction, so they can only differ if somebody changed one of them."""
    for place, offset in committed.items():
        if shard.positions[place] != offset:
            message = (
                f"the group's position in {place.topic}-{place.number} is {offset}, but its journal ends at "
                f"{shard.positions[place]}: somebody changed one of them; use another group, or the log's last copy"
            )
            raise RecoveryError(message)
