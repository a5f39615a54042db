"""The page for everybody: the keyboard alone, narrow screens, nothing that jumps, and what axe-core finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import Browser, expect

from tests.support.browser import ASK_ALL, VIEWS, Visit, visiting
from tests.support.hostile_mails import ATTACKS
from tests.support.tiers import short_first
from tests.support.web_testbed import WebTestBed, page

pytestmark = pytest.mark.browser

TOKEN = "a-token-of-16-or-more"
AXE = Axe()
COLOURS = ("light", "dark")
STILL = {"reduced_motion": "reduce"}
"""So that no colours are seen that are on their way to others."""
# Everything that one can do something with, and that is seen.
_CONTROLS = """() => {
  const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']");
  const seen = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex >= 0;
  return [...all].filter(seen).map((one, number) => (one.dataset.control = String(number)));
}"""
_FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
  const ring = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none";
  const label = one.closest("label"), around = label === null ? null : getComputedStyle(label);
  const outer = around !== null && around.outlineStyle !== "none" && parseFloat(around.outlineWidth) >= 1;
  return { control: one.dataset.control ?? null, ring: ring || outer, what: one.outerHTML.slice(0, 120),
           inside: box.bottom > 0 && box.top < innerHeight };
}"""
_SHIFTS = """
{
const shifts = [], expected = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifts.push(entry);
}).observe({ type: "layout-shift", buffered: true });
const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
// The layout shifts outside of the times between an answer and the next label request.
const isExpected = ({ startTime }) => expected.some(([from, to]) => from <= startTime && startTime <= to);
window.shifts = () => shifts.filter((one) => !isExpected(one)).reduce((sum, { value }) => sum + value, 0);
window.answering = () => { expected.push([performance.now(), Infinity]); };
window.requestShown = async () => { await frames(); expected.at(-1)[1] = performance.now(); };
}
"""


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> WebTestBed:
    """A log with some label requests; the last is for a word of 5 MB."""
    testbed = WebTestBed(tmp_path_factory.mktemp("testbed"), events={"record_bytes": 8_000_000}, labels=ASK_ALL)
    testbed.send_generated(30)
    testbed.send([("long", ATTACKS["5 MB without a space"])])
    testbed.work()
    return testbed


@pytest.fixture(scope="module")
def address(testbed: WebTestBed) -> Iterator[str]:
    """Of the page about it."""
    with page(testbed.settings) as found:
        yield found


def violations(visit: Visit) -> list[str]:
    """What axe-core finds, in short."""
    found = AXE.run(visit.page).response["violations"]
    return [f"{one['impact']} {one['id']}: {[node['target'] for node in one['nodes']]}" for one in found]


@pytest.mark.parametrize("colours", short_first(COLOURS))
def test_axe_finds_no_violations(browser: Browser, address: str, colours: str) -> None:
    found = {}
    with visiting(browser, address, color_scheme=colours, **STILL) as ann:
        ann.open()
        ann.press("s")
        ann.the("open").locator("summary").click()
        expect(ann.the("open-body").locator("tr").nth(3)).to_be_visible()
        found["a request"] = violations(ann)
        ann.page.keyboard.press("u")
        expect(ann.the("earlier-answer")).to_be_visible()
        found["a reopened request"] = violations(ann)
        ann.page.keyboard.press("?")
        expect(ann.the("help")).to_be_visible()
        found["help"] = violations(ann)
        ann.page.keyboard.press("Escape")
        ann.turn_to("charts")
        ann.the("posterior-text").fill("the")
        ann.page.get_by_role("button", name="Show").click()
        expect(ann.the("posterior-facts")).not_to_be_empty()
        ann.the("chart-budget").locator("summary").click()
        found["charts"] = violations(ann)
        ann.turn_to("try")
        found["try, empty"] = violations(ann)
        ann.the("try-text").fill("cheap pills and a meeting")
        ann.the("try-go").click()
        expect(ann.the("try-result")).to_contain_text("Nothing was learned")
        found["try"] = violations(ann)
    assert not {state: what for state, what in found.items() if what}


@pytest.mark.long
@pytest.mark.parametrize("colours", short_first(COLOURS))
def test_axe_finds_no_violations_on_an_empty_page(tmp_path: Path, browser: Browser, colours: str) -> None:
    testbed = WebTestBed(tmp_path)
    found = {}
    with page(testbed.settings) as address, visiting(browser, address, color_scheme=colours, **STILL) as ann:
        ann.open()
        expect(ann.the("queue-empty")).to_contain_text("stream-bayes run")
        found["nothing to answer"] = violations(ann)
        ann.turn_to("charts")
        found["nothing to draw"] = violations(ann)
    with page(testbed.settings, TOKEN) as address, visiting(browser, address, color_scheme=colours, **STILL) as ann:
        ann.allowed.append("401 (Unauthorized)")
        ann.open()
        found["login"] = violations(ann)
        ann.page.keyboard.type("wrong")
        ann.page.keyboard.press("Enter")
        expect(ann.page.get_by_role("alert")).to_be_visible()
        found["login refused"] = violations(ann)
        ann.page.keyboard.type(TOKEN)
        ann.page.keyboard.press("Enter")
        expect(ann.the("logout")).to_be_visible()
        found["logged in"] = violations(ann)
        ann.the("logout").click()
        expect(ann.the("token")).to_be_visible()
    assert not {state: what for state, what in found.items() if what}


