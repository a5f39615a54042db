"""Addresses of Kafka clusters: what they may be, and what is said of those that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream_bayes.config import load_settings, parse_servers
from stream_bayes.errors import ConfigError, LogError


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder without settings."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("kafka://localhost", ("localhost:9092",)),
        ("kafka://one:9093,two,10.0.0.3:65535", ("one:9093", "two:9092", "10.0.0.3:65535")),
        ("kafka://[::1]:9092,[fe80::1]", ("[::1]:9092", "[fe80::1]:9092")),
        ("kafka://a-b.example_c:0009", ("a-b.example_c:9",)),
    ],
)
def test_the_servers_of_an_address(url: str, servers: tuple[str, ...]) -> None:
    assert parse_servers(url) == servers
    assert load_settings(None, {}, {"log": url}).settings.log == url


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("kafka://", "no server is named; write kafka://host:port, or several servers as kafka://host:port,host:port"),
        ("kafka:///topic", "no server is named"),
        ("kafka://one/topic", "nothing may follow the servers"),
        ("kafka://one:9092/", "nothing may follow the servers"),
        ("kafka://one, two", "it must not have spaces"),
        ("kafka://one,,two", "'' is not host:port"),
        ("kafka://:9092", "':9092' is not host:port"),
        ("kafka://one:", "'one:' is not host:port"),
        ("kafka://one:x", "'one:x' is not host:port"),
        ("kafka://one:0", "a port must be a number from 1 to 65535, not 0"),
        ("kafka://one:65536", "a port must be a number from 1 to 65535, not 65536"),
        ("kafka://one:²", "is not host:port"),
        ("kafka://one:" + "9" * 5000, "a port must be a number from 1 to 65535, not 99999"),
        ("kafka://one?a=b", "'one?a=b' is not host:port"),
        ("kafka://::1", "an IPv6 address must be in brackets"),
        ("kafka://[one]:9092", "'[one]:9092' is not host:port"),
    ],
)
def test_an_invalid_address_is_refused(url: str, problem: str) -> None:
    with pytest.raises(LogError) as caught:
        parse_servers(url)
    assert problem in str(caught.value)
    with pytest.raises(ConfigError) as refusal:
        load_settings(None, {}, {"log": url})
    assert str(refusal.value) == f"log (command line): {caught.value}"


def test_a_password_in_an_address_is_refused_with_a_hint() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(None, {}, {"log": "kafka://me:hunter2@one:9092"})
    assert str(caught.value) == (
        "log (command line): kafka://...@one:9092: the address of a log must not have a user or password. Set "
        "kafka.username and kafka.password or kafka.password_file (in the environment STREAM_BAYES__KAFKA__PASSWORD)"
    )
