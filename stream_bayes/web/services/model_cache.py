"""The newest checkpoints, opened read-only: what the models of the worker believe, without a worker."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import NamedTuple

from stream_bayes.config import Settings
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.engine.state import learner_of
from stream_bayes.errors import SnapshotDamaged, SnapshotError, StreamBayesError, reason_of
from stream_bayes.events import Observation
from stream_bayes.learners import Learner
from stream_bayes.persistence.checkpoint import Checkpoint
from stream_bayes.web.api.schemas import DensityBody, PredictionBody
from stream_bayes.web.services.checkpoint_index import CheckpointIndex, CheckpointStamp
from stream_bayes.web.services.posteriors import density_of
from stream_bayes.web.services.prediction import prediction_view

# Of the time that is spent on opening, at most: a worker at full speed writes 200 MiB every ten seconds.
_SHARE = 0.02
MAX_OPEN = 4
"""Models in memory: one of default settings takes 200 MiB."""
# Seconds after which a file that could not be opened is tried again.
_TRIED_AGAIN = 10.0


class NoModel(StreamBayesError):
    """There is no checkpoint that can be opened; the message says what to do about it."""

    code = "no-model"
    retriable = True


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """The model of a checkpoint. No learner is made for two threads at once: hold the lock while it is used."""

    partition: int
    model: ModelAdapter
    model_version: int
    stamp: CheckpointStamp
    fresh_until: float
    """Before that no newer one is opened."""
    lock: Lock = field(default_factory=Lock)


class _Failure(NamedTuple):
    stamp: CheckpointStamp
    until: float
    message: str


class ModelCache:
    """The models of a worker's partitions, each as of its newest checkpoint; nothing is ever written.

    A newer checkpoint is noticed when a model is asked for, within a second, or 50 times as long as it takes to open
    one; meanwhile the one before serves. Any number of threads may ask at once: one at a time opens a file, and one at
    a time uses a model.

    Parameters
    ----------
    settings
        Those of the worker: where its checkpoints are, and its group. A checkpoint knows its own learner.
    clock
        In seconds.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = monotonic) -> None:
        self._shelf = CheckpointIndex(settings.checkpoint_folder / settings.group, clock)
        self._clock = clock
        self._seconds = settings.checkpoint.seconds
        # In the order in which they were last used.
        self._open: OrderedDict[int, OpenedModel] = OrderedDict()
        self._failures: dict[int, _Failure] = {}
        self._lock = Lock()
        self._opening = Lock()

    def partitions(self) -> list[int]:
        """Those that have a checkpoint."""
        try:
            return list(self._shelf.partitions())
        except OSError as problem:
            raise NoModel(self._unreadable(problem)) from problem

    def newest(self, partition: int | None = None) -> OpenedModel:
        """The model of a partition, by default of that which has learned most labels; `NoModel` if there is none."""
        try:
            number = self._best() if partition is None else partition
            stamp = self._shelf.look(number).stamp
        except OSError as problem:
            raise NoModel(self._unreadable(problem)) from problem
        if stamp is None:
            raise NoModel(self._nothing(number))
        return self._current(number, stamp) or self._renewed(number)

    def why_none(self, partition: int | None = None) -> str:
        """Why there is no model and what to do; empty where there is one."""
        try:
            self.newest(partition)
        except NoModel as problem:
            return str(problem)
        return ""

    def opinion(self, observation: Observation, partition: int | None = None, top: int = 15) -> PredictionBody:
        """What the newest checkpoint believes of an observation, with so many reasons; nothing is learned."""
        opened = self.newest(partition)
        with opened.lock:
            found = prediction_view(opened.model, observation, top, (opened.partition, opened.model_version))
        return found.model_copy(update={"checkpoint_at": datetime.fromtimestamp(opened.stamp.changed / 1e9, UTC)})

    def learner(self) -> type[Learner] | None:
        """That of the newest checkpoints, which are not opened for it; None while there is none."""
        try:
            names = [seen.learner for seen in self._shelf.partitions().values()]
            return Learner.find_class(names[0]) if names else None
        except (OSError, SnapshotError):
            return None

    def posterior(self, kind: str, text: str, partition: int | None = None) -> DensityBody:
        """What the newest checkpoint believes of a word, a sender, a weight; `NoPosterior` if it has no belief."""
        opened = self.newest(partition)
        with opened.lock:
            return density_of(opened.model.learner, kind, text)

    def _best(self) -> int:
        seen = self._shelf.partitions()
        if not seen:
            raise NoModel(self._nothing(None))
        return max(seen, key=lambda number: (seen[number].model_version, -number))

    def _current(self, partition: int, stamp: CheckpointStamp) -> OpenedModel | None:
        """That which is open, unless there is a newer one; an error again where the file was refused just now."""
        with self._lock:
            opened = self._open.get(partition)
            failure = self._failures.get(partition)
            if opened is not None and (opened.stamp == stamp or self._clock() < opened.fresh_until):
                self._open.move_to_end(partition)
                return opened
            if failure is not None and failure.stamp == stamp and self._clock() < failure.until:
                raise NoModel(failure.message)
            return None

    def _renewed(self, partition: int) -> OpenedModel:
        """The newest; but the one before, where there is one, if somebody is opening the newest already."""
        with self._lock:
            before = self._open.get(partition)
        if before is not None and self._opening.locked():
            return before
        return self._opened(partition)

    def _opened(self, partition: int) -> OpenedModel:
        with self._opening:
            # Somebody else may have opened it meanwhile, or a newer one have been written.
            stamp = self._shelf.look(partition).stamp
            if stamp is None:
                raise NoModel(self._nothing(partition))
            if (opened := self._current(partition, stamp)) is not None:
                return opened
            with self._lock:
                # The one before serves others until the new one is there.
                while len(self._open) >= MAX_OPEN and partition not in self._open:
                    self._open.popitem(last=False)
            try:
                opened = self._read(partition, stamp)
            except (SnapshotError, OSError, MemoryError) as problem:
                message = self._unreadable(problem)
                with self._lock:
                    self._failures[partition] = _Failure(stamp, self._clock() + _TRIED_AGAIN, message)
                raise NoModel(message) from problem
            with self._lock:
                self._open[partition] = opened
                self._failures.pop(partition, None)
            return opened

    def _read(self, partition: int, stamp: CheckpointStamp) -> OpenedModel:
        folder = self._shelf.folder_of(partition)
        begin = self._clock()
        found = folder.newest()
        if found is None:
            message = f"{folder.folder} has no checkpoint that is whole: wait for the worker to write the next one"
            raise SnapshotDamaged(message)
        model, version = _model_of(found[1])
        end = self._clock()
        return OpenedModel(partition, model, version, stamp, end + (end - begin) / _SHARE)

    def _nothing(self, partition: int | None) -> str:
        which = "" if partition is None else f" of partition {partition}"
        return (
            f"no checkpoint{which} yet: the worker writes one every {self._seconds:g} s; "
            "if it does, name its folder with --checkpoints"
        )

    def _unreadable(self, problem: Exception) -> str:
        """What is wrong, for anybody: where the checkpoints are on this machine is not said."""
        if isinstance(problem, MemoryError):
            return "there is not enough memory to open the checkpoint"
        reason = reason_of(problem).replace(str(self._shelf.folder), "the checkpoint folder")
        return f"the newest checkpoint cannot be opened: {reason}"


def _model_of(checkpoint: Checkpoint) -> tuple[ModelAdapter, int]:
    """The learner with the parameters that it had, and how many labels it had learned."""
    try:
        version = int(checkpoint.scalars["model_version"])
    except (KeyError, TypeError, ValueError) as problem:
        message = f"the checkpoint does not say how many labels were learned ({problem!r})"
        raise SnapshotDamaged(message) from problem
    return ModelAdapter(learner_of(checkpoint.scalars, checkpoint.arrays)), version
