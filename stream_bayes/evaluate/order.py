"""The messages of a corpus in the order in which a filter sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest

import numpy as np

from stream_bayes.evaluate.corpora import Mail


@dataclass(frozen=True)
class Stream:
    """The first messages of a corpus, after putting all of them into another order if one is asked for.

    As given, messages are read while they are asked for; in another order, all are kept in memory.

    >>> mails = [Mail(name, None, b"") for name in "abcde"]
    >>> "".join(mail.id for mail in Stream("letters", mails, shuffle=2, limit=3))
    'ced'
    >>> boxes = [Mail(name, None, b"") for name in ("a/1", "a/2", "a/3", "b/1")]
    >>> " ".join(mail.id for mail in Stream("boxes", boxes, interleave=True))
    'a/1 b/1 a/2 a/3'
    """

    corpus: str
    """What it is called in tables."""
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
