"""Fixtures of a real browser, and of a labeler who uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.support.browser import CHROMIUM, NONE, QUIET, Visit, visiting
from tests.support.web_testbed import WebTestBed, page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, while the tests of a file run.

    No longer: as long as Playwright runs, no other test of the process could run an event loop.
    """
    with sync_playwright() as playwright:
        path = CHROMIUM or playwright.chromium.executable_path
        if not Path(path).exists():
            pytest.skip(NONE)
        opened = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield opened
        opened.close()


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
