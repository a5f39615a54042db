"""Writes the mails of a corpus to a log: with their labels, with labels that follow later, or without."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from stream_bayes.cli.observation_index import CorpusCopy, KnownObservation, ObservationIndex
from stream_bayes.errors import CorpusError, EventError, LogError, ParameterError
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.corpora.mail import shown
from stream_bayes.eventlog.base import Headers, Log
from stream_bayes.eventlog.validation import header_bytes
from stream_bayes.events import Label, encode
from stream_bayes.events.codec import check_id
from stream_bayes.mail.parse.identity import message_digest, message_id_of

BATCH_SIZE = 300
"""Mails in one transaction."""
LABELLER = "produce"
TOO_LARGE = "too-large"
"""Problem of a mail that is too large for the topic."""
ID_REUSED = "id-reused"
"""Problem of a mail whose id belongs to another mail in the topic."""
_MAX_CONFLICTS_NAMED = 5
_LONGEST_PLACE = 200
_CONTENT_TYPE = ("content-type", b"message/rfc822")


class LabelTiming(NamedTuple):
    """When the labels of the mails are sent."""

    kind: str
    """"with" the mail, "later" or "none"."""
    mails: int = 0
    """How many mails later."""


def parse_label_timing(text: str) -> LabelTiming:
    """Parse the option --labels.

    >>> parse_label_timing("later:100")
    LabelTiming(kind='later', mails=100)
    """
    kind, _, mails = text.partition(":")
    if text in {"with", "none"}:
        return LabelTiming(kind)
    if kind == "later" and mails.isascii() and mails.isdigit() and len(mails) < 10 and int(mails):
        return LabelTiming(kind, int(mails))
    message = f"labels must be with, later:N (N from 1) or none, not {text!r}"
    raise ParameterError(message)


class _StagedLabel(NamedTuple):
    """A label to be sent later; the position of its mail may be unknown until it is committed."""

    number: int
    """The number of its mail, from 0."""
    id: str
    label: str
    is_correction: bool = False


class _WaitingLabel(NamedTuple):
    """A label that is not due yet."""

    number: int
    event: Label
    is_correction: bool


class ConflictingCopies(NamedTuple):
    """Two copies of a mail within a corpus that have different labels."""

    first: CorpusCopy
    """The one whose label counts."""
    other: CorpusCopy

    def __str__(self) -> str:
        return f"{self.first.place} is {self.first.label} and {self.other.place} is {self.other.label}"


def conflicting_copies(number: int, first_ones: Sequence[ConflictingCopies]) -> str:
    """The warning about copies of a mail with different labels; "" if there are none.

    Examples
    --------
    >>> conflicting_copies(1, [ConflictingCopies(CorpusCopy("1.a", "ham"), CorpusCopy(".Junk/2.b", "spam"))])
    '1 copy has another label than the first copy of the same mail, which counts: 1.a is ham and .Junk/2.b is spam'
    """
    if not number:
        return ""
    subject = "1 copy has" if number == 1 else f"{number:,} copies have"
    named = [str(copies) for copies in first_ones]
    if number > len(named):
        named.append(f"and {number - len(named):,} more")
    return f"{subject} another label than the first copy of the same mail, which counts: {'; '.join(named)}"


class CorpusProducer:
    """Writes mails in transactions of some hundred; what is not flushed is not in the log.

    A mail whose id is in the index is not written again. If its label differs from that of the last run, the mail was
    moved, and a Label event is sent instead: a correction, unless the newest label is the same already. A label that a
    person gave to a mail that was not moved is kept. Of copies within a corpus the label of the first counts.

    Parameters
    ----------
    log
        Opened without a group.
    mails, labels
        The topics.
    timing
        When labels are sent.
    batch_size
        Maximum number of mails in one transaction.
    index
        The observations in the topics; by default only those that this producer writes.
    id_bytes
        Maximum length of an id (`events.id_bytes` of the settings). A mail whose id is longer or invalid gets its
        message digest as id.
    """

    def __init__(
        self,
        log: Log,
        mails: str,
        labels: str,
        timing: LabelTiming,
        *,
        batch_size: int = BATCH_SIZE,
        index: ObservationIndex | None = None,
        id_bytes: int = 512,
    ) -> None:
        self._log = log
        self._mails = mails
        self._labels = labels
        self._timing = timing
        # The labels of a transaction must not be due within it.
        self._batch_size = min(batch_size, max(timing.mails, 1)) if timing.kind == "later" else batch_size
        if index is None:
            index = ObservationIndex(log, mails, labels)
            index.skip_to_end()
        self._index = index
        self._id_bytes = id_bytes
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
        """Labels that differ from the previous label of the mail."""
        self.already_there = 0
        """Mails that were not written because they were in the topic before."""
        self.copies = 0
        """Mails that were not written because the same mail came before in the corpus."""
        self.conflicts = 0
        """Copies whose label differs from that of the first copy, which counts."""
        self._first_conflicts: list[ConflictingCopies] = []
        self.labels_kept = 0
        """Mails that were not moved and whose label by a person differs from that of the corpus."""
        self.skips_errors = False
        """Whether mails that cannot be written are skipped instead of raising an error."""
        self.skipped: dict[str, int] = {}
        """Number of skipped mails by problem."""

    @property
    def labels_waiting(self) -> int:
        """Labels that are not due yet."""
        return len(self._waiting)

    @property
    def conflict_note(self) -> str:
        """The warning about copies with different labels; "" if there are none."""
        return conflicting_copies(self.conflicts, self._first_conflicts)

    def add(self, mail: Mail) -> None:
        """Stage a mail, or the label of a known mail, and flush a full batch."""
        id_ = self._event_id(mail)
        known = self._index.find(id_)
        if known is None:
            self._add_new(mail, id_)
        else:
            self._add_known(mail, id_, known)
        if self._staged_mails >= self._batch_size or self._staged_labels >= BATCH_SIZE:
            self.flush()

    def flush(self) -> None:
        """Commit the staged records in one transaction."""
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
        """Commit the staged records and all waiting labels."""
        self.flush()
        while self._waiting:
            self._stage_waiting()
            if self._staged_labels >= BATCH_SIZE:
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
        label = None if self._timing.kind == "none" else mail.label
        if label is not None and self._timing.kind == "with":
            headers.append(("label", label.encode()))
        # The key puts mails with one id into one partition, also those of other producers.
        if not self._append(mail, id_.encode(), headers):
            return
        self._index.add(id_, message_digest(mail.raw), label)
        self._index.set_copy(id_, _copy_of(mail))
        self._staged_mails += 1
        if label is not None and self._timing.kind == "with":
            self._staged_labels += 1
        elif label is not None:
            self._staged_later.append(_StagedLabel(number, id_, label))
        while self._waiting and self._waiting[0].number + self._timing.mails <= number:
            self._stage_waiting()

    def _add_known(self, mail: Mail, id_: str, known: KnownObservation) -> None:
        if known.content != message_digest(mail.raw):
            where = "" if known.source is None else " at {}-{}-{}".format(*known.source)
            message = (
                f"mail {mail.id!r:.100} has the id of another mail, which is in the log already{where}: "
                "give it another id"
            )
            self._skip(CorpusError(message, ID_REUSED))
            return
        if known.copy is not None:
            self.copies += 1
            self._compare_labels(known.copy, _copy_of(mail))
            return
        self._index.set_copy(id_, _copy_of(mail))
        self.already_there += 1
        if self._timing.kind == "none" or mail.label is None or mail.label == known.label:
            return
        if known.label is not None and known.fed_label in (None, mail.label):
            self.labels_kept += 1
            return
        is_correction = known.label is not None
        self._index.set_label(id_, mail.label)
        if self._timing.kind == "later":
            number = self.written + self._staged_mails
            self._staged_later.append(_StagedLabel(number, id_, mail.label, is_correction))
            return
        if known.source is None:
            self.flush()
            self._index.refresh()
        self._stage_label(self._label_event(id_, mail.label), is_correction=is_correction)

    def _compare_labels(self, first: CorpusCopy, other: CorpusCopy) -> None:
        """Count a copy that has another label than the first one."""
        if self._timing.kind == "none" or None in {first.label, other.label} or first.label == other.label:
            return
        self.conflicts += 1
        if len(self._first_conflicts) < _MAX_CONFLICTS_NAMED:
            self._first_conflicts.append(ConflictingCopies(first, other))

    def _append(self, mail: Mail, key: bytes, headers: Headers) -> bool:
        """Stage a mail; False if it is too large and skipped."""
        try:
            self._log.append(self._mails, mail.raw, key, headers=headers)
        except LogError as problem:
            if problem.retriable:
                raise
            most = self._log.max_record_bytes(self._mails)
            if len(mail.raw) + len(key) + sum(header_bytes(*header) for header in headers) <= most:
                raise
            message = (
                f"mail {mail.id!r:.100} of {len(mail.raw):,} bytes is too large for the topic {self._mails!r}, which "
                f"takes {most:,}: let it take more (max.message.bytes on Kafka, sqlite.record_bytes)"
            )
            self._skip(CorpusError(message, TOO_LARGE), problem)
            return False
        return True

    def _skip(self, problem: CorpusError, cause: LogError | None = None) -> None:
        """Count a mail that cannot be written, or raise the error."""
        if not self.skips_errors:
            raise problem from cause
        self.skipped[problem.kind] = self.skipped.get(problem.kind, 0) + 1

    def _label_event(self, id_: str, label: str) -> Label:
        """Return the label event of a mail in the log; without a source if retention has deleted the mail."""
        known = self._index.find(id_)
        source = None if known is None else known.source
        return Label(id=id_, label=label, labeller=LABELLER, at=datetime.now(UTC), source=source)

    def _stage_waiting(self) -> None:
        """Stage the oldest waiting label."""
        waiting = self._waiting.popleft()
        self._stage_label(waiting.event, is_correction=waiting.is_correction)

    def _stage_label(self, event: Label, *, is_correction: bool) -> None:
        partition = None if event.source is None else event.source.partition
        self._log.append(self._labels, encode(event), event.id.encode(), partition)
        self._staged_labels += 1
        self._staged_corrections += is_correction


def _copy_of(mail: Mail) -> CorpusCopy:
    return CorpusCopy(shown(mail.id, _LONGEST_PLACE), mail.label)
