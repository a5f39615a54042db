"""Fixtures of a real browser, and of a labeller who uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import Visit, launched, visiting
from tests.support.web_testbed import WebTestBed, page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, while the tests of a file run.

    No longer: as long as Playwright runs, no other test of the process could run an event loop.
    """
    with launched() as browser:
        yield browser


@pytest.fixture
def address(testbed: WebTestBed) -> Iterator[str]:
    """Of the page about it."""
    with page(testbed.settings) as found:
        yield found


@pytest.fixture
def ann(browser: Browser, address: str) -> Iterator[Visit]:
    """A labeller with a label request on the screen."""
    with visiting(browser, address) as visit:
        visit.open()
        visit.request_place()
        yield visit
