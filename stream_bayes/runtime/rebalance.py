"""The partitions assigned to a worker: each with its processor and its checkpointer."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from stream_bayes.config import Settings
from stream_bayes.errors import BackgroundError, LogConflict, LogError, LogGap
from stream_bayes.eventlog.retry import RetryingLog
from stream_bayes.records import Offsets, Partition
from stream_bayes.runtime.checkpointing import Checkpointer
from stream_bayes.runtime.partition_processor import PartitionProcessor, StageTimer
from stream_bayes.runtime.recovery import RecoveryResult, recover
from stream_bayes.runtime.topics import check_topics, count_of, shares_of

logger = logging.getLogger("stream_bayes.runtime")
_BEAT_SECONDS = 1.0


class AssignedPartitions:
    """The processors and checkpointers of the partitions that the log has assigned to this worker.

    The log reports changes in the middle of a poll. They are noted then, and `update` follows them after the poll: a
    partition that was gained gets a processor that is recovered to the last commit, a lost one is dropped.
    """

    def __init__(self, settings: Settings, log: RetryingLog, stages: StageTimer) -> None:
        self._settings = settings
        self._log = log
        self._stages = stages
        self.processors: dict[int, PartitionProcessor] = {}
        self.checkpointers: dict[int, Checkpointer] = {}
        self.is_assigned = False
        """Whether the log has assigned partitions yet."""
        self.changed = False
        """Whether the assignment has changed since the last `update`."""
        self._owned: frozenset[Partition] = frozenset()
        self._count = 1
        self._checked = False
        self.is_standby = False
        """Whether other workers have all partitions."""

    @property
    def positions(self) -> Offsets:
        """The positions of all processors."""
        return {
            place: offset for processor in self.processors.values() for place, offset in processor.positions.items()
        }

    def on_change(self, gained: frozenset[Partition], lost: frozenset[Partition]) -> None:
        """Note that partitions were gained and lost; the log calls this."""
        self._owned = (self._owned - lost) | gained
        self.is_assigned = True
        self.changed = True

    def update(self, *, rebuild: bool = False) -> bool:
        """Make processors for the partitions gained, drop those lost, and seek to their positions; False if stopped.

        With `rebuild` new models are made of all partitions, and it is an error if some are read by other workers.
        """
        self.changed = False
        # A dead letter about a gap is written by the worker that reads the partition now.
        self._log.discard()
        count = count_of(self._settings, self._log)
        self._count = count
        shares = shares_of(self._settings, self._log, count)
        if not self._checked:
            check_topics(self._settings, self._log)
            self._checked = True
        numbers = self._assigned_numbers()
        if rebuild and len(numbers) < count:
            raise self._conflict()
        self._drop_lost(self.processors.keys() - set(numbers))
        for processor in self.processors.values():
            processor.engine.routing = processor.engine.routing._replace(partitions=count)
        committed = self._log.committed()
        missing = [number for number in numbers if rebuild or not self._is_current(number, shares, committed)]
        # All of them first: a stop in between must not commit positions that were not verified.
        for number in missing:
            self._drop(number)
        for number in missing:
            self._add(number, shares, rebuild=rebuild)
            if self._log.stopping:
                return False
        if not rebuild:
            self._seek()
        return True

    def skip_gap(self, gap: LogGap) -> None:
        """Go on behind records that are gone, if the settings allow it; a dead letter says what was lost."""
        processor = self.processors.get(gap.partition)
        if processor is None or self._settings.kafka.on_offset_gap == "fail":
            raise gap
        # What was polled behind the last commit is dropped, and cannot be read again.
        wanted = processor.positions[Partition(gap.topic, gap.partition)]
        lost = {"topic": gap.topic, "partition": gap.partition, "from": wanted, "to": gap.begins - 1}
        logger.warning("records were removed before they were read", extra={"fields": lost})
        processor.skip_gap(LogGap(gap.topic, gap.partition, wanted, gap.begins))
        self._seek()

    def drop_all(self) -> None:
        """Drop all processors; the log will report all partitions again."""
        for number in list(self.processors):
            self._drop(number)
        self._owned = frozenset()
        self.is_assigned = False

    def wait(self) -> None:
        """Wait until no checkpoint is being written: once the log is closed, another worker may write some."""
        failures: list[BackgroundError] = []
        for checkpointer in self.checkpointers.values():
            try:
                checkpointer.wait()
            except BackgroundError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def _seek(self) -> None:
        topics = self._settings.topics
        begins = {**self._log.earliest_offsets(topics.observations), **self._log.earliest_offsets(topics.labels)}
        positions = self.positions
        try:
            self._log.seek(positions)
        except LogGap as gap:
            self.skip_gap(gap)
            return
        # No gap, so the group is new there: what was removed before it began was never its own to read.
        for place, offset in positions.items():
            if offset < begins.get(place, 0):
                self.processors[place.number].begin_at(place, begins[place])

    def _assigned_numbers(self) -> list[int]:
        topics = self._settings.topics
        numbers, others = (
            {place.number for place in self._owned if place.topic == topic}
            for topic in (topics.observations, topics.labels)
        )
        if numbers != others:
            message = (
                f"of {topics.observations!r} the partitions {sorted(numbers)} are read here and of {topics.labels!r} "
                f"{sorted(others)}: an observation and its labels must be read by the same worker"
            )
            raise LogError(message)
        if not numbers and not self.is_standby:
            logger.info("no partition is left for this worker: it stands by")
        self.is_standby = not numbers
        return sorted(numbers)

    def _conflict(self) -> LogConflict:
        message = f"other workers read for the group {self._settings.group!r}: stop them first"
        return LogConflict(message)

    def _is_current(self, number: int, shares: int, committed: Offsets) -> bool:
        """Whether a processor is at the group's position: then no other worker has processed the partition since."""
        processor = self.processors.get(number)
        if processor is None or processor.engine.request_policy.partitions != shares:
            return False
        return all(committed.get(place, 0) == offset for place, offset in processor.positions.items())

    def _add(self, number: int, shares: int, *, rebuild: bool) -> None:
        processor = PartitionProcessor(self._settings, number, shares, self._log, self._stages)
        processor.engine.routing = processor.engine.routing._replace(partitions=self._count)
        recovered = recover(processor, rebuild=rebuild, going=Heartbeat(self._log, processor))
        if recovered is not None:
            _log_recovered(processor, recovered)
            self.processors[number] = processor
            self.checkpointers[number] = Checkpointer(processor, recovered.checkpoint)
        elif rebuild and not self._log.stopping:
            raise self._conflict()

    def _drop_lost(self, numbers: Iterable[int]) -> None:
        lost = sorted(numbers)
        for number in lost:
            self._drop(number)
        if lost:
            logger.info("lost", extra={"fields": {"partitions": ", ".join(map(str, lost))}})

    def _drop(self, number: int) -> None:
        self.processors.pop(number, None)
        checkpointer = self.checkpointers.pop(number, None)
        if checkpointer is not None:
            checkpointer.wait()


class Heartbeat:
    """Whether a recovery is to go on: the worker is not stopping, and the partition is still assigned to it.

    Once a second it tells the log that its reader is alive; the log answers with what is still assigned.
    """

    def __init__(self, log: RetryingLog, processor: PartitionProcessor) -> None:
        self._log = log
        self._places = frozenset(processor.positions)
        self._due = time.monotonic() + _BEAT_SECONDS

    def __call__(self) -> bool:
        """Whether to go on."""
        if self._log.stopping:
            return False
        if time.monotonic() < self._due:
            return True
        self._due = time.monotonic() + _BEAT_SECONDS
        return self._places <= self._log.heartbeat()


def _log_recovered(processor: PartitionProcessor, recovered: RecoveryResult) -> None:
    begins = {place.topic: offset for place, offset in processor.positions.items()}
    fields = {"partition": processor.number, **recovered._asdict(), "begins": begins}
    logger.info("recovered", extra={"fields": fields})
