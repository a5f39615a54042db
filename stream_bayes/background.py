"""Background threads whose failure ends the program that started them."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from stream_bayes.errors import BackgroundError


class BackgroundThread(Thread):
    """A daemon thread that keeps the exception it fails with; `check` raises it.

    Parameters
    ----------
    work
        Called in the thread.
    name
        The name of the thread, as the error names it.
    on_failure
        Called in the thread with the error, for a program that has no loop in which it calls `check`.
    """

    def __init__(
        self, work: Callable[[], object], name: str, on_failure: Callable[[BackgroundError], object] | None = None
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        self._on_failure = on_failure
        self._failure: BackgroundError | None = None

    def run(self) -> None:
        """Do the work, and keep what it raises."""
        try:
            self._work()
        except BaseException as problem:
            self._failure = failure_of(self.name, problem)
            if self._on_failure is not None:
                self._on_failure(self._failure)
        finally:
            # What it works for may hold this thread: a cycle that would keep a whole model in memory.
            del self._work
            del self._on_failure

    def check(self) -> None:
        """Raise `BackgroundError` if the thread has failed."""
        if self._failure is not None:
            raise self._failure


def failure_of(name: str, problem: BaseException) -> BackgroundError:
    """The error of a thread that has failed, with its cause."""
    failure = BackgroundError(f"the background thread {name!r} failed: {type(problem).__name__}: {problem}")
    failure.__cause__ = problem
    return failure
