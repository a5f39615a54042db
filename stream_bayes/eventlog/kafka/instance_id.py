"""Instance id of a worker (static group membership): a restarted worker on the same machine gets it again."""

from __future__ import annotations

import fcntl
import os
import re
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from stream_bayes.errors import LogError, reason_of

_MAX_WORKERS = 10_000


class InstanceIdLease:
    """Lease of the first free instance id of this machine, held until it is closed or the process ends.

    With the same instance id a worker that was killed and restarts has its partitions at once, and ends the transaction
    that it left open; with a new one it would wait for both.

    Parameters
    ----------
    folder
        In a folder `workers` within it there are small lock files, which stay.
    name
        This name and no other.
    """

    def __init__(self, folder: Path, name: str | None = None) -> None:
        folder = folder / "workers"
        host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:60] or "host"
        names = [name] if name is not None else (f"{host}-{number}" for number in range(_MAX_WORKERS))
        for candidate in names:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                held = _lock(folder / f"{candidate}.lock")
            except OSError as problem:
                message = f"no worker can take a name in {folder}: {reason_of(problem)}"
                raise LogError(message) from problem
            if held is not None:
                self.instance_id = candidate
                self._descriptor = held
                return
        message = (
            f"another worker on this machine has the name {name!r}: give each a kafka.instance_id of its own, or none"
        )
        raise LogError(message)

    def close(self) -> None:
        """Release the instance id."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _lock(path: Path) -> int | None:
    """The open file, or None where another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
