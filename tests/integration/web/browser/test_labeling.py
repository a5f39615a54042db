"""Labelling on the page, with a real browser: keys, buttons, skipping and undo."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import Visit, wait_until
from tests.support.web_testbed import WebTestBed

pytestmark = pytest.mark.browser


def offset_of(label: dict[str, Any]) -> str:
    """Where what was labelled is, as the page writes it."""
    return f"{label['source']['partition']}/{label['source']['offset']}"


def test_keys_answer_and_the_next_mail_comes_by_itself(ann: Visit, testbed: WebTestBed) -> None:
    ann.stay()
    places = [ann.asked()]
    for key in ("s", "h", "n"):
        places.append(ann.press(key))
    labels = testbed.labels()
    assert [(label["label"], label["labeller"]) for label in labels] == [
        ("spam", "ann"),
        ("ham", "ann"),
        ("unsure", "ann"),
    ]
    assert [offset_of(label) for label in labels] == places[:3]
    assert len(set(places)) == 4
    expect(ann.the("changes")).to_have_attribute("data-mine", "3")
    expect(ann.the("changes")).to_contain_text("1 not sure")
    ann.assert_stayed()


def test_a_question_says_why_it_was_asked_and_what_the_filter_thinks(ann: Visit, testbed: WebTestBed) -> None:
    for _ in range(6):
        question = ann.fetched(f"/api/requests/{ann.asked()}")
        ann.press({"spam": "s", "ham": "h"}[testbed.truth[question["id"]]])
    testbed.work()
    wait_until(ann, lambda: bool(ann.fetched(f"/api/requests/{ann.asked()}")["opinion"]["model_version"] == 6))
    place = ann.asked()
    wait_until(ann, lambda: ann.fetched(f"/api/requests/{place}")["asked"]["score_now"] is not None)
    ann.page.reload()
    question = ann.fetched(f"/api/requests/{ann.asked()}")
    asked = question["asked"]
    opinion = question["opinion"]
    expect(ann.the("subject")).to_have_text(question["subject"])
    expect(ann.the("sender")).to_have_text(question["sender"])
    (low, high) = asked["interval"]
    label = asked["interval_of"]
    words = f"{label} {asked['probabilities'][label]:.2f} 95 % between {low:.2f} and {high:.2f}"
    expect(ann.the("asked-body").locator(".belief-words")).to_have_text(words)
    ignorance = ann.the("asked-body").locator(".doubt-parts dd").first.inner_text()
    assert float(ignorance.split()[0]) == pytest.approx(asked["epistemic_variance"], rel=0.01)
    worth = ann.the("worth").locator("strong").inner_text()
    # The score is of the time when the page asked for it: that of the worker, or of a newer model.
    known = [asked["score"], asked["score_now"] or asked["score"]]
    assert worth == "Drawn by chance" or any(float(worth) == pytest.approx(score, rel=0.01) for score in known)
    assert (worth == "Drawn by chance") == (asked["strategy"] == "audit")
    assert opinion["reasons"]
    for reason in opinion["reasons"][:3]:
        expect(ann.the("opinion-body")).to_contain_text(reason["text"])


def test_skipping_writes_nothing_and_what_was_skipped_can_be_seen_again(ann: Visit, testbed: WebTestBed) -> None:
    first = ann.asked()
    count = ann.fetched("/api/requests")["open"]
    seen = {first}
    for _ in range(count - 1):
        seen.add(ann.press("k"))
    assert len(seen) == count
    ann.page.keyboard.press("k")
    expect(ann.the("queue-empty")).to_contain_text("Nothing else is open")
    ann.the("show-skipped").click()
    assert ann.asked() in seen
    assert testbed.labels() == []
    assert ann.fetched("/api/requests")["taken"] == 1


def test_undo_writes_a_correction(ann: Visit, testbed: WebTestBed) -> None:
    first = ann.asked()
    second = ann.press("s")
    ann.page.keyboard.press("u")
    assert ann.asked(other_than=second) == first
    expect(ann.the("again")).to_contain_text("You said spam")
    # It can be corrected, not unsaid.
    ann.page.keyboard.press("n")
    expect(ann.the("toast")).to_contain_text("not unsaid")
    ann.page.keyboard.press("h")
    expect(ann.the("toast")).to_contain_text("Corrected: Ham.")
    assert ann.asked(other_than=first) == second
    labels = testbed.labels()
    assert [(offset_of(label), label["label"]) for label in labels] == [(first, "spam"), (first, "ham")]
    testbed.work()
    assert [event["outcome"] for event in testbed.label_requests() if event["type"] == "label-outcome"] == [
        "answered",
        "corrected",
    ]


def test_undo_goes_back_further_and_skip_keeps_the_answer(ann: Visit, testbed: WebTestBed) -> None:
    first = ann.asked()
    second = ann.press("s")
    third = ann.press("h")
    ann.page.keyboard.press("u")
    assert ann.asked(other_than=third) == second
    ann.page.keyboard.press("u")
    assert ann.asked(other_than=second) == first
    assert ann.press("k") == third
    assert len(testbed.labels()) == 2


def test_help_shows_the_keys_and_changes_them(ann: Visit, testbed: WebTestBed) -> None:
    keyboard = ann.page.keyboard
    keyboard.press("?")
    expect(ann.the("help")).to_be_visible()
    # While help is open keys answer nothing.
    keyboard.press("s")
    ann.page.locator('[data-change="spam"]').click()
    keyboard.press("h")
    expect(ann.the("keys-note")).to_contain_text("already means Ham")
    keyboard.press("j")
    expect(ann.the("keys-note")).to_contain_text("Spam is now on “j”")
    keyboard.press("Escape")
    expect(ann.the("help")).to_be_hidden()
    expect(ann.page.locator('kbd[data-key="spam"]')).to_have_text("j")
    ann.page.reload()
    ann.asked()
    keyboard.press("s")
    ann.press("j")
    assert [label["label"] for label in testbed.labels()] == ["spam"]
    keyboard.press("?")
    ann.the("keys-reset").click()
    ann.the("keys-on").uncheck()
    ann.the("help-close").click()
    keyboard.press("s")
    ann.the("help-open").click()
    ann.the("keys-on").check()
    keyboard.press("Escape")
    ann.press("s")
    assert len(testbed.labels()) == 2


def test_keys_typed_into_a_field_are_no_answers(ann: Visit, testbed: WebTestBed) -> None:
    place = ann.asked()
    ann.the("labeller").fill("")
    ann.the("labeller").press_sequentially("shnk")
    ann.page.keyboard.press("Enter")
    expect(ann.the("labeller")).to_have_value("shnk")
    ann.page.keyboard.press("Control+s")
    assert ann.asked() == place
    assert testbed.labels() == []
    ann.press("h")
    assert testbed.labels()[0]["labeller"] == "shnk"


def test_buttons_do_what_keys_do(ann: Visit, testbed: WebTestBed) -> None:
    places = [ann.asked()]
    for name in ("Spam", "Ham", "Not sure", "Skip", "Undo"):
        ann.page.get_by_role("button", name=name).first.click()
        places.append(ann.asked(other_than=places[-1]))
    assert [label["label"] for label in testbed.labels()] == ["spam", "ham", "unsure"]
    # Undo brings back what was skipped last.
    assert places[5] == places[3]


def test_item12_no_text_shows_through_the_answer_bar(ann: Visit) -> None:
    ann.asked()
    style = ann.page.evaluate(
        "() => { const { backgroundColor, opacity } = getComputedStyle(document.querySelector('.answers'));"
        " return { backgroundColor, opacity }; }"
    )
    # A colour with an alpha channel is written as rgba(...) or with a slash.
    assert style["backgroundColor"].startswith("rgb(")
    assert style["opacity"] == "1"
