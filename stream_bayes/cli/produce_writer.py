"""Mails of a corpus into a log: with their labels, with their labels later, or without."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import NamedTuple

from stream_bayes.cli.observation_index import KnownObservation, ObservationIndex
from stream_bayes.errors import CorpusError, EventError, LogError, ParameterError
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.corpora.seen_ids import SeenIds
from stream_bayes.eventlog.base import Headers, Log
from stream_bayes.eventlog.validation import header_bytes
from stream_bayes.events import Label, encode
from stream_bayes.events.identity import check_id
from stream_bayes.mail.parse.identity import message_digest, message_id_of

MAILS_AT_ONCE = 300
"""In one transaction."""
LABELLER = "produce"
TOO_LARGE = "too-large"
"""The kind of problem of a mail that the topic does not take."""
ID_REUSED = "id-reused"
"""The kind of problem of a mail whose id another mail in the topic has."""
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


class _StagedLabel(NamedTuple):
    """A label that is to be sent later, of a mail whose place may not be known before it is committed."""

    number: int
    """The number of the mail that it came with, from 0."""
    id: str
    label: str
    is_correction: bool = False


class _WaitingLabel(NamedTuple):
    """A label that is not due yet."""

    number: int
    event: Label
    is_correction: bool


class CorpusProducer:
    """Writes mails, some hundred in a transaction; what is not flushed is not in the log.

    A mail whose id is in the index is not written again. If its label is another than that of the last feed, the mail
    has moved, and a Label event is sent instead: a correction, unless the newest label is this one already. The label
    that a person has given to a mail that did not move stands. Of copies within a corpus the first one's label counts.

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
    index
        What is in the topics already; by default only what this producer writes.
    id_bytes
        How long an id may be (`events.id_bytes` of the settings). A mail with an id that is longer, or that the engine
        refuses for another reason, gets its message digest as id.
    """

    def __init__(
        self,
        log: Log,
        mails: str,
        labels: str,
        labelling: Labelling,
        *,
        at_once: int = MAILS_AT_ONCE,
        index: ObservationIndex | None = None,
        id_bytes: int = 512,
    ) -> None:
        self._log = log
        self._mails = mails
        self._labels = labels
        self._labelling = labelling
        # So that the labels of a transaction are not due within it.
        self._at_once = min(at_once, max(labelling.mails, 1)) if labelling.kind == "later" else at_once
        if index is None:
            index = ObservationIndex(log, mails, labels)
            index.skip_to_end()
        self._index = index
        self._id_bytes = id_bytes
        self._added = SeenIds()
        self._staged_mails = 0
        self._staged_labels = 0
        self._staged_corrections = 0
        self._staged_later: list[_StagedLabel] = []
        self._waiting: deque[_WaitingLabel] = deque()
        self.written = 0
        """Mails that are in the log."""
        self.labels_written = 0
        """Labels that are in the log, corrections included."""
        self.corrections = 0
        """Labels that differ from the one that the mail had."""
        self.already_there = 0
        """Mails that were not written because they were in the topic before."""
        self.copies = 0
        """Mails that were not written because the same mail came before in the corpus."""
        self.labels_kept = 0
        """Mails whose label by a person differs from the one here, and that did not move since the last feed."""
        self.leaves_out = False
        """Whether mails that cannot be written are left out, instead of being an error."""
        self.left_out: dict[str, int] = {}
        """How many mails were left out, by the kind of problem."""

    @property
    def labels_waiting(self) -> int:
        """Labels that are not due yet."""
        return len(self._waiting)

    def add(self, mail: Mail) -> None:
        """Stage a mail, or the label of one that is there already, and write all that is staged once it is enough."""
        id_ = self._event_id(mail)
        known = self._index.find(id_)
        if known is None:
            self._add_new(mail, id_)
        else:
            self._add_known(mail, id_, known)
        if self._staged_mails >= self._at_once or self._staged_labels >= MAILS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what is staged in one transaction."""
        self._log.commit({})
        self.written += self._staged_mails
        self.labels_written += self._staged_labels
        self.corrections += self._staged_corrections
        self._staged_mails = 0
        self._staged_labels = 0
        self._staged_corrections = 0
        if self._staged_later:
            self._index.refresh()
            for staged in self._staged_later:
                event = self._label_event(staged.id, staged.label)
                self._waiting.append(_WaitingLabel(staged.number, event, staged.is_correction))
            self._staged_later = []

    def finish(self) -> None:
        """Write what is staged, and all labels that wait."""
        self.flush()
        while self._waiting:
            self._stage_waiting()
            if self._staged_labels >= MAILS_AT_ONCE:
                self.flush()
        self.flush()

    def _event_id(self, mail: Mail) -> str:
        id_ = mail.event_id
        try:
            check_id(id_, self._id_bytes)
        except EventError:
            return message_id_of(mail.raw)
        return id_

    def _add_new(self, mail: Mail, id_: str) -> None:
        number = self.written + self._staged_mails
        headers = [_CONTENT_TYPE, ("id", id_.encode())]
        label = None if self._labelling.kind == "none" else mail.label
        if label is not None and self._labelling.kind == "with":
            headers.append(("label", label.encode()))
        # The key keeps mails of one id in one partition, also those of other producers.
        if not self._append(mail, id_.encode(), headers):
            return
        self._index.add(id_, message_digest(mail.raw), label)
        self._added.add(id_)
        self._staged_mails += 1
        if label is not None and self._labelling.kind == "with":
            self._staged_labels += 1
        elif label is not None:
            self._staged_later.append(_StagedLabel(number, id_, label))
        while self._waiting and self._waiting[0].number + self._labelling.mails <= number:
            self._stage_waiting()

    def _add_known(self, mail: Mail, id_: str, known: KnownObservation) -> None:
        if known.content != message_digest(mail.raw):
            where = "" if known.source is None else " at {}-{}-{}".format(*known.source)
            message = (
                f"mail {mail.id!r:.100} has the id of another mail, which is in the log already{where}: "
                "give it another id, or leave such mails out with --on-error skip"
            )
            self._leave_out(CorpusError(message, ID_REUSED))
            return
        if not self._added.add(id_):
            self.copies += 1
            return
        self.already_there += 1
        if self._labelling.kind == "none" or mail.label is None or mail.label == known.label:
            return
        if known.label is not None and known.fed_label in (None, mail.label):
            self.labels_kept += 1
            return
        is_correction = known.label is not None
        self._index.set_label(id_, mail.label)
        if self._labelling.kind == "later":
            number = self.written + self._staged_mails
            self._staged_later.append(_StagedLabel(number, id_, mail.label, is_correction))
            return
        if known.source is None:
            self.flush()
            self._index.refresh()
        self._stage_label(self._label_event(id_, mail.label), is_correction=is_correction)

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
            message = (
                f"mail {mail.id!r:.100} of {len(mail.raw):,} bytes is too large for the topic {self._mails!r}, which "
                f"takes {most:,}: let it take more (max.message.bytes on Kafka, sqlite.record_bytes), or leave such "
                "mails out with --on-error skip"
            )
            self._leave_out(CorpusError(message, TOO_LARGE), problem)
            return False
        return True

    def _leave_out(self, problem: CorpusError, cause: LogError | None = None) -> None:
        """Count a mail that cannot be written, or raise the error."""
        if not self.leaves_out:
            raise problem from cause
        self.left_out[problem.kind] = self.left_out.get(problem.kind, 0) + 1

    def _label_event(self, id_: str, label: str) -> Label:
        """The label of a mail that is in the log; without a source if retention has removed the mail already."""
        known = self._index.find(id_)
        source = None if known is None else known.source
        return Label(id=id_, label=label, labeller=LABELLER, at=datetime.now(UTC), source=source)

    def _stage_waiting(self) -> None:
        """Stage the label that waits longest."""
        waiting = self._waiting.popleft()
        self._stage_label(waiting.event, is_correction=waiting.is_correction)

    def _stage_label(self, event: Label, *, is_correction: bool) -> None:
        partition = None if event.source is None else event.source.partition
        self._log.append(self._labels, encode(event), event.id.encode(), partition)
        self._staged_labels += 1
        self._staged_corrections += is_correction
