"""Tables of a log file, and all SQL on them. Every function runs within a transaction of its caller.

Each partition has a table of its own, so that every append is at the right edge of a B-tree.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from stream_bayes.errors import LogError
from stream_bayes.eventlog.base import Headers
from stream_bayes.eventlog.validation import is_name
from stream_bayes.records import Partition

APPLICATION = 0x53424C47  # "SBLG"
VERSION = 1
_LAST_OFFSET = 2**63 - 1
_LENGTHS = struct.Struct("<II")
_CACHED_BYTES = 256

Row = tuple[bytes | None, bytes, bytes | None]
"""Key, value and packed headers of a record."""

_SCHEMA = (
    "CREATE TABLE clock (row INTEGER PRIMARY KEY CHECK (row = 0), latest INTEGER NOT NULL)",
    "INSERT INTO clock VALUES (0, 0)",
    "CREATE TABLE identity (row INTEGER PRIMARY KEY CHECK (row = 0), name TEXT NOT NULL)",
    "INSERT INTO identity VALUES (0, lower(hex(randomblob(16))))",
    "CREATE TABLE partitions (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, number INTEGER NOT NULL,"
    " ending INTEGER NOT NULL, UNIQUE (topic, number))",
    "CREATE TABLE positions (reader TEXT NOT NULL, partition INTEGER NOT NULL, position INTEGER NOT NULL,"
    " reading INTEGER NOT NULL, PRIMARY KEY (reader, partition)) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


class TablePosition(NamedTuple):
    """A partition with the number of its table and its end offset."""

    partition: Partition
    table: int
    ending: int


def number(connection: sqlite3.Connection, query: str, *values: object) -> int:
    """The number in the first column of the only row that a query gives."""
    result: int = connection.execute(query, values).fetchone()[0]
    return result


def is_new(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file holds nothing yet; refuses what is not a log, or a log of a later version."""
    application = number(connection, "PRAGMA application_id")
    version = number(connection, "PRAGMA user_version")
    tables = number(connection, "SELECT count(*) FROM sqlite_master")
    if application == version == tables == 0:
        return True
    if application != APPLICATION:
        message = f"{path}: this SQLite file belongs to another program. Choose another path for the log"
        raise LogError(message)
    if version > VERSION:
        message = f"{path}: written by a later version (format {version}, here {VERSION}). Update stream_bayes"
        raise LogError(message)
    return False


