"""The checkpoint: the state of an engine and its position in the journal, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from stream_bayes.errors import SnapshotDamaged
from stream_bayes.persistence import snapshot
from stream_bayes.persistence.snapshot import Arrays, FileKind

CHECKPOINT = FileKind("stream_bayes checkpoint", 1, "checkpoint", "checkpoints are written by `stream-bayes run`")


class Checkpoint(NamedTuple):
    """The state of an engine, enough to build the same engine again."""

    compatibility_key: dict[str, Any]
    """The settings that shape the state, as JSON; the engine that loads it must have the same ones."""
    scalars: dict[str, Any]
    """Everything that is not an array, as JSON. It is small: it is encoded while the stream waits."""
    arrays: Arrays


def write_checkpoint(path: Path, number: int, checkpoint: Checkpoint) -> None:
    """Write the file atomically."""
    header = {"number": number, "compatibility_key": checkpoint.compatibility_key, "scalars": checkpoint.scalars}
    snapshot.write(path, header, checkpoint.arrays, CHECKPOINT)


def read_checkpoint(path: Path) -> tuple[int, Checkpoint]:
    """The number and the checkpoint in a file; raises `SnapshotDamaged` if it is damaged."""
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
