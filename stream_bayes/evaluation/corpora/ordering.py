"""The order in which the mails of a corpus come: as stored, by time, or with the classes mixed.

A filter trusts what it saw last, so that a corpus of a file for each class must not be learned file after file.
"""

from __future__ import annotations

import math
import tempfile
from array import array
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, Final, NamedTuple

from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.evaluation.corpora.mail import CorpusReader, UnreadMail, problem
from stream_bayes.mail.parse.dates import mail_date

AUTO: Final = "auto"
STORED: Final = "stored"
TIME: Final = "time"
MIXED: Final = "mixed"
ORDERS: Final = (AUTO, TIME, MIXED, STORED)
DESCRIPTIONS: Final = {
    STORED: "in the order in which they are stored",
    TIME: "in order of time, by the dates of the mails",
    MIXED: "with the classes mixed evenly",
}
_ENOUGH_DATED: Final = 0.9
_LEAST_CHANGES: Final = 0.1
_LONG_RUN: Final = 30
_UNLIKELY: Final = 1e-3
_NO_DATE: Final = -(2**63)

_Entry = UnreadMail | CorpusError
_Label = str | None


class Arrangement(NamedTuple):
    """The messages of a corpus in the order in which they come."""

    order: str
    """ "stored", "time" or "mixed"."""
    entries: Iterator[_Entry]


@contextmanager
def arranged(reader: CorpusReader, path: Path, order: str, prefix: str = "") -> Iterator[Arrangement]:
    """Arrange the messages of a reader.

    Parameters
    ----------
    reader
        The reader of the corpus.
    path
        The path of the corpus, for error messages.
    order
        "stored" is that of the reader. "time" sorts by the dates of the mails, stably; a mail without a date stays
        with the one of its class before it. "mixed" spreads each class evenly over the stream. "auto" is the stored
        order, unless names of files or folders are labels: then it is that of time if nine in ten mails of each class
        have dates and the classes overlap in time; otherwise the stored one if it mixes them, or mixed.
    prefix
        Only messages whose ids begin with this are arranged.

    Notes
    -----
    All but the stored order read the corpus twice. Memory holds the places and dates of the messages, some hundred
    bytes each. What cannot be read a second time where it stands (gzip, rows of a table) is in a temporary file
    meanwhile; CorpusError if that file cannot be written.
    """
    if order == STORED or (order == AUTO and not reader.classes_apart):
        entries = iter(reader)
        try:
            yield Arrangement(STORED, entries)
        finally:
            # A reader has a file open until its iterator is closed.
            if isinstance(entries, Generator):
                entries.close()
        return
    with _temporary_file_errors(path), tempfile.TemporaryFile() as spool:
        index = _Index(reader, path, prefix, spool)
        used = index.choose() if order == AUTO else order
        yield Arrangement(used, map(index.entry, index.ranks(used)))


@contextmanager
def _temporary_file_errors(path: Path) -> Iterator[None]:
    """Turn errors of the temporary file into CorpusError; the readers do so with those of the corpus."""
    try:
        yield
    except OSError as cause:
        reason = cause.strerror or str(cause)
        advice = "set TMPDIR to a folder with enough space, or choose --order stored"
        what = f"the temporary file for its order cannot be used: {reason[:1].lower()}{reason[1:]}; {advice}"
        raise problem("temporary-file", path, what) from cause


def check_order(order: str) -> None:
    """Raise ParameterError if there is no such order."""
    if order not in ORDERS:
        message = f"order must be one of {', '.join(ORDERS)}, not {order!r}"
        raise ParameterError(message)


