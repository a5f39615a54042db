"""Which checkpoints there are, without opening them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from stream_bayes.errors import SnapshotError
from stream_bayes.persistence.checkpoint import CHECKPOINT
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.persistence.snapshot import read_header

# Seconds for which what was seen counts as what is there.
_LOOKED_AT = 1.0
_FOLDER = re.compile(r"partition-(0|[1-9]\d{0,9})")


class CheckpointStamp(NamedTuple):
    """The newest file of a folder: another one, or the same written anew, has another stamp."""

    number: int
    changed: int
    inode: int
    bytes: int


class FolderListing(NamedTuple):
    """What a folder held when it was looked at."""

    at: float
    stamp: CheckpointStamp | None
    """None if there was no checkpoint."""
    model_version: int
    """That the newest one says; -1 if it says nothing."""
    learner: str = ""
    """Its class."""


class CheckpointIndex:
    """The folders of a worker's partitions, each looked at once a second at most; nothing is ever written."""

    def __init__(self, folder: Path, clock: Callable[[], float] = monotonic) -> None:
        self.folder = folder
        self._clock = clock
        self._seen: dict[int, FolderListing] = {}
        self._lock = Lock()

    def folder_of(self, partition: int) -> CheckpointStore:
        """Where the checkpoints of a partition are, if there are any."""
        return CheckpointStore(self.folder / f"partition-{partition}")

    def partitions(self) -> dict[int, FolderListing]:
        """Those that have a checkpoint; an `OSError` where the folder cannot be read."""
        try:
            matches = [_FOLDER.fullmatch(path.name) for path in self.folder.iterdir()]
        except FileNotFoundError:
            matches = []
        seen = {number: self.look(number) for number in sorted(int(match[1]) for match in matches if match)}
        return {number: one for number, one in seen.items() if one.stamp is not None}

    def look(self, partition: int) -> FolderListing:
        """What a partition has."""
        with self._lock:
            before = self._seen.get(partition)
            now = self._clock()
            if before is not None and now - before.at < _LOOKED_AT:
                return before
            seen = self._look(partition, before, now)
            # Anybody may ask about any number: only those that there are take memory.
            if seen.stamp is None:
                self._seen.pop(partition, None)
            else:
                self._seen[partition] = seen
            return seen

    def _look(self, partition: int, before: FolderListing | None, now: float) -> FolderListing:
        folder = self.folder_of(partition)
        # A file that is gone has made way for a newer one.
        while files := folder.checkpoints():
            for number, path in files:
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                stamp = CheckpointStamp(number, status.st_mtime_ns, status.st_ino, status.st_size)
                if before is not None and before.stamp == stamp:
                    return before._replace(at=now)
                return FolderListing(now, stamp, *_said_by(path))
        return FolderListing(now, None, -1)


def _said_by(path: Path) -> tuple[int, str]:
    """Without a look at its arrays: what it says counts once it is opened, when it is checked."""
    try:
        header: Any = read_header(path, CHECKPOINT)
        return int(header["scalars"]["model_version"]), str(header["scalars"]["learner"]["class"])
    except (OSError, SnapshotError, KeyError, TypeError, ValueError):
        return -1, ""
