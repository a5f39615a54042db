"""The journal: one record a commit, with what was processed in which order, and what was decided then.

It makes the way of a model repeatable: the inputs are read again in this order, what was refused is refused again, what
was asked counts as asked, what was closed is closed, and nothing is decided anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from stream_bayes.active import RequestReason
from stream_bayes.engine import BatchResult, RejectedRecord, ReplayDecisions, RequestPolicy
from stream_bayes.errors import RecoveryError
from stream_bayes.records import Record

LEARNER = "learner"
MARK = "mark"
"""Headers: with what learner the record was written, and what tells it from any other."""
VERSION = 2
"""Of what is written; version 1, which has neither audits nor answers that are unsure, is read too."""


class OffsetRange(NamedTuple):
    """Records of one partition, from an offset up to another, processed one after the other."""

    topic: str
    partition: int
    begin: int
    end: int


class JournalEntry(NamedTuple):
    """What one commit stands for."""

    runs: list[OffsetRange]
    asked: dict[int, RequestReason]
    refused: list[RejectedRecord]
    unsure: list[tuple[str, int]]
    """Topic and offset of labels that said that nobody knows."""
    late: int | None
    """The oldest observation that was learned when its label came later."""
    terms: RequestPolicy | None = None
    """By which questions were closed; None where that was not written down yet."""

    @property
    def decided(self) -> ReplayDecisions:
        """For an engine that takes the same records again."""
        return ReplayDecisions(self.asked, set(self.unsure), self.terms)

    def noted(self, records: Iterable[Record], outcome: BatchResult) -> JournalEntry:
        """The entry once these records were processed, and this came of it."""
        for topic, group in groupby(records, key=attrgetter("topic")):
            first, *others = group
            end = (others[-1] if others else first).offset + 1
            if self.runs and self.runs[-1].topic == topic:
                self.runs[-1] = self.runs[-1]._replace(end=end)
            else:
                self.runs.append(OffsetRange(topic, first.partition, first.offset, end))
        self.asked.update(outcome.asked)
        self.refused.extend(outcome.refused)
        self.unsure.extend(outcome.unsure)
        oldest = [offset for offset in (self.late, min(outcome.late, default=None)) if offset is not None]
        return self._replace(late=min(oldest, default=None))

    def encode(self) -> bytes:
        """As JSON."""
        refused = [one[: 3 if one.observation is None else 4] for one in self.refused]
        content: dict[str, Any] = {"version": VERSION, "runs": self.runs, "asked": list(self.asked), "dead": refused}
        if self.late is not None:
            content["late"] = self.late
        audited = [(offset, chance) for offset, (chance,) in self.asked.items() if chance is not None]
        content.update({name: some for name, some in (("audited", audited), ("unsure", self.unsure)) if some})
        if self.terms is not None:
            content["terms"] = self.terms._asdict()
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, record: Record) -> JournalEntry:
        """From a record of the journal."""
        try:
            content = json.loads(record.value)
            version = int(content["version"])
            if 1 <= version <= VERSION:
                return cls._of(content)
        except (KeyError, TypeError, ValueError) as problem:
            message = f"record {record.offset} of the journal ({record.topic!r}) cannot be read: {problem!r}"
            raise RecoveryError(message) from problem
        message = (
            f"record {record.offset} of the journal ({record.topic!r}) has version {version}, "
            f"and this stream_bayes reads up to {VERSION}: update stream_bayes"
        )
        raise RecoveryError(message)

    @classmethod
    def _of(cls, content: dict[str, Any]) -> JournalEntry:
        runs = [OffsetRange(str(topic), *map(int, rest)) for topic, *rest in content["runs"]]
        asked = {int(offset): RequestReason() for offset in content["asked"]}
        asked.update({int(offset): RequestReason(float(chance)) for offset, chance in content.get("audited", ())})
        refused = [
            RejectedRecord(str(topic), int(offset), str(code), *map(int, rest))
            for topic, offset, code, *rest in content["dead"]
        ]
        unsure = [(str(topic), int(offset)) for topic, offset in content.get("unsure", ())]
        late = content.get("late")
        terms = content.get("terms")
        own = None if terms is None else RequestPolicy(*(int(terms[name]) for name in RequestPolicy._fields))
        return cls(runs, asked, refused, unsure, None if late is None else int(late), own)


def mark_of(record: Record) -> str:
    """What tells the journal up to a record from that of a copy of the log which went on by itself."""
    given = dict(record.headers).get(MARK)
    # Records of before there were marks.
    whole = b"%d " % record.timestamp + record.value
    return hashlib.sha256(whole).hexdigest()[:16] if given is None else given.decode("ascii", "replace")


def new_entry(terms: RequestPolicy | None = None) -> JournalEntry:
    """An entry of nothing."""
    return JournalEntry([], {}, [], [], None, terms)
