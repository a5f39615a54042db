"""A pool of processes that survives failures: an item that fails, or kills its process, does not stop the others."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, NamedTuple, TypeVar, cast

from stream_bayes.errors import reason_of

_PAUSE = 0.1
_ENDED = "a process was ended from outside, perhaps for want of memory"

T = TypeVar("T")
R = TypeVar("R")


class Failure(NamedTuple, Generic[T]):
    """An item that failed, and why."""

    item: T
    reason: str


def available_cores() -> int:
    """The number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_unordered(
    work: Callable[[T], R], items: Sequence[T], processes: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[R | Failure[T]]:
    """Apply `work` to each item, and yield results as they are ready; `stop` is called several times a second.

    An item that fails, or whose process is killed, yields a `Failure`.
    """
    left = iter(items)
    with ExitStack() as stack:
        busy: dict[Connection, T] = {}
        for item in islice(left, processes):
            busy[_send(stack.enter_context(_worker(work)), item)] = item
        while busy and not stop():
            for ready in cast(list[Connection], wait(list(busy), _PAUSE)):
                yield _receive(ready, busy.pop(ready))
                for item in islice(left, 1):
                    try:
                        busy[_send(ready, item)] = item
                    except OSError:  # that process has ended
                        busy[_send(stack.enter_context(_worker(work)), item)] = item


@contextmanager
def _worker(work: Callable[[Any], Any]) -> Iterator[Connection]:
    # Compiled code has threads, which do not survive a fork.
    context = multiprocessing.get_context("spawn")
    parent_end, child_end = context.Pipe()
    process = context.Process(target=_serve, args=(child_end, work), daemon=True)
    process.start()
    child_end.close()
    try:
        yield parent_end
    finally:
        parent_end.close()
        process.terminate()
        process.join()


def _serve(requests: Connection, work: Callable[[Any], Any]) -> None:
    """Work until the connection is closed, also by the end of the parent process."""
    # Ctrl-C reaches every process in front of a terminal; the first one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            item = requests.recv()
        except (EOFError, OSError):
            return
        try:
            answer = work(item)
        # Filters of other people may raise anything.
        except Exception as problem:
            answer = Failure(item, reason_of(problem))
        requests.send(answer)


def _send(connection: Connection, item: T) -> Connection:
    connection.send(item)
    return connection


def _receive(connection: Connection, item: T) -> Any:
    try:
        return connection.recv()
    except (EOFError, OSError):
        return Failure(item, _ENDED)
