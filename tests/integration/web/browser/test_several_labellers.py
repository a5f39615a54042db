"""Several labellers, leases that end, and a server that goes away, with real browsers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import Visit, visiting, wait_until
from tests.support.commands import COMMAND
from tests.support.web_processes import Started, started
from tests.support.web_processes import address as printed
from tests.support.web_testbed import WebTestBed, page
from tests.support.workers import write_config

pytestmark = pytest.mark.browser

LEASE = 8.0
UNTIL_OVER = int(1000 * (LEASE + 0.5))


@pytest.fixture
def bob(browser: Browser, address: str) -> Iterator[Visit]:
    """Another labeller."""
    with visiting(browser, address, "bob") as visit:
        visit.open()
        yield visit


@pytest.mark.long
def test_two_labellers_never_have_the_same_mail(ann: Visit, bob: Visit, testbed: WebTestBed) -> None:
    open_at_first = ann.fetched("/api/requests")["open"]
    before = {"ann": ann.request_place(), "bob": bob.request_place()}
    seen = [*before.values()]
    for _ in range(3):
        for name, visit in (("ann", ann), ("bob", bob)):
            before[name] = visit.press("s" if name == "ann" else "h")
            seen.append(before[name])
            assert before["ann"] != before["bob"]
    assert len(seen) == len(set(seen)) == 8 <= open_at_first
    labels = testbed.labels()
    assert len({label["id"] for label in labels}) == len(labels) == 6
    assert {(label["labeller"], label["label"]) for label in labels} == {("ann", "spam"), ("bob", "ham")}
    expect(ann.the("daily-stats")).to_contain_text("6 answers (3 yours)")
    assert ann.fetched("/api/requests")["leased"] == 2


@pytest.mark.long
def test_a_labeller_gets_the_request_that_another_releases(browser: Browser, ann: Visit, bob: Visit) -> None:
    for _ in range(ann.fetched("/api/requests")["open"] - 2):
        ann.press("s")
    bob.request_place()
    place = ann.request_place()
    with visiting(browser, ann.address, "eve") as eve:
        eve.open()
        expect(eve.the("queue-empty")).to_contain_text("All open requests are leased")
        ann.page.close()
        assert eve.request_place() == place
        ann.page = ann.context.new_page()


@contextmanager
def _short_leases(folder: Path) -> Iterator[tuple[WebTestBed, str]]:
    testbed = WebTestBed(folder, web={"lease": f"{LEASE:.0f}s"})
    testbed.send_generated(30)
    testbed.work()
    with page(testbed.settings) as address:
        yield testbed, address


@pytest.mark.long
def test_an_expired_lease_is_offered_again_and_a_late_answer_gets_a_message(tmp_path: Path, browser: Browser) -> None:
    with (
        _short_leases(tmp_path) as (testbed, address),
        visiting(browser, address, "ann") as ann,
        visiting(browser, address, "bob") as bob,
    ):
        ann.open()
        place = ann.request_place()
        ann.page.wait_for_timeout(UNTIL_OVER)
        bob.open()
        assert bob.request_place() == place
        ann.allowed.append("409 (Conflict)")
        ann.page.keyboard.press("s")
        expect(ann.the("toast")).to_contain_text("another labeller has this request now", ignore_case=True)
        expect(ann.the("banners")).to_be_empty()
        assert ann.request_place(other_than=place)
        bob.press("h")
        (label,) = testbed.labels()
        assert (label["labeller"], label["label"]) == ("bob", "ham")


@pytest.mark.long
def test_an_active_labeller_keeps_the_lease(tmp_path: Path, browser: Browser) -> None:
    with (
        _short_leases(tmp_path) as (testbed, address),
        visiting(browser, address, "ann") as ann,
        visiting(browser, address, "bob") as bob,
    ):
        ann.open()
        place = ann.request_place()
        for step in range(UNTIL_OVER // 200):
            ann.page.mouse.move(100 + step, 200)
            ann.page.wait_for_timeout(200)
        bob.open()
        assert bob.request_place() != place
        assert ann.press("s") != place
        assert len(testbed.labels()) == 1


@contextmanager
def _served(testbed: WebTestBed, port: int = 0) -> Iterator[tuple[Started, str]]:
    """The page in a process of its own."""
    config = write_config(testbed.settings, testbed.path.with_name("settings.toml"))
    command = (*COMMAND, "web", "--config", str(config), "--port", str(port))
    with started(config.parent, *command) as process:
        yield process, printed(process).rstrip("/")


def test_no_answer_is_lost_when_the_server_restarts(testbed: WebTestBed, browser: Browser) -> None:
    with _served(testbed) as (process, address), visiting(browser, address) as ann:
        ann.open()
        place = ann.request_place()
        ann.stay()
        ann.allowed += ["net::ERR_", "403 (Forbidden)"]
        process.kill()
        process.wait()
        expect(ann.the("banner-offline")).to_contain_text("your answers are stored")
        expect(ann.the("health")).to_have_attribute("data-state", "bad")
        ann.page.keyboard.press("s")
        expect(ann.the("banner-outbox")).to_contain_text("could not be sent")
        expect(ann.the("queue-empty")).to_contain_text("Is stream-bayes web still running?")
        assert testbed.labels() == []
        with _served(testbed, int(address.rpartition(":")[2])):
            expect(ann.the("banners")).to_be_empty()
            wait_until(ann, lambda: len(testbed.labels()) == 1)
            second = ann.request_place(other_than=place)
            ann.press("h")
            ann.assert_stayed()
            ann.page.goto("about:blank")
        labels = [(label["source"]["offset"], label["label"]) for label in testbed.labels()]
        assert labels == [(int(place.split("/")[1]), "spam"), (int(second.split("/")[1]), "ham")]
