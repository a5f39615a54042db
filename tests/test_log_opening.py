"""Logs by their address."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.errors import LogError
from stream_bayes.log.opening import open_log
from tests.logs import drained, put, values


def test_a_relative_and_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_log("sqlite:///folder/log with spaces.db", partitions=3) as log:
        put(log, "mails", b"one")
        monkeypatch.chdir("/")
        put(log, "mails", b"two")
    with open_log(f"sqlite:///{tmp_path}/folder/log with spaces.db", "readers", ["mails"]) as log:
        assert values(drained(log)) == [b"one", b"two"]
        assert len(log.ends("mails")) == 3


def test_names_that_sqlite_would_take_for_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:log.db?mode=memory"):
        with open_log(f"sqlite:///{name}") as log:
            put(log, "mails", b"one")
        assert (tmp_path / name).is_file()


def test_kafka_comes_later() -> None:
    with pytest.raises(LogError, match=r"Kafka comes with a later version .* sqlite:///path\.db"):
        open_log("kafka://localhost:9092")


@pytest.mark.parametrize("url", ["", "log.db", "sqlite:///", "sqlite://log.db", "sqlite:log.db", "postgres://x/y"])
def test_any_other_address_is_refused_with_the_forms_there_are(url: str) -> None:
    with pytest.raises(LogError, match=r"not the address of a log\. Write sqlite:///relative/path\.db or sqlite:////"):
        open_log(url)
