"""A real browser for tests of the page: headless Chromium, and visits on which nothing goes wrong unnoticed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NONE = (
    "there is no web browser: 'make tests' gets one, as does 'apt-get install chromium' or '.venv/bin/playwright "
    "install chromium'"
)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 120_000
"""Milliseconds after which a test stops waiting for something on a page."""
ASK_ALL = {"budget": None, "per_period": 1_000_000, "audit_fraction": 0.0, "max_open_requests": 500, "similarity": 1.0}
"""The labels' settings with which a worker requests all labels."""
VIEWS = ("queue", "charts", "try")
_WATCHED = """{
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI} ${event.sample}`));
const stored = "stream_bayes.labeller", name = %(name)s;
if (location.protocol === "http:" && name !== null && localStorage.getItem(stored) === null)
  localStorage.setItem(stored, JSON.stringify(name));
}"""

expect.set_options(timeout=PATIENCE)


class Visit:
    """A visit to the page by one person, with everything that happens there.

    Parameters
    ----------
    context
        The browser context of this person.
    address
        The address of the page.
    """

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.context = context
        self.address = address
        self.allowed: list[str] = []
        """Parts of messages on the console that a test expects."""
        self.requests: list[str] = []
        """All requested addresses."""
        self._problems: list[str] = []
        context.set_default_timeout(PATIENCE)
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("console", self._noted)
        context.on("weberror", lambda error: self._problems.append(f"error: {error.error}"))
        context.on("dialog", self._dismissed)
        self.page: Page = context.new_page()

    def _noted(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._problems.append(f"{message.type}: {message.text}")

    def _dismissed(self, dialog: Any) -> None:
        self._problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def the(self, name: str) -> Locator:
        """The element with an id."""
        return self.page.locator(f"#{name}")

    def open(self, view: str = "") -> None:
        """Load or reload the page with this view."""
        if self.page.url.startswith(self.address):
            self.page.goto("about:blank")
        self.page.goto(f"{self.address}/#{view}")

    def turn_to(self, view: str) -> None:
        """Go to another view of the page that is loaded."""
        self.page.locator(f'nav [data-view="{view}"]').click()
        expect(self.the(f"view-{view}")).to_be_visible()

    def request_place(self, other_than: str | None = None) -> str:
        """Wait for a label request that can be answered, and return its place."""
        there = self.the("request")
        expect(there).to_have_attribute("data-place", re.compile("."))
        if other_than is not None:
            expect(there).not_to_have_attribute("data-place", other_than)
        expect(self.the("skip")).to_have_attribute("aria-disabled", "false")
        place = there.get_attribute("data-place")
        assert place is not None
        return place

    def press(self, *keys: str) -> str:
        """Press keys, one for each label request, and return the place of the next request."""
        place = self.request_place()
        for key in keys:
            self.page.keyboard.press(key)
            place = self.request_place(other_than=place)
        return place

    def fetched(self, path: str) -> Any:
        """The response of the API to this person."""
        answer = self.context.request.get(f"{self.address}{path}")
        assert answer.ok, answer.text()
        return answer.json()

    def stay(self) -> None:
        """Mark the page, so that a reload can be detected."""
        self.page.evaluate("window.stayed = true")

    def assert_stayed(self) -> None:
        """Check that the page was not reloaded."""
        assert self.page.evaluate("window.stayed") is True

    def check(self) -> None:
        """Check that there were no errors, and that only the page's server got requests."""
        # Events of the page arrive before the answer to a later call.
        self.page.evaluate("0")
        wrong = [text for text in self._problems if not any(part in text for part in self.allowed)]
        assert not wrong, wrong
        own = urlsplit(self.address).netloc
        left = [url for url in self.requests if urlsplit(url).netloc != own and not url.startswith("data:,")]
        assert not left, left
        assert len(self.context.pages) == 1


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium; without one the test is skipped."""
    with sync_playwright() as playwright:
        path = CHROMIUM or playwright.chromium.executable_path
        if not Path(path).exists():
            pytest.skip(NONE)
        with playwright.chromium.launch(executable_path=path, args=QUIET) as browser:
            yield browser


@contextmanager
def visiting(browser: Browser, address: str, labeller: str | None = "ann", **options: Any) -> Iterator[Visit]:
    """A visit by a labeller of this name, which is checked at its end."""
    context = browser.new_context(**options)
    context.add_init_script(_WATCHED % {"name": json.dumps(labeller)})
    try:
        visit = Visit(context, address)
        yield visit
        visit.check()
    finally:
        context.close()


def wait_until(visit: Visit, holds: Callable[[], bool]) -> None:
    """Wait for something outside of the page, while the page goes on."""
    for _ in range(PATIENCE // 50):
        if holds():
            return
        visit.page.wait_for_timeout(50)
    message = "it does not come to this"
    raise AssertionError(message)
