"""The file of a log: opened and recognised, used in short transactions, waited for."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from stream_bayes.errors import LogError
from stream_bayes.eventlog.sqlite import tables
from stream_bayes.eventlog.sqlite.error_mapping import checked_place, explained, is_busy

Result = TypeVar("Result")

PAGE_BYTES = 16384
"""Measured on mails of 3 KB: 10 µs to append one, 1.8 µs to read one; with pages of 4096 bytes 19 and 2.6."""

CHECKPOINT_BYTES = 8 << 20
"""The write-ahead log is moved into the file when it has grown to this."""

WAL_BYTES = 64 << 20
"""Readers can put that off; beyond this a writer waits for them for a moment."""

_SHORTEST_PAUSE = 0.001
_LONGEST_PAUSE = 0.01


class LogFile:
    """One connection to the file of a log. It is in a transaction only within `reading` and `writing`.

    Locks are waited for in Python, so that signals are handled meanwhile.
    """

    def __init__(self, path: str | Path, wait: float) -> None:
        self.path = checked_place(path)
        self._wait = wait
        self._wal_bytes = WAL_BYTES
        try:
            self._connection: sqlite3.Connection | None = sqlite3.connect(
                self.path, timeout=0.0, isolation_level=None, cached_statements=512
            )
        except sqlite3.Error as problem:
            raise explained(problem, self.path, wait) from problem
        try:
            self._prepare()
            self._identity = self._inode()
        except BaseException:
            self.close()
            raise

    def reading(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """What `work` reads, all of it from one moment; it must leave no cursor open."""
        return self._patiently(lambda: self._transaction("BEGIN", work))

    def writing(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do `work` and make it permanent; if this raises, nothing of it has happened."""
        self.check_there()
        return self._patiently(lambda: self._transaction("BEGIN IMMEDIATE", work))

    def check_there(self) -> None:
        """Refuse to go on with a file that nobody finds any more."""
        self.check_open()
        if self._inode() != self._identity:
            message = f"{self.path}: the file was removed or replaced while this log was open. Open it again"
            raise LogError(message)

    def version(self) -> int:
        """A number that changes when another connection has written."""
        return self._patiently(lambda: tables.number(self._open(), "PRAGMA data_version"))

    def changed(self, version: int, deadline: float) -> bool:
        """Wait until the version is another one, by looking ever more rarely; False at the deadline."""
        pause = _SHORTEST_PAUSE
        while (left := deadline - time.monotonic()) > 0.0:
            time.sleep(min(pause, left))
            if self.version() != version:
                return True
            pause = min(1.5 * pause, _LONGEST_PAUSE)
        return False

    def keep_small(self) -> None:
        """Bound the write-ahead log, which readers that follow one another may keep from starting afresh."""
        try:
            size = self.path.with_name(f"{self.path.name}-wal").stat().st_size
        except OSError:
            return
        if size <= self._wal_bytes:
            self._wal_bytes = WAL_BYTES
            return
        connection = self._open()
        with contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA busy_timeout = 200")
            busy = tables.number(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
            self._wal_bytes = size + WAL_BYTES if busy else WAL_BYTES
        with contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA busy_timeout = 0")

    def close(self) -> None:
        """Let go of the file; the last one to do so leaves no -wal and -shm files."""
        if self._connection is not None:
            try:
                self._connection.close()
            except sqlite3.Error as problem:
                raise explained(problem, self.path, self._wait) from problem
            self._connection = None

    def _prepare(self) -> None:
        connection = self._open()
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        new = self._patiently(lambda: tables.is_new(connection, self.path))
        mode = self._patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        if mode != "wal":
            message = f"{self.path}: the file system cannot share a log between processes. Use a local disk"
            raise LogError(message)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        page_bytes = tables.number(connection, "PRAGMA page_size")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_BYTES // page_bytes}")
        if new:
            self._patiently(lambda: self._transaction("BEGIN IMMEDIATE", lambda c: tables.create(c, self.path)))

    def check_open(self) -> None:
        """Refuse to go on once it is closed."""
        self._open()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            message = f"{self.path}: this log is closed"
            raise LogError(message)
        return self._connection

    def _inode(self) -> tuple[int, int] | None:
        try:
            facts = self.path.stat()
        except OSError:
            return None
        return facts.st_dev, facts.st_ino

    def _patiently(self, step: Callable[[], Result]) -> Result:
        deadline = time.monotonic() + self._wait
        pause = _SHORTEST_PAUSE
        while True:
            try:
                return step()
            except sqlite3.Error as problem:
                if not is_busy(problem) or time.monotonic() >= deadline:
                    raise explained(problem, self.path, self._wait) from problem
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)

    def _transaction(self, begin: str, work: Callable[[sqlite3.Connection], Result]) -> Result:
        connection = self._open()
        try:
            connection.execute(begin)
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise
        return result