class _Index:
    """The messages of a reader with their dates and labels; their content stays on disk."""

    def __init__(self, reader: CorpusReader, path: Path, prefix: str, spool: IO[bytes]) -> None:
        self._path = path
        self._entries: list[_Entry] = []
        self._labels: list[_Label] = []
        self._dates = array("q")
        self._spool = spool
        try:
            for entry in reader:
                if isinstance(entry, CorpusError) or entry.id.startswith(prefix):
                    self._add(entry)
        except CorpusError as error:
            self._add(error)

    def _add(self, entry: _Entry) -> None:
        label = self._labels[-1] if self._labels else None
        date = None
        if isinstance(entry, UnreadMail):
            try:
                label, raw = entry.read()
                date = mail_date(raw)
                entry = self._without_content(entry, label, raw)
            except CorpusError as error:
                # A message in a file of its own is read again, and the problem is reported then.
                entry = entry if entry.read_again is not None else error
        self._entries.append(entry)
        self._labels.append(label)
        self._dates.append(_NO_DATE if date is None else date)

    def _without_content(self, entry: UnreadMail, label: _Label, raw: bytes) -> UnreadMail:
        read = entry.read_again
        if read is None:
            read = partial(self._read_spooled, label, self._spool.tell(), len(raw))
            self._spool.write(raw)
        return entry._replace(read=read, read_again=read)

    def _read_spooled(self, label: _Label, begin: int, size: int) -> tuple[_Label, bytes]:
        self._spool.seek(begin)
        return label, self._spool.read(size)

    def entry(self, rank: int) -> _Entry:
        """The message with this number in the stored order."""
        return self._entries[rank]

    def choose(self) -> str:
        """The order of "auto"."""
        if self._is_dated() and _mixes([self._labels[rank] for rank in self._by_time()]):
            return TIME
        return STORED if _mixes(self._labels) else MIXED

    def ranks(self, order: str) -> Sequence[int]:
        """The numbers of the messages, in this order."""
        if order == TIME:
            if self._entries and not any(date != _NO_DATE for date in self._dates):
                what = "no mail has a date, so there is no order of time: choose --order mixed or stored"
                raise problem("missing-date", self._path, what)
            return self._by_time()
        return self._mixed() if order == MIXED else range(len(self._entries))

    def _is_dated(self) -> bool:
        """Whether most mails of each class have a date."""
        dated = Counter(label for label, date in zip(self._labels, self._dates, strict=True) if date != _NO_DATE)
        return all(dated[label] >= _ENOUGH_DATED * number for label, number in Counter(self._labels).items())

    def _by_time(self) -> list[int]:
        latest: dict[_Label, int] = {}
        for label, date in zip(self._labels, self._dates, strict=True):
            if date != _NO_DATE:
                latest.setdefault(label, date)
        dates = array("q")
        for label, date in zip(self._labels, self._dates, strict=True):
            if date != _NO_DATE:
                latest[label] = date
            dates.append(latest.get(label, _NO_DATE))
        return sorted(range(len(dates)), key=dates.__getitem__)

    def _mixed(self) -> list[int]:
        """The i-th of n messages of a class comes at (i + 1/2) / n of the stream."""
        numbers = Counter(self._labels)
        seen: Counter[_Label] = Counter()
        places = array("d")
        for label in self._labels:
            places.append((seen[label] + 0.5) / numbers[label])
            seen[label] += 1
        return sorted(range(len(places)), key=places.__getitem__)


def _mixes(labels: Sequence[_Label]) -> bool:
    """Whether the class changes at least a tenth as often as in a random order, and not only once."""
    changes = sum(before != after for before, after in pairwise(labels))
    same = sum(number * number for number in Counter(labels).values())
    in_random_order = len(labels) - same / len(labels) if labels else 0.0
    return changes >= max(2.0, _LEAST_CHANGES * in_random_order)


def long_run_note(first: str, length: int, spam: int, ham: int) -> str:
    """The warning about a stream whose first messages are all of one class; "" if chance may do that.

    Examples
    --------
    >>> long_run_note("ham", 150, 150, 150).partition(":")[0]
    'the first 150 messages with a label are all ham'
    >>> long_run_note("ham", 8, 150, 150)
    ''
    """
    share = (spam if first == "spam" else ham) / max(spam + ham, 1)
    if length < _LONG_RUN or share == 1.0 or length * math.log(share) > math.log(_UNLIKELY):
        return ""
    return (
        f"the first {length:,} messages with a label are all {first}: a filter trusts what it saw last, so mix the "
        "classes (--order mixed)"
    )
