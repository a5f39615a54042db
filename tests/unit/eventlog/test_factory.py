"""Logs by their address."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stream_bayes.config import Settings, SqliteSettings
from stream_bayes.errors import LogError, LogNotFound
from stream_bayes.eventlog.factory import open_existing_log, open_log
from tests.support.logs import poll_all, put, values


def test_a_relative_and_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_log("sqlite:///folder/log with spaces.db", partitions=3) as log:
        put(log, "mails", b"one")
        monkeypatch.chdir("/")
        put(log, "mails", b"two")
    with open_log(f"sqlite:///{tmp_path}/folder/log with spaces.db", "readers", ["mails"]) as log:
        assert values(poll_all(log)) == [b"one", b"two"]
        assert len(log.end_offsets("mails")) == 3


@pytest.mark.parametrize("lock_seconds", [None, 0.5])
def test_an_existing_log_is_opened_and_a_missing_one_is_not_created(tmp_path: Path, lock_seconds: float | None) -> None:
    path = tmp_path / "log.db"
    settings = Settings(log=f"sqlite:///{path}", sqlite=SqliteSettings(record_bytes=2 << 20))
    with pytest.raises(LogNotFound, match=rf"there is no such log \({path}\)"):
        open_existing_log(settings, lock_seconds=lock_seconds)
    assert not path.exists()
    with open_log(settings.log) as log:
        put(log, "mails", b"one")
    with open_existing_log(settings, lock_seconds=lock_seconds) as log:
        assert log.max_record_bytes("mails") == 2 << 20
        assert [record.value for record in log.read("mails", 0, 0, 9)] == [b"one"]


def test_names_that_sqlite_would_take_for_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:log.db?mode=memory"):
        with open_log(f"sqlite:///{name}") as log:
            put(log, "mails", b"one")
        assert (tmp_path / name).is_file()


def test_item17_without_its_client_a_log_on_kafka_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("stream_bayes.eventlog.kafka")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kafka", None)
    with pytest.raises(LogError, match=r"needs the package kafka-python, .* pip install kafka-python"):
        open_log("kafka://localhost:9092")


def test_a_password_is_not_repeated() -> None:
    for url in ("kafka://me:hunter2@host", "kafka:me:hunter2@host", "http://me:hun/ter2@host", "me:hunter2@host"):
        with pytest.raises(LogError) as caught:
            open_log(url)
        assert "ter2" not in str(caught.value)
        assert "@host" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "kafka:host",
        "kafka:/host:9092",
        "log.db",
        "sqlite:///",
        "sqlite://log.db",
        "sqlite:log.db",
        "postgres://x/y",
    ],
)
def test_any_other_address_is_refused_with_the_forms_there_are(url: str) -> None:
    with pytest.raises(
        LogError,
        match=r"not the address of a log\. Write sqlite:///relative/path\.db or sqlite:////.* or kafka://host:port",
    ):
        open_log(url)
