"""Files that are no log or cannot be one, and locks that stay: an error that says what to do."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from stream_bayes.errors import LogConflict, LogError, LogLocked
from stream_bayes.eventlog.sqlite import SqliteLog
from tests.support.disks import mount
from tests.support.logs import first, poll_all, put, values


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.mark.parametrize(
    "content", [b"hello", b"# mails\n" * 1000, os.urandom(5000), b"SQLite format 3\0" + bytes(4080)]
)
def test_a_file_that_is_not_sqlite_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LogError, match=r"log\.db: (this is not an SQLite file, so it is no log|the file is damaged)"):
        SqliteLog(path, "readers", ["mails"])
    assert path.read_bytes() == content
    assert [found.name for found in path.parent.iterdir()] == ["log.db"]


@pytest.mark.parametrize("statement", ["CREATE TABLE mine (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 3"])
def test_a_file_of_another_program_is_refused_and_left_alone(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(statement)
    content = path.read_bytes()
    with pytest.raises(LogError, match=r"belongs to another program\. Choose another path"):
        SqliteLog(path)
    assert path.read_bytes() == content


def altered(path: Path, statement: str) -> None:
    with SqliteLog(path) as log:
        put(log, "mails", *[bytes(3000)] * 50)
    with closing(sqlite3.connect(path)) as other:
        other.execute(statement)


def test_a_log_of_a_later_version_is_refused_with_the_advice_to_update(path: Path) -> None:
    altered(path, "PRAGMA user_version = 2")
    with pytest.raises(LogError, match=r"later version \(format 2, here 1\)\. Update stream_bayes"):
        SqliteLog(path)


@pytest.mark.parametrize("table", ["clock", "partitions", "positions", "records_1"])
def test_a_log_without_one_of_its_tables_is_refused(path: Path, table: str) -> None:
    altered(path, f"DROP TABLE {table}")
    with pytest.raises(LogError, match=rf"not as this version left it \(no such table: {table}\)"):
        write_and_trim(path)


def write_and_trim(path: Path) -> None:
    with SqliteLog(path) as log:
        put(log, "mails", b"one")
        log.trim(log.end_offsets("mails"))


def test_a_damaged_file_is_reported_where_it_is_read(path: Path) -> None:
    altered(path, "PRAGMA user_version = 1")
    content = bytearray(path.read_bytes())
    content[5 * 16384 :] = os.urandom(len(content) - 5 * 16384)
    path.write_bytes(content)
    with (
        pytest.raises(LogError, match=r"is damaged .* bring back a copy"),
        SqliteLog(path, "readers", ["mails"]) as log,
    ):
        poll_all(log)


def test_a_file_cut_short_is_reported(path: Path) -> None:
    altered(path, "PRAGMA user_version = 1")
    for size in (100, 16384, 3 * 16384 + 7):
        os.truncate(path, size)
        with pytest.raises(LogError, match=r"is damaged|not an SQLite file"), SqliteLog(path, "new", ["mails"]) as log:
            poll_all(log)
        path.unlink()
        altered(path, "PRAGMA user_version = 1")


def test_an_empty_file_becomes_a_log(path: Path) -> None:
    path.touch()
    with SqliteLog(path) as log:
        put(log, "mails", b"one")


def test_places_where_no_log_can_be(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"there is no folder .*none\. Create it \(mkdir -p\)"):
        SqliteLog(tmp_path / "none" / "log.db")
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(LogError, match=r"is not a file\. Name a file"):
            SqliteLog(place)
    with pytest.raises(LogError, match=r"File name too long"):
        SqliteLog(tmp_path / ("a" * 300))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("log\0.db", tmp_path / "loop"):
        with pytest.raises(LogError, match=r"cannot be the path of a log: "):
            SqliteLog(name)


def test_a_link_and_its_file_are_one_log(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(path)
    with SqliteLog(link, "readers", ["mails"]):
        with pytest.raises(LogConflict):
            SqliteLog(path, "readers", ["mails"])
        assert [found.name for found in link.parent.iterdir()] == ["link.db"]


def test_a_read_only_disk_and_a_read_only_file(small_disk: Path) -> None:
    path = small_disk / "log.db"
    with SqliteLog(path) as log:
        put(log, "mails", b"one")
    mount("--bind", path, path)
    mount("-o", "remount,bind,ro", path)
    with pytest.raises(LogError, match=rf"{path} cannot be written\. .* change the permissions"):
        SqliteLog(path)
    subprocess.run(["umount", str(path)], check=True)
    mount("-o", "remount,ro", small_disk)
    for place in (path, small_disk / "new.db"):
        with pytest.raises(LogError, match=r"cannot be written\. .* change the permissions"):
            SqliteLog(place)


def test_a_lock_that_stays_is_an_error_to_try_again_after(path: Path) -> None:
    with SqliteLog(path, wait=0.05) as log, closing(sqlite3.connect(path, isolation_level=None)) as other:
        put(log, "mails", b"one")
        other.execute("BEGIN IMMEDIATE")
        log.append("mails", b"two")
        calls: list[Callable[[], object]] = [
            lambda: log.commit({}),
            lambda: log.append("new", b""),
            lambda: log.trim({first("mails"): 1}),
        ]
        for call in calls:
            with pytest.raises(LogLocked, match=r"locked for more than 0\.05 s\. Find it with `fuser .*`") as caught:
                call()
            assert caught.value.retriable
        assert values(log.read("mails", 0, 0, 5)) == [b"one"]
        other.execute("ROLLBACK")
        log.commit({})
        assert values(log.read("mails", 0, 0, 5)) == [b"one", b"two"]


def test_a_lock_while_the_file_is_made(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LogLocked):
            SqliteLog(path, wait=0.05)
        other.execute("ROLLBACK")
    SqliteLog(path).close()


def test_a_short_lock_is_waited_for(path: Path) -> None:
    with SqliteLog(path) as log, closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        log.append("mails", b"one")
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.1, lambda: other.execute("ROLLBACK"))
        release.start()
        log.commit({})
        release.join()
        assert values(log.read("mails", 0, 0)) == [b"one"]


def test_another_thread_is_refused(path: Path) -> None:
    problems: list[BaseException] = []

    def use(log: SqliteLog) -> None:
        try:
            log.end_offsets("mails")
        except LogError as problem:
            problems.append(problem)

    with SqliteLog(path) as log:
        thread = threading.Thread(target=use, args=[log])
        thread.start()
        thread.join()
    assert "belongs to the thread that opened it" in str(problems[0])
