"""The reader of TREC corpora: a file `index` with a label and the path of a message on each line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.files import NumberedLines, corpus_errors, open_decompressed, read_message
from stream_bayes.evaluation.corpora.labels import read_label
from stream_bayes.evaluation.corpora.mail import UnreadMail, encodable, problem, shown
from stream_bayes.evaluation.corpora.seen_ids import SeenIds

LOOKED_FOR: Final = "a TREC index (index, full/index, delay/index, partial/index): `spam ../data/000/000` on each line"
_PLACES: Final = ("index", "full/index", "delay/index", "partial/index")
_LINE: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?:spam|ham)[ \t]+\S*/\S+", re.IGNORECASE)


class TrecIndex:
    """The messages of a TREC index, in its order.

    Parameters
    ----------
    path
        The index file.
    label
        Not used: each line of an index begins with its label.

    Notes
    -----
    A line is `label path`; further fields (user, genre) are ignored. A path is relative to the folder of the
    index and may leave it by one step, `../data/..`: no message is read from outside the folder above. The id is the
    path without `../`. The indexes of delayed feedback name a message twice, once in capitals (SPAM) and once not,
    for prediction and for feedback; here it comes once, at the first of the two, and feedback is the evaluation's
    choice.
    """

    format = "trec index"
    classes_apart = False

    def __init__(self, path: Path, label: str = "") -> None:
        self._path = path

    @staticmethod
    def fits(head: bytes) -> bool:
        """Whether a file with this beginning is an index."""
        return _LINE.match(head.lstrip()) is not None

    @staticmethod
    def find(folder: Path) -> Path | None:
        """Find the index of a folder, that with full feedback if there are several."""
        with corpus_errors(folder):
            return next((folder / place for place in _PLACES if (folder / place).is_file()), None)

    def __iter__(self) -> Iterator[UnreadMail | CorpusError]:
        named = {True: SeenIds(), False: SeenIds()}
        with corpus_errors(self._path), open_decompressed(self._path) as file:
            lines = NumberedLines(self._path, file)
            while True:
                try:
                    entry, capitals = self._entry(next(lines), lines.place())
                except StopIteration:
                    return
                except CorpusError as error:
                    yield error
                    continue
                if entry is not None and entry.id not in named[not capitals]:
                    named[capitals].add(entry.id)
                    yield entry

    def _entry(self, line: bytes, place: str) -> tuple[UnreadMail | None, bool]:
        fields = [os.fsdecode(field) for field in line.split(maxsplit=2)]
        if not fields:
            return None, False
        if len(fields) == 1:
            kind = "missing-label" if "/" in fields[0] else "bad-index-line"
            raise problem(kind, place, f"{shown(fields[0], 60)!r} is not a label and the path of a message")
        path = os.path.normpath(fields[1])
        beneath = path.removeprefix("../")
        if path.startswith("/") or beneath.split("/")[0] == ".." or "\0" in path:
            raise problem("outside-corpus", place, f"{path} is outside the folder that holds the index's folder")
        read = partial(self._read, fields[0], self._path.parent / path, place)
        return UnreadMail(encodable(beneath), place, read, read_again=read), fields[0].isupper()

    def _read(self, label: str, path: Path, place: str) -> tuple[str | None, bytes]:
        known = read_label(label, place)
        try:
            return known, read_message(path)
        except CorpusError as error:
            raise problem(error.kind, place, str(error)) from error