@pytest.mark.parametrize("view", short_first(VIEWS))
def test_the_keyboard_reaches_everything_and_shows_where_it_is(browser: Browser, address: str, view: str) -> None:
    with visiting(browser, address) as ann:
        ann.open(view)
        expect(ann.the("open-count")).not_to_have_text("0")
        if view == "queue":
            ann.request_place()
        controls = ann.page.evaluate(_CONTROLS)
        reached: list[str] = []
        # Past the last one, and the address bar, it begins again.
        for _ in range(len(controls) + 2):
            ann.page.keyboard.press("Tab")
            focused = ann.page.evaluate(_FOCUSED)
            if focused["control"] is not None:
                reached.append(focused["control"])
                assert focused["ring"], focused["what"]
                assert focused["inside"], focused["what"]
    assert len(controls) > 8
    assert [control for control in controls if control not in reached] == []
    # In the order in which they stand, from wherever it begins.
    begin = controls.index(reached[0])
    assert list(dict.fromkeys(reached)) == controls[begin:] + controls[:begin]


@pytest.mark.long
@pytest.mark.parametrize("view", ["queue", "try"])
def test_the_skip_link_leads_to_the_content(browser: Browser, address: str, view: str) -> None:
    with visiting(browser, address) as ann:
        ann.open(view)
        ann.page.keyboard.press("Tab")
        expect(ann.page.locator(".skip-link")).to_be_in_viewport()
        ann.page.keyboard.press("Enter")
        expect(ann.the("main")).to_be_focused()
        expect(ann.the(f"view-{view}")).to_be_visible()


@pytest.mark.long
@pytest.mark.parametrize("colours", COLOURS)
def test_a_narrow_screen_needs_no_scrolling_sideways(browser: Browser, address: str, colours: str) -> None:
    size = {"width": 360, "height": 740}
    with visiting(browser, address, color_scheme=colours, viewport=size) as ann:
        ann.open()
        place = ann.request_place()
        while ann.page.locator("#facts .id").inner_text() != "long":
            place = ann.press("k")
        ann.the("open").locator("summary").click()
        expect(ann.the("open-body").locator("tr").nth(3)).to_be_visible()
        _assert_narrow(ann, place)
        ann.the("help-open").click()
        _assert_narrow(ann, "help")
        ann.page.keyboard.press("Escape")
        for view in VIEWS[1:]:
            ann.turn_to(view)
            if view == "charts":
                expect(ann.the("chart-curve")).not_to_have_attribute("data-points", "0")
            _assert_narrow(ann, view)


def _assert_narrow(ann: Visit, what: str) -> None:
    width = ann.page.evaluate("document.scrollingElement.scrollWidth")
    assert width <= 360, f"{what} is {width} pixels wide"
    assert ann.page.evaluate("innerWidth") == 360


@pytest.mark.long
@pytest.mark.parametrize("width", [360, 1280])
def test_the_layout_does_not_shift_between_requests(browser: Browser, address: str, width: int) -> None:
    with visiting(browser, address, viewport={"width": width, "height": 800}) as ann:
        ann.context.add_init_script(_SHIFTS)
        ann.open()
        ann.request_place()
        ann.page.wait_for_timeout(700)
        assert ann.page.evaluate("window.shifts()") < 0.1
        places = []
        for key in "kshk":
            ann.page.evaluate("window.answering()")
            ann.press(key)
            ann.page.evaluate("window.requestShown()")
            places.append(ann.page.locator("#choices button").first.bounding_box())
        # What belongs to an answer comes within half a second of it; what comes later must move nothing.
        ann.page.wait_for_timeout(1200)
        assert ann.page.evaluate("window.shifts()") < 0.1
        assert all(place == places[0] for place in places)


@pytest.mark.long
def test_light_and_dark_can_be_chosen(browser: Browser, address: str) -> None:
    with visiting(browser, address, color_scheme="light") as ann:
        ann.open()
        ann.request_place()
        colour = "getComputedStyle(document.body).backgroundColor"
        light = ann.page.evaluate(colour)
        while ann.the("theme").inner_text() != "Dark":
            ann.the("theme").click()
        dark = ann.page.evaluate(colour)
        assert dark != light
        ann.open()
        assert ann.page.evaluate(colour) == dark
