"""What corpora are in a folder, each read through once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.corpus import Corpus, Counts, open_corpus
from stream_bayes.evaluation.corpora.files import is_folder, reading
from stream_bayes.evaluation.corpora.mail import problem
from stream_bayes.evaluation.corpora.recognise import corpus_files

CORPORA: Final = "STREAM_BAYES_CORPORA"
"""Names a folder of corpora."""


class Listed(NamedTuple):
    """One corpus as a listing shows it."""

    name: str
    path: str
    format: str
    counts: Counts
    first_id: str
    last_id: str

    @property
    def spam_percent(self) -> float | None:
        """The share of spam among the messages with a label."""
        labelled = self.counts.spam + self.counts.ham
        return 100.0 * self.counts.spam / labelled if labelled else None


def corpora_in(path: Path) -> Iterator[Listed]:
    """The corpus at the path, or those directly in a folder that is none itself; CorpusError if there is nothing."""
    if not is_folder(path) or not corpus_files(path):
        try:
            corpus = open_corpus(path, on_error="skip")
        except CorpusError:
            if not is_folder(path):
                raise
        else:
            yield read_through(corpus)
            return
    yield from _each_in(path)


def _each_in(folder: Path) -> Iterator[Listed]:
    found = False
    with reading(folder):
        inside = sorted(folder.iterdir())
    for path in inside:
        try:
            corpus = open_corpus(path, on_error="skip")
        except CorpusError:
            continue
        found = True
        yield read_through(corpus)
    if not found:
        raise problem("unrecognised", folder, "neither a corpus nor a folder of corpora")


def named_by_environment() -> Iterator[Listed]:
    """The corpora in the folder that STREAM_BAYES_CORPORA names; nothing if it names none."""
    folder = os.environ.get(CORPORA)
    if folder:
        yield from _each_in(Path(folder).expanduser())


def read_through(corpus: Corpus) -> Listed:
    """What one pass over a corpus finds."""
    first = last = ""
    for mail in corpus:
        first = first or mail.id
        last = mail.id
    return Listed(corpus.name, str(corpus.path), corpus.format, corpus.counts, first, last)
