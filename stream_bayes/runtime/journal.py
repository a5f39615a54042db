"""The journal: one record for each commit, with the inputs in the order of processing and the decisions made then.

Recovery reads the inputs again in this order and repeats the decisions: the same records are rejected, the same labels
are requested, the same requests expire. Nothing is decided again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from stream_bayes.active import RequestReason
from stream_bayes.engine import BatchResult, RejectedRecord, ReplayDecisions, RequestPolicy
from stream_bayes.errors import RecoveryError
from stream_bayes.records import Record

LEARNER = "learner"
MARK = "mark"
"""Headers: a digest of the learner's settings, and a random mark of the record."""
VERSION = 1


class OffsetRange(NamedTuple):
    """Records of one partition that were processed one after the other: from `begin` up to and without `end`."""

    topic: str
    partition: int
    begin: int
    end: int


@dataclass
class JournalEntry:
    """The inputs and the decisions of one commit."""

    policy: RequestPolicy
    """The policy by which label requests expired."""
    ranges: list[OffsetRange] = field(default_factory=list)
    """The inputs, in the order in which they were processed."""
    requests: dict[int, RequestReason] = field(default_factory=dict)
    rejected: list[RejectedRecord] = field(default_factory=list)
    abstentions: list[tuple[str, int]] = field(default_factory=list)
    """Topic and offset of the labels by which a labeller abstained."""
    late: int | None = None
    """The offset of the oldest observation that was learned after it was predicted."""

    @property
    def decisions(self) -> ReplayDecisions:
        """The decisions, for an engine that processes the same records again."""
        return ReplayDecisions(self.requests, set(self.abstentions), self.policy)

    def add(self, records: Iterable[Record], result: BatchResult) -> None:
        """Add more records, and the result of processing them."""
        for topic, group in groupby(records, key=attrgetter("topic")):
            first, *others = group
            end = (others[-1] if others else first).offset + 1
            if self.ranges and self.ranges[-1].topic == topic:
                self.ranges[-1] = self.ranges[-1]._replace(end=end)
            else:
                self.ranges.append(OffsetRange(topic, first.partition, first.offset, end))
        self.requests.update(result.requests)
        self.rejected.extend(result.rejected)
        self.abstentions.extend(result.abstentions)
        if result.late:
            oldest = min(result.late)
            self.late = oldest if self.late is None else min(self.late, oldest)

    def encode(self) -> bytes:
        """The entry as JSON."""
        content: dict[str, Any] = {
            "version": VERSION,
            "ranges": self.ranges,
            "requests": [(offset, *reason) for offset, reason in self.requests.items()],
            "policy": self.policy._asdict(),
        }
        if self.rejected:
            content["rejected"] = [one[: 3 if one.observation is None else 4] for one in self.rejected]
        if self.late is not None:
            content["late"] = self.late
        if self.abstentions:
            content["abstentions"] = self.abstentions
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, record: Record) -> JournalEntry:
        """The entry in a record of the journal; raises `RecoveryError` if there is none that can be read."""
        try:
            content = json.loads(record.value)
            version = int(content["version"])
            if version == VERSION:
                return cls._from_json(content)
        except (KeyError, TypeError, ValueError) as problem:
            message = f"record {record.offset} of the journal ({record.topic!r}) cannot be read: {problem!r}"
            raise RecoveryError(message) from problem
        message = (
            f"record {record.offset} of the journal ({record.topic!r}) has version {version}, "
            f"and this stream_bayes reads version {VERSION}. Use the stream_bayes that wrote it, or another group"
        )
        raise RecoveryError(message)

    @classmethod
    def _from_json(cls, content: dict[str, Any]) -> JournalEntry:
        late = content.get("late")
        policy = content["policy"]
        return cls(
            policy=RequestPolicy(*(int(policy[name]) for name in RequestPolicy._fields)),
            ranges=[OffsetRange(str(topic), *map(int, rest)) for topic, *rest in content["ranges"]],
            requests={int(offset): _reason_of(*reason) for offset, *reason in content["requests"]},
            rejected=[
                RejectedRecord(str(topic), int(offset), str(code), *map(int, rest))
                for topic, offset, code, *rest in content.get("rejected", ())
            ],
            abstentions=[(str(topic), int(offset)) for topic, offset in content.get("abstentions", ())],
            late=None if late is None else int(late),
        )


def _reason_of(probability: Any, audited: Any, covered: Any) -> RequestReason:
    return RequestReason(float(probability), None if audited is None else float(audited), bool(covered))


def mark_of(record: Record) -> str:
    """A mark that tells the journal up to a record from that of a copy of the log which was written to since."""
    return dict(record.headers).get(MARK, b"").decode("ascii", "replace")
