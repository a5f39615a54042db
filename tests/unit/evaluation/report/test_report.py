from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.formatting import format_number
from stream_bayes.evaluation.metrics import MetricsSummary, all_metrics, summarise
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.evaluation.report import report_page, worst_ids, write_report
from stream_bayes.evaluation.report.curves import worst_mistakes
from stream_bayes.evaluation.report.pass_charts import roc_chart
from stream_bayes.evaluation.report.pass_report import name_passes
from stream_bayes.evaluation.report.rendering import render_svg
from tests.support.pass_results import STAGES, made_run, noisy

HOSTILE = '<script>alert("1")</script> & \u202e\x00\ud800 ]]> --><b>'


def summarised(run: PassResult) -> MetricsSummary:
    return summarise(run.spam, run.log_odds, replicates=20)


def page(*runs: PassResult, subjects: dict[str, str] | None = None) -> str:
    return report_page(runs, [summarised(run) for run in runs], subjects or {})


def tree(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))


def words(text: str) -> str:
    return " ".join(" ".join(tree(text).itertext()).split())


def test_a_page_has_the_figures_of_its_pass(tmp_path: Path) -> None:
    run = noisy(400, 1)
    summary = summarise(run.spam, run.log_odds, replicates=50)
    path = write_report(tmp_path / "deep" / "er", [run], [summary], {})
    assert path == tmp_path / "deep" / "er" / "report.html"
    shown = words(path.read_text(encoding="utf-8"))
    for value in (*summary.values, *summary.low, *summary.high):
        assert format_number(value) in shown
    # 1.25 seconds of CPU over 400 messages in the filter, 1.55 of wall.
    assert "CPU µs a message 3,125" in shown
    assert "messages a second 258" in shown
    assert f"400 messages, {int(run.spam.sum())} spam" in shown


def test_a_page_needs_nothing_else() -> None:
    text = page(noisy(100, 2))
    assert not re.search(r"<script|<link|<img|<iframe|https?:|url\(|@import|\son\w+=", text)
    assert "prefers-color-scheme:dark" in text


def test_each_picture_says_what_it_shows() -> None:
    pictures = list(tree(page(noisy(100, 2), noisy(100, 3, "other"))).iter("svg"))
    assert len(pictures) == 4
    for picture in pictures:
        names = [picture.findtext("title"), picture.findtext("desc")]
        assert all(names)
        assert picture.get("role") == "img"
        ids = [element.get("id") for element in picture if element.tag in ("title", "desc")]
        assert picture.get("aria-labelledby") == " ".join(str(name) for name in ids)


def test_hostile_words_stay_words() -> None:
    run = made_run([True, False, True, False], [-3.0, 2.0, 3.0, -2.0], name=HOSTILE)
    run.ids[0] = HOSTILE
    run.members[HOSTILE] = run.log_odds
    text = page(run, made_run([True], [1.0], corpus=HOSTILE), subjects={HOSTILE: HOSTILE, "mail/1": HOSTILE})
    assert "<script" not in text
    assert 'alert("1")' not in text
    assert "&lt;script&gt;" in text
    assert not {"\u202e", "\x00", "\ud800"} & set(text)
    assert "script" not in {element.tag for element in tree(text).iter()}
    text.encode("utf-8")


def test_worst_mistakes_come_first_and_by_their_subject() -> None:
    run = made_run([False, False, True, True, False], [0.5, 4.0, -1.0, -9.5, -3.0])
    assert worst_mistakes(run) == ([1, 0], [3, 2])
    assert worst_mistakes(run, threshold=0.9) == ([1], [3, 2])
    assert worst_mistakes(run, count=1) == ([1], [3])
    assert worst_ids([run, made_run([True], [1.0])]) == {"mail/0", "mail/1", "mail/2", "mail/3"}
    shown = words(page(run, subjects={"mail/1": "Lunch?", "mail/3": "WIN NOW", "mail/4": "never shown"}))
    # 1 / (1 + exp(-4)) = 0.98201; that of -9.5 is 0.0000749.
    assert "Lunch? mail/1 ham 0.9820 no subject mail/0 ham 0.6225" in shown
    assert "WIN NOW mail/3 spam below 0.0001" in shown
    assert "never shown" not in shown


def test_several_passes_are_compared_under_their_own_names() -> None:
    runs = [noisy(200, 1, "ours"), noisy(200, 2, "theirs"), noisy(200, 3, "theirs")]
    text = page(*runs)
    shown = words(text)
    assert "Comparison" in shown
    assert all(name in shown for name in ("ours", "theirs (2)", "theirs (3)"))
    best = min(all_metrics(run.spam, run.log_odds).log_loss for run in runs)
    assert format_number(best) in [element.text for element in tree(text).iter("strong")]
    lines = [element.get("class") for element in tree(text).iter("path")]
    # Learning, errors, ROC and reliability, the first pass drawn last.
    assert lines == ["line s2", "line s1", "line s0 first"] * 4
    other = made_run([True, False], [1.0, -1.0], name="ours", feedback="first:1")
    assert "ours, first:1" in words(page(runs[0], other))


