"""What can be wrong with the file: errors of SQLite and of the file system as errors that say what to do."""

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


def checked_place(path: str | Path) -> Path:
    """The file that a path leads to, through all links; refuses a place where no log can be, before SQLite sees it."""
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
            raise read_only(place, needed)
    return place


def _objection(path: Path) -> str | None:
    if not path.parent.is_dir():
        return f"{path}: there is no folder {path.parent}. Create it (mkdir -p), or correct the path"
    if path.exists() and not path.is_file():
        return f"{path} is not a file. Name a file for the log, such as {path / 'stream_bayes.db'}"
    return None


def read_only(path: Path, place: Path) -> LogError:
    """The error of a file or folder that must not be written."""
    message = (
        f"{path}: {place} cannot be written. A log needs its file and its folder to be writable, also for reading: "
        "change the permissions, or copy the file to a place of your own"
    )
    return LogError(message)


def primary_code(problem: sqlite3.Error) -> int:
    """SQLite's code without its refinement; SQLITE_OK for errors that the Python module made itself."""
    code: int = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & 0xFF


def is_busy(problem: sqlite3.Error) -> bool:
    """Somebody else holds a lock: the same call may succeed a moment later."""
    return primary_code(problem) in _BUSY


def explained(problem: sqlite3.Error, path: Path, wait: float) -> LogError:
    """The error to raise instead of SQLite's."""
    code = primary_code(problem)
    if code in _BUSY:
        message = (
            f"{path}: another process has kept it locked for more than {wait:g} s. Find it with `fuser {path}`; "
            "once it has finished or was stopped, try again"
        )
        return LogLocked(message)
    if code == sqlite3.SQLITE_FULL or (
        code in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN} and is_full(path.parent)
    ):
        return full(path)
    if code == sqlite3.SQLITE_READONLY:
        return read_only(path, path)
    return LogError(f"{path}: {_what_else(code, problem)}")


def _what_else(code: int, problem: sqlite3.Error) -> str:
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


def full(path: Path) -> LogFull:
    """The error of a disk without space."""
    message = (
        f"{path}: no space left in {path.parent}. Nothing of this commit was written and what was committed before is "
        "safe; make space, then commit again or start again"
    )
    return LogFull(message)


def of_the_system(problem: OSError, path: Path) -> LogError:
    """The error to raise when a file beside the log cannot be written."""
    return full(path) if problem.errno in _SPACE else LogError(f"{problem.filename or path}: {problem.strerror}")


def is_full(folder: Path) -> bool:
    """Whether a small file cannot be written there for want of space or quota: SQLite does not pass errno on."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_PROBE_BYTES))
            probe.flush()
    except OSError as problem:
        return problem.errno in _SPACE
    return False
