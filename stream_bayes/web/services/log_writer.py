"""Who writes labels into the log and reads observations from it: one thread, since a log belongs to its thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeVar

from stream_bayes.background import BackgroundThread
from stream_bayes.errors import BackgroundError, LogError, LogUnavailable, StreamBayesError
from stream_bayes.eventlog.base import Log
from stream_bayes.events import Label, encode
from stream_bayes.records import Record

PATIENCE = 15.0
"""Seconds that somebody waits for what they asked for."""
_INSISTENCE = 3.0
_PAUSE = 0.1
"""Seconds for which a log that is locked or away is asked again, and between two times."""

Answer = TypeVar("Answer")


class _Write(NamedTuple):
    label: Label
    partition: int
    done: Future[None]


class _Read(NamedTuple):
    place: tuple[str, int, int]
    done: Future[Record | None]


class _End(NamedTuple):
    """The last task."""


class LogWriter:
    """Carries out one thing after the other; labels that wait together are one transaction.

    Parameters
    ----------
    topic
        Of the labels.
    open_log
        Opens the log, in the thread that uses it.
    on_failure
        Called where the thread fails.
    """

    def __init__(
        self, topic: str, open_log: Callable[[], Log], on_failure: Callable[[BackgroundError], object] | None = None
    ) -> None:
        self._topic = topic
        self._open = open_log
        self._tasks: SimpleQueue[_Write | _Read | _End] = SimpleQueue()
        self._log: Log | None = None
        self._thread = BackgroundThread(self._run, "web-clerk", on_failure)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what was asked for, then end."""
        self._tasks.put(_End())
        self._thread.join()

    def write(self, label: Label, partition: int) -> None:
        """Write a label; returns when it is committed, and raises where it is not."""
        self._thread.check()
        done: Future[None] = Future()
        self._tasks.put(_Write(label, partition, done))
        _result(done)

    def read(self, topic: str, partition: int, offset: int) -> Record | None:
        """The record at a place; None if the log has it no more."""
        self._thread.check()
        done: Future[Record | None] = Future()
        self._tasks.put(_Read((topic, partition, offset), done))
        return _result(done)

    def _run(self) -> None:
        while True:
            tasks = self._waiting()
            self._do([task for task in tasks if isinstance(task, _Write)])
            for task in tasks:
                if isinstance(task, _Read):
                    self._look_up(task)
            if any(isinstance(task, _End) for task in tasks):
                break
        self._close()

    def _waiting(self) -> list[_Write | _Read | _End]:
        tasks = [self._tasks.get()]
        with suppress(Empty):
            while True:
                tasks.append(self._tasks.get_nowait())
        return tasks

    def _do(self, writes: Sequence[_Write]) -> None:
        # Who has given up waiting is not told, so nothing is written for them.
        writes = [write for write in writes if write.done.set_running_or_notify_cancel()]
        if not writes:
            return
        try:
            log = self._opened()
            for label, partition, _ in writes:
                log.append(self._topic, encode(label), label.id.encode("utf-8", "surrogatepass"), partition)
            _insisted(lambda: log.commit({}))
        except Exception as problem:
            # The boundary of the thread. Where a broker went away it may have been written: to say it again is no harm,
            # since the same label counts once.
            self._close()
            for write in writes:
                write.done.set_exception(problem)
        else:
            for write in writes:
                write.done.set_result(None)

    def _look_up(self, task: _Read) -> None:
        if not task.done.set_running_or_notify_cancel():
            return
        try:
            found = _insisted(lambda: self._opened().read(*task.place))
        except Exception as problem:
            self._close()
            task.done.set_exception(problem)
        else:
            task.done.set_result(found[0] if found and found[0].offset == task.place[2] else None)

    def _opened(self) -> Log:
        if self._log is None:
            self._log = self._open()
        return self._log

    def _close(self) -> None:
        log = self._log
        self._log = None
        if log is not None:
            with suppress(StreamBayesError, OSError):
                log.close()


def _insisted(call: Callable[[], Answer]) -> Answer:
    """What a call gives, which is made again for a while where the log says that it may be."""
    until = time.monotonic() + _INSISTENCE
    while True:
        try:
            return call()
        except LogError as problem:
            if not problem.retriable or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


def _result(done: Future[Answer]) -> Answer:
    try:
        return done.result(PATIENCE)
    except TimeoutError:
        done.cancel()
        message = f"the log has not answered for {PATIENCE:.0f} s"
        raise LogUnavailable(message) from None
