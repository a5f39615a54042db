"""Several processes on one file: waking, excluding, killing one another; clocks; the size of the write-ahead log."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from stream_bayes.errors import LogConflict, LogError
from stream_bayes.eventlog.sqlite import SqliteLog, file, tables
from stream_bayes.records import Record
from tests.support.commands import ENVIRONMENT, PATIENCE
from tests.support.logs import first, poll_all, put, values

OPENING = "import sys, time; from stream_bayes.eventlog.sqlite import SqliteLog; path = sys.argv[1]\n"
HOLDER = "log = SqliteLog(path, 'readers', ['mails']); print('ready', flush=True); sys.stdin.read()"
LATE_WRITER = """
log = SqliteLog(path)
print('ready', flush=True)
sys.stdin.readline()
time.sleep(0.2)
log.append('mails', b'late')
log.commit({})
"""
MANY_WRITER = """
log = SqliteLog(path)
for commit in range(40):
    for number in range(5):
        log.append('mails', f'{sys.argv[2]} {5 * commit + number}'.encode())
    log.commit({})
"""
WORKER = """
from stream_bayes.records import Partition
log = SqliteLog(path, 'readers', ['mails'])
print('ready', flush=True)
while records := log.poll(7, 0.0):
    for record in records:
        log.append('out', record.value)
    log.append('journal', f'{records[0].offset} {records[-1].offset + 1}'.encode())
    log.commit({Partition('mails', 0): records[-1].offset + 1})
