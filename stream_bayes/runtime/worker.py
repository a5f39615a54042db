"""The worker: poll records, process them, commit; now and then write a checkpoint."""

from __future__ import annotations

import gc
import logging
import time
from datetime import UTC, datetime

from stream_bayes.config import Settings
from stream_bayes.config.kafka import redact_url
from stream_bayes.errors import BackgroundError, LogError, LogGap, LogRebalanced, SnapshotError, WorkerError, reason_of
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.retry import RetryingLog
from stream_bayes.events import encode
from stream_bayes.records import Partition, Record
from stream_bayes.runtime.logging import log_start
from stream_bayes.runtime.monitoring import ProgressLogger, status_of
from stream_bayes.runtime.partition_processor import PartitionProcessor, StageTimer
from stream_bayes.runtime.poller import LONGEST_WAIT, Poller
from stream_bayes.runtime.rebalance import AssignedPartitions
from stream_bayes.runtime.retention import Retention

logger = logging.getLogger("stream_bayes.runtime")


class Worker:
    """Runs the engines of the partitions that a log assigns to it, with exactly-once processing.

    The outputs of a record are committed together with the position behind it, so each observation has exactly one
    prediction and each label is learned exactly once, whatever kills the worker. The engine of a partition is first
    recovered to the last commit there. Between two commits nothing is polled, so that a partition can go to another
    worker at any poll.

    Parameters
    ----------
    settings
        The topics, the learner, the label budget, and how often to commit and to write checkpoints.
    log
        Open for the settings' group and its two input topics; the caller closes it.
    """

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings = settings
        self.log = log
        self.stages = StageTimer()
        self.events = 0
        """Events processed since the worker started."""
        self._status_due = 0.0
        self._started_at = datetime.now(UTC)
        self._log = RetryingLog(log)
        self._partitions = AssignedPartitions(settings, self._log, self.stages)
        self._poller = Poller(settings.commit, self._log, self._partitions, self.stages)
        self._progress = ProgressLogger(self._log)
        self._retention = Retention(settings, self._log)
        self._was_run = False

    @property
    def processors(self) -> dict[int, PartitionProcessor]:
        """The processors of the assigned partitions, by number."""
        return self._partitions.processors

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._log.stopping

    def stop(self) -> None:
        """Finish the batch, commit, write checkpoints and return from `run`; may be called by a signal's handler."""
        self._log.retry.stopping = True

    def run(self, *, drain: bool = False) -> None:
        """Work until `stop` is called or the log ends; with `drain` until everything there is has been read.

        May be called once. Raises `SnapshotError` at the end if the last checkpoint cannot be written, and
        `BackgroundError` as soon as a background thread has failed.
        """
        if self._was_run:
            message = "this worker was run before: make a new Worker, which goes on from the last commit"
            raise WorkerError(message)
        self._was_run = True
        log_start(self.settings)
        try:
            if self._work(drain=drain):
                self._finish()
        finally:
            self.log.on_change = None
            self._partitions.wait()

    def recover(self, *, rebuild: bool = False) -> bool:
        """Recover the engine of each partition to the last commit, or with `rebuild` make new models from the journal.

        Waits until the log has assigned partitions. Gives False if it was stopped before: then the engines must not be
        used.
        """
        self.log.on_change = self._partitions.on_change
        try:
            while not self._partitions.changed:
                if self.stopping:
                    return False
                self._log.poll(1, LONGEST_WAIT)
            return self._partitions.update(rebuild=rebuild)
        finally:
            self.log.on_change = None

    def rebuild(self) -> bool:
        """Make new models from the journal, whose checkpoints replace all others; False if it was stopped before."""
        if not self.recover(rebuild=True):
            return False
        checkpointers = self._partitions.checkpointers
        for number, checkpointer in checkpointers.items():
            self.processors[number].checkpoint_store.quarantine(self.processors[number].journal_end)
            checkpointer.finish()
        for checkpointer in checkpointers.values():
            checkpointer.drop_others()
        return True

    def _work(self, *, drain: bool) -> bool:
        """Work until the end or a stop; False if it was stopped before it had recovered."""
        self.log.on_change = self._partitions.on_change
        self._status_due = time.monotonic() + self.settings.status.seconds
        while not self.stopping:
            try:
                if not self._step(drain=drain):
                    break
            except LogRebalanced as problem:
                self._restart(problem)
            except LogGap as gap:
                self._partitions.skip_gap(gap)
        if self.stopping and not self.processors and not self._partitions.is_standby:
            logger.info("stopped before it had recovered")
            return False
        return True

    def _step(self, *, drain: bool) -> bool:
        """One commit, or one change of partitions; False at the end."""
        records = self._poller.poll_batch(self._status_due, drain=drain)
        if self._partitions.changed:
            # Else the logger would keep the models of lost partitions in memory.
            self._progress.reset(())
            is_running = self._partitions.update()
            self._progress.reset(self.processors.values())
            return is_running
        self._process(records)
        status = time.monotonic() >= self._status_due
        if records or status:
            self._commit(status=status)
        self._progress.log_if_due()
        self._retention.trim_if_due(self.processors.values())
        if records or not self._poller.at_end(drain=drain):
            return True
        return not (self._has_no_open_transactions() and self._poller.at_end(drain=drain))

    def _has_no_open_transactions(self) -> bool:
        """Whether no transaction is open in the labels, such as that of a worker that was killed while it forwarded.

        Behind an open transaction there may be labels that are committed and cannot be read yet.
        """
        try:
            for number in self.processors:
                self.log.wait_for_open_transactions(Partition(self.settings.topics.labels, number))
        except LogError as problem:
            if not problem.retriable:
                raise
            logger.warning("waiting for the log", extra={"fields": {"reason": str(problem)}})
            return False
        return True

    def _process(self, records: list[Record]) -> None:
        by_partition: dict[int, list[Record]] = {}
        for record in records:
            by_partition.setdefault(record.partition, []).append(record)
        processors = self._partitions.processors
        if not by_partition.keys() <= processors.keys():
            message = "the log gives records of partitions that it did not say are read here"
            raise LogError(message)
        for number, own in by_partition.items():
            self._process_partition(processors[number], own)
        self.events += len(records)

    def _process_partition(self, processor: PartitionProcessor, records: list[Record]) -> None:
        """Process the records of a partition, with a status event at each point of its learning curve.

        The points are at fixed counts, so that a curve has as many points after a quick backfill as after a slow one.
        """
        while records:
            size = processor.events_to_curve_point()
            processor.process(records[:size])
            records = records[size:]
            if processor.reached_curve_point():
                self._stage_status(processor)

    def _commit(self, *, status: bool, stopped: bool = False) -> None:
        processors = self._partitions.processors
        if status:
            self._status_due = time.monotonic() + self.settings.status.seconds
            for processor in processors.values():
                self._stage_status(processor, stopped=stopped)
        began = time.perf_counter()
        events: dict[int, int] = {}
        positions: dict[Partition, int] = {}
        for number, processor in processors.items():
            events[number] = processor.stage_entry()
            positions |= processor.positions
        written = self._log.commit(positions)
        self.stages.add("commit", began)
        labels = self.settings.topics.labels
        self._poller.forwarded({place: end for place, end in written.items() if place.topic == labels})
        for processor in processors.values():
            processor.committed(written)
        self._progress.committed(processors.values())
        for number, checkpointer in self._partitions.checkpointers.items():
            checkpointer.committed(events[number])

    def _stage_status(self, processor: PartitionProcessor, *, stopped: bool = False) -> None:
        checkpointer = self._partitions.checkpointers[processor.number]
        status = status_of(processor, checkpointer, self._log, self._started_at, stopped=stopped)
        self._log.append(self.settings.topics.status, encode(status), None, processor.number)

    def _restart(self, problem: LogRebalanced) -> None:
        """Drop what was not committed, and every engine that has learned from it."""
        logger.warning("partitions may be another worker's by now", extra={"fields": {"reason": str(problem)}})
        self.log.discard()
        self._partitions.drop_all()
        self._progress.reset(())

    def _finish(self) -> None:
        try:
            self._commit(status=True, stopped=True)
        except LogRebalanced as problem:
            self._restart(problem)
        problems: list[Exception] = []
        for checkpointer in self._partitions.checkpointers.values():
            try:
                checkpointer.finish()
            except (OSError, SnapshotError, BackgroundError) as problem:
                problems.append(problem)
        totals = self._progress.totals
        if totals.dead_letters:
            command = f"stream-bayes dead-letters list --log {redact_url(self.settings.log)}"
            fields = {"count": totals.dead_letters, "reasons": command}
            logger.warning("records were refused", extra={"fields": fields})
        logger.info("stopped", extra={"fields": totals._asdict()})
        for failure in problems:
            if isinstance(failure, BackgroundError):
                raise failure
        if problems:
            message = f"everything is committed, but the last checkpoint was not written: {reason_of(problems[0])}"
            raise SnapshotError(message) from problems[0]


_OBJECTS = 100_000


def tune_gc() -> None:
    """Let Python look for garbage more rarely, in a process that does nothing but a worker's work.

    An event makes about ten objects, which live until its batch is committed and are in no cycles. Python would look
    through all there are every few thousand events: measured, 70 ms each time, and 7 to 12 µs a mail.
    """
    gc.set_threshold(_OBJECTS, 10, 10)
