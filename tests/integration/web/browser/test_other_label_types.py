"""Label requests whose labels are not spam or ham, and a page that has none, with a real browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import ASK_ALL, visiting, wait_until
from tests.support.web_testbed import WebTestBed, page

pytestmark = pytest.mark.browser

TICKETS = [{"id": f"t{number}", "text": f"word{number} of a ticket"} for number in range(10)]


def make_testbed(folder: Path, learner: dict[str, Any], observations: Sequence[dict[str, Any]]) -> WebTestBed:
    """A log with these observations and their label requests."""
    testbed = WebTestBed(folder, learner=learner, labels=ASK_ALL)
    with testbed.open() as log:
        for observation in observations:
            log.append("emails", json.dumps(observation).encode(), partition=0)
        log.commit({})
    testbed.work()
    return testbed


@pytest.mark.long
def test_digits_answer_where_the_labels_are_others(tmp_path: Path, browser: Browser) -> None:
    learner = {"name": "MultinomialNB", "parameters": {"classes": ["bug", "praise", "spam"]}}
    testbed = make_testbed(tmp_path, learner, TICKETS)
    with page(testbed.settings) as address, visiting(browser, address) as ann:
        ann.open()
        ann.press("2", "3", "1")
        # Letters mean nothing here, and neither does a digit too many.
        ann.page.keyboard.press("s")
        ann.page.keyboard.press("4")
        ann.page.get_by_role("button", name="Praise").click()
        wait_until(ann, lambda: len(testbed.labels()) == 4)
        ann.page.keyboard.press("?")
        expect(ann.the("help")).to_contain_text("Answer number 3")
        expect(ann.the("keys-body")).not_to_contain_text("Answer number 4")
    assert [label["label"] for label in testbed.labels()] == ["praise", "spam", "bug", "praise"]


def test_a_number_is_typed_where_numbers_are_predicted(tmp_path: Path, browser: Browser) -> None:
    points = [{"id": f"p{n}", "features": {"length": n * 0.5, "width": 1.0 + n % 3}} for n in range(10)]
    testbed = make_testbed(tmp_path, {"name": "BayesianLinearRegression"}, points)
    with page(testbed.settings) as address, visiting(browser, address) as ann:
        ann.open()
        first = ann.request_place()
        expect(ann.page.locator("#text table")).to_contain_text("length")
        expect(ann.the("selection-body")).to_contain_text("mean")
        field = ann.page.get_by_label("The number")
        field.fill("much")
        field.press("Enter")
        assert field.evaluate("one => one.validationMessage").startswith("A number is needed")
        assert testbed.labels() == []
        field.fill("-12.5")
        field.press("Enter")
        second = ann.request_place(other_than=first)
        expect(field).to_have_value("")
        field.fill("3")
        ann.page.get_by_role("button", name="Answer").click()
        third = ann.request_place(other_than=second)
        ann.the("undo").click()
        assert ann.request_place(other_than=third) == second
        field.fill("4")
        field.press("Enter")
        wait_until(ann, lambda: len(testbed.labels()) == 3)
    assert [label["label"] for label in testbed.labels()] == [-12.5, 3, 4]
    testbed.work()
    outcomes = [event["outcome"] for event in testbed.label_requests() if event["type"] == "label-outcome"]
    assert outcomes == ["answered", "answered", "corrected"]


@pytest.mark.long
def test_any_label_can_be_typed_when_the_labels_are_unknown(tmp_path: Path, browser: Browser) -> None:
    testbed = make_testbed(tmp_path, {"name": "MultinomialNB"}, TICKETS)
    with page(testbed.settings) as address, visiting(browser, address) as ann:
        ann.open()
        first = ann.request_place()
        field = ann.page.get_by_label("The label")
        field.fill("<b>praise</b>")
        field.press("Enter")
        second = ann.request_place(other_than=first)
        ann.the("labeller").focus()
        field.blur()
        ann.page.get_by_role("button", name="Not sure").click()
        ann.request_place(other_than=second)
        expect(ann.page.locator("main b")).to_have_count(0)
    assert [label["label"] for label in testbed.labels()] == ["<b>praise</b>", "unsure"]


@pytest.mark.long
def test_a_page_without_requests_says_what_to_do_and_shows_new_ones(tmp_path: Path, browser: Browser) -> None:
    testbed = WebTestBed(tmp_path)
    with page(testbed.settings) as address, visiting(browser, address) as ann:
        ann.open()
        expect(ann.the("queue-empty")).to_contain_text("stream-bayes run --log sqlite:///")
        expect(ann.the("health")).to_have_attribute("data-state", "warn")
        ann.turn_to("charts")
        expect(ann.the("chart-curve")).to_contain_text("Nothing learned yet")
        ann.turn_to("try")
        ann.the("try-text").fill("hello")
        ann.the("try-go").click()
        ann.allowed.append("404")
        expect(ann.the("try-problem")).to_contain_text("checkpoint")
        ann.turn_to("queue")
        # Keys without a request do nothing.
        for key in "shnku":
            ann.page.keyboard.press(key)
        ann.stay()
        with testbed.working():
            testbed.send_generated(20)
            ann.request_place()
            expect(ann.the("health")).to_have_attribute("data-state", "good")
        count = ann.fetched("/api/requests")["open"]
        assert count > 3
        for _ in range(count - 1):
            ann.press("s")
        ann.page.keyboard.press("h")
        expect(ann.the("queue-empty")).to_contain_text("Nothing to answer, and the worker was stopped")
        expect(ann.the("health-words")).to_contain_text("Worker stopped at ")
        with testbed.working():
            expect(ann.the("queue-empty")).to_contain_text("All requests are answered")
        expect(ann.the("open-count")).to_have_text("0")
        ann.assert_stayed()
    assert len(testbed.labels()) == count
