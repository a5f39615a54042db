"""Checkpoints written beside the stream."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from stream_bayes.checkpoint.files import Checkpoint
from stream_bayes.checkpoint.folder import CheckpointFolder


class BackgroundSaver:
    """Writes checkpoints in a thread, one at a time, from copies that nobody changes meanwhile.

    What goes wrong there is raised by the next call of `save` or `finish`, once.
    """

    def __init__(self, folder: CheckpointFolder) -> None:
        self._folder = folder
        self._thread: Thread | None = None
        self._problem: BaseException | None = None
        self._written: int | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written; until it is not, its copy must stay as it is."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def written(self) -> int | None:
        """The number of the last checkpoint that was written by this saver."""
        return self._written

    def save(self, number: int, make: Callable[[], Checkpoint]) -> None:
        """Write what `make` returns, which is called in the thread; waits for the checkpoint before it."""
        self.finish()
        self._thread = Thread(target=self._save, args=(number, make), name=f"checkpoint-{number}")
        self._thread.start()

    def finish(self) -> None:
        """Wait until nothing is being written."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem

    def _save(self, number: int, make: Callable[[], Checkpoint]) -> None:
        try:
            self._folder.write(number, make())
            self._written = number
        except BaseException as problem:
            self._problem = problem
