"""The checkpoint store: a folder with the newest few checkpoints of one engine, and the thread that writes them."""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import Any

from stream_bayes.errors import CheckpointMismatch, ParameterError, SnapshotDamaged, SnapshotError, SnapshotTooNew
from stream_bayes.persistence.atomic_files import flush_folder, remove_abandoned
from stream_bayes.persistence.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from stream_bayes.persistence.compatibility import LOG, check_compatibility

_NAME = re.compile(r"checkpoint-(\d{20})\.safetensors")
_LARGEST = 10**20 - 1
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)

logger = logging.getLogger("stream_bayes.persistence")


class CheckpointStore:
    """The checkpoints of one engine, by their numbers; the newest undamaged one counts.

    Several processes may use it at once: a process that takes over an engine may find another one that still writes an
    older checkpoint of it, which never replaces a newer one.

    Parameters
    ----------
    folder
        The folder of the files; made when the first is written.
    keep
        How many of the newest are kept.
    """

    def __init__(self, folder: Path, keep: int = 3) -> None:
        if keep < 1:
            message = f"keep must be 1 or more, or there is nothing to start from; got {keep}"
            raise ParameterError(message)
        self.folder = Path(folder)
        self.keep = keep

    def prepare(self) -> None:
        """Make the folder; raises `OSError` if nothing can be written into it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self.folder):
                pass
        except OSError as problem:
            reason = f"the checkpoint folder cannot be written: {_words(problem)}; name another with --checkpoints"
            raise OSError(problem.errno or errno.EIO, reason, str(self.folder)) from problem

    def write(self, number: int, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint atomically, then remove all but the newest.

        Files that dead writers have left are removed first. If it cannot be written, an `OSError` says what to do, and
        the other checkpoints are kept.
        """
        path = self.path_of(number)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for abandoned in remove_abandoned(self.folder, _NAME):
                logger.warning("%s was left by a writer that ended before its time: removed", abandoned)
            write_checkpoint(path, number, checkpoint)
            for _, old in self.checkpoints()[self.keep :]:
                old.unlink(missing_ok=True)
            flush_folder(self.folder)
        except OSError as problem:
            raise _readable(problem, path) from problem
        return path

    def quarantine(self, above: int, known: Sequence[tuple[int, Path]] | None = None) -> None:
        """Rename the checkpoints above a number, which belong to a journal that no longer exists.

        Once the current journal has grown beyond their numbers, they would be taken for its own. With `known` only
        those are renamed.
        """
        ahead = [path for number, path in (self.checkpoints() if known is None else known) if number > above]
        for path in ahead:
            with suppress(FileNotFoundError):
                aside = path.rename(path.with_name(f"{path.name}.ahead"))
                logger.warning("%s is ahead of the journal: it is now %s, and not used", path, aside.name)
        if ahead:
            flush_folder(self.folder)

    def check_log(self, identity: str) -> None:
        """Raise `CheckpointMismatch` if there is a checkpoint of another log; damaged ones are ignored."""
        for _, path in self.checkpoints():
            try:
                _, checkpoint = read_checkpoint(path)
            except SnapshotTooNew:
                raise
            except (SnapshotError, FileNotFoundError):
                continue
            if checkpoint.compatibility_key.get(LOG) != identity:
                message = f"{self.folder} holds checkpoints of another log: name another one with --checkpoints"
                raise CheckpointMismatch(message)

    def newest(self, compatibility_key: Mapping[str, Any] | None = None) -> tuple[int, Checkpoint] | None:
        """The newest undamaged checkpoint and its number; None if there is none.

        Damaged checkpoints are skipped with a warning. A checkpoint in a later format is an error, and so is one with
        another compatibility key: the message lists the differences.
        """
        skipped: set[Path] = set()
        while left := [each for each in self.checkpoints() if each[1] not in skipped]:
            number, path = left[0]
            skipped.add(path)
            try:
                return number, self._read(number, path, compatibility_key)
            except (SnapshotTooNew, CheckpointMismatch):
                raise
            except SnapshotError as problem:
                logger.warning("%s; it is skipped, and the one before it is used instead", problem)
            except FileNotFoundError:
                # Another process has written newer ones.
                logger.info("%s was removed meanwhile", path)
        return None

    def checkpoints(self) -> list[tuple[int, Path]]:
        """The numbers and files of all checkpoints, the newest first, damaged or not."""
        try:
            matches = [_NAME.fullmatch(path.name) for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as problem:
            reason = f"the checkpoint folder cannot be read: {_words(problem)}"
            raise OSError(problem.errno, reason, str(self.folder)) from problem
        return sorted(((int(match[1]), self.folder / match[0]) for match in matches if match), reverse=True)

    def _read(self, number: int, path: Path, compatibility_key: Mapping[str, Any] | None) -> Checkpoint:
        stored_number, checkpoint = read_checkpoint(path)
        if stored_number != number:
            message = f"{path} is the checkpoint of number {stored_number}: it was renamed"
            raise SnapshotDamaged(message)
        if compatibility_key is not None:
            check_compatibility(path, checkpoint.compatibility_key, compatibility_key)
        return checkpoint

    def path_of(self, number: int) -> Path:
        """The file of a checkpoint of this number."""
        if not 0 <= number <= _LARGEST:
            message = f"the number of a checkpoint lies between 0 and {_LARGEST}; got {number}"
            raise ParameterError(message)
        return self.folder / f"checkpoint-{number:020}.safetensors"


def checkpoint_folders(path: Path, on_error: Callable[[OSError], object]) -> list[Path]:
    """The folders with checkpoints, at a path and below it; `on_error` gets the error of each that cannot be read."""
    found = os.walk(path, onerror=on_error)
    return sorted(Path(folder) for folder, _, names in found if any(map(_NAME.fullmatch, names)))


def _words(problem: OSError) -> str:
    return (problem.strerror or str(problem)).lower()


def _readable(problem: OSError, path: Path) -> OSError:
    if problem.errno in _NO_SPACE:
        reason = "no space left for a checkpoint; the older ones are kept: free some space or name another folder"
    else:
        reason = f"a checkpoint cannot be written: {_words(problem)}; the older ones are kept"
    return OSError(problem.errno or errno.EIO, reason, str(path))


class BackgroundWriter:
    """Writes checkpoints in a background thread, one at a time, from copies that do not change meanwhile.

    An error of the thread is raised once, by the next call of `save` or `finish`.
    """

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._thread: Thread | None = None
        self._problem: BaseException | None = None
        self._written: int | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written; meanwhile its copy must not change."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def written(self) -> int | None:
        """The number of the last checkpoint that this writer has written."""
        return self._written

    def save(self, number: int, make: Callable[[], Checkpoint]) -> None:
        """Write the checkpoint that `make` returns, which is called in the thread; waits for the one before."""
        self.finish()
        self._thread = Thread(target=self._save, args=(number, make), name=f"checkpoint-{number}")
        self._thread.start()

    def finish(self) -> None:
        """Wait until nothing is being written."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        problem = self._problem
        self._problem = None
        if problem is not None:
            raise problem

    def _save(self, number: int, make: Callable[[], Checkpoint]) -> None:
        try:
            self._store.write(number, make())
            self._written = number
        except BaseException as problem:
            self._problem = problem
