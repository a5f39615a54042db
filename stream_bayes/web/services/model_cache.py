"""Read-only cache of the models in the newest checkpoints, and an index of these checkpoints.

The index lists the folders and reads headers; the cache opens the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from cachetools import LRUCache

from stream_bayes.config import Settings
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.engine.state import learner_of
from stream_bayes.errors import SnapshotDamaged, SnapshotError, StreamBayesError, reason_of
from stream_bayes.events import Observation
from stream_bayes.learners import Learner
from stream_bayes.persistence.checkpoint import CHECKPOINT, Checkpoint
from stream_bayes.persistence.checkpoint_store import CheckpointStore
from stream_bayes.persistence.snapshot import read_header
from stream_bayes.web.schemas import DensityBody, PredictionBody
from stream_bayes.web.services.posteriors import density_of
from stream_bayes.web.services.prediction import prediction_view

# The largest share of time that is spent on opening: a worker at full speed writes 200 MiB every ten seconds.
_SHARE = 0.02
MAX_OPEN = 4
"""Models in memory. One with default settings takes 200 MiB."""
# Seconds after which opening a damaged file is tried again.
_RETRY_SECONDS = 10.0
# Seconds for which a folder is not listed again.
_LISTING_SECONDS = 1.0
_FOLDER = re.compile(r"partition-(0|[1-9]\d{0,9})")


class CheckpointStamp(NamedTuple):
    """Identity of the newest file of a folder. A file that is written again has another stamp."""

    number: int
    changed: int
    inode: int
    bytes: int


class FolderListing(NamedTuple):
    """The newest checkpoint of a folder at the time of listing."""

    at: float
    stamp: CheckpointStamp | None
    """The newest checkpoint; None without one."""
    model_version: int
    """The model version in the header; -1 if it cannot be read."""
    learner: str = ""
    """The class of the learner."""


class CheckpointIndex:
    """Index of the checkpoints of a worker's partitions. Each folder is listed at most once a second."""

    def __init__(self, folder: Path, clock: Callable[[], float] = monotonic) -> None:
        self.folder = folder
        self._clock = clock
        self._listings: dict[int, FolderListing] = {}
        self._lock = Lock()

    def folder_of(self, partition: int) -> CheckpointStore:
        """Return the checkpoint store of a partition, which may be empty."""
        return CheckpointStore(self.folder / f"partition-{partition}")

    def partitions(self) -> dict[int, FolderListing]:
        """Return the partitions that have a checkpoint. Raise an `OSError` if the folder cannot be read."""
        try:
            matches = [_FOLDER.fullmatch(path.name) for path in self.folder.iterdir()]
        except FileNotFoundError:
            matches = []
        listings = {number: self.listing(number) for number in sorted(int(match[1]) for match in matches if match)}
        return {number: one for number, one in listings.items() if one.stamp is not None}

    def listing(self, partition: int) -> FolderListing:
        """Return the newest checkpoint of a partition."""
        with self._lock:
            before = self._listings.get(partition)
            now = self._clock()
            if before is not None and now - before.at < _LISTING_SECONDS:
                return before
            found = self._list(partition, before, now)
            # Clients may name any partition: only existing ones take memory.
            if found.stamp is None:
                self._listings.pop(partition, None)
            else:
                self._listings[partition] = found
            return found

    def _list(self, partition: int, before: FolderListing | None, now: float) -> FolderListing:
        folder = self.folder_of(partition)
        # A file that is gone was replaced by a newer one.
        while files := folder.checkpoints():
            for number, path in files:
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                stamp = CheckpointStamp(number, status.st_mtime_ns, status.st_ino, status.st_size)
                if before is not None and before.stamp == stamp:
                    return before._replace(at=now)
                return FolderListing(now, stamp, *_read_version(path))
        return FolderListing(now, None, -1)


def _read_version(path: Path) -> tuple[int, str]:
    """Read model version and learner class from the header. They are checked when the file is opened."""
    try:
        header: Any = read_header(path, CHECKPOINT)
        return int(header["scalars"]["model_version"]), str(header["scalars"]["learner"]["class"])
    except (OSError, SnapshotError, KeyError, TypeError, ValueError):
        return -1, ""


class NoModel(StreamBayesError):
    """There is no checkpoint that can be opened. The message says what to do."""

    code = "no-model"
    retriable = True


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """The model of a checkpoint. Learners are not thread-safe: hold the lock while using it."""

    partition: int
    model: ModelAdapter
    model_version: int
    stamp: CheckpointStamp
    fresh_until: float
    """No newer checkpoint is opened before this time."""
    lock: Lock = field(default_factory=Lock)


class _Failure(NamedTuple):
    stamp: CheckpointStamp
    until: float
    message: str


