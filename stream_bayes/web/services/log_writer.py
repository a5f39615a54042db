"""A thread that writes labels to the log and reads observations from it. A log is used by one thread only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeVar

from stream_bayes.background import BackgroundThread
from stream_bayes.errors import BackgroundError, LogUnavailable, StreamBayesError
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.retry import RetryPolicy
from stream_bayes.events import Label, encode
from stream_bayes.records import Record

RESULT_SECONDS = 15.0
"""The longest time that a caller waits for a result."""
_RETRY_SECONDS = 3.0
"""The longest time for which an operation on a locked or unavailable log is retried."""

Result = TypeVar("Result")


class _Write(NamedTuple):
    label: Label
    partition: int
    done: Future[None]


class _Read(NamedTuple):
    place: tuple[str, int, int]
    done: Future[Record | None]


class _Stop(NamedTuple):
    """The last task of the thread."""


class LogWriter:
    """Carries out writes and reads one after the other. Labels that wait together are one transaction.

    Parameters
    ----------
    topic
        The topic of labels.
    open_log
        Opens the log, in the thread that uses it.
    on_failure
        Called if the thread fails.
    """

    def __init__(
        self, topic: str, open_log: Callable[[], Log], on_failure: Callable[[BackgroundError], object] | None = None
    ) -> None:
        self._topic = topic
        self._open = open_log
        self._tasks: SimpleQueue[_Write | _Read | _Stop] = SimpleQueue()
        self._log: Log | None = None
        self._retry = RetryPolicy(_RETRY_SECONDS)
        self._thread = BackgroundThread(self._run, "web-log-writer", on_failure)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the waiting tasks, then stop the thread."""
        self._tasks.put(_Stop())
        self._thread.join()

    def write(self, label: Label, partition: int) -> None:
        """Write a label. Return when it is committed; raise an error if it is not."""
        self._thread.check()
        done: Future[None] = Future()
        self._tasks.put(_Write(label, partition, done))
        _result(done)

    def read(self, topic: str, partition: int, offset: int) -> Record | None:
        """Return the record at an offset. None if retention has removed it."""
        self._thread.check()
        done: Future[Record | None] = Future()
        self._tasks.put(_Read((topic, partition, offset), done))
        return _result(done)

    def _run(self) -> None:
        while True:
            tasks = self._next_tasks()
            self._write_all([task for task in tasks if isinstance(task, _Write)])
            for task in tasks:
                if isinstance(task, _Read):
                    self._read_one(task)
            if any(isinstance(task, _Stop) for task in tasks):
                break
        self._close()

    def _next_tasks(self) -> list[_Write | _Read | _Stop]:
        tasks = [self._tasks.get()]
        with suppress(Empty):
            while True:
                tasks.append(self._tasks.get_nowait())
        return tasks

    def _write_all(self, writes: Sequence[_Write]) -> None:
        # A caller whose wait timed out got an error, so their label is not written.
        writes = [write for write in writes if write.done.set_running_or_notify_cancel()]
        if not writes:
            return
        try:
            log = self._open_log()
            for label, partition, _ in writes:
                log.append(self._topic, encode(label), label.id.encode("utf-8", "surrogatepass"), partition)
            self._retry(lambda: log.commit({}))
        except Exception as problem:
            # The boundary of the thread. After a lost connection the labels may have been written. Sending them again
            # is safe, since the same label counts once.
            self._close()
            for write in writes:
                write.done.set_exception(problem)
        else:
            for write in writes:
                write.done.set_result(None)

    def _read_one(self, task: _Read) -> None:
        if not task.done.set_running_or_notify_cancel():
            return
        try:
            found = self._retry(lambda: self._open_log().read(*task.place))
        except Exception as problem:
            self._close()
            task.done.set_exception(problem)
        else:
            task.done.set_result(found[0] if found and found[0].offset == task.place[2] else None)

    def _open_log(self) -> Log:
        if self._log is None:
            self._log = self._open()
        return self._log

    def _close(self) -> None:
        log = self._log
        self._log = None
        if log is not None:
            with suppress(StreamBayesError, OSError):
                log.close()


def _result(done: Future[Result]) -> Result:
    try:
        return done.result(RESULT_SECONDS)
    except TimeoutError:
        done.cancel()
        message = f"the log has not responded for {RESULT_SECONDS:.0f} s"
        raise LogUnavailable(message) from None
