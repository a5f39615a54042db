"""Files and folders of a corpus: plain or gzip, read in bounded memory, and sorted in natural order."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.mail import problem

MAX_BYTES: Final = 1 << 28
"""The limit of a message, a line or a field: a larger one is a problem, so that memory stays bounded."""
UNREADABLE: Final = "unreadable"
"""The kind of the problem of a file or folder that cannot be read."""
Bytes = io.BufferedReader | gzip.GzipFile
_SAMPLE: Final = 1 << 16
_GZIP: Final = b"\x1f\x8b"
_DAMAGED: Final = (EOFError, zlib.error, gzip.BadGzipFile)


@contextmanager
def corpus_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system and of gzip into CorpusError."""
    try:
        yield
    except _DAMAGED as cause:
        raise problem("damaged-file", path, f"the compressed file is cut short or damaged ({cause})") from cause
    except FileNotFoundError as cause:
        raise problem("missing-file", path, "there is no such file") from cause
    except OSError as cause:
        raise problem(UNREADABLE, path, f"cannot be read: {(cause.strerror or str(cause)).lower()}") from cause


def is_folder(path: Path) -> bool:
    """Whether the path is a folder; False if it cannot be accessed."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def open_decompressed(path: Path) -> Bytes:
    """Open a file, decompressed if it is gzip; to be used within `corpus_errors`."""
    _check_regular(path)
    file = path.open("rb")
    if file.peek(2)[:2] != _GZIP:
        return file
    file.close()
    return gzip.open(path, "rb")


def read_head(path: Path) -> bytes:
    """Read the first 64 KiB, to detect the format; less of a truncated gzip file."""
    head = b""
    with corpus_errors(path), open_decompressed(path) as file:
        try:
            while len(head) < _SAMPLE and (piece := file.read1(_SAMPLE - len(head))):
                head += piece
        except _DAMAGED:
            if not head:
                raise
    return head


def read_message(path: Path) -> bytes:
    """Read a file that is one message."""
    with corpus_errors(path):
        _check_regular(path)
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise problem("too-large", path, f"more than {MAX_BYTES >> 20} MiB in one message")
    return content


def _check_regular(path: Path) -> None:
    """Refuse pipes and devices, which may block or never end."""
    path.stat()
    if not path.is_file():
        raise problem(UNREADABLE, path, "is not a file")


class NumberedLines:
    """The lines of a file, numbered from 1; a line that is too long raises, and iteration can continue after it."""

    def __init__(self, path: Path, file: Bytes) -> None:
        self.number = 0
        self._path = path
        self._file = file

    def __iter__(self) -> NumberedLines:
        return self

    def __next__(self) -> bytes:
        line = self._file.readline(MAX_BYTES + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > MAX_BYTES:
            while line and not line.endswith(b"\n"):
                line = self._file.readline(MAX_BYTES)
            raise problem("too-large", self.place(), f"more than {MAX_BYTES >> 20} MiB in one line")
        return line.removeprefix(b"\xef\xbb\xbf") if self.number == 1 else line

    def place(self, number: int = 0) -> str:
        """The place of a line for error messages; by default that of the last line."""
        return f"{self._path}, line {number or self.number}"


NaturalKey = tuple[str | int, ...]


def natural_key(name: str) -> NaturalKey:
    """The key of natural order: 2 before 10, and 0002 beside 2.

    Examples
    --------
    >>> sorted(["inmail.10", "inmail.9", "inmail"], key=natural_key)
    ['inmail', 'inmail.9', 'inmail.10']
    """
    parts = re.split(r"([0-9]+)", name)
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts))


def folders_in(folder: Path, depth: int, skip: frozenset[str] = frozenset()) -> Iterator[Path]:
    """The folder and its subfolders of at most `depth` levels, the nearest first; links are followed once."""
    level = [folder]
    seen = {os.path.realpath(folder)}
    for _ in range(depth + 1):
        beneath = []
        for one in level:
            yield one
            for path in _folders(one):
                real = os.path.realpath(path)
                if path.name not in skip and real not in seen:
                    seen.add(real)
                    beneath.append(path)
        level = beneath


def _folders(folder: Path) -> list[Path]:
    """The direct subfolders; none if the folder cannot be read, which `files_in` and `read_failure` report."""
    try:
        return sorted(filter(is_folder, _children(folder)))
    except CorpusError:
        return []


def _children(folder: Path) -> list[Path]:
    with corpus_errors(folder):
        # Without the right to enter a folder its names can be read, but not which of them are folders.
        (folder / "..").stat()
        return list(folder.iterdir())


def read_failure(folder: Path) -> CorpusError | None:
    """The error of a folder that cannot be read; None if it can."""
    try:
        _children(folder)
    except CorpusError as failure:
        return failure
    return None


def files_in(folder: Path) -> Iterator[Path | CorpusError]:
    """The files directly in a folder, without hidden ones; an error if the folder cannot be read."""
    try:
        yield from (path for path in _children(folder) if not path.name.startswith(".") and not is_folder(path))
    except CorpusError as failure:
        yield failure
