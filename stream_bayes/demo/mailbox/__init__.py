"""A mailbox that is made up: labelled mails in the order in which they came, without an end of variety.

grammar     texts out of the rules in texts/
names       people, firms, hosts, figures
ham         colleagues, lists, family, newsletters, receipts, notifications
campaigns   which spam comes when
spam        what it says, and how it hides
mime        drafts to bytes: headers, charsets, encodings, parts
damage      the hundredth that is broken
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from stream_bayes.demo.mailbox.campaigns import Span, spans
from stream_bayes.demo.mailbox.damage import damaged
from stream_bayes.demo.mailbox.ham import OWNER, Ham
from stream_bayes.demo.mailbox.mime import written
from stream_bayes.demo.mailbox.spam import Spam

__all__ = ["GeneratedMail", "Span", "mailbox", "spans"]

SPAM_SHARE = 0.45
DAMAGED_SHARE = 0.01


class GeneratedMail(NamedTuple):
    """One mail of the mailbox."""

    id: str
    label: str
    """"spam" or "ham"."""
    raw: bytes


def mailbox(seed: int, mails: int) -> Iterator[GeneratedMail]:
    """So many mails, the same for the same seed; campaigns of spam start and stop at shares of their number."""
    random = Random(f"mailbox {seed}")
    ham = Ham(random)
    spam = Spam(random, ham)
    for number in range(mails):
        unwanted = random.random() < SPAM_SHARE
        draft = spam.draft(number / mails) if unwanted else ham.draft()
        raw = written(draft, OWNER, number, random)
        if random.random() < DAMAGED_SHARE:
            raw = damaged(raw, random)
        yield GeneratedMail(f"mail-{number:06}", "spam" if unwanted else "ham", raw)
