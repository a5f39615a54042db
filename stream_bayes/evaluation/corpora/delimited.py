"""The reader of CSV and tab-separated files: one message in each row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.files import MAX_BYTES, NumberedLines, corpus_errors, open_decompressed
from stream_bayes.evaluation.corpora.labels import parse_label, read_label
from stream_bayes.evaluation.corpora.mail import UnreadMail, compose_message, counted, encodable, problem

LOOKED_FOR: Final = (
    "CSV (comma, semicolon or tab, plain or .gz) whose header names a label and a text (or message, body, ..), "
    "or without a header: label, text"
)
_NAMES: Final = {
    "label": ("label", "class", "category", "target", "spamham", "isspam", "spam", "v1", "y"),
    "text": ("text", "message", "body", "raw", "content", "email", "mail", "sms", "emailtext", "v2"),
    "subject": ("subject",),
    "sender": ("sender", "from", "emailfrom"),
    "id": ("id", "messageid", "emailid"),
}
_LABELS_ALONE: Final = frozenset({"spam", "ham", "junk", "good"})
_BOM: Final = b"\xef\xbb\xbf"


class Layout(NamedTuple):
    """The columns of a table: the index of each, -1 if it is missing."""

    delimiter: str
    header: bool
    width: int
    label: int
    text: int
    subject: int = -1
    sender: int = -1
    id: int = -1


class Table:
    """A CSV or tab-separated file with a column for the label and one for the text.

    Parameters
    ----------
    path
        The file, plain or gzip.
    layout
        Its columns, from `layout_of`.
    label
        The label of messages without one; by default they are a problem.

    Notes
    -----
    The order is that of the rows. Quotes are CSV's, and a field may span lines; only a tab-separated file without a
    header (SMSSpamCollection) has none: there, quotes are text, and so is every further tab. Without a header, what
    stands in further columns is part of the text. Bytes that are not UTF-8 reach the message as they are. A message
    without an id is called by the line on which it begins, `line-7`.
    """

    format = "csv"
    classes_apart = False

    def __init__(self, path: Path, layout: Layout, label: str = "") -> None:
        self._path = path
        self._layout = layout
        self._label = label
        if layout.delimiter == "\t":
            self.format = "tab separated"

    def __iter__(self) -> Iterator[UnreadMail | CorpusError]:
        with corpus_errors(self._path), open_decompressed(self._path) as file:
            lines = NumberedLines(self._path, file)
            rows = _Rows(lines, self._layout)
            skipped = not self._layout.header
            while True:
                try:
                    row = next(rows)
                    if row and skipped:
                        yield self._entry(row, rows.begins, lines)
                    skipped = skipped or bool(row)
                except StopIteration:
                    return
                except CorpusError as error:
                    yield error

    def _entry(self, row: list[str], number: int, lines: NumberedLines) -> UnreadMail:
        layout = self._layout
        place = lines.place(number)
        if not layout.header:
            while len(row) > 2 and not row[-1]:
                row.pop()
            row[1:] = [layout.delimiter.join(row[1:])] if len(row) > 1 else []
        if len(row) != layout.width:
            raise problem("bad-row", place, f"{counted(len(row), 'column')} where {layout.width} are expected")
        own_id = encodable(row[layout.id].strip()) if layout.id >= 0 else ""
        return UnreadMail(own_id or f"line-{number}", place, partial(self._read, row, place), not own_id, is_row=True)

    def _read(self, row: list[str], place: str) -> tuple[str | None, bytes]:
        layout = self._layout
        label = read_label(row[layout.label], place, self._label)
        subject, sender = (row[at] if at >= 0 else "" for at in (layout.subject, layout.sender))
        return label, compose_message(*map(_bytes, (row[layout.text], subject, sender)))


class _Rows:
    """Rows as lists of strings; one that cannot be read raises, and the next begins on the next line.

    After a field that is too large or a quote without an end there is no next row: its end is not known.
    """

    def __init__(self, lines: NumberedLines, layout: Layout) -> None:
        self.begins = 0
        self._lost = False
        self._lines = lines
        self._quoted = layout.header or layout.delimiter != "\t"
        self._reader = csv.reader(map(_decoded, lines), delimiter=layout.delimiter, strict=True)

    def __next__(self) -> list[str]:
        if self._lost:
            raise StopIteration
        self.begins = self._lines.number + 1
        if not self._quoted:
            line = _decoded(next(self._lines)).rstrip("\r\n")
            return line.split("\t", 1) if line.strip() else []
        before = csv.field_size_limit(MAX_BYTES)
        try:
            return next(self._reader)
        except csv.Error as cause:
            raise self._problem(str(cause)) from cause
        finally:
            csv.field_size_limit(before)

    def _problem(self, cause: str) -> CorpusError:
        place = self._lines.place(self.begins)
        too_large = "field larger than" in cause
        self._lost = too_large or "unexpected end of data" in cause
        if not self._lost:
            return problem("bad-row", place, f"not a row of CSV ({cause})")
        what = f"a field of more than {MAX_BYTES >> 20} MiB" if too_large else "not a row of CSV"
        kind = "too-large" if too_large else "bad-row"
        return problem(kind, place, f"{what}: a quote that never ends? the rest is not read")


def layout_of(head: bytes) -> Layout | None:
    """The columns of a file, from its beginning; None if it is not such a table.

    Examples
    --------
    >>> layout_of(b"id;label;body\\n1;spam;hello")
    Layout(delimiter=';', header=True, width=3, label=1, text=2, subject=-1, sender=-1, id=0)
    >>> layout_of(b"ham\\tSee you at six")
    Layout(delimiter='\\t', header=False, width=2, label=0, text=1, subject=-1, sender=-1, id=-1)
    """
    for delimiter in "\t,;":
        row, second = _first_rows(_decoded(head.removeprefix(_BOM)), delimiter)
        names = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in row]
        columns = {field: _column(names, known) for field, known in _NAMES.items()}
        if columns["label"] >= 0 and columns["text"] >= 0 and not _both_labels(row, second):
            return Layout(delimiter, True, len(row), **columns)
        if len(row) > 1 and parse_label(row[0]):
            return Layout(delimiter, False, 2, label=0, text=1)
    return None


def _first_rows(text: str, delimiter: str) -> tuple[list[str], list[str]]:
    """The first two rows of a sample, which may end inside a row; empty rows if there are fewer."""
    rows = filter(None, csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=delimiter))
    return _next_row(rows), _next_row(rows)


def _next_row(rows: Iterator[list[str]]) -> list[str]:
    try:
        return next(rows, [])
    except csv.Error:
        return []


def _both_labels(first: list[str], second: list[str]) -> bool:
    """Whether both rows begin with a label, so that the first row is a message too, such as `spam,message`.

    A column called spam may hold yes or 1, and one called no a number, so these words do not count.
    """
    return all(row and row[0].strip().lower() in _LABELS_ALONE for row in (first, second))


def _column(names: list[str], known: tuple[str, ...]) -> int:
    return next((names.index(name) for name in known if name in names), -1)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
