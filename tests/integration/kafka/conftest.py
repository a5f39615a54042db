"""Fixtures of workers on a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import Broker, RemoteBroker
from tests.support.kafka_workers import KafkaTestBed, Make


@pytest.fixture
def make(broker: Broker | RemoteBroker, tmp_path: Path) -> Iterator[Make]:
    """A new scene with this number of partitions and these settings."""
    made: list[KafkaTestBed] = []

    def scene(partitions: int = 1, **sections: dict[str, Any]) -> KafkaTestBed:
        made.append(KafkaTestBed(tmp_path, broker.address, partitions, **sections))
        return made[-1]

    yield scene
    for one in made:
        one.close()
