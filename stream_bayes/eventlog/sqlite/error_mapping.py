"""Mapping of errors of SQLite and of the file system to errors of a log that say what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from pathlib import Path

from stream_bayes.errors import LogError, LogFull, LogLocked

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_SPACE = {errno.ENOSPC, errno.EDQUOT}
_PROBE_BYTES = 1 << 16


def checked_path(path: str | Path) -> Path:
    """The file of a path with its links resolved; raises `LogError` where no log can be."""
    try:
        place = Path(path).resolve()
        message = _objection(place)
    except (OSError, RuntimeError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        message = f"{str(path)!r:.300} cannot be the path of a log: {reason}"
        raise LogError(message) from problem
    if message is not None:
        raise LogError(message)
    for needed in (place, place.parent):
        if needed.exists() and not os.access(needed, os.W_OK):
            raise read_only_error(place, needed)
    return place


def _objection(path: Path) -> str | None:
    if not path.parent.is_dir():
        return f"{path}: there is no folder {path.parent}. Create it (mkdir -p), or correct the path"
    if path.exists() and not path.is_file():
        return f"{path} is not a file. Name a file for the log, such as {path / 'stream_bayes.db'}"
    return None


def read_only_error(path: Path, place: Path) -> LogError:
    """The error of a file or folder that must not be written."""
    message = (
        f"{path}: {place} cannot be written. A log needs its file and its folder to be writable, also for reading: "
        "change the permissions, or copy the file to a place of your own"
    )
    return LogError(message)


def primary_code(problem: sqlite3.Error) -> int:
    """The primary result code of SQLite; SQLITE_OK for errors that the Python module raised itself."""
    code: int = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & 0xFF


def is_busy(problem: sqlite3.Error) -> bool:
    """Whether another connection holds a lock: the same call may succeed a moment later."""
    return primary_code(problem) in _BUSY


def to_log_error(problem: sqlite3.Error, path: Path, wait: float) -> LogError:
    """The error to raise instead of SQLite's."""
    code = primary_code(problem)
    if code in _BUSY:
        message = (
            f"{path}: another process has kept it locked for more than {wait:g} s. Find it with `fuser {path}`; "
            "once it has finished or was stopped, try again"
        )
        return LogLocked(message)
    if code == sqlite3.SQLITE_FULL or (
        code in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN} and is_disk_full(path.parent)
    ):
        return disk_full_error(path)
    if code == sqlite3.SQLITE_READONLY:
        return read_only_error(path, path)
    return LogError(f"{path}: {_reason(code, problem)}")


def _reason(code: int, problem: sqlite3.Error) -> str:
    if code == sqlite3.SQLITE_NOTADB:
        return "this is not an SQLite file, so it is no log. Correct the path, or move the file away"
    if code == sqlite3.SQLITE_CORRUPT:
        return (
            f"the file is damaged ({problem}). Move it away together with its -wal and -shm files; bring back a copy, "
            "or save what is left with `sqlite3 FILE .recover`"
        )
    if code == sqlite3.SQLITE_CANTOPEN:
        return "SQLite cannot open it. Check the permissions of the file, its folder, and its -wal and -shm files"
    if code == sqlite3.SQLITE_IOERR:
        return f"the disk refused ({problem.sqlite_errorname}). Look at the system's log, then start again"
    if code == sqlite3.SQLITE_OK:
        return f"{problem}. A log belongs to the thread that opened it"
    return f"the file is not as this version left it ({problem}). Bring back a copy, or use another file"


def disk_full_error(path: Path) -> LogFull:
    """The error of a disk without space."""
    message = (
        f"{path}: no space left in {path.parent}. Nothing of this commit was written and what was committed before is "
        "safe; make space, then commit again or start again"
    )
    return LogFull(message)


def to_system_error(problem: OSError, path: Path) -> LogError:
    """The error to raise when a file beside the log cannot be written."""
    return (
        disk_full_error(path)
        if problem.errno in _SPACE
        else LogError(f"{problem.filename or path}: {problem.strerror}")
    )


def is_disk_full(folder: Path) -> bool:
    """Whether the folder has no space or quota for a small file: SQLite does not pass errno on."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_PROBE_BYTES))
            probe.flush()
    except OSError as problem:
        return problem.errno in _SPACE
    return False
