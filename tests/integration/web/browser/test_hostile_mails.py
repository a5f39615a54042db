"""Hostile mails in a real browser: nothing runs, nothing is loaded, nothing hides, nothing freezes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import ASK_ALL, Visit, visiting
from tests.support.hostile_mails import ATTACKS, SENTENCE, TRACKER
from tests.support.web_testbed import WebTestBed, page

pytestmark = pytest.mark.browser

NAMES = list(ATTACKS)
"""By the offsets of their mails."""
LOOKED_AT = [
    "bidi override in the subject",
    "bidi override in the body",
    "zero width",
    "lying link",
    "javascript links",
    "userinfo",
]
"""Attacks that have a test of their own."""
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Nothing of a mail that a person could not see, or that would move other characters, may be on the page as it is."""
# What the page itself is made of; every other element would be the mail's.
_LOOK = """() => {
  const all = [...document.querySelectorAll("body *")];
  const inside = [...document.querySelectorAll("#subject *, #sender *, #text *, #below *, #facts *")];
  const button = document.querySelector("#choices button").getBoundingClientRect();
  const hit = document.elementFromPoint(button.x + button.width / 2, button.y + button.height / 2);
  return {
    attacked: window.attacked,
    elements: all.length,
    tags: [...new Set(inside.map((one) => one.tagName.toLowerCase()))],
    handlers: all.flatMap((one) => one.getAttributeNames()).filter((name) => /^(on|srcdoc)/.test(name)),
    styled: inside.filter((one) => one.hasAttribute("style")).length,
    links: [...document.querySelectorAll("main a")].map((one) => [one.href, one.offsetParent !== null]),
    liars: [...document.querySelectorAll("#text .link-span:has(a)")]
      .map((one) => [one.querySelector(".host").textContent, new URL(one.querySelector("a").href).hostname])
      .filter(([shown, real]) => shown !== real.replace(/^.|.$/g, (sign) => ("[]".includes(sign) ? "" : sign))),
    foreign: document.querySelectorAll("iframe, object, embed, base, meta[http-equiv], video, form[action]").length,
    images: [...document.querySelectorAll("img, link, script")].map((one) => one.src || one.href),
    text: document.querySelector("#request").textContent,
    everything: document.documentElement.textContent + document.title,
    hit: hit !== null && hit.closest("#choices") !== null,
    wide: document.scrollingElement.scrollWidth - innerWidth,
  };
}"""
OWN_TAGS = {"a", "bdi", "button", "h3", "li", "p", "span", "strong", "time", "ul"}
LONGEST = 120_000
"""Milliseconds after which the page counts as frozen."""


def with_mails_of(names: list[str], folder: Path) -> WebTestBed:
    """A log with the mails of some attacks, whose worker requests a label for each."""
    testbed = WebTestBed(folder, events={"record_bytes": 8_000_000}, labels=ASK_ALL)
    testbed.send([(f"attack {number}", ATTACKS[name]) for number, name in enumerate(names)])
    testbed.work()
    assert len(testbed.label_requests()) == len(names)
    return testbed


@pytest.fixture(scope="module")
def all_attacks(tmp_path_factory: pytest.TempPathFactory) -> WebTestBed:
    """A log with all the mails."""
    return with_mails_of(NAMES, tmp_path_factory.mktemp("all"))


@pytest.fixture
def few_attacks(tmp_path: Path) -> WebTestBed:
    """A log with the mails that have tests of their own, new for each test: a visitor leases the mail that is shown."""
    return with_mails_of(LOOKED_AT, tmp_path)


@pytest.fixture
def ann(browser: Browser, few_attacks: WebTestBed) -> Iterator[Visit]:
    """A labeller of the few."""
    with page(few_attacks.settings) as address, visiting(browser, address) as visit:
        yield visit


def name_of(place: str, names: list[str]) -> str:
    return names[int(place.partition("/")[2])]


def find(ann: Visit, name: str) -> None:
    """Skip label requests until that of a mail is shown; it may have been skipped before.

    The session stays the same: a request that one session has leased is not offered to another.
    """
    if not ann.page.url.startswith(ann.address):
        ann.open()
    skip = ann.the("skip")
    request = ann.the("request")
    show_skipped = ann.the("show-skipped")
    while name_of(ann.request_place(), LOOKED_AT) != name:
        place = request.get_attribute("data-place") or ""
        skip.click()
        either = f'#request:not([data-place="{place}"]):visible, #show-skipped:visible'
        expect(ann.page.locator(either).first).to_be_visible()
        if show_skipped.is_visible():
            show_skipped.click()
            expect(show_skipped).to_be_hidden()


