"""The mails of a demo with their true labels: generated, or from a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from stream_bayes.demo.mailbox import GeneratedMail, Span, mailbox, spans
from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora import Mail, open_corpus
from stream_bayes.evaluation.stream import Stream


class MailSource(NamedTuple):
    """The mails of a demo with their true labels."""

    name: str
    """Name of the mailbox or corpus."""
    mails: list[GeneratedMail] | list[Mail]
    campaigns: list[Span]
    """Start and end of each spam campaign, if known."""

    @property
    def labels(self) -> dict[str, str]:
        """The true label of each mail that has one, by id."""
        return _labels(self.mails)


def _labels(mails: Iterable[GeneratedMail | Mail]) -> dict[str, str]:
    return {mail.id: mail.label for mail in mails if mail.label is not None}


def generated_mails(seed: int, mails: int) -> MailSource:
    """Generate mails."""
    return MailSource("generated mailbox", list(mailbox(seed, mails)), spans(mails))


def corpus_mails(path: Path, mails: int, seed: int) -> MailSource:
    """Take mails of a corpus in random order, since many corpora are sorted by label; all must fit into memory.

    Mails that cannot be read and mails without a label are skipped.
    """
    corpus = open_corpus(path, on_error="skip", order="stored")
    found = list(Stream(corpus.name, corpus, shuffle=seed, limit=mails))
    if any(mail.label is not None for mail in found):
        return MailSource(corpus.name, found, [])
    if not found and not corpus.counts.problems.get("missing-label"):
        message = f"{path}: there is no mail in it that can be read; see stream-bayes corpus {path}"
        raise CorpusError(message, "no-mail")
    message = (
        f"{path}: no mail in it has a label, and the demo needs labels to play the labeller. To filter mail without "
        f"labels: stream-bayes produce {path} --labels none, then stream-bayes run"
    )
    raise CorpusError(message, "missing-label")
