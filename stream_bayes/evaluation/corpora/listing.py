"""The list of corpora in a folder, with their counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.corpus import Corpus, Counts, open_corpus
from stream_bayes.evaluation.corpora.files import UNREADABLE, corpus_errors, is_folder
from stream_bayes.evaluation.corpora.mail import problem, shown
from stream_bayes.evaluation.corpora.ordering import AUTO
from stream_bayes.evaluation.corpora.recognise import corpus_files

CORPORA_VARIABLE: Final = "STREAM_BAYES_CORPORA"
"""The environment variable with the path of a folder of corpora."""


class CorpusListing(NamedTuple):
    """One corpus of a list."""

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


def list_corpora(path: Path, order: str = AUTO, on_error: str = "fail") -> Iterator[CorpusListing]:
    """List the corpus at a path, or those directly in a folder that is not a corpus; CorpusError if there is none.

    A corpus without dates has no order of time. If it is the one at the path, CorpusError is raised, or with
    `on_error="skip"` it is listed with that problem. In a folder it is always listed with that problem,
    and so is what cannot be read there.
    """
    if not is_folder(path) or not corpus_files(path):
        try:
            corpus = open_corpus(path, on_error="skip", order=order)
        except CorpusError:
            if not is_folder(path):
                raise
        else:
            yield summarise_corpus(corpus, on_error)
            return
    yield from _list_folder(path, order)


def _list_folder(folder: Path, order: str) -> Iterator[CorpusListing]:
    found = False
    unreadable: list[CorpusListing] = []
    with corpus_errors(folder):
        inside = sorted(folder.iterdir())
    for path in inside:
        try:
            corpus = open_corpus(path, on_error="skip", order=order)
        except CorpusError as error:
            if error.kind == UNREADABLE:
                unreadable.append(_unreadable(path, error))
            continue
        found = True
        yield summarise_corpus(corpus, on_error="skip")
    yield from unreadable
    if not (found or unreadable):
        raise problem("unrecognised", folder, "neither a corpus nor a folder of corpora")


def _unreadable(path: Path, error: CorpusError) -> CorpusListing:
    """What is listed of a file or folder that cannot be read."""
    counts = Counts()
    counts.add_problem(error)
    return CorpusListing(shown(path.name), str(path), UNREADABLE, counts, "", "")


def corpora_of_environment(order: str = AUTO) -> Iterator[CorpusListing]:
    """List the corpora in the folder of STREAM_BAYES_CORPORA; none if it is not set."""
    folder = os.environ.get(CORPORA_VARIABLE)
    if folder:
        yield from _list_folder(Path(folder).expanduser(), order)


def summarise_corpus(corpus: Corpus, on_error: str = "fail") -> CorpusListing:
    """Read a corpus once, and return its counts; with "skip", among its problems that it has no order of time."""
    first = last = ""
    try:
        for mail in corpus:
            first = first or mail.id
            last = mail.id
    except CorpusError as error:
        if on_error == "fail" or error.kind != "missing-date":
            raise
        corpus.counts.add_problem(error)
    return CorpusListing(corpus.name, str(corpus.path), corpus.format, corpus.counts, first, last)
