"""The file format of a learner's state: safetensors arrays with a JSON header and a checksum; never pickle.

A snapshot is an ordinary safetensors file, so any tool that reads those can open it. Its metadata holds `format`,
`version`, `header` (JSON: the class and its constructor parameters) and `checksum` (CRC-32 of header and arrays).
"""

from __future__ import annotations

import json
import os
import secrets
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from stream_bayes.errors import SnapshotDamaged, SnapshotError, SnapshotTooNew

FORMAT = "stream_bayes learner"
VERSION = 1
MOST_HEADER_BYTES = 1 << 20

Arrays = dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write the file whole or not at all: to a temporary name beside it, flushed to disk, then renamed."""
    text = json.dumps(header, sort_keys=True)
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "header": text,
        "checksum": f"{_checksum(text, arrays):08x}",
    }
    content = save({name: np.asarray(array, order="C") for name, array in arrays.items()}, metadata)
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        message = f"cannot write a snapshot to {target}: it must be a file in a folder that exists"
        raise NotADirectoryError(message)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays, checked against the checksum."""
    content = Path(path).read_bytes()
    metadata = _metadata(path, content)
    try:
        version = int(metadata["version"])
    except (KeyError, ValueError):
        version = 0
    if version < 1:
        message = f"{path}: the snapshot's version is not a number from 1 on; it was edited: restore it from a copy"
        raise SnapshotDamaged(message)
    if version > VERSION:
        message = (
            f"{path} is a snapshot of format {version}, and this stream_bayes reads up to {VERSION}: "
            "update stream_bayes to open it"
        )
        raise SnapshotTooNew(message)
    try:
        arrays = {name: array.copy() for name, array in load(content).items()}
        header = json.loads(metadata["header"])
        expected = int(metadata["checksum"], 16)
    except (SafetensorError, KeyError, ValueError, RecursionError) as problem:
        message = f"{path} is cut short or damaged ({problem}); restore it from a copy"
        raise SnapshotDamaged(message) from problem
    if _checksum(metadata["header"], arrays) != expected:
        message = f"{path} does not fit its checksum: it was edited or damaged; restore it from a copy"
        raise SnapshotDamaged(message)
    return header, arrays


def _metadata(path: str | os.PathLike[str], content: bytes) -> dict[str, str]:
    # safetensors: eight bytes of header length, the header as JSON, then the arrays.
    length = int.from_bytes(content[:8], "little")
    try:
        metadata = json.loads(content[8 : 8 + length])["__metadata__"]
        found = {str(key): str(value) for key, value in metadata.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        found = {}
    if found.get("format") == FORMAT:
        return found
    if FORMAT.encode() in content[8 : 8 + MOST_HEADER_BYTES]:
        message = f"{path} is cut short or damaged within its header; restore it from a copy"
        raise SnapshotDamaged(message)
    message = f"{path} is not a stream_bayes snapshot; snapshots are written by a learner's save(path)"
    raise SnapshotError(message)


def _checksum(header: str, arrays: Arrays) -> int:
    checksum = zlib.crc32(header.encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        checksum = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), checksum)
        checksum = zlib.crc32(array.data, checksum)
    return checksum


def _flush_folder(folder: Path) -> None:
    # A rename is durable only once its folder is on disk.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
