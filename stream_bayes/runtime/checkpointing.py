"""When checkpoints are taken, and how: a quick copy in the stream's own time, the writing beside it."""

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
    """The checkpoints of one processor.

    One that the disk does not take stops nothing but `finish`: the journal has it all. Any other failure of the threads
    that copy and write is a `BackgroundError`, which ends the worker.
    """

    def __init__(self, processor: PartitionProcessor, last: int | None) -> None:
        self._processor = processor
        self._settings = processor.settings.checkpoint
        self._saver = BackgroundWriter(processor.checkpoint_store)
        self.number = last
        """The journal offset of the newest checkpoint."""
        self._pending: int | None = None
        self._events = 0
        self._tried = time.monotonic()
        # A second learner to copy into, made beside the stream: into fresh memory the copy would take 30 times as long.
        self._image: Learner | None = None
        self._maker = BackgroundThread(self._make_image, "checkpoint-copy")
        self._maker.start()

    @property
    def age_seconds(self) -> float | None:
        """How long ago the newest checkpoint was written, by this worker or by one before it."""
        if self.number is None:
            return None
        try:
            written = self._processor.checkpoint_store.path_of(self.number).stat().st_mtime
        except OSError:
            return None
        return max(time.time() - written, 0.0)

    def committed(self, events: int) -> None:
        """So many events were committed; take a checkpoint if it is time."""
        self._maker.check()
        if not self._saver.busy:
            self._settle_or_say({"stream": "goes on"})
        self._events += events
        due = self._events >= self._settings.events or time.monotonic() - self._tried >= self._settings.seconds
        if due and self._events and self._image is not None and not self._saver.busy:
            self._take()

    def finish(self) -> None:
        """The last checkpoint, once the one on its way is done; raises where it cannot be written."""
        self._maker.join()
        self._maker.check()
        self.wait()
        if self.number != self._processor.journal_end:
            self._take()
            self._settle()

    def wait(self) -> None:
        """Until no checkpoint is being written."""
        self._settle_or_say({})

    def drop_others(self) -> None:
        """Remove every checkpoint but the one just written."""
        for number, path in self._processor.checkpoint_store.checkpoints():
            if number != self.number:
                path.unlink(missing_ok=True)

    def _make_image(self) -> None:
        try:
            image = self._processor.engine.model.learner.clone()
            image.prefault()
        except MemoryError:
            logger.warning("there is no memory for a second model: the only checkpoint will be that at the end")
        else:
            self._image = image

    def _take(self) -> None:
        processor = self._processor
        engine = self._processor.engine
        number = self._processor.journal_end
        # Without an image, for which there was no memory, the stream has ended and the learner stays as it is.
        image = self._image or engine.model.learner
        with processor.stages.measured("checkpoint"):
            if image is self._image:
                engine.model.learner.copy_into(image)
            kept = bookkeeping_of(engine)
            positions = {place.topic: offset for place, offset in processor.positions.items()}
            place = {"positions": positions, "mark": processor.mark}

        def checkpoint() -> Checkpoint:
            scalars, arrays = state_of(image, kept)
            return Checkpoint(processor.compatibility_key, {**scalars, **place}, arrays)

        self._saver.save(number, checkpoint)
        self._pending = number
        self._events = 0
        self._tried = time.monotonic()

    def _settle_or_say(self, besides: dict[str, str]) -> None:
        try:
            self._settle()
        except (OSError, SnapshotError, MemoryError) as problem:
            logger.error("checkpoint failed", extra={"fields": {"reason": reason_of(problem), **besides}})

    def _settle(self) -> None:
        """Wait for the one that is on its way, and take note of it."""
        number = self._pending
        self._pending = None
        if number is not None:
            try:
                self._saver.finish()
            except (OSError, SnapshotError, MemoryError):
                raise
            except BaseException as problem:
                # Not the disk's fault but ours: what the next checkpoint would hold cannot be trusted either.
                raise failure_of("checkpoint", problem) from problem
            self.number = number
            logger.info("checkpoint", extra={"fields": {"partition": self._processor.number, "journal": number}})
