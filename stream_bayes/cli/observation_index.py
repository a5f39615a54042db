"""Index of the observations in a log by id: where each one is, and the newest label known for it."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple, Self

from stream_bayes.engine.history import content_digest
from stream_bayes.errors import EventError
from stream_bayes.eventlog.base import Log
from stream_bayes.events import NO_LIMITS, Label, Observation, decode
from stream_bayes.mail.parse.identity import message_digest
from stream_bayes.records import Partition, Record, Source

_DIGEST_BYTES = 16
_BATCH_SIZE = 500
# Committed records are in the topic, whatever the limits of a worker.
_MAIL = b"message/rfc822"
_PENDING = 2**62
"""Time of a label that is about to be sent: later than that of any record."""
_SETTINGS = (
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA cache_size = -65536",  # 64 MiB; what is more is written to a temporary file
)
_TABLE = """
CREATE TABLE observation (
    id BLOB PRIMARY KEY,
    content BLOB NOT NULL,
    engine_content BLOB NOT NULL,
    partition INTEGER,
    offset INTEGER,
    label TEXT,
    labelled_at INTEGER,
    fed_label TEXT,
    copy_place TEXT,
    copy_label TEXT
) WITHOUT ROWID
"""
# A repeated observation keeps its first position, as in the engine; its label may be newer. The engine refuses other
# content under the same id, with its label, and each partition has its own engine.
_INSERT = """
INSERT INTO observation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?6, NULL, NULL)
ON CONFLICT (id) DO UPDATE SET
    partition = coalesce(partition, excluded.partition),
    offset = coalesce(offset, excluded.offset),
    label = CASE WHEN excluded.labelled_at >= coalesce(labelled_at, 0) THEN excluded.label ELSE label END,
    labelled_at = max(coalesce(labelled_at, 0), coalesce(excluded.labelled_at, 0)),
    fed_label = coalesce(excluded.label, fed_label)
