"""A log on a disk without space: nothing is lost, and it goes on once there is some."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from stream_bayes.errors import LogError, LogFull
from stream_bayes.eventlog.sqlite import SqliteLog
from tests.support.disks import fill, mount
from tests.support.logs import first, poll_all, put, values


def test_staged_records_survive_a_full_disk_and_are_committed_later(small_disk: Path) -> None:
    path = small_disk / "log.db"
    with SqliteLog(path, "readers", ["mails"]) as log:
        put(log, "mails", b"one")
        ballast = fill(small_disk, but=64 << 10)
        for number in range(100):
            log.append("mails", b"%d" % number * 1000)
        for _ in range(2):
            with pytest.raises(LogFull, match=r"no space left in .*small\. Nothing of this commit was written"):
                log.commit({first("mails"): 1})
        assert values(poll_all(log)) == [b"one"]
        assert log.committed() == {first("mails"): 0}
        ballast.unlink()
        log.commit({first("mails"): 1})
        assert [record.offset for record in poll_all(log)] == list(range(1, 101))
        assert log.committed() == {first("mails"): 1}


def test_a_disk_filled_by_a_write_ahead_log_that_a_reader_holds(small_disk: Path) -> None:
    path = small_disk / "log.db"
    with SqliteLog(path) as log, closing(sqlite3.connect(path, isolation_level=None)) as stranger:
        put(log, "mails", b"")
        stranger.execute("BEGIN")
        stranger.execute("SELECT * FROM partitions").fetchall()
        with pytest.raises(LogFull):
            put_for_ever(log)
        written = log.end_offsets("mails")[first("mails")]
        assert written > 20
        assert [record.offset for record in log.read("mails", 0, 0, 100)] == list(range(written))
        stranger.execute("ROLLBACK")
        mount("-o", "remount,size=16m", small_disk)
        log.commit({})
        assert len(log.read("mails", 0, 0, 100)) == written + 1


def put_for_ever(log: SqliteLog) -> None:
    while True:
        put(log, "mails", bytes(100_000))


def attempt(path: Path, group: str | None) -> None:
    with SqliteLog(path, group, ["mails"] if group else []) as log:
        log.append("mails", bytes(20_000), b"key")
        log.commit({})


@pytest.mark.parametrize("opened_before", [False, True])
def test_however_little_space_there_is_a_commit_is_whole_or_not_there(small_disk: Path, opened_before: bool) -> None:
    path = small_disk / "log.db"
    outcomes = set()
    for pages in range(0, 120, 3):
        for left_over in small_disk.iterdir():
            left_over.unlink()
        if opened_before:
            attempt(path, "readers")
        ballast = fill(small_disk, but=4096 * pages)
        outcomes.add(outcome(lambda: attempt(path, "readers")))
        ballast.unlink()
        before = whole_records(path)
        attempt(path, "readers")
        assert whole_records(path) == before + 1
    assert outcomes == {None, LogFull}


def outcome(call: Callable[[], None]) -> type[LogError] | None:
    try:
        call()
    except LogError as problem:
        return type(problem)
    return None


def whole_records(path: Path) -> int:
    with SqliteLog(path) as log:
        return len(log.read("mails", 0, 0, 100))
