"""When checkpoints are taken, and how: a quick copy in the stream's own time, the writing beside it."""

from __future__ import annotations

import logging
import time
from threading import Thread

from stream_bayes.checkpoint import BackgroundSaver, Checkpoint
from stream_bayes.engine.state import bookkeeping_of, state_of
from stream_bayes.errors import SnapshotError
from stream_bayes.learners import Learner
from stream_bayes.spam import SpamFilter
from stream_bayes.worker.shard import Shard

logger = logging.getLogger("stream_bayes.worker")
_LOOK = 0.005


class Keeper:
    """The checkpoints of one shard. A checkpoint that cannot be written stops nothing: the journal has it all."""

    def __init__(self, shard: Shard, last: int | None) -> None:
        self._shard = shard
        self._settings = shard.settings.checkpoint
        self._saver = BackgroundSaver(shard.folder)
        self.number = last
        """The journal offset of the newest checkpoint."""
        self._pending: int | None = None
        self._events = 0
        self._since = time.monotonic()
        # A second learner to copy into, made beside the stream: into fresh memory the copy would take 30 times as long.
        self._image: Learner | None = None
        self._maker = Thread(target=self._make_image, name="image", daemon=True)
        self._maker.start()

    @property
    def age_seconds(self) -> float | None:
        """How long ago the newest checkpoint was taken, by this worker or at its start."""
        return None if self.number is None else time.monotonic() - self._since

    def committed(self, events: int, journal_end: int) -> None:
        """So many events were committed; take a checkpoint if it is time."""
        self._settle()
        self._events += events
        due = self._events >= self._settings.events or time.monotonic() - self._since >= self._settings.seconds
        if due and self._events and not self._saver.busy and not self._maker.is_alive():
            self._take(journal_end)

    def finish(self, journal_end: int) -> None:
        """The last checkpoint, once the one on its way is done."""
        self._maker.join()
        self.wait()
        if self.number != journal_end:
            self._take(journal_end)
            self.wait()

    def wait(self) -> None:
        """Until no checkpoint is being written."""
        while self._saver.busy:
            time.sleep(_LOOK)
        self._settle()

    def drop_others(self) -> None:
        """Remove every checkpoint but the one just written."""
        for number, path in self._shard.folder.checkpoints():
            if number != self.number:
                path.unlink(missing_ok=True)

    def _make_image(self) -> None:
        image = self._shard.engine.model.learner.clone()
        if isinstance(image, SpamFilter):
            image.touch()
        self._image = image

    def _take(self, journal_end: int) -> None:
        shard, image = self._shard, self._image
        engine = shard.engine
        assert image is not None
        with shard.stages.measured("checkpoint"):
            engine.model.learner.copy_to(image)
            kept = bookkeeping_of(engine)
            positions = {place.topic: offset for place, offset in shard.positions.items()}

        def checkpoint() -> Checkpoint:
            scalars, arrays = state_of(image, kept)
            return Checkpoint(shard.shaping, {**scalars, "positions": positions}, arrays)

        self._saver.save(journal_end, checkpoint)
        self._pending, self._events, self._since = journal_end, 0, time.monotonic()

    def _settle(self) -> None:
        """Take note of the one that was on its way."""
        if self._pending is None or self._saver.busy:
            return
        number, self._pending = self._pending, None
        try:
            self._saver.finish()
        except (OSError, SnapshotError) as problem:
            logger.error("checkpoint failed", extra={"fields": {"reason": str(problem), "stream": "goes on"}})
        else:
            self.number = number
            logger.info("checkpoint", extra={"fields": {"partition": self._shard.number, "journal": number}})
