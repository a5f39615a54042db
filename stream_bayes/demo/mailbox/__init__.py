"""Generator of a mailbox: labelled synthetic mails in the order of their arrival.

grammar     generation of texts by the rules in texts/
names       people, companies, hosts, numbers
ham         colleagues, lists, family, newsletters, receipts, notifications
campaigns   the schedule of spam campaigns
spam        texts and disguises of spam
mime        encoding of drafts: headers, charsets, transfer encodings, parts
damage      damage to one mail in a hundred
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from stream_bayes.demo.mailbox.campaigns import Span, spans
from stream_bayes.demo.mailbox.damage import damage_mail
from stream_bayes.demo.mailbox.ham import OWNER, Ham
from stream_bayes.demo.mailbox.mime import encode_mail
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
    """Yield this number of mails, the same for the same seed. Campaigns start and stop at fractions of the number."""
    random = Random(f"mailbox {seed}")
    ham = Ham(random)
    spam = Spam(random, ham)
    for number in range(mails):
        unwanted = random.random() < SPAM_SHARE
        draft = spam.draft(number / mails) if unwanted else ham.draft()
        raw = encode_mail(draft, OWNER, number, random)
        if random.random() < DAMAGED_SHARE:
            raw = damage_mail(raw, random)
        yield GeneratedMail(f"mail-{number:06}", "spam" if unwanted else "ham", raw)
