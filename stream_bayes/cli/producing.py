"""Mails of a corpus into a log: with their labels, with their labels later, or without."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from stream_bayes.errors import CorpusError, LogError, ParameterError
from stream_bayes.evaluate.corpora import Mail
from stream_bayes.events import Label, encode
from stream_bayes.events.identity import id_header, id_of
from stream_bayes.log.arguments import header_bytes
from stream_bayes.log.base import Headers, Log
from stream_bayes.records import Offsets, Record

MAILS_AT_ONCE = 300
"""In one transaction."""
LABELLER = "produce"
TOO_LARGE = "too-large"
"""The kind of problem of a mail that the topic does not take."""
_READ_AT_ONCE = 200
_CONTENT_TYPE = ("content-type", b"message/rfc822")


class Labelling(NamedTuple):
    """When the log is told what the mails are."""

    kind: str
    """"with" the mail, "later" or "none"."""
    mails: int = 0
    """How many mails later."""


def open_labelling(text: str) -> Labelling:
    """The labelling of that name.

    >>> open_labelling("later:100")
    Labelling(kind='later', mails=100)
    """
    kind, _, mails = text.partition(":")
    if text in {"with", "none"}:
        return Labelling(kind)
    if kind == "later" and mails.isascii() and mails.isdigit() and len(mails) < 10 and int(mails):
        return Labelling(kind, int(mails))
    message = f"labels must be with, later:N (N from 1) or none, not {text!r}"
    raise ParameterError(message)


class _Waiting(NamedTuple):
    """A label that is not due yet."""

    place: int
    """Which mail it belongs to, from 0."""
    label: str


class Producer:
    """Writes mails, some hundred in a transaction; what is not flushed is not in the log.

    Parameters
    ----------
    log
        Opened without a group.
    mails, labels
        The topics.
    labelling
        When labels are sent.
    at_once
        Mails in one transaction at most.
    """

    def __init__(
        self,
        log: Log,
        mails: str,
        labels: str,
        labelling: Labelling,
        *,
        at_once: int = MAILS_AT_ONCE,
    ) -> None:
        self._log = log
        self._mails, self._labels = mails, labels
        self._labelling = labelling
        # So that the labels of a transaction are not due within it.
        self._at_once = min(at_once, max(labelling.mails, 1)) if labelling.kind == "later" else at_once
        self._staged: dict[bytes, _Waiting | None] = {}
        self._ends = {place.number: end for place, end in log.ends(mails).items()}
        self._waiting: deque[tuple[int, Label]] = deque()
        self._staged_labels = 0
        self.written = 0
        """Mails that are in the log."""
        self.labels_written = 0
        self.leaves_out = False
        """Whether mails that are too large for the topic are left out, instead of being an error."""
        self.left_out = 0

    @property
    def labels_waiting(self) -> int:
        """Labels that are not due yet."""
        return len(self._waiting)

    def add(self, mail: Mail) -> None:
        """Stage a mail, and write all that is staged once it is enough."""
        key, place = mail.id.encode("utf-8", "replace"), self.written + len(self._staged)
        headers = [_CONTENT_TYPE, *id_header(mail.id)]
        without_label = len(headers)
        waiting = None
        if mail.label is not None and self._labelling.kind == "with":
            headers.append(("label", mail.label.encode()))
        elif mail.label is not None and self._labelling.kind == "later":
            waiting = _Waiting(place, mail.label)
        if not self._append(mail, key, headers):
            return
        self._staged[key] = waiting
        self._staged_labels += len(headers) - without_label
        self._send_due(place)
        if len(self._staged) >= self._at_once:
            self.flush()

    def _append(self, mail: Mail, key: bytes, headers: Headers) -> bool:
        """Stage a mail; or leave it out, where it is too large and may be."""
        try:
            self._log.append(self._mails, mail.raw, key, headers=headers)
        except LogError as problem:
            if problem.retriable:
                raise
            most = self._log.most_bytes(self._mails)
            if len(mail.raw) + len(key) + sum(header_bytes(*header) for header in headers) <= most:
                raise
            if self.leaves_out:
                self.left_out += 1
                return False
            message = (
                f"mail {mail.id!r:.100} of {len(mail.raw):,} bytes is too large for the topic {self._mails!r}, which "
                f"takes {most:,}: let it take more (max.message.bytes), or leave such mails out with --problems count"
            )
            raise CorpusError(message, TOO_LARGE) from problem
        return True

    def flush(self) -> None:
        """Write what is staged in one transaction."""
        ends = self._log.commit({})
        self.written += len(self._staged)
        self.labels_written += self._staged_labels
        if self._labelling.kind == "later":
            self._waiting.extend(sorted(self._placed(ends), key=lambda one: one[0]))
        self._staged, self._staged_labels = {}, 0

    def finish(self) -> None:
        """Write what is staged, and all labels that wait."""
        self.flush()
        self._send_due(None)
        self.flush()

    def _send_due(self, place: int | None) -> None:
        """Stage the labels that are due at a mail; all at the end."""
        while self._waiting and (place is None or self._waiting[0][0] + self._labelling.mails <= place):
            _, label = self._waiting.popleft()
            assert label.source is not None
            self._log.append(self._labels, encode(label), label.id.encode(), label.source.partition)
            self._staged_labels += 1

    def _placed(self, ends: Offsets) -> Iterator[tuple[int, Label]]:
        """The labels of the mails just written, with the places that the log gave these."""
        for record in self._new_records(ends):
            waiting = self._staged.pop(record.key, None) if record.key is not None else None
            if waiting is not None:
                given = dict(record.headers).get("id")
                at, id_ = datetime.now(UTC), id_of(record) if given is None else given.decode()
                yield waiting.place, Label(id=id_, label=waiting.label, labeller=LABELLER, at=at, source=record.source)

    def _new_records(self, ends: Offsets) -> Iterator[Record]:
        """What the topic has got since the last look, ours and that of others; offsets may have gaps."""
        for place, end in ends.items():
            if place.topic != self._mails:
                continue
            self._log.settle(place)
            position = self._ends.get(place.number, 0)
            while position < end and (records := self._log.read(*place, position, _READ_AT_ONCE)):
                yield from records
                position = records[-1].offset + 1
            self._ends[place.number] = max(position, end)
