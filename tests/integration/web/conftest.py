"""Fixtures of the page on a real server with a real log and a real worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.web_testbed import Office, client, page


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """A log whose worker has asked some questions, and has written a checkpoint."""
    office = Office(tmp_path)
    office.send_generated(60)
    office.work()
    return office


@pytest.fixture
def http(office: Office) -> Iterator[httpx.Client]:
    """A client of a page about it."""
    with page(office.settings) as address, client(address) as ready:
        yield ready
