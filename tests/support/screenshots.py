"""`python -m tests.support.screenshots`: the pictures of the page in docs/images, from a real run (two minutes).

A demo is played to its end; then its worker runs on, more mails come, and some label requests are answered by key.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from stream_bayes.demo.mailbox import mailbox
from stream_bayes.eventlog.factory import open_log
from tests.support.browser import CHROMIUM, QUIET
from tests.support.commands import COMMAND, ROOT

IMAGES = ROOT / "docs" / "images"
MAILS = 4000
MORE = 400
ANSWERS = 8
WIDE = ViewportSize(width=1360, height=880)
NARROW = ViewportSize(width=360, height=780)
_HEADERS = (("content-type", b"message/rfc822"),)


def main() -> None:
    """Take them all."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder) / "demo"
        subprocess.run([*COMMAND, "demo", "--mails", str(MAILS), "--folder", str(demo)], check=True)
        truth = send_more(demo / "demo.db")
        with running("run", demo), running("web", demo) as page, sync_playwright() as playwright:
            assert page.stdout is not None
            address = page.stdout.readline().split()[4]
            with playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET) as browser:
                take(browser, address, truth)
    for path in sorted(IMAGES.glob("*.png")):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def send_more(database: Path) -> dict[str, str]:
    """Mails of another mailbox, by whose ids their labels are known."""
    mails = list(mailbox(7, MORE))
    with open_log(f"sqlite:///{database}") as log:
        for mail in mails:
            log.append("emails", mail.raw, headers=(*_HEADERS, ("id", f"more-{mail.id}".encode())))
        log.commit({})
    return {f"more-{mail.id}": mail.label for mail in mails}


@contextmanager
def running(command: str, demo: Path) -> Iterator[subprocess.Popen[str]]:
    """The worker or the page of the demo."""
    options = ["--config", str(demo / "stream_bayes.toml"), *(["--port", "0"] if command == "web" else [])]
    with subprocess.Popen(
        [*COMMAND, command, *options], stdout=subprocess.PIPE, stderr=sys.stderr, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def take(browser: Browser, address: str, truth: dict[str, str]) -> None:
    """Answer some label requests as a labeller does, then take the pictures."""
    with opened(browser, address, "light") as page:
        for _ in range(ANSWERS):
            # A mail that has just come takes no answer yet.
            page.wait_for_selector("#skip:not([aria-disabled='true'])")
            name = page.locator("#request").inner_text()
            label = next((label for mail, label in truth.items() if mail in name), "spam")
            place = page.get_attribute("#request", "data-place")
            page.keyboard.press(label[0])
            expect(page.locator("#request")).not_to_have_attribute("data-place", place or "")
        page.wait_for_timeout(6000)
        page.screenshot(path=IMAGES / "queue-light.png")
    for name, view, scheme, narrow in (
        ("queue-dark", "", "dark", False),
        ("queue-narrow", "", "light", True),
        ("charts-light", "#charts", "light", False),
        ("charts-dark", "#charts", "dark", False),
    ):
        with opened(browser, address + view, "dark" if scheme == "dark" else "light", narrow=narrow) as page:
            if view:
                show_posterior(page)
            page.wait_for_timeout(1500)
            page.screenshot(path=IMAGES / f"{name}.png", full_page=bool(view))


def show_posterior(page: Page) -> None:
    """That of a word which spam likes."""
    page.fill("#posterior-form input", "account")
    page.click("#posterior-form button")
    page.wait_for_selector("#chart-posterior svg")
    page.evaluate("scrollTo(0, 0)")


@contextmanager
def opened(browser: Browser, address: str, scheme: Literal["light", "dark"], *, narrow: bool = False) -> Iterator[Page]:
    """The page in a window of its own."""
    context = browser.new_context(viewport=NARROW if narrow else WIDE, color_scheme=scheme, device_scale_factor=1.5)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#chart-curve[data-points]" if "#charts" in address else "#request[data-place]")
    yield page
    context.close()


if __name__ == "__main__":
    main()