def test_every_attack_is_inert(browser: Browser, all_attacks: WebTestBed) -> None:
    with page(all_attacks.settings) as address, visiting(browser, address) as ann:
        ann.open()
        ann.the("open").locator("summary").click()
        place = ann.request_place()
        seen = set()
        for number in range(len(ATTACKS)):
            name = name_of(place, NAMES)
            seen.add(name)
            _assert_inert(name, ann.page.evaluate(_LOOK))
            if number < len(ATTACKS) - 1:
                ann.page.keyboard.press("k")
                ann.page.wait_for_function(
                    "before => document.getElementById('request').dataset.place !== before", arg=place, timeout=LONGEST
                )
                place = ann.request_place(other_than=place)
        assert seen == set(ATTACKS)
        expect(ann.the("open-body").locator("tbody tr")).to_have_count(len(ATTACKS))
        assert not any(TRACKER in url for url in ann.requests)


def _assert_inert(name: str, found: dict[str, Any]) -> None:
    assert found["attacked"] is None, name
    assert set(found["tags"]) <= OWN_TAGS, name
    assert (found["handlers"], found["styled"], found["foreign"]) == ([], 0, 0), name
    assert all(re.match("https?://", url) and not visible for url, visible in found["links"]), name
    assert found["liars"] == [], name
    assert not any(TRACKER in url for url in found["images"]), name
    assert SENTENCE in found["text"], name
    assert not UNSEEN.search(found["everything"]), name
    assert found["hit"], f"{name}: something covers the answers"
    assert found["wide"] <= 0, f"{name}: the page can be scrolled sideways"
    assert found["elements"] < 3000, name
    assert len(found["everything"]) < 100_000, name


@pytest.mark.long
def test_bidirectional_characters_are_shown_as_marks(ann: Visit) -> None:
    find(ann, "bidi override in the subject")
    expect(ann.the("subject")).to_have_text(re.compile("^invoice.*U\\+202E.*gpj.exe$"))
    find(ann, "bidi override in the body")
    marks = ann.page.locator("#text .mark")
    assert {"U+202E", "U+202C", "U+2066", "U+2069"} <= {text.split()[0] for text in marks.all_inner_texts()}
    assert "RIGHT-TO-LEFT OVERRIDE" in (marks.first.get_attribute("title") or "").upper()
    find(ann, "zero width")
    assert "U+200B" in {text.split()[0] for text in marks.all_inner_texts()}


@pytest.mark.long
def test_a_link_opens_only_on_demand_and_shows_its_host(ann: Visit) -> None:
    find(ann, "lying link")
    link = ann.page.locator("#text .link-span")
    open_link = link.locator("a.open-link")
    expect(link.locator("button")).to_have_text("https://bank.example/login")
    expect(link.locator(".host")).to_have_text("evil.example")
    expect(open_link).to_be_hidden()
    count_before = len(ann.requests)
    link.locator("button").click()
    expect(link.locator(".url")).to_have_text("https://evil.example/login")
    expect(open_link).to_be_visible()
    assert not any("evil" in url for url in ann.requests[count_before:])
    ann.context.route("https://evil.example/**", lambda route: route.fulfill(body="<title>evil</title>"))
    leaving = ann.context.expect_event("request", lambda request: "evil.example" in request.url)
    with leaving as sent, ann.context.expect_page() as opened:
        open_link.click()
    other = opened.value
    other.wait_for_load_state()
    assert "referer" not in {name.lower() for name in sent.value.all_headers()}
    assert other.evaluate("window.opener") is None
    other.close()
    # This request is expected.
    ann.requests = [url for url in ann.requests if url != "https://evil.example/login"]


@pytest.mark.long
def test_script_links_are_not_links(ann: Visit) -> None:
    find(ann, "javascript links")
    assert ann.page.locator("#text .mark").all_inner_texts() == [
        *["javascript: link"] * 4,
        "vbscript: link",
        "data: link",
        "file: link",
    ]
    assert ann.page.locator("#text a, #text button").count() == 0
    find(ann, "userinfo")
    # A browser takes the backslash of the third for a slash.
    assert ann.page.locator("#text .host").all_inner_texts() == ["evil.example", "evil.example", "real.example"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["script in plain text", "javascript links", "bidi override in the body"])
def test_an_attack_that_is_tried_is_inert(ann: Visit, name: str) -> None:
    ann.open("try")
    ann.the("try-text").fill(ATTACKS[name].decode())
    ann.the("try-go").click()
    expect(ann.the("try-result")).to_contain_text("Nothing was learned")
    assert ann.page.evaluate("window.attacked") is None
    assert ann.page.locator("#try-result script, #try-result img, #try-result a").count() == 0
    assert not UNSEEN.search(ann.the("try-result").inner_text())
