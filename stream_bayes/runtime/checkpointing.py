"""Checkpointing: a quick copy of the state while the stream waits, written to disk by a background thread."""

from __future__ import annotations

import logging
import time

from stream_bayes.background import BackgroundThread, failure_of
from stream_bayes.engine.state import bookkeeping_of, state_of
from stream_bayes.errors import SnapshotError, reason_of
from stream_bayes.learners import Learner
from stream_bayes.persistence.checkpoint import Checkpoint
from stream_bayes.persistence.checkpoint_store import BackgroundWriter
from stream_bayes.runtime.partition_processor import PartitionProcessor

logger = logging.getLogger("stream_bayes.runtime")


class Checkpointer:
    """Takes the checkpoints of one processor, when they are due.

    A checkpoint that cannot be written stops nothing but `finish`: the journal has everything. Any other failure of the
    threads that copy and write is a `BackgroundError`, which ends the worker.
    """

    def __init__(self, processor: PartitionProcessor, last: int | None) -> None:
        self._processor = processor
        self._settings = processor.settings.checkpoint
        self._writer = BackgroundWriter(processor.checkpoint_store)
        self.number = last
        """The journal offset of the newest checkpoint."""
        self._pending: int | None = None
        self._events = 0
        self._taken_at = time.monotonic()
        # A second learner to copy into, made by a thread: a copy into fresh memory would take 30 times as long.
        self._copy: Learner | None = None
        self._copy_thread = BackgroundThread(self._make_copy, "checkpoint-copy")
        self._copy_thread.start()

    @property
    def age_seconds(self) -> float | None:
        """The age of the newest checkpoint, written by this worker or by one before it."""
        if self.number is None:
            return None
        try:
            written = self._processor.checkpoint_store.path_of(self.number).stat().st_mtime
        except OSError:
            return None
        return max(time.time() - written, 0.0)

    def committed(self, events: int) -> None:
        """Note a commit of a number of events; take a checkpoint if one is due."""
        self._copy_thread.check()
        if not self._writer.busy:
            self._complete_or_log({"stream": "goes on"})
        self._events += events
        due = self._events >= self._settings.events or time.monotonic() - self._taken_at >= self._settings.seconds
        if due and self._events and self._copy is not None and not self._writer.busy:
            self._take()

    def finish(self) -> None:
        """Take the last checkpoint, after the pending one; raises if it cannot be written."""
        self._copy_thread.join()
        self._copy_thread.check()
        self.wait()
        if self.number != self._processor.journal_end:
            self._take()
            self._complete()

    def wait(self) -> None:
        """Wait until no checkpoint is being written."""
        self._complete_or_log({})

    def drop_others(self) -> None:
        """Remove every checkpoint but the one just written."""
        for number, path in self._processor.checkpoint_store.checkpoints():
            if number != self.number:
                path.unlink(missing_ok=True)

    def _make_copy(self) -> None:
        try:
            copy = self._processor.engine.model.learner.clone()
            copy.prefault()
        except MemoryError:
            logger.warning("there is no memory for a second model: the only checkpoint will be that at the end")
        else:
            self._copy = copy

    def _take(self) -> None:
        processor = self._processor
        engine = self._processor.engine
        number = self._processor.journal_end
        # Without a copy, for which there was no memory, the stream has ended and the learner does not change.
        learner = self._copy or engine.model.learner
        began = time.perf_counter()
        if learner is self._copy:
            engine.model.learner.copy_into(learner)
        bookkeeping = bookkeeping_of(engine)
        positions = {place.topic: offset for place, offset in processor.positions.items()}
        place = {"positions": positions, "mark": processor.mark}
        processor.stages.add("checkpoint", began)

        def checkpoint() -> Checkpoint:
            scalars, arrays = state_of(learner, bookkeeping)
            return Checkpoint(processor.compatibility_key, {**scalars, **place}, arrays)

        self._writer.save(number, checkpoint)
        self._pending = number
        self._events = 0
        self._taken_at = time.monotonic()

    def _complete_or_log(self, more_fields: dict[str, str]) -> None:
        try:
            self._complete()
        except (OSError, SnapshotError, MemoryError) as problem:
            logger.error("checkpoint failed", extra={"fields": {"reason": reason_of(problem), **more_fields}})

    def _complete(self) -> None:
        """Wait for the pending checkpoint and note its number."""
        number = self._pending
        self._pending = None
        if number is not None:
            try:
                self._writer.finish()
            except (OSError, SnapshotError, MemoryError):
                raise
            except BaseException as problem:
                # Not an error of the disk: the content of the next checkpoint could not be trusted either.
                raise failure_of("checkpoint", problem) from problem
            self.number = number
            logger.info("checkpoint", extra={"fields": {"partition": self._processor.number, "journal": number}})
