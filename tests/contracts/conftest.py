"""Fixtures of the log contract: each kind of log in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.logs import LOCAL, Logs, local_kind


@pytest.fixture(params=[*LOCAL, pytest.param("kafka", marks=pytest.mark.broker)])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Logs]:
    """Each kind in turn."""
    if request.param == "kafka":
        from tests.support.kafka_logs import KafkaLogs  # noqa: PLC0415 - it is made of what is here

        kind: Logs = KafkaLogs(request.getfixturevalue("broker").address)
    else:
        kind = local_kind(request.param, tmp_path)
    yield kind
    kind.close()


@pytest.fixture
def mails(logs: Logs) -> str:
    """A topic of the test's own."""
    return logs.topic("mails")
