"""The SQLite file of a log: opened and recognised, used in short transactions, with waits for its locks."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from stream_bayes.errors import LogConflict, LogError
from stream_bayes.eventlog.sqlite import tables
from stream_bayes.eventlog.sqlite.error_mapping import checked_path, is_busy, to_log_error, to_system_error

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
    """One connection to the file of a log.

    It is in a transaction only within `read_transaction` and `write_transaction`. It waits for
    locks in Python, so that signals are handled meanwhile.
    """

    def __init__(self, path: str | Path, wait: float) -> None:
        self.path = checked_path(path)
        self._wait = wait
        self._wal_bytes = WAL_BYTES
        try:
            self._connection: sqlite3.Connection | None = sqlite3.connect(
                self.path, timeout=0.0, isolation_level=None, cached_statements=512
            )
        except sqlite3.Error as problem:
            raise to_log_error(problem, self.path, wait) from problem
        try:
            self._prepare()
            self._identity = self._inode()
        except BaseException:
            self.close()
            raise

    def read_transaction(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `work` in a read transaction, which sees one state of the file; it must leave no cursor open."""
        return self._retry_while_busy(lambda: self._transaction("BEGIN", work))

    def write_transaction(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `work` in a write transaction; if this raises, nothing was written."""
        self.check_exists()
        return self._retry_while_busy(lambda: self._transaction("BEGIN IMMEDIATE", work))

    def check_exists(self) -> None:
        """Raise `LogError` where the file was removed or replaced."""
        self.check_open()
        if self._inode() != self._identity:
            message = f"{self.path}: the file was removed or replaced while this log was open. Open it again"
            raise LogError(message)

    def version(self) -> int:
        """A number that changes when another connection has written."""
        return self._retry_while_busy(lambda: tables.number(self._open(), "PRAGMA data_version"))

    def wait_for_change(self, version: int, deadline: float) -> bool:
        """Wait until the version changes, with growing pauses; False at the deadline."""
        pause = _SHORTEST_PAUSE
        while (left := deadline - time.monotonic()) > 0.0:
            time.sleep(min(pause, left))
            if self.version() != version:
                return True
            pause = min(1.5 * pause, _LONGEST_PAUSE)
        return False

    def bound_wal(self) -> None:
        """Bound the size of the write-ahead log, which overlapping readers keep from being reset."""
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
        """Close the connection; the last one to close removes the -wal and -shm files."""
        if self._connection is not None:
            try:
                self._connection.close()
            except sqlite3.Error as problem:
                raise to_log_error(problem, self.path, self._wait) from problem
            self._connection = None

    def _prepare(self) -> None:
        connection = self._open()
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        # In one transaction: another process may create the log between two reads.
        new = self._retry_while_busy(lambda: self._transaction("BEGIN", lambda c: tables.is_new(c, self.path)))
        mode = self._retry_while_busy(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        if mode != "wal":
            message = f"{self.path}: the file system cannot share a log between processes. Use a local disk"
            raise LogError(message)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        page_bytes = tables.number(connection, "PRAGMA page_size")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_BYTES // page_bytes}")
        if new:
            self._retry_while_busy(lambda: self._transaction("BEGIN IMMEDIATE", lambda c: tables.create(c, self.path)))

    def check_open(self) -> None:
        """Raise `LogError` where the log is closed."""
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

    def _retry_while_busy(self, step: Callable[[], Result]) -> Result:
        deadline = time.monotonic() + self._wait
        pause = _SHORTEST_PAUSE
        while True:
            try:
                return step()
            except sqlite3.Error as problem:
                if not is_busy(problem) or time.monotonic() >= deadline:
                    raise to_log_error(problem, self.path, self._wait) from problem
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


class GroupLock:
    """Lock that lets one process read for a group: on a small file beside the log.

    It is held until `release`, or until the process ends: the system drops the lock then. The file stays, since
    removing it would let two processes lock two files of the same name.
    """

    def __init__(self, path: Path, group: str) -> None:
        name = path.with_name(f"{path.name}.{group}.lock")
        try:
            self._descriptor: int | None = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as problem:
            raise to_system_error(problem, path) from problem
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)
        except BlockingIOError as problem:
            raise self._conflict(path, group) from problem
        except OSError as problem:
            self.release()
            raise to_system_error(problem, path) from problem

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _conflict(self, path: Path, group: str) -> LogConflict:
        assert self._descriptor is not None
        holder = os.pread(self._descriptor, 20, 0).decode("ascii", "replace")
        self.release()
        who = f"process {holder}" if holder.isdigit() else "another process"
        message = (
            f"{path}: {who} already reads for the group {group!r}. Stop it, or give this one another "
            "group and output topics of its own"
        )
        return LogConflict(message)
