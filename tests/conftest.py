"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.broker import Broker, RemoteBroker, install_missing_tools, kafka_jars, missing_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

REMOTE_BROKER = "STREAM_BAYES_KAFKA"


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker | RemoteBroker]:
    """A real Kafka broker: the one STREAM_BAYES_KAFKA names, else our own, for which Java and Maven are needed."""
    address = os.environ.get(REMOTE_BROKER)
    if address:
        yield RemoteBroker(address)
        return
    install_missing_tools()
    missing = missing_tools()
    if not missing:
        with Broker(kafka_jars()) as own:
            yield own
    else:
        pytest.skip(
            f"no Kafka broker: {' and '.join(missing)} not found. Install Java 17 and Maven (Debian: apt-get "
            f"install openjdk-17-jre-headless maven), or set {REMOTE_BROKER} to the host:port of a broker"
        )


@pytest.fixture
def killable_broker(broker: Broker | RemoteBroker) -> Iterator[Broker]:
    """Our own broker, for a test that kills it; it runs again when the test has ended."""
    if isinstance(broker, RemoteBroker):
        pytest.skip(f"the broker at {broker.address} is not ours to kill: install Java 17 and Maven")
    yield broker
    broker.start()
