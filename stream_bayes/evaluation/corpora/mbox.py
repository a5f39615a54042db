"""The reader of mbox files, line by line: each message follows a line that begins with "From "."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.files import MAX_BYTES, Bytes, corpus_errors, open_decompressed
from stream_bayes.evaluation.corpora.labels import label_in_name, parse_label, read_label
from stream_bayes.evaluation.corpora.mail import UnreadMail, encodable, problem, shown

LOOKED_FOR: Final = 'an mbox file (plain or .gz) that begins with "From "; label in its name or in X-Label headers'
_PIECE: Final = 1 << 20
_START: Final = b"From "
_BLANK: Final = frozenset({b"\n", b"\r\n"})
_TIMED: Final = re.compile(rb"From [^\n]*[0-9]{1,2}:[0-9]{2}")
_DOUBTFUL: Final = re.compile(rb"From [^\s@]+@[^\s@]+\s*(?:\Z|\s(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)")
_QUOTED: Final = re.compile(rb">+From ")
_HEADER_END: Final = re.compile(rb"(?:\A|\n)\r?\n")
_LABEL_HEADER: Final = re.compile(rb"^X-Label:([^\n]*)(?:\n|\Z)(?:[ \t][^\n]*(?:\n|\Z))*", re.IGNORECASE | re.MULTILINE)


class Mbox:
    """The messages of one mbox file, in its order.

    Parameters
    ----------
    path
        The file, plain or gzip.
    label
        The label of messages without one; by default they are a problem.
    name
        The beginning of the ids, before `/1`, `/2`, ..; by default the file's name.
    folder_label
        The label of the file's folder, if the file's own name has none.

    Notes
    -----
    A message begins at a "From " line that is the first of the file, or follows a blank line and holds a time of day;
    neither it nor the blank line before the next is part of the message. Where the first has no time, others that are
    like it (as many words, with or without an @) will do; any other line of an address without a time, such as
    `From ann@example.org`, may begin a message or not, and what it stands in is a problem. `>From ` at the start of a
    line loses one `>`.
    The label is what the file's name says (spam.mbox, 2003-ham.mbox), else the header `X-Label: spam` or `ham`, which
    anybody may have written and so counts less. That header is taken out: it would tell the filter the answer.
    """

    format = "mbox"
    classes_apart = False

    def __init__(self, path: Path, label: str = "", name: str = "", folder_label: str = "") -> None:
        self._path = path
        self._label = label
        self._by_name = label_in_name(path.name) or folder_label
        self._name = name or encodable(path.name)

    @staticmethod
    def fits(head: bytes) -> bool:
        """Whether a file with this beginning is an mbox file."""
        return head.lstrip(b"\r\n").startswith(_START)

    def __iter__(self) -> Iterator[UnreadMail | CorpusError]:
        with corpus_errors(self._path), open_decompressed(self._path) as file:
            seekable = not isinstance(file, gzip.GzipFile)
            for number, message in enumerate(_messages(self._path, file), 1):
                place = f"{self._path}, message {number}"
                try:
                    read = partial(_read, message.whole(place), place, self._by_name, self._label)
                    again = partial(self._read_again, place, message.begin, message.bytes_in_file) if seekable else None
                    yield UnreadMail(f"{self._name}/{number}", place, read, read_again=again)
                except CorpusError as error:
                    yield error

    def _read_again(self, place: str, begin: int, size: int) -> tuple[str | None, bytes]:
        with corpus_errors(self._path), self._path.open("rb") as file:
            file.seek(begin)
            lines = io.BytesIO(file.read(size))
        message = _Message(begin)
        at_start = True
        while line := lines.readline(_PIECE):
            message.add(line, at_start)
            at_start = line.endswith(b"\n")
        return _read(message.whole(place), place, self._by_name, self._label)


def _messages(path: Path, file: Bytes) -> Iterator[_Message]:
    line = file.readline(_PIECE)
    position = len(line)
    while line in _BLANK:
        line = file.readline(_PIECE)
        position += len(line)
    if line and not line.startswith(_START):
        raise problem("not-mbox", path, 'not an mbox file: its first line does not begin with "From "')
    message = _Message(position)
    like_the_first = _likeness(line)
    at_start = line.endswith(b"\n")
    after_blank = False
    first = line
    while line := file.readline(_PIECE):
        position += len(line)
        starts = at_start and after_blank and line.startswith(_START)
        if starts and (_TIMED.match(line) or _likeness(line) == like_the_first):
            yield message
            message = _Message(position)
        else:
            message.add(line, at_start)
            message.doubtful_line = message.doubtful_line or (line if starts and _DOUBTFUL.match(line) else b"")
        after_blank = at_start and line in _BLANK
        at_start = line.endswith(b"\n")
    if first:
        yield message


def _likeness(line: bytes) -> tuple[int, bool] | None:
    """A key that is equal for separator lines of the same form without a time of day; None for a line with a time."""
    return None if _TIMED.match(line) else (len(line.split()), b"@" in line)


class _Message:
    """The lines of one message, kept only up to the size limit."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        """The position of its first byte in the file."""
        self.bytes_in_file = 0
        self._lines: list[bytes] = []
        self._size = 0
        self._ends_blank = False
        self.doubtful_line = b""
        """A line that may begin the next message."""

    def add(self, line: bytes, at_start: bool) -> None:
        """Add a line, or a piece of a long one; `at_start` says whether it begins the line."""
        self.bytes_in_file += len(line)
        if at_start and _QUOTED.match(line):
            line = line[1:]
        self._size += len(line)
        self._ends_blank = at_start and line in _BLANK
        if self._size <= MAX_BYTES:
            self._lines.append(line)
        else:
            self._lines.clear()

    def whole(self, place: str) -> bytes:
        """The bytes of the message, or CorpusError."""
        if self._size > MAX_BYTES:
            raise problem("too-large", place, f"more than {MAX_BYTES >> 20} MiB in one message")
        if self.doubtful_line:
            line = shown(self.doubtful_line.decode("latin-1").strip(), 60)
            raise problem("bad-separator", place, f"{line!r} may begin the next message, but has no time of day")
        return b"".join(self._lines[:-1] if self._ends_blank else self._lines)


def _read(message: bytes, place: str, by_name: str, otherwise: str) -> tuple[str | None, bytes]:
    end = _HEADER_END.search(message)
    header = message[: end.end()] if end else message
    values = [match[1].decode("latin-1").strip() for match in _LABEL_HEADER.finditer(header)]
    value = next(filter(parse_label, values), otherwise or next(iter(values), ""))
    label = read_label(by_name or value, f"{place} (neither its file's name nor an X-Label header says what it is)")
    if values:
        header = _LABEL_HEADER.sub(lambda match: b"" if parse_label(match[1].decode("latin-1")) else match[0], header)
    return label, header + message[end.end() :] if end else header
