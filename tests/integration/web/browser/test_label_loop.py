"""The whole loop: a worker and the page as two processes, and a person with a browser between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import Visit, visiting, wait_until
from tests.support.commands import COMMAND
from tests.support.web_processes import address, started
from tests.support.web_testbed import WebTestBed
from tests.support.workers import write_config

pytestmark = pytest.mark.browser

KEYS = {"spam": "s", "ham": "h"}


def test_an_answer_updates_the_charts(tmp_path: Path, browser: Browser) -> None:
    testbed = WebTestBed(tmp_path)
    config = str(write_config(testbed.settings, tmp_path / "settings.toml"))
    with (
        started(tmp_path, *COMMAND, "web", "--config", config, "--port", "0") as server,
        visiting(browser, address(server).rstrip("/")) as ann,
    ):
        ann.open()
        ann.stay()
        expect(ann.the("queue-empty")).to_contain_text("stream-bayes run")
        testbed.send_generated(60)
        with started(tmp_path, *COMMAND, "run", "--config", config):
            # The worker reads the demo's mails, and asks.
            places = [ann.request_place()]
            labels_given = []
            for _ in range(4):
                labels_given.append(testbed.truth[_shown_id(ann)])
                places.append(ann.press(KEYS[labels_given[-1]]))
            labels = testbed.labels()
            assert [label["label"] for label in labels] == labels_given
            assert [f"0/{label['source']['offset']}" for label in labels] == places[:4]
            # It learns, and says so.
            wait_until(ann, lambda: _learned(ann) == 4)
            ann.turn_to("charts")
            curve = ann.the("chart-curve")
            expect(curve).to_have_attribute("data-last", "4")
            points = int(curve.get_attribute("data-points") or 0)
            line = _line(ann)
            ann.turn_to("queue")
            labels_given.append(testbed.truth[_shown_id(ann)])
            ann.press(KEYS[labels_given[-1]])
            testbed.send_generated(60)
            ann.turn_to("charts")
            expect(curve).to_have_attribute("data-last", "5")
            wait_until(ann, lambda: int(curve.get_attribute("data-points") or 0) > points and _line(ann) != line)
            expect(ann.the("chart-histogram")).to_have_attribute("data-last", "120")
            # What it has learned is in a checkpoint, which explains the next label request.
            wait_until(ann, lambda: ann.fetched(f"/api/requests/{places[-1]}")["prediction"]["model_version"] == 5)
            ann.assert_stayed()
            assert _learned(ann) == 5
        ann.page.goto("about:blank")


def _shown_id(ann: Visit) -> str:
    return ann.page.locator("#facts .id").inner_text()


def _learned(ann: Visit) -> int:
    return sum(partition["labels_learned"] for partition in ann.fetched("/api/status")["partitions"])


def _line(ann: Visit) -> str | None:
    """The labels used, as they are drawn."""
    return ann.page.locator("#chart-curve path.line.l3").get_attribute("d")
