"""The messages of a corpus in the order in which a filter sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from stream_bayes.evaluate.corpora import Mail


@dataclass(frozen=True)
class Stream:
    """The first messages of a corpus, after putting all of them into a random order if a seed is given.

    As given, messages are read while they are asked for; to shuffle them, all are kept in memory.

    >>> mails = [Mail(name, None, b"") for name in "abcde"]
    >>> "".join(mail.id for mail in Stream("letters", mails, shuffle=2, limit=3))
    'ced'
    """

    corpus: str
    """What it is called in tables."""
    mails: Iterable[Mail]
    shuffle: int | None = None
    """The seed of the order."""
    limit: int | None = None

    def __iter__(self) -> Iterator[Mail]:
        return islice(self.mails if self.shuffle is None else _shuffled(self.mails, self.shuffle), self.limit)


def _shuffled(mails: Iterable[Mail], seed: int) -> Iterator[Mail]:
    known = list(mails)
    for place in np.random.default_rng(seed).permutation(len(known)).tolist():
        yield known[place]
