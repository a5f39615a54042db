"""One reader for a group: a lock on a small file beside the log, which the system drops when its process ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from stream_bayes.errors import LogConflict
from stream_bayes.eventlog.sqlite.error_mapping import of_the_system


class GroupLock:
    """Held from its making until `release`, or until the process ends in whatever way.

    The file stays when the lock is gone: removing it would let two processes lock two files of one name.
    """

    def __init__(self, path: Path, group: str) -> None:
        name = path.with_name(f"{path.name}.{group}.lock")
        try:
            self._descriptor: int | None = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as problem:
            raise of_the_system(problem, path) from problem
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)
        except BlockingIOError as problem:
            raise self._conflict(path, group) from problem
        except OSError as problem:
            self.release()
            raise of_the_system(problem, path) from problem

    def release(self) -> None:
        """Let the next one in."""
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
