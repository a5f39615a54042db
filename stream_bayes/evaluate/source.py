"""A stream of mails as it is named on a command line: where, which part, in which order."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from stream_bayes.errors import ParameterError
from stream_bayes.evaluate.corpora import Corpus, Mail, open_corpus
from stream_bayes.evaluate.order import Stream


class Source(NamedTuple):
    """What is needed to read a stream anywhere, in another process too."""

    path: Path
    prefix: str = ""
    """Only messages whose ids begin like this."""
    problems: str = "stop"
    """What is wrong in the corpus ends the pass ("stop") or is left out ("count")."""
    shuffle: int | None = None
    """The seed of a random order."""
    limit: int | None = None
    """Only so many messages."""
    interleave: bool = False
    """Whether the mailboxes come message by message in turn."""

    def check(self) -> None:
        """Refuse what cannot work before anything takes time."""
        if self.interleave and self.shuffle is not None:
            message = "interleave or shuffle, not both: a random order has no turns"
            raise ParameterError(message)
        self.open()

    def open(self) -> Corpus:
        """The corpus from its beginning."""
        return open_corpus(self.path, problems=self.problems, prefix=self.prefix)

    def stream(self, corpus: Corpus, mails: Iterable[Mail] | None = None) -> Stream:
        """The stream, out of the corpus or out of its mails where they have been read."""
        interleaved = "interleaved" if self.interleave else ""
        shuffled = "" if self.shuffle is None else f"shuffle {self.shuffle}"
        limited = "" if self.limit is None else f"first {self.limit:,}"
        name = ", ".join(part for part in (corpus.name, interleaved, shuffled, limited) if part)
        return Stream(name, corpus if mails is None else mails, self.shuffle, self.limit, self.interleave)
