"""Atomic replacement of files, and removal of the temporary files that dead writers leave behind.

A file is written under a temporary name beside its target, `.target.process.random`, and locked meanwhile. The lock
goes with its process, however that ends: a temporary file that can be locked was abandoned.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_TEMPORARY = re.compile(r"\.(?P<target>.+)\.\d+\.[0-9a-f]{8}")


@contextmanager
def replacing(target: Path, noun: str) -> Iterator[BinaryIO]:
    """A context with a file to write, which replaces the target when the block ends, unless it fails."""
    if target.is_dir() or not target.parent.is_dir():
        message = f"cannot write a {noun} to {target}: it must be a file in a folder that exists"
        raise NotADirectoryError(message)
    file, temporary = _new_temporary(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(target.parent)


def remove_abandoned(folder: Path, target: re.Pattern[str]) -> list[Path]:
    """Remove the temporary files of matching targets whose writers are dead; gives the files removed."""
    return [path for path in folder.iterdir() if _is_temporary(path, target) and _remove_if_abandoned(path)]


def flush_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk: a rename is durable only after that."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _new_temporary(target: Path) -> tuple[BinaryIO, Path]:
    while True:
        path = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
        file = path.open("xb")
        # Where files cannot be locked, none is taken for abandoned either.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file, path
        # Another process took it for abandoned before it was locked.
        file.close()


def _is_temporary(path: Path, target: re.Pattern[str]) -> bool:
    match = _TEMPORARY.fullmatch(path.name)
    return match is not None and target.fullmatch(match["target"]) is not None


def _remove_if_abandoned(path: Path) -> bool:
    try:
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
    except OSError:
        return False
    return True
