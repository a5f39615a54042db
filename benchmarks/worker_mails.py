"""Mails of about 3 KB, as the records of a log and as the rows of a bare filter."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple

from stream_bayes.demo.mailbox import mailbox
from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora import open_corpus
from stream_bayes.evaluation.corpora.listing import CORPORA_VARIABLE
from stream_bayes.eventlog.base import Headers

CORPUS = "spamassassin"
# With half of them as labels too, whole batches: the worker commits the last one without waiting for more.
MAILS = 10_000
# Of the corpus, those up to this size: 3.2 KB in the mean.
MAX_BYTES = 6_000
LATER = 100

Event = tuple[str, bytes, bytes, Headers]
"""Topic, key, value and headers of a record."""
Rows = list[tuple[bytes, str | None]]
"""Raw mails in the order in which a filter folds them, each with its label or None."""


class Mail(NamedTuple):
    """A mail, and its label: for half of them."""

    id: str
    raw: bytes
    label: str | None


def read_mails() -> tuple[list[Mail], str]:
    """Mails of the corpus, shuffled and, where there are too few, once more; made up ones where it is not here."""
    found = []
    try:
        path = Path(os.environ.get(CORPORA_VARIABLE, "")) / f"{CORPUS}.jsonl.gz"
        found = [(mail.raw, mail.label) for mail in open_corpus(path, on_error="skip") if len(mail.raw) <= MAX_BYTES]
    except CorpusError:
        pass
    origin = f"{CORPUS} up to {MAX_BYTES:,} bytes" if found else "the demo's mailbox"
    found = found or [(mail.raw, mail.label) for mail in mailbox(1, MAILS)]
    Random(1).shuffle(found)
    chosen = [found[place % len(found)] for place in range(MAILS)]
    return [Mail(f"mail-{i}", raw, None if i % 2 else label) for i, (raw, label) in enumerate(chosen)], origin


def raw_events(mails: Sequence[Mail]) -> Iterator[Event]:
    """Raw mails, with their labels as headers."""
    for mail in mails:
        label = () if mail.label is None else (("label", mail.label.encode()),)
        yield (
            "emails",
            mail.id.encode(),
            mail.raw,
            (("content-type", b"message/rfc822"), ("id", mail.id.encode()), *label),
        )


def json_events(mails: Sequence[Mail]) -> Iterator[Event]:
    """The same as JSON."""
    for mail in mails:
        content = {"id": mail.id, "raw": b64encode(mail.raw).decode()}
        label = {} if mail.label is None else {"label": mail.label}
        yield "emails", mail.id.encode(), json.dumps({**content, **label}).encode(), ()


def late_events(mails: Sequence[Mail]) -> Iterator[Event]:
    """Raw mails without labels, which come as separate events, a number of mails later."""
    unlabelled = raw_events([mail._replace(label=None) for mail in mails])
    for event, before in zip_longest(unlabelled, delayed(mails)):
        if event is not None:
            yield event
        if before is not None and before.label is not None:
            value = json.dumps({"id": before.id, "label": before.label}).encode()
            yield "labels", before.id.encode(), value, ()


def delayed(mails: Sequence[Mail]) -> list[Mail | None]:
    """For each mail the one at a fixed distance before it, and at the end those that are left."""
    return [None] * LATER + list(mails)


def rows_at_once(mails: Sequence[Mail]) -> Rows:
    """Each mail with its label."""
    return [(mail.raw, mail.label) for mail in mails]


def rows_later(mails: Sequence[Mail]) -> Rows:
    """Each mail without, and those whose label has come once more."""
    rows: Rows = []
    for mail, before in zip_longest(mails, delayed(mails)):
        if mail is not None:
            rows.append((mail.raw, None))
        if before is not None and before.label is not None:
            rows.append((before.raw, before.label))
    return rows