class ModelCache:
    """LRU cache of the models of a worker's partitions, each from its newest checkpoint. Read-only and thread-safe.

    A newer checkpoint is noticed within a second, or within 50 times the time that opening one takes. Until then the
    previous model is used. One thread at a time opens a file, and one at a time uses a model.

    Parameters
    ----------
    settings
        Settings of the worker: its checkpoint folder and group. A checkpoint names its own learner.
    clock
        In seconds.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = monotonic) -> None:
        self._index = CheckpointIndex(settings.checkpoint_folder / settings.group, clock)
        self._clock = clock
        self._seconds = settings.checkpoint.seconds
        self._open: LRUCache[int, OpenedModel] = LRUCache(MAX_OPEN)
        self._failures: dict[int, _Failure] = {}
        self._lock = Lock()
        self._opening = Lock()

    def partitions(self) -> list[int]:
        """Return the partitions that have a checkpoint."""
        try:
            return list(self._index.partitions())
        except OSError as problem:
            raise NoModel(self._unreadable(problem)) from problem

    def newest(self, partition: int | None = None) -> OpenedModel:
        """Return the model of a partition, by default the one with the most labels. Raise `NoModel` if none."""
        try:
            number = self._best() if partition is None else partition
            stamp = self._index.listing(number).stamp
        except OSError as problem:
            raise NoModel(self._unreadable(problem)) from problem
        if stamp is None:
            raise NoModel(self._no_checkpoint(number))
        return self._current(number, stamp) or self._refresh(number)

    def predict(self, observation: Observation, partition: int | None = None, top: int = 15) -> PredictionBody:
        """Predict an observation with the newest checkpoint, with the `top` contributions. Nothing is learned."""
        opened = self.newest(partition)
        with opened.lock:
            prediction = prediction_view(opened.model, observation, top, (opened.partition, opened.model_version))
        return prediction.model_copy(update={"checkpoint_at": datetime.fromtimestamp(opened.stamp.changed / 1e9, UTC)})

    def learner(self) -> type[Learner] | None:
        """Return the learner class of the newest checkpoints, without opening them. None without a checkpoint."""
        try:
            names = [listing.learner for listing in self._index.partitions().values()]
            return Learner.find_class(names[0]) if names else None
        except (OSError, SnapshotError):
            return None

    def posterior(self, kind: str, text: str, partition: int | None = None) -> DensityBody:
        """Return the posterior density of a word, sender or weight. Raise `NoPosterior` if there is none."""
        opened = self.newest(partition)
        with opened.lock:
            return density_of(opened.model, kind, text)

    def _best(self) -> int:
        listings = self._index.partitions()
        if not listings:
            raise NoModel(self._no_checkpoint(None))
        return max(listings, key=lambda number: (listings[number].model_version, -number))

    def _current(self, partition: int, stamp: CheckpointStamp) -> OpenedModel | None:
        """Return the open model unless there is a newer one. Raise the last error for a file that failed recently."""
        with self._lock:
            opened = self._open.get(partition)
            failure = self._failures.get(partition)
            if opened is not None and (opened.stamp == stamp or self._clock() < opened.fresh_until):
                return opened
            if failure is not None and failure.stamp == stamp and self._clock() < failure.until:
                raise NoModel(failure.message)
            return None

    def _refresh(self, partition: int) -> OpenedModel:
        """Return the newest model, or the previous one while another thread opens the newest."""
        with self._lock:
            before = self._open.get(partition)
        if before is not None and self._opening.locked():
            return before
        return self._opened(partition)

    def _opened(self, partition: int) -> OpenedModel:
        with self._opening:
            # Another thread may have opened it, or the worker may have written a newer one.
            stamp = self._index.listing(partition).stamp
            if stamp is None:
                raise NoModel(self._no_checkpoint(partition))
            if (opened := self._current(partition, stamp)) is not None:
                return opened
            with self._lock:
                # Evict before opening, to bound memory. The previous model of this partition stays in use.
                while len(self._open) >= MAX_OPEN and partition not in self._open:
                    self._open.popitem()
            try:
                opened = self._read(partition, stamp)
            except (SnapshotError, OSError, MemoryError) as problem:
                message = self._unreadable(problem)
                with self._lock:
                    self._failures[partition] = _Failure(stamp, self._clock() + _RETRY_SECONDS, message)
                raise NoModel(message) from problem
            with self._lock:
                self._open[partition] = opened
                self._failures.pop(partition, None)
            return opened

    def _read(self, partition: int, stamp: CheckpointStamp) -> OpenedModel:
        folder = self._index.folder_of(partition)
        start = self._clock()
        newest = folder.newest()
        if newest is None:
            message = f"{folder.folder} has no complete checkpoint: wait for the worker to write the next one"
            raise SnapshotDamaged(message)
        model, version = _model_of(newest[1])
        end = self._clock()
        return OpenedModel(partition, model, version, stamp, end + (end - start) / _SHARE)

    def _no_checkpoint(self, partition: int | None) -> str:
        which = "" if partition is None else f" of partition {partition}"
        return (
            f"no checkpoint{which} yet: the worker writes one every {self._seconds:g} s; "
            "if it does, name its folder with --checkpoints"
        )

    def _unreadable(self, problem: Exception) -> str:
        """Return what is wrong, without the path of the checkpoints."""
        if isinstance(problem, MemoryError):
            return "there is not enough memory to open the checkpoint"
        reason = reason_of(problem).replace(str(self._index.folder), "the checkpoint folder")
        return f"the newest checkpoint cannot be opened: {reason}"


def _model_of(checkpoint: Checkpoint) -> tuple[ModelAdapter, int]:
    """Return the model, and the number of labels it has learned."""
    try:
        version = int(checkpoint.scalars["model_version"])
    except (KeyError, TypeError, ValueError) as problem:
        message = f"the checkpoint does not say how many labels were learned ({problem!r})"
        raise SnapshotDamaged(message) from problem
    return ModelAdapter(learner_of(checkpoint.scalars, checkpoint.arrays)), version
