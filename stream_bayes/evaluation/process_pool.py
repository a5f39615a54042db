"""Work for several processes, each doing one piece after the other."""

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
    """What comes of an item instead of an answer."""

    item: T
    reason: str


def cores() -> int:
    """How many processes may run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answers(
    work: Callable[[T], R], items: Sequence[T], processes: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[R | Failure[T]]:
    """What the work gives for each of the items, as it is done; `stop` ends it, and is asked several times a second.

    An item that fails, or whose process is ended from outside, does not take the others with it.
    """
    left = iter(items)
    with ExitStack() as stack:
        busy: dict[Connection, T] = {}
        for item in islice(left, processes):
            busy[_given(stack.enter_context(_worker(work)), item)] = item
        while busy and not stop():
            for ready in cast(list[Connection], wait(list(busy), _PAUSE)):
                yield _received(ready, busy.pop(ready))
                for item in islice(left, 1):
                    try:
                        busy[_given(ready, item)] = item
                    except OSError:  # that process has ended
                        busy[_given(stack.enter_context(_worker(work)), item)] = item


@contextmanager
def _worker(work: Callable[[Any], Any]) -> Iterator[Connection]:
    # Compiled code has threads, which a fork would lose.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, work), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.terminate()
        process.join()


def _serve(requests: Connection, work: Callable[[Any], Any]) -> None:
    """Work until nobody asks for more, which the end of the first process means too."""
    # Ctrl-C reaches every process in front of a terminal; the first one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            item = requests.recv()
        except (EOFError, OSError):
            return
        try:
            answer = work(item)
        # Of other people's filters anything may come.
        except Exception as problem:
            answer = Failure(item, reason_of(problem))
        requests.send(answer)


def _given(connection: Connection, item: T) -> Connection:
    connection.send(item)
    return connection


def _received(connection: Connection, item: T) -> Any:
    try:
        return connection.recv()
    except (EOFError, OSError):
        return Failure(item, _ENDED)
