"""One checkpoint in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from stream_bayes.errors import SnapshotDamaged
from stream_bayes.persistence import snapshot
from stream_bayes.persistence.snapshot import Arrays, FileKind

CHECKPOINT = FileKind("stream_bayes checkpoint", 1, "checkpoint", "checkpoints are written by `stream-bayes run`")


class Checkpoint(NamedTuple):
    """An engine taken apart: enough to build the same engine again."""

    compatibility_key: dict[str, Any]
    """Settings that shape the state, as JSON can hold them: an engine with other ones cannot take it over."""
    scalars: dict[str, Any]
    """All else that is no array, as JSON can hold it. Small: it is encoded at once, while the stream waits."""
    arrays: Arrays


def write_checkpoint(path: Path, number: int, checkpoint: Checkpoint) -> None:
    """Write the file whole or not at all."""
    header = {"number": number, "compatibility_key": checkpoint.compatibility_key, "scalars": checkpoint.scalars}
    snapshot.write(path, header, checkpoint.arrays, CHECKPOINT)


def read_checkpoint(path: Path) -> tuple[int, Checkpoint]:
    """The number and the checkpoint of a file that is whole."""
    header, arrays = snapshot.read(path, CHECKPOINT)
    try:
        number = header["number"]
        compatibility_key = header["compatibility_key"]
        scalars = header["scalars"]
    except (KeyError, TypeError) as problem:
        message = f"{path}: the header does not describe a checkpoint ({problem!r})"
        raise SnapshotDamaged(message) from problem
    if type(number) is not int or not isinstance(compatibility_key, dict) or not isinstance(scalars, dict):
        message = f"{path}: the header does not describe a checkpoint; restore it from a copy"
        raise SnapshotDamaged(message)
    return number, Checkpoint(compatibility_key, scalars, arrays)
