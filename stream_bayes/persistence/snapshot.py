"""The file format of a learner's state: safetensors arrays with a JSON header and a checksum; never pickle.

A snapshot is an ordinary safetensors file, so any tool that reads those can open it. Its metadata holds `format`,
`version`, `header` (JSON: the class and its constructor parameters) and `checksum` (CRC-32 of header and arrays).
Other kinds of file (`FileKind`) have another format name, versions of their own, and another header. Arrays go from
memory to the file and back one by one: a large one is never held twice.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from stream_bayes.errors import SnapshotDamaged, SnapshotError, SnapshotTooNew
from stream_bayes.persistence import safetensors
from stream_bayes.persistence.atomic_files import replacing
from stream_bayes.persistence.safetensors import Arrays

__all__ = [
    "DAMAGED",
    "FORMAT",
    "LEARNER",
    "MAX_HEADER_BYTES",
    "VERSION",
    "Arrays",
    "FileKind",
    "format_of",
    "read",
    "read_header",
    "write",
]

DAMAGED = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The exceptions that reading the content of a damaged file may raise."""
FORMAT = "stream_bayes learner"
VERSION = 1
# How far into a damaged file the name of its format is looked for.
MAX_HEADER_BYTES = 1 << 20


class FileKind(NamedTuple):
    """A kind of file, with its format name and version."""

    format: str
    """The name of the format in the file."""
    version: int
    """The version written, and the latest that is read."""
    noun: str
    """The noun for such a file in messages."""
    origin: str
    """The origin of such files, as the end of a message."""
    oldest: int = 1
    """The oldest version that is read."""


LEARNER = FileKind(FORMAT, VERSION, "snapshot", "snapshots are written by a learner's save(path)")


def write(path: str | os.PathLike[str], header: Any, arrays: Arrays, kind: FileKind = LEARNER) -> None:
    """Write the file atomically: to a temporary name beside it, flushed to disk, then renamed."""
    text = json.dumps(header, sort_keys=True)
    plain = safetensors.plain_arrays(arrays)
    metadata = {
        "format": kind.format,
        "version": str(kind.version),
        "header": text,
        "checksum": _checksum(text, plain),
    }
    head, order = safetensors.lay_out(metadata, plain)
    with replacing(Path(path), kind.noun) as file:
        file.write(head)
        for name in order:
            file.write(safetensors.bytes_of(plain[name]))


def read(path: str | os.PathLike[str], kind: FileKind = LEARNER) -> tuple[Any, Arrays]:
    """The header and the arrays, checked against the checksum."""
    with Path(path).open("rb") as file:
        room, content = _read_head(file)
        metadata, table = _opened(path, content, kind)
        _check_version(path, metadata, kind)
        try:
            arrays = safetensors.read_arrays(file, safetensors.places_of(table, room))
            header = json.loads(metadata["header"])
            expected = metadata["checksum"]
        except DAMAGED as problem:
            message = f"{path} is cut short or damaged ({problem}); restore it from a copy"
            raise SnapshotDamaged(message) from problem
    if _checksum(metadata["header"], arrays) != expected:
        message = f"{path} does not fit its checksum: it was edited or damaged; restore it from a copy"
        raise SnapshotDamaged(message)
    return header, arrays


def read_header(path: str | os.PathLike[str], kind: FileKind = LEARNER) -> Any:
    """The header alone, however large the arrays are; nothing is checked against the checksum."""
    with Path(path).open("rb") as file:
        metadata, _ = _opened(path, _read_head(file)[1], kind)
    _check_version(path, metadata, kind)
    try:
        return json.loads(metadata["header"])
    except DAMAGED as problem:
        message = f"{path} is damaged within its header ({problem}); restore it from a copy"
        raise SnapshotDamaged(message) from problem


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The name of the format in a file; None if there is none that can be read."""
    with Path(path).open("rb") as file:
        return safetensors.split(_read_head(file)[1])[0].get("format")


def _read_head(file: BinaryIO) -> tuple[int, bytes]:
    """The number of bytes for arrays, and the bytes before them; all bytes of a file of another kind."""
    size = os.fstat(file.fileno()).st_size
    # safetensors: eight bytes of header length, the header as JSON, then the arrays.
    length = int.from_bytes(file.read(8), "little")
    if length > min(size - 8, safetensors.MAX_BYTES):
        return -1, file.read(MAX_HEADER_BYTES)
    return size - 8 - length, file.read(length)


def _opened(path: str | os.PathLike[str], content: bytes, kind: FileKind) -> tuple[dict[str, str], dict[str, Any]]:
    metadata, table = safetensors.split(content)
    if metadata.get("format") == kind.format:
        return metadata, table
    if kind.format.encode() in content[:MAX_HEADER_BYTES]:
        message = f"{path} is cut short or damaged within its header; restore it from a copy"
        raise SnapshotDamaged(message)
    message = f"{path} is not a stream_bayes {kind.noun}; {kind.origin}"
    raise SnapshotError(message)


def _check_version(path: str | os.PathLike[str], metadata: dict[str, str], kind: FileKind) -> None:
    text = metadata.get("version", "")
    version = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if version < 1:
        message = f"{path}: the {kind.noun}'s version is not a number from 1 on; it was edited: restore it from a copy"
        raise SnapshotDamaged(message)
    if version > kind.version:
        message = (
            f"{path} is a {kind.noun} of format {version}, and this stream_bayes reads up to {kind.version}: "
            "update stream_bayes to open it"
        )
        raise SnapshotTooNew(message)
    if version < kind.oldest:
        message = (
            f"{path} is a {kind.noun} of format {version}, and this stream_bayes reads format {kind.oldest} and later"
        )
        raise SnapshotError(message)


def _checksum(header: str, arrays: Arrays) -> str:
    checksum = zlib.crc32(header.encode())
    for name in sorted(arrays):
        array = arrays[name]
        checksum = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), checksum)
        checksum = zlib.crc32(safetensors.bytes_of(array), checksum)
    return f"{checksum:08x}"
