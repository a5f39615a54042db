"""Fixtures of the page on a real server with a real log and a real worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.web_testbed import WebTestBed, client, page


@pytest.fixture
def testbed(tmp_path: Path) -> WebTestBed:
    """A log whose worker has requested some labels and written a checkpoint."""
    testbed = WebTestBed(tmp_path)
    testbed.send_generated(60)
    testbed.work()
    return testbed


@pytest.fixture
def http(testbed: WebTestBed) -> Iterator[httpx.Client]:
    """A client of the API."""
    with page(testbed.settings) as address, client(address) as ready:
        yield ready