def test_members_are_listed_best_first() -> None:
    run = noisy(200, 1)
    run.members.update({"poor": -run.log_odds, "good": run.log_odds})
    area = format_number(all_metrics(run.spam, run.log_odds).one_minus_roca_percent)
    assert re.search(rf"member \(1-ROCA\)% all together {area} good {area} poor \S+", words(page(run)))
    assert "Members" not in words(page(noisy(200, 1)))


@pytest.mark.parametrize("spam", [True, False])
@pytest.mark.parametrize("count", [1, 2, 30])
def test_one_class_alone(spam: bool, count: int) -> None:
    shown = words(page(made_run([spam] * count, [0.3] * count)))
    assert "There is no ROC curve without both ham and spam." in shown
    assert "(1-ROCA)% – no interval" in shown


@pytest.mark.parametrize(
    "run",
    [
        made_run([], [], stages={}),
        made_run([True, False], [2.0, -2.0]),
        made_run([True, False], [-2.0, 2.0]),
        made_run([True, False] * 50, [0.0] * 100),
        made_run([True, False] * 50, [700.0, -700.0] * 50),
        made_run([True, False], [1.0, 0.0], unlabelled=7, stopped=True),
    ],
    ids=["nothing", "right", "wrong", "ties", "sure", "unlabelled"],
)
def test_odd_passes_have_a_page(run: PassResult) -> None:
    shown = words(page(run))
    assert "nan" not in shown.lower()
    assert len(list(tree(page(run, noisy(50, 1, "other"))).iter("svg"))) == 4


def test_no_pass_is_refused() -> None:
    with pytest.raises(ParameterError, match="one pass or more"):
        report_page([], [], {})
    with pytest.raises(ParameterError, match="got 1 and 0"):
        report_page([noisy(5, 1)], [], {})


def test_both_axes_of_the_roc_are_logarithmic() -> None:
    picture = ElementTree.fromstring(
        render_svg(roc_chart(name_passes([noisy(2000, 7)], [summarised(noisy(2000, 7))])), css="")
    )
    ticks = {float(str(mark.text)): mark for mark in picture.iter("text") if mark.get("class") == "tick"}
    assert sorted(ticks) == [0.01, 0.1, 1.0, 10.0, 100.0]
    for across in (True, False):
        # Below the frame or left of it: those of one axis stand in one line.
        marks = [
            mark
            for mark in picture.iter("text")
            if mark.get("class") == "tick" and mark.get("text-anchor") == ("middle" if across else "end")
        ]
        places = np.array([float(str(mark.get("x" if across else "y"))) for mark in marks])
        assert [float(str(mark.text)) for mark in marks] == [0.01, 0.1, 1.0, 10.0, 100.0]
        assert np.diff(places) == pytest.approx(np.diff(places)[0], abs=0.2)


def test_charts_side_by_side_are_as_tall() -> None:
    sizes = [str(picture.get("viewBox")) for picture in tree(page(noisy(100, 2))).iter("svg")]
    assert sizes[0] == sizes[1]
    assert sizes[2] == sizes[3]


def test_notes_are_shown_as_words() -> None:
    run = noisy(50, 1)
    text = report_page([run], [summarised(run)], {}, ["one thing", f"{HOSTILE} {'x' * 300} end"])
    notes = next(each for each in tree(text).iter("ul") if each.get("class") == "notes")
    assert notes[0].text == "one thing"
    assert str(notes[1].text).endswith("x end")
    assert "<script" not in text
    assert 'class="notes"' not in page(run)


def test_a_pass_that_was_ended_is_named_so_and_never_the_best() -> None:
    whole = made_run([True, False], [-1.0, 1.0], "whole")
    cut = made_run([True], [5.0], "cut", stopped=True)
    text = page(whole, cut)
    assert "cut, the first 1" in words(text)
    assert format_number(all_metrics(whole.spam, whole.log_odds).log_loss) in [
        each.text for each in tree(text).iter("strong")
    ]


def test_making_the_filter_has_a_column_of_its_own() -> None:
    shown = words(page(noisy(100, 1), made_run([True], [1.0], "made", stages={"make": (0.25, 0.5), **STAGES})))
    assert "make, ms, once" in shown
    assert " make, µs" not in shown
    assert " 250 123 " in f"{shown} "