def create(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of an empty log, unless another process was faster."""
    if is_new(connection, path):
        for statement in _SCHEMA:
            connection.execute(statement)


def identity(connection: sqlite3.Connection) -> str:
    """The name that the file got when it was created."""
    name: str = connection.execute("SELECT name FROM identity").fetchone()[0]
    return name


def topic_partitions(connection: sqlite3.Connection, topic: str) -> list[TablePosition]:
    """The partitions of a topic in order; none for an unknown topic, or for a text that SQLite would not take."""
    if not is_name(topic):
        return []
    rows = connection.execute("SELECT number, id, ending FROM partitions WHERE topic = ? ORDER BY number", (topic,))
    return [TablePosition(Partition(topic, number), table, ending) for number, table, ending in rows.fetchall()]


def ensure_partitions(connection: sqlite3.Connection, topic: str, partitions: int) -> list[TablePosition]:
    """The partitions of a topic, which is created with that many if it is unknown."""
    if not topic_partitions(connection, topic):
        for order in range(partitions):
            table = connection.execute("INSERT INTO partitions VALUES (NULL, ?, ?, 0)", (topic, order)).lastrowid
            connection.execute(
                f"CREATE TABLE records_{table} (offset INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL,"
                " key BLOB, value BLOB NOT NULL, headers BLOB)"
            )
    return topic_partitions(connection, topic)


def subscribe(
    connection: sqlite3.Connection, group: str, topics: Sequence[str], partitions: int
) -> list[TablePosition]:
    """Record which topics the group reads; positions in other topics are kept, but do not delay retention."""
    found = [place for topic in topics for place in ensure_partitions(connection, topic, partitions)]
    connection.execute("UPDATE positions SET reading = 0 WHERE reader = ?", (group,))
    connection.executemany(
        "INSERT INTO positions VALUES (?, ?, 0, 1) ON CONFLICT DO UPDATE SET reading = 1",
        [(group, place.table) for place in found],
    )
    return found


def positions(connection: sqlite3.Connection, group: str) -> dict[Partition, int]:
    """The positions of the group in the partitions that it reads."""
    rows = connection.execute(
        "SELECT topic, number, position FROM positions JOIN partitions ON id = partition"
        " WHERE reader = ? AND reading ORDER BY topic, number",
        (group,),
    )
    return {Partition(topic, number): position for topic, number, position in rows.fetchall()}


def set_position(connection: sqlite3.Connection, group: str, table: int, position: int) -> None:
    """Move the group to this offset of a partition."""
    connection.execute("UPDATE positions SET position = ? WHERE reader = ? AND partition = ?", (position, group, table))


def end_offset(connection: sqlite3.Connection, table: int) -> int:
    """The offset that the next record of the partition will have."""
    return number(connection, "SELECT ending FROM partitions WHERE id = ?", table)


def earliest_offset(connection: sqlite3.Connection, place: TablePosition) -> int:
    """The first offset that is still there."""
    query = f"SELECT coalesce(min(offset), ?) FROM records_{place.table}"
    return number(connection, query, place.ending)


def commit_time(connection: sqlite3.Connection, now: int) -> int:
    """The timestamp of a commit: now, but never before the latest in the file."""
    latest = max(now, number(connection, "SELECT latest FROM clock"))
    connection.execute("UPDATE clock SET latest = ?", (latest,))
    return latest


def insert(connection: sqlite3.Connection, table: int, timestamp: int, rows: Sequence[Row]) -> int:
    """Append records to a partition; returns its new end offset."""
    first = end_offset(connection, table)
    connection.executemany(
        f"INSERT INTO records_{table} VALUES (?, ?, ?, ?, ?)",
        ((offset, timestamp, *row) for offset, row in enumerate(rows, first)),
    )
    connection.execute("UPDATE partitions SET ending = ? WHERE id = ?", (first + len(rows), table))
    return first + len(rows)


def select(connection: sqlite3.Connection, table: int, rank: int, offset: int) -> sqlite3.Cursor:
    """Rows of (timestamp, rank, offset, key, value, headers) from this offset on: tuples that merge in their order."""
    query = f"SELECT timestamp, {rank}, offset, key, value, headers FROM records_{table}"
    return connection.execute(f"{query} WHERE offset >= ? ORDER BY offset", (min(max(offset, 0), _LAST_OFFSET),))


def delete_before(connection: sqlite3.Connection, place: TablePosition, before: int, max_records: int) -> int:
    """Delete at most `max_records` of the oldest records before an offset, none that a group has still to read.

    Returns how many were deleted.
    """
    needed = number(
        connection,
        "SELECT min(?, coalesce(min(position), ?)) FROM positions WHERE partition = ? AND reading",
        *(before, before, place.table),
    )
    limit = min(needed, earliest_offset(connection, place) + max_records)
    return connection.execute(f"DELETE FROM records_{place.table} WHERE offset < ?", (limit,)).rowcount


def partitions_of(connection: sqlite3.Connection, topics: Iterable[str]) -> dict[Partition, TablePosition]:
    """The partitions of several topics."""
    return {place.partition: place for topic in topics for place in topic_partitions(connection, topic)}


def pack_headers(headers: Headers) -> bytes | None:
    """Headers as one blob: for each, two lengths of four bytes, the name in UTF-8, the content; None without any."""
    if not headers:
        return None
    parts = []
    for name, content in headers:
        text = name.encode()
        parts += [_LENGTHS.pack(len(text), len(content)), text, content]
    return b"".join(parts)


def unpack_headers(blob: bytes | None) -> tuple[tuple[str, bytes], ...]:
    """The headers of a blob; short blobs are cached, since most records carry the same few."""
    if blob is None:
        return ()
    return _unpack_cached(blob) if len(blob) <= _CACHED_BYTES else _unpack(blob)


def _unpack(blob: bytes) -> tuple[tuple[str, bytes], ...]:
    headers = []
    place = 0
    while place < len(blob):
        name_length, length = _LENGTHS.unpack_from(blob, place)
        start = place + _LENGTHS.size
        middle = start + name_length
        place = start + name_length + length
        headers.append((blob[start:middle].decode(), blob[middle:place]))
    return tuple(headers)


_unpack_cached = lru_cache(maxsize=1024)(_unpack)
