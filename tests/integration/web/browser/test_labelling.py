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
    places = [ann.request_place()]
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
    expect(ann.the("daily-stats")).to_have_attribute("data-mine", "3")
    expect(ann.the("daily-stats")).to_contain_text("1 not sure")
    ann.assert_stayed()


@pytest.mark.long
def test_a_request_shows_its_selection_and_the_explained_prediction(ann: Visit, testbed: WebTestBed) -> None:
    for _ in range(6):
        label_request = ann.fetched(f"/api/requests/{ann.request_place()}")
        ann.press({"spam": "s", "ham": "h"}[testbed.truth[label_request["id"]]])
    testbed.work()
    wait_until(
        ann, lambda: bool(ann.fetched(f"/api/requests/{ann.request_place()}")["prediction"]["model_version"] == 6)
    )
    place = ann.request_place()
    wait_until(ann, lambda: ann.fetched(f"/api/requests/{place}")["selection"]["score_now"] is not None)
    ann.page.reload()
    label_request = ann.fetched(f"/api/requests/{ann.request_place()}")
    selection = label_request["selection"]
    prediction = label_request["prediction"]
    expect(ann.the("subject")).to_have_text(label_request["subject"])
    expect(ann.the("sender")).to_have_text(label_request["sender"])
    (low, high) = selection["interval"]
    label = selection["interval_of"]
    words = f"{label} {selection['probabilities'][label]:.2f} 95 % between {low:.2f} and {high:.2f}"
    expect(ann.the("selection-body").locator(".prediction-text")).to_have_text(words)
    epistemic = ann.the("selection-body").locator(".variance-parts dd").first.inner_text()
    assert float(epistemic.split()[0]) == pytest.approx(selection["epistemic_variance"], rel=0.01)
    score_text = ann.the("request-score").locator("strong").inner_text()
    # The score is of the time when the page fetched it: that of the worker, or of a newer model.
    known = [selection["score"], selection["score_now"] or selection["score"]]
    assert score_text == "Drawn at random" or any(
        float(score_text) == pytest.approx(score, rel=0.01) for score in known
    )
    assert (score_text == "Drawn at random") == (selection["strategy"] == "audit")
    assert prediction["reasons"]
    for reason in prediction["reasons"][:3]:
        expect(ann.the("prediction-body")).to_contain_text(reason["text"])


@pytest.mark.long
def test_skipping_writes_nothing_and_skipped_requests_can_be_shown_again(ann: Visit, testbed: WebTestBed) -> None:
    first = ann.request_place()
    count = ann.fetched("/api/requests")["open"]
    seen = {first}
    for _ in range(count - 1):
        seen.add(ann.press("k"))
    assert len(seen) == count
    ann.page.keyboard.press("k")
    expect(ann.the("queue-empty")).to_contain_text("Nothing else is open")
    ann.the("show-skipped").click()
    assert ann.request_place() in seen
    assert testbed.labels() == []
    assert ann.fetched("/api/requests")["leased"] == 1


def test_undo_writes_a_correction(ann: Visit, testbed: WebTestBed) -> None:
    first = ann.request_place()
    second = ann.press("s")
    ann.page.keyboard.press("u")
    assert ann.request_place(other_than=second) == first
    expect(ann.the("earlier-answer")).to_contain_text("Your answer was spam")
    # It can be corrected, not withdrawn.
    ann.page.keyboard.press("n")
    expect(ann.the("toast")).to_contain_text("not withdrawn")
    ann.page.keyboard.press("h")
    expect(ann.the("toast")).to_contain_text("Corrected: Ham.")
    assert ann.request_place(other_than=first) == second
    labels = testbed.labels()
    assert [(offset_of(label), label["label"]) for label in labels] == [(first, "spam"), (first, "ham")]
    testbed.work()
    assert [event["outcome"] for event in testbed.label_requests() if event["type"] == "label-outcome"] == [
        "answered",
        "corrected",
    ]


@pytest.mark.long
def test_undo_goes_back_further_and_skip_keeps_the_answer(ann: Visit, testbed: WebTestBed) -> None:
    first = ann.request_place()
    second = ann.press("s")
    third = ann.press("h")
    ann.page.keyboard.press("u")
    assert ann.request_place(other_than=third) == second
    ann.page.keyboard.press("u")
    assert ann.request_place(other_than=second) == first
    assert ann.press("k") == third
    assert len(testbed.labels()) == 2


@pytest.mark.long
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
    ann.request_place()
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


@pytest.mark.long
def test_keys_typed_into_a_field_are_no_answers(ann: Visit, testbed: WebTestBed) -> None:
    place = ann.request_place()
    ann.the("labeller").fill("")
    ann.the("labeller").press_sequentially("shnk")
    ann.page.keyboard.press("Enter")
    expect(ann.the("labeller")).to_have_value("shnk")
    ann.page.keyboard.press("Control+s")
    assert ann.request_place() == place
    assert testbed.labels() == []
    ann.press("h")
    assert testbed.labels()[0]["labeller"] == "shnk"


@pytest.mark.long
def test_buttons_answer_like_keys(ann: Visit, testbed: WebTestBed) -> None:
    places = [ann.request_place()]
    for name in ("Spam", "Ham", "Not sure", "Skip", "Undo"):
        ann.page.get_by_role("button", name=name).first.click()
        places.append(ann.request_place(other_than=places[-1]))
    assert [label["label"] for label in testbed.labels()] == ["spam", "ham", "unsure"]
    # Undo brings back what was skipped last.
    assert places[5] == places[3]


def test_item12_no_text_shows_through_the_answer_bar(ann: Visit) -> None:
    ann.request_place()
    style = ann.page.evaluate(
        "() => { const { backgroundColor, opacity } = getComputedStyle(document.querySelector('.answers'));"
        " return { backgroundColor, opacity }; }"
    )
    # A colour with an alpha channel is written as rgba(...) or with a slash.
    assert style["backgroundColor"].startswith("rgb(")
    assert style["opacity"] == "1"