"""


@contextmanager
def process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another interpreter that runs this; killed at the end if it still does."""
    command = [sys.executable, "-c", OPENING + code, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as child:
        yield child
        child.kill()


def ready(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def test_a_record_of_another_process_wakes_a_poll_that_hardly_works_meanwhile(path: Path) -> None:
    with SqliteLog(path, "readers", ["mails"]) as log, process(LATE_WRITER, path) as child:
        # Of this thread alone, and not of the clock on the wall.
        before = time.thread_time()
        assert log.poll(10, timeout=2.0) == []
        assert time.thread_time() - before < 0.25 * 2.0
        ready(child)
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
        assert values(log.poll(10, timeout=PATIENCE)) == [b"late"]


class Rung(Exception):
    """What the handler of an alarm raises."""


def ring(*_: object) -> None:
    raise Rung


def test_a_signal_interrupts_waiting_for_records_and_for_a_lock(path: Path) -> None:
    before = signal.signal(signal.SIGALRM, ring)
    with SqliteLog(path, "readers", ["mails"]) as log, closing(sqlite3.connect(path, isolation_level=None)) as other:
        log.append("mails", b"one")
        other.execute("BEGIN IMMEDIATE")
        waits: list[Callable[[], object]] = [lambda: log.poll(1, timeout=PATIENCE), lambda: log.commit({})]
        for wait in waits:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Rung):
                wait()
        other.execute("ROLLBACK")
        log.commit({})
        assert values(poll_all(log)) == [b"one"]
    signal.signal(signal.SIGALRM, before)


def test_writers_do_not_disturb_one_another(path: Path) -> None:
    with process(MANY_WRITER, path, "a") as one, process(MANY_WRITER, path, "b") as two:
        with SqliteLog(path, "readers", ["mails"]) as log:
            records: list[Record] = []
            while len(records) < 400:
                records += log.poll(17, timeout=PATIENCE)
        assert [child.wait(PATIENCE) for child in (one, two)] == [0, 0]
    assert [record.offset for record in records] == list(range(400))
    for name in (b"a", b"b"):
        own = [record.value for record in records if record.value.startswith(name)]
        assert own == [name + b" %d" % number for number in range(200)]
    assert all(len({record.value[:1] for record in records[start : start + 5]}) == 1 for start in range(0, 400, 5))


def test_a_second_worker_is_refused_with_the_process_id_of_the_first(path: Path) -> None:
    with process(HOLDER, path) as child:
        ready(child)
        with pytest.raises(LogConflict, match=rf"process {child.pid} already reads for the group 'readers'\. Stop it"):
            SqliteLog(path, "readers", ["mails"])
        SqliteLog(path, "others", ["mails"]).close()
        child.kill()
        child.wait(PATIENCE)
        SqliteLog(path, "readers", ["mails"]).close()


def test_a_worker_whose_lock_was_removed_cannot_commit(path: Path) -> None:
    with SqliteLog(path, "readers", ["mails"]) as old:
        put(old, "mails", b"one", b"two")
        path.with_name("log.db.readers.lock").unlink()
        with SqliteLog(path, "readers", ["mails"]) as new:
            new.commit({first("mails"): 1})
            old.append("out", b"counted twice")
            for offsets in ({first("mails"): 2}, {}):
                with pytest.raises(LogConflict, match="another worker has moved the positions of the group 'readers'"):
                    old.commit(offsets)
            assert new.committed() == {first("mails"): 1}
            assert new.end_offsets("out") == {first("out"): 0}


def test_every_commit_is_complete_when_a_worker_is_killed_at_any_moment(path: Path) -> None:
    contents = [b"%d" % number for number in range(20_000)]
    with SqliteLog(path) as log:
        put(log, "mails", *contents)
    reached = [0]
    chance = random.Random(5)
    for _ in range(8):
        with process(WORKER, path) as child:
            ready(child)
            time.sleep(0.1 * chance.random())
            child.send_signal(signal.SIGKILL)
            child.wait(PATIENCE)
        with SqliteLog(path, "readers", ["mails"]) as log:
            position = log.committed()[first("mails")]
            assert values(log.read("out", 0, 0, 30_000)) == contents[:position]
            runs = [tuple(map(int, record.value.split())) for record in log.read("journal", 0, 0, 30_000)]
            assert [start for start, _ in runs] == [0, *(end for _, end in runs)][: len(runs)]
            assert not runs or runs[-1][1] == position
        reached.append(position)
    assert reached == sorted(reached)
    assert reached[-1] > 0


def test_times_never_fall_whatever_the_clock_does(path: Path) -> None:
    times = iter([1000.0, 400.0, -5.0, 1000.0005, 1001.0])
    for topic in ("mails", "labels", "mails", "labels", "mails"):
        with SqliteLog(path, clock=lambda: next(times)) as log:
            put(log, topic, topic.encode())
    with SqliteLog(path, "readers", ["mails", "labels"]) as log:
        assert [(record.timestamp, record.topic) for record in poll_all(log)] == [
            (1_000_000, "mails"),
            (1_000_000, "mails"),
            (1_000_000, "labels"),
            (1_000_000, "labels"),
            (1_001_000, "mails"),
        ]


def wal_bytes(path: Path) -> int:
    return path.with_name(f"{path.name}-wal").stat().st_size


def test_the_write_ahead_log_stays_small_during_reads(path: Path) -> None:
    with SqliteLog(path) as writer, SqliteLog(path, "readers", ["mails"]) as reader:
        largest = 0
        for _ in range(60):
            put(writer, "mails", *[bytes(3000)] * 300)
            reader.poll(1000, timeout=0.0)
            largest = max(largest, wal_bytes(path))
        assert path.stat().st_size > 50_000_000
        assert largest < 2 * file.CHECKPOINT_BYTES
    assert sorted(found.name for found in path.parent.iterdir()) == ["log.db", "log.db.readers.lock"]


def test_the_write_ahead_log_shrinks_after_a_reader_that_stood_in_the_way(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "WAL_BYTES", 1 << 20)
    with SqliteLog(path) as log:
        put(log, "mails", b"")
        with closing(sqlite3.connect(path, isolation_level=None)) as stranger:
            stranger.execute("BEGIN")
            stranger.execute("SELECT * FROM partitions").fetchall()
            for _ in range(4):
                put(log, "mails", bytes(1 << 20))
            assert wal_bytes(path) > 4 << 20
        for _ in range(3):
            put(log, "mails", bytes(1 << 20))
        assert wal_bytes(path) <= 2 << 20


def test_retention_frees_space_for_new_records(path: Path) -> None:
    with SqliteLog(path) as log:
        sizes = []
        for _ in range(6):
            put(log, "mails", *[bytes(3000)] * 2500)
            log.trim(log.end_offsets("mails"))
            assert log.earliest_offsets("mails") == log.end_offsets("mails")
            sizes.append(path.stat().st_size)
    assert max(sizes) < 2 * 2500 * 3300


def test_nothing_is_written_to_a_file_that_is_no_longer_there(path: Path) -> None:
    with SqliteLog(path, "readers", ["mails"]) as log:
        put(log, "mails", b"one")
        moved = path.rename(path.with_name("moved.db"))
        log.append("mails", b"two")
        with pytest.raises(LogError, match="removed or replaced while this log was open"):
            log.commit({})
        moved.rename(path)
        log.commit({})
        assert values(poll_all(log)) == [b"one", b"two"]


def test_a_log_that_another_process_creates_meanwhile_is_no_foreign_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process creates it between two reads of the header, if it can."""
    path = tmp_path / "new.db"
    read_number = tables.number
    attempts: list[str] = []

    def number(connection: sqlite3.Connection, query: str, *values: object) -> int:
        result = read_number(connection, query, *values)
        if query == "PRAGMA application_id" and not attempts:
            attempts.append(query)
            with closing(sqlite3.connect(path, timeout=0.0, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                tables.create(other, path)
                with suppress(sqlite3.OperationalError):
                    other.execute("COMMIT")
        return result

    monkeypatch.setattr(tables, "number", number)
    with SqliteLog(path) as log:
        put(log, "mails", b"one")
        assert values(log.read("mails", 0, 0, 10)) == [b"one"]
    assert attempts
