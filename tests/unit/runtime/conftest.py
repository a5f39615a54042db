"""Fixtures of the worker's tests: each log that needs no broker."""

from __future__ import annotations

import pytest

from tests.support.logs import Logs


@pytest.fixture
def logs(local_logs: Logs) -> Logs:
    """Each kind of log that needs no broker."""
    return local_logs
