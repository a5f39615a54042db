"""The tables of a log's file, and all SQL on them. Every function runs within a transaction of its caller.

Each partition has a table of its own, so that every append is at the right edge of a B-tree.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from stream_bayes.errors import LogError
from stream_bayes.eventlog.validation import is_name
from stream_bayes.records import Partition

APPLICATION = 0x53424C47  # "SBLG"
VERSION = 1
_LAST_OFFSET = 2**63 - 1

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
    """Where a partition's records are: the number of its table, and the offset that the next record will have."""

    partition: Partition
    table: int
    ending: int


def number(connection: sqlite3.Connection, question: str, *values: object) -> int:
    """The first figure of the only row of the answer."""
    answer: int = connection.execute(question, values).fetchone()[0]
    return answer


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
    """Make an empty log, unless another process has been faster."""
    if is_new(connection, path):
        for statement in _SCHEMA:
            connection.execute(statement)


def identity(connection: sqlite3.Connection) -> str:
    """The name that the file got when it was made."""
    name: str = connection.execute("SELECT name FROM identity").fetchone()[0]
    return name


def places(connection: sqlite3.Connection, topic: str) -> list[TablePosition]:
    """The partitions of a topic in order; none for an unknown topic, or for a text that SQLite would not take."""
    if not is_name(topic):
        return []
    rows = connection.execute("SELECT number, id, ending FROM partitions WHERE topic = ? ORDER BY number", (topic,))
    return [TablePosition(Partition(topic, number), table, ending) for number, table, ending in rows.fetchall()]


def made_places(connection: sqlite3.Connection, topic: str, partitions: int) -> list[TablePosition]:
    """The partitions of a topic, which is made with so many if it is unknown."""
    if not places(connection, topic):
        for order in range(partitions):
            table = connection.execute("INSERT INTO partitions VALUES (NULL, ?, ?, 0)", (topic, order)).lastrowid
            connection.execute(
                f"CREATE TABLE records_{table} (offset INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL,"
                " key BLOB, value BLOB NOT NULL, headers BLOB)"
            )
    return places(connection, topic)


def subscribe(
    connection: sqlite3.Connection, group: str, topics: Sequence[str], partitions: int
) -> list[TablePosition]:
    """Note which topics the group reads from now on; old positions of the others are kept, but hold nothing back."""
    found = [place for topic in topics for place in made_places(connection, topic, partitions)]
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


def ending(connection: sqlite3.Connection, table: int) -> int:
    """The offset that the next record of the partition will have."""
    return number(connection, "SELECT ending FROM partitions WHERE id = ?", table)


def beginning(connection: sqlite3.Connection, place: TablePosition) -> int:
    """The first offset that is still there."""
    question = f"SELECT coalesce(min(offset), ?) FROM records_{place.table}"
    return number(connection, question, place.ending)


def tick(connection: sqlite3.Connection, now: int) -> int:
    """The time of a commit: now, but never before the latest in the file."""
    latest = max(now, number(connection, "SELECT latest FROM clock"))
    connection.execute("UPDATE clock SET latest = ?", (latest,))
    return latest


def insert(connection: sqlite3.Connection, table: int, timestamp: int, rows: Sequence[Row]) -> int:
    """Put records at the end of a partition; returns the offset behind them."""
    first = ending(connection, table)
    connection.executemany(
        f"INSERT INTO records_{table} VALUES (?, ?, ?, ?, ?)",
        ((offset, timestamp, *row) for offset, row in enumerate(rows, first)),
    )
    connection.execute("UPDATE partitions SET ending = ? WHERE id = ?", (first + len(rows), table))
    return first + len(rows)


def select(connection: sqlite3.Connection, table: int, rank: int, offset: int) -> sqlite3.Cursor:
    """Rows of (timestamp, rank, offset, key, value, headers) from this offset on: tuples that merge in their order."""
    question = f"SELECT timestamp, {rank}, offset, key, value, headers FROM records_{table}"
    return connection.execute(f"{question} WHERE offset >= ? ORDER BY offset", (min(max(offset, 0), _LAST_OFFSET),))


def remove(connection: sqlite3.Connection, place: TablePosition, before: int, most: int) -> int:
    """Remove the oldest records before this offset, so many at most, none that a group has to read; how many went."""
    needed = number(
        connection,
        "SELECT min(?, coalesce(min(position), ?)) FROM positions WHERE partition = ? AND reading",
        *(before, before, place.table),
    )
    limit = min(needed, beginning(connection, place) + most)
    return connection.execute(f"DELETE FROM records_{place.table} WHERE offset < ?", (limit,)).rowcount


def all_places(connection: sqlite3.Connection, topics: Iterable[str]) -> dict[Partition, TablePosition]:
    """The partitions of several topics."""
    return {place.partition: place for topic in topics for place in places(connection, topic)}
