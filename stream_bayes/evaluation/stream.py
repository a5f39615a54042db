"""Streams: the messages of a corpus in the order of the evaluation, as stored, shuffled or interleaved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.corpora import Corpus, Mail, open_corpus
from stream_bayes.evaluation.corpora.ordering import AUTO, STORED


@dataclass(frozen=True)
class Stream:
    """The messages of a corpus in some order, or the first of them.

    In the order of the corpus, messages are read lazily. In another order, all of them are kept in memory.

    >>> mails = [Mail(name, None, b"") for name in "abcde"]
    >>> "".join(mail.id for mail in Stream("letters", mails, shuffle=2, limit=3))
    'ced'
    >>> boxes = [Mail(name, None, b"") for name in ("a/1", "a/2", "a/3", "b/1")]
    >>> " ".join(mail.id for mail in Stream("boxes", boxes, interleave=True))
    'a/1 b/1 a/2 a/3'
    """

    corpus: str
    """The name of the stream in tables."""
    mails: Iterable[Mail]
    shuffle: int | None = None
    """The seed of a random order."""
    limit: int | None = None
    interleave: bool = False
    """Whether the mailboxes, ids up to the first "/", come message by message in turn."""

    def __iter__(self) -> Iterator[Mail]:
        mails = _interleaved(self.mails) if self.interleave else self.mails
        return islice(mails if self.shuffle is None else _shuffled(mails, self.shuffle), self.limit)


def _interleaved(mails: Iterable[Mail]) -> Iterator[Mail]:
    boxes: dict[str, list[Mail]] = {}
    for mail in mails:
        boxes.setdefault(mail.id.partition("/")[0], []).append(mail)
    for turn in zip_longest(*boxes.values()):
        yield from (mail for mail in turn if mail is not None)


def _shuffled(mails: Iterable[Mail], seed: int) -> Iterator[Mail]:
    known = list(mails)
    for place in np.random.default_rng(seed).permutation(len(known)).tolist():
        yield known[place]


class StreamSource(NamedTuple):
    """The description from which a process reads a stream: the path of its corpus, and the order."""

    path: Path
    prefix: str = ""
    """Only messages whose ids begin with this."""
    on_error: str = "fail"
    """Whether a problem of the corpus ends the pass ("fail"), or is counted and left out ("skip")."""
    shuffle: int | None = None
    """The seed of a random order."""
    limit: int | None = None
    """The largest number of messages."""
    interleave: bool = False
    """Whether the mailboxes come message by message in turn."""
    order: str = AUTO
    """The order of the corpus: "auto", "time", "mixed" or "stored"; "auto" is "stored" beneath another order."""

    @property
    def is_reordered(self) -> bool:
        """Whether the stream is shuffled or interleaved, so that it is not in the order of the corpus."""
        return self.interleave or self.shuffle is not None

    @property
    def corpus_order(self) -> str:
        """The order in which the corpus is read."""
        return STORED if self.is_reordered and self.order == AUTO else self.order

    def check(self) -> None:
        """Check the options and the corpus."""
        if self.interleave and self.shuffle is not None:
            message = "interleave or shuffle, not both: a random order has no turns"
            raise ParameterError(message)
        if self.corpus_order not in {AUTO, STORED} and self.is_reordered:
            message = f"--order {self.order} cannot be combined with --shuffle or --interleave"
            raise ParameterError(message)
        self.open()

    def open(self) -> Corpus:
        """Open the corpus."""
        return open_corpus(self.path, on_error=self.on_error, prefix=self.prefix, order=self.corpus_order)

    def stream(self, corpus: Corpus, mails: Iterable[Mail] | None = None) -> Stream:
        """The stream, from the corpus or from its mails if they have been read."""
        interleaved = "interleaved" if self.interleave else ""
        shuffled = "" if self.shuffle is None else f"shuffle {self.shuffle}"
        limited = "" if self.limit is None else f"first {self.limit:,}"
        name = ", ".join(part for part in (corpus.name, interleaved, shuffled, limited) if part)
        return Stream(name, corpus if mails is None else mails, self.shuffle, self.limit, self.interleave)