WHERE engine_content = excluded.engine_content AND coalesce(partition, excluded.partition) = excluded.partition
"""
_SET_LABEL = """
UPDATE observation SET label = :label, labelled_at = :time, fed_label = iif(:fed, :label, fed_label)
WHERE id = :id AND coalesce(labelled_at, 0) <= :time
"""
# The engine refuses a label whose source is another position.
_SET_LABEL_AT = f"{_SET_LABEL} AND (:partition IS NULL OR (partition = :partition AND offset = :offset))"
_SET_COPY = "UPDATE observation SET copy_place = ?, copy_label = ? WHERE id = ?"
_FIND = "SELECT content, partition, offset, label, fed_label, copy_place, copy_label FROM observation WHERE id = ?"

_ENGINE_DIGEST_BYTES = 8

_Row = tuple[bytes, bytes, bytes, int | None, int | None, str | None, int | None]


class CorpusCopy(NamedTuple):
    """A copy of an observation in the corpus that is being written."""

    place: str
    """In printable characters."""
    label: str | None


class KnownObservation(NamedTuple):
    """An observation that is in the topic, or staged for it."""

    content: bytes
    """Digest of its content."""
    source: Source | None
    """Its position; None while it is staged, and after that until the next `refresh`."""
    label: object
    """The newest label known for it, or None."""
    fed_label: object
    """The newest label that came with it or from a producer, not from a labeller."""
    copy: CorpusCopy | None
    """The first copy in the corpus, or None if it has not come there yet."""


class ObservationIndex:
    """Positions and newest labels of the observations in a topic, by id.

    It is a temporary database that keeps 64 MiB in memory and the rest on disk, about 70 bytes for each observation,
    and the place of those that are in the corpus. Labels come from the observations themselves and from the labels
    topic; of several the newest counts. Labels that the engine refuses do not count: that of other content under a
    known id, and one whose source is not the position of the observation.

    Parameters
    ----------
    log
        The log; it is only read.
    observations, labels
        The topics.
    abstain_label
        The answer that gives no label (`labels.abstain_label` of the settings), if there is one.
    feeder
        The labeller of the labels that a feed sends.
    """

    def __init__(
        self, log: Log, observations: str, labels: str, *, abstain_label: str | None = None, feeder: str = "produce"
    ) -> None:
        self._log = log
        self._observations = observations
        self._labels = labels
        self._abstain_label = abstain_label
        self._feeder = feeder
        self._positions: dict[Partition, int] = {}
        for topic in (observations, labels):
            self._positions.update(log.earliest_offsets(topic))
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._close = weakref.finalize(self, self._database.close)
        for statement in (*_SETTINGS, _TABLE):
            self._database.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    @property
    def unread(self) -> int:
        """Number of offsets that `scan` has not read yet, including gaps."""
        ends = {**self._log.end_offsets(self._observations), **self._log.end_offsets(self._labels)}
        return sum(max(end - self._positions.get(partition, 0), 0) for partition, end in ends.items())

    def skip_to_end(self) -> None:
        """Skip the present records of the topics."""
        for topic in (self._observations, self._labels):
            self._positions.update(self._log.end_offsets(topic))

    def scan(self) -> Iterator[int]:
        """Read the records since the last scan; yields the number of offsets of each batch.

        Observations are read before labels, so that each label finds its observation.
        """
        for topic in (self._observations, self._labels):
            for partition, end in self._log.end_offsets(topic).items():
                self._log.wait_for_open_transactions(partition)
                yield from self._scan_partition(partition, end)

    def refresh(self) -> None:
        """Scan to the end of the topics."""
        for _ in self.scan():
            pass

    def find(self, id_: str) -> KnownObservation | None:
        """Return the observation with an id, if it is known."""
        row = self._database.execute(_FIND, (_key(id_),)).fetchone()
        if row is None:
            return None
        content, partition, offset, *labels, copy_place, copy_label = row
        source = None if partition is None else Source(self._observations, partition, offset)
        label, fed_label = (None if text is None else json.loads(text) for text in labels)
        copy = None if copy_place is None else CorpusCopy(copy_place, copy_label)
        return KnownObservation(content, source, label, fed_label, copy)

    def add(self, id_: str, content: bytes, label: str | None) -> None:
        """Add an observation that is staged for the topic; its position is not known yet."""
        labelled_at = None if label is None else _PENDING
        engine_content = content[:_ENGINE_DIGEST_BYTES]
        self._database.execute(_INSERT, (_key(id_), content, engine_content, None, None, _encoded(label), labelled_at))

    def set_copy(self, id_: str, copy: CorpusCopy) -> None:
        """Record the first copy of an observation in the corpus."""
        self._database.execute(_SET_COPY, (copy.place, copy.label, _key(id_)))

    def set_label(self, id_: str, label: str) -> None:
        """Record a label that is about to be sent."""
        values = {"id": _key(id_), "label": _encoded(label), "time": _PENDING, "fed": True}
        self._database.execute(_SET_LABEL, values)

    def _scan_partition(self, partition: Partition, end: int) -> Iterator[int]:
        position = self._positions.get(partition, 0)
        while position < end:
            records = self._log.read(*partition, position, _BATCH_SIZE)
            if partition.topic == self._observations:
                self._database.executemany(_INSERT, _rows(records))
            else:
                self._database.executemany(_SET_LABEL_AT, self._label_rows(records))
            before = position
            # No records: only transaction markers and deleted records are left before the end.
            position = records[-1].offset + 1 if records else end
            self._positions[partition] = position
            yield position - before

    def _label_rows(self, records: Iterable[Record]) -> Iterator[dict[str, object]]:
        for record in records:
            try:
                event = decode(record, Label, NO_LIMITS)
            except EventError:
                continue
            if not isinstance(event, Label) or event.label == self._abstain_label:
                continue
            source = event.source
            if source is not None and source.topic != self._observations:
                continue
            yield {
                "id": _key(event.id),
                "label": _encoded(event.label),
                "time": record.timestamp,
                "fed": event.labeller == self._feeder,
                "partition": None if source is None else source.partition,
                "offset": None if source is None else source.offset,
            }


def _rows(records: Iterable[Record]) -> Iterator[_Row]:
    for record in records:
        described = _describe(record)
        if described is not None:
            id_, content, engine_content, label = described
            labelled_at = None if label is None else record.timestamp
            yield _key(id_), content, engine_content, record.partition, record.offset, _encoded(label), labelled_at


def _describe(record: Record) -> tuple[str, bytes, bytes, object] | None:
    """Id, content digest, content digest of the engine, and label of an observation; None for a record that is none."""
    headers = {name.lower(): value or b"" for name, value in record.headers}
    if headers.get("content-type") == _MAIL and "id" in headers:
        label = headers.get("label", b"").decode("utf-8", "replace").strip()
        digest = message_digest(record.value)
        return headers["id"].decode("utf-8", "replace"), digest, digest[:_ENGINE_DIGEST_BYTES], label or None
    try:
        event = decode(record, Observation, NO_LIMITS)
    except EventError:
        return None
    if not isinstance(event, Observation):
        return None
    content = event.content
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    digest = message_digest(content if isinstance(content, bytes) else record.value)
    return event.id, digest, content_digest(event).to_bytes(_ENGINE_DIGEST_BYTES, "little"), event.label


def _key(id_: str) -> bytes:
    return blake2b(id_.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _encoded(label: object) -> str | None:
    return None if label is None else json.dumps(label)
