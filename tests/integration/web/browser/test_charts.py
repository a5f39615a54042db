"""Charts that draw what the log says and move by themselves, and mails that are only tried, with a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import Visit, visiting, wait_until
from tests.support.logs import put
from tests.support.web_testbed import WebTestBed, client, page

pytestmark = pytest.mark.browser

CHARTS: dict[str, tuple[str, Callable[[Any], float]]] = {
    "chart-curve": ("curve", lambda data: data["curve"][-1]["labels"]),
    "chart-calibration": ("calibration", lambda data: sum(point["count"] for point in data["calibration"])),
    "chart-budget": ("budget", lambda data: data["budget"][-1]["requested"]),
    "chart-rates": ("rates", lambda data: data["rates"][-1]["per_second"]),
    "chart-histogram": ("histogram", lambda data: data["histogram_of"]),
    "chart-scores": ("scores", lambda data: sum(sum(bar["counts"].values()) for bar in data["scores"])),
}
"""Which data each chart draws, and what it says of itself as the last figure."""
MAIL = "From: Rolex Replicas <win@cheap.example>\nSubject: cheap watches\n\nBuy a free prize now, and a meeting.\n"


def answer(testbed: WebTestBed, address: str, count: int) -> None:
    """Answer `count` label requests correctly."""
    with client(address) as http:
        for _ in range(count):
            label_request = http.post("/api/requests/next", json={"labeller": "bob"}).json()["request"]
            place = f"{label_request['place']['partition']}/{label_request['place']['offset']}"
            body = {"labeller": "bob", "label": testbed.truth[label_request["id"]]}
            assert http.post(f"/api/requests/{place}/label", json=body).status_code == 200


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> WebTestBed:
    """A log whose worker has learned a dozen labels, refused one, and written several status events."""
    testbed = WebTestBed(tmp_path_factory.mktemp("testbed"))
    with testbed.open() as log:
        put(log, "labels", b"no event")
    for _ in range(3):
        testbed.send_generated(50)
        testbed.work()
        with page(testbed.settings) as address:
            answer(testbed, address, 4)
        testbed.work()
    return testbed


@pytest.fixture(scope="module")
def address(testbed: WebTestBed) -> Iterator[str]:
    """Of the page about it."""
    with page(testbed.settings) as found:
        yield found


@pytest.fixture
def ann(browser: Browser, address: str) -> Iterator[Visit]:
    """A visitor of the charts."""
    with visiting(browser, address) as visit:
        yield visit


@pytest.mark.long
def test_charts_draw_the_data_of_the_api(ann: Visit) -> None:
    ann.open("charts")
    data = ann.fetched("/api/charts")
    assert data["curve"][-1]["labels"] == 12
    for name, (key, last) in CHARTS.items():
        chart = ann.the(name)
        expect(chart).to_have_attribute("data-points", str(len(data[key])))
        expect(chart.locator("svg .cursor")).to_have_count(1)
        shown = chart.get_attribute("data-last")
        assert shown is not None
        assert float(shown) == pytest.approx(last(data)), name
        assert chart.locator("svg *").count() > 10
    expect(ann.page.locator("#chart-calibration circle.bubble")).to_have_count(len(data["calibration"]))
    _assert_bars(ann, "chart-histogram", [sum(bar["counts"].values()) for bar in data["histogram"]])
    line = ann.page.locator("#chart-budget path.line.l1").get_attribute("d")
    _assert_proportional(_heights(line), [point["requested"] for point in data["budget"]])


def _heights(path: str | None) -> list[float]:
    """How far below the first point each point of a line is."""
    ys = [float(y) for y in re.findall(r"[ML][\d.-]+ ([\d.-]+)", path or "")]
    return [ys[0] - y for y in ys]


def _assert_proportional(heights: list[float], values: list[float]) -> None:
    rises = [value - values[0] for value in values]
    scale = heights[-1] / rises[-1]
    assert scale > 0
    assert heights == pytest.approx([scale * rise for rise in rises], abs=0.3)


def _assert_bars(ann: Visit, name: str, counts: list[int]) -> None:
    bars = ann.page.locator(f"#{name} rect.bar-mark")
    heights = bars.evaluate_all("all => all.map(one => Number(one.getAttribute('height')))")
    filled = [count for count in counts if count]
    assert heights == pytest.approx([heights[0] / filled[0] * count for count in filled], abs=0.3)


def test_the_row_of_the_worker_says_how_many_records_could_not_be_used(ann: Visit) -> None:
    ann.open("charts")
    dead = ann.page.locator("#worker-status [data-status=dead]")
    expect(dead.locator("dd")).to_have_text("1: could not be used")
    expect(dead).to_have_attribute("title", "stream-bayes dead-letters list")


def test_a_chart_is_read_with_arrow_keys_and_as_a_table(ann: Visit) -> None:
    ann.open("charts")
    budget = ann.fetched("/api/charts")["budget"]
    chart = ann.the("chart-budget")
    expect(chart).to_have_attribute("data-points", str(len(budget)))
    # Keys move nothing before the chart has its width and is drawn.
    expect(chart.locator("path.line.l1")).to_have_count(1)
    plot = chart.locator(".plot")
    ann.page.keyboard.press("Tab")
    # Each press focuses the chart first: what is loaded later may take the focus.
    plot.press("Home")
    expect(chart.locator(".tip")).to_contain_text(f"requested {budget[0]['requested']}")
    plot.press("End")
    expect(chart.locator(".tip")).to_contain_text(f"requested {budget[-1]['requested']}")
    chart.locator("summary").click()
    rows = chart.locator("tbody tr")
    expect(rows).to_have_count(len(budget))
    assert rows.last.locator("td").nth(1).inner_text() == str(budget[-1]["requested"])


@pytest.mark.long
def test_the_posterior_of_a_word_is_drawn(ann: Visit) -> None:
    ann.open("charts")
    ann.the("posterior-text").fill("the")
    ann.page.get_by_role("button", name="Show").click()
    density = ann.fetched("/api/posterior?kind=word&text=the")
    chart = ann.the("chart-posterior")
    expect(chart).to_have_attribute("data-points", str(len(density["x"])))
    assert float(chart.get_attribute("data-last") or "nan") == pytest.approx(density["mean"])
    expect(ann.the("posterior-facts")).to_contain_text(density["meaning"])
    heights = _heights(chart.locator("path.line").get_attribute("d"))
    assert len(heights) == len(density["y"])
    assert heights.index(max(heights)) == pytest.approx(density["y"].index(max(density["y"])), abs=2)
    assert chart.locator("path.area").count() == 1
    ann.allowed.append("404")
    # Of the members of the filter, of which none is called so.
    ann.the("posterior-kind").select_option("weight")
    ann.the("posterior-text").press("Enter")
    expect(chart).to_have_attribute("data-points", "0")
    expect(chart.locator(".plot-empty")).to_contain_text("the")
    expect(ann.the("posterior-facts")).to_be_empty()


def test_a_pasted_mail_is_tried_and_nothing_is_learned(ann: Visit, testbed: WebTestBed) -> None:
    before = _all_that_is_kept(testbed)
    ann.open("try")
    ann.the("try-text").fill(MAIL)
    ann.the("try-go").click()
    expect(ann.the("try-result")).to_contain_text("Nothing was learned")
    first = ann.the("try-result-body").inner_text()
    assert "95 % between" in first
    assert "after 12 labels" in first
    ann.the("try-clear").click()
    expect(ann.the("try-result")).not_to_contain_text("95 % between")
    ann.the("try-go").click()
    expect(ann.the("try-problem")).to_contain_text("Paste something first")
    ann.the("try-file").set_input_files({"name": "a.eml", "mimeType": "message/rfc822", "buffer": MAIL.encode()})
    expect(ann.the("try-file-name")).to_contain_text("a.eml")
    expect(ann.the("try-result-body")).to_have_text(re.compile("Nothing was learned"))
    assert ann.the("try-result-body").inner_text() == first
    assert _all_that_is_kept(testbed) == before


@pytest.mark.long
def test_a_dropped_file_is_tried(ann: Visit, testbed: WebTestBed) -> None:
    before = _all_that_is_kept(testbed)
    ann.open("try")
    script = "text => { const all = new DataTransfer(); all.items.add(new File([text], 'b<b>.eml')); return all; }"
    dropped = ann.page.evaluate_handle(script, MAIL)
    ann.the("try-drop").dispatch_event("drop", {"dataTransfer": dropped})
    expect(ann.the("try-file-name")).to_contain_text("b<b>.eml")
    expect(ann.the("try-result")).to_contain_text("Nothing was learned")
    assert _all_that_is_kept(testbed) == before
    ann.the("try-file").set_input_files({"name": "big", "mimeType": "text/plain", "buffer": b"a" * 1_100_000})
    expect(ann.the("try-problem")).to_contain_text("at most")


def _all_that_is_kept(testbed: WebTestBed) -> Any:
    """Ends of all topics, and all checkpoints."""
    with testbed.open() as log:
        ends = {
            topic: list(log.end_offsets(topic).items()) for topic in ("emails", "labels", "label-requests", "status")
        }
    files = {path: path.read_bytes() for path in testbed.settings.checkpoint_folder.rglob("*.safetensors")}
    return ends, files


@pytest.mark.long
def test_charts_update_without_a_reload(tmp_path: Path, browser: Browser) -> None:
    testbed = WebTestBed(tmp_path)
    testbed.send_generated(40)
    with page(testbed.settings) as address, visiting(browser, address) as ann:
        ann.open("charts")
        ann.stay()
        expect(ann.the("chart-curve")).to_have_attribute("data-points", "0")
        expect(ann.the("open-count")).to_have_text("0")
        with testbed.working():
            expect(ann.the("chart-curve")).not_to_have_attribute("data-points", "0")
            expect(ann.the("open-count")).not_to_have_text("0")
            answer(testbed, address, 3)
            expect(ann.the("chart-curve")).to_have_attribute("data-last", "3")
            before = ann.the("chart-curve").locator("path.line").first.get_attribute("d")
            testbed.send_generated(60)
            wait_until(ann, lambda: int(ann.the("chart-histogram").get_attribute("data-last") or 0) == 100)
            expect(ann.the("chart-curve").locator("path.line").first).not_to_have_attribute("d", before or "")
            # 100 mails and three labels.
            expect(ann.the("health-numbers")).to_contain_text("103 events")
        ann.assert_stayed()
    assert json.dumps(testbed.labels()).count('"labeller": "bob"') == 3
