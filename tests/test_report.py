from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from stream_bayes.errors import ParameterError
from stream_bayes.evaluate.bootstrap import summarise
from stream_bayes.evaluate.metrics import all_metrics
from stream_bayes.evaluate.protocol import Run
from stream_bayes.evaluate.report import report_page, worst_ids, write_report
from stream_bayes.evaluate.report.findings import (
    error_curve,
    learning_curve,
    reliability_bins,
    roc_curve,
    worst_mistakes,
)
from stream_bayes.evaluate.report.markup import figure

HOSTILE = '<script>alert("1")</script> & \u202e\x00\ud800 ]]> --><b>'
STAGES = {"read": (0.5, 0.6), "features": (0.25, 0.3), "predict and learn": (1.0, 1.25)}


def made_run(spam: list[bool], log_odds: list[float], name: str = "default", **changes: object) -> Run:
    """A pass in which that was said of those messages, told to it at once."""
    count = len(spam)
    fields: dict[str, object] = {
        "filter_name": name,
        "corpus": "toy",
        "feedback": "immediate",
        "ids": [f"mail/{place}" for place in range(count)],
        "spam": np.array(spam, dtype=np.bool_),
        "log_odds": np.array(log_odds, dtype=np.float64),
        "learned": np.ones(count, dtype=np.bool_),
        "members": {},
        "stages": STAGES,
        "peak_memory_mb": 123.0,
        "memory_mb": (100.0,) * 11,
        "unlabelled": 0,
        "stopped": False,
    }
    return Run(**{**fields, **changes})  # type: ignore[arg-type]


def noisy(count: int, seed: int, name: str = "default") -> Run:
    generator = np.random.default_rng(seed)
    spam = generator.random(count) < 0.4
    return made_run(spam.tolist(), (3.0 * spam - 1.5 + 2.0 * generator.normal(size=count)).tolist(), name)


def page(*runs: Run, subjects: dict[str, str] | None = None) -> str:
    summaries = [summarise(run.spam, run.log_odds, replicates=20) for run in runs]
    return report_page(runs, summaries, subjects or {})


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
        assert figure(value) in shown
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
    assert figure(best) in [element.text for element in tree(text).iter("strong")]
    lines = [element.get("class") for element in tree(text).iter("path")]
    # Learning, errors, ROC and reliability, the first pass drawn last.
    assert lines == ["line s2", "line s1", "line s0 first"] * 4
    other = made_run([True, False], [1.0, -1.0], name="ours", feedback="first:1")
    assert "ours, first:1" in words(page(runs[0], other))


def test_members_are_listed_best_first() -> None:
    run = noisy(200, 1)
    run.members.update({"poor": -run.log_odds, "good": run.log_odds})
    assert re.search(r"member \(1-ROCA\)% good \S+ poor \S+", words(page(run)))
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
def test_odd_passes_have_a_page(run: Run) -> None:
    shown = words(page(run))
    assert "nan" not in shown.lower()
    assert len(list(tree(page(run, noisy(50, 1, "other"))).iter("svg"))) == 4


def test_no_pass_is_refused() -> None:
    with pytest.raises(ParameterError, match="one pass or more"):
        report_page([], [], {})
    with pytest.raises(ParameterError, match="got 1 and 0"):
        report_page([noisy(5, 1)], [], {})


def test_learning_curve_is_the_metric_of_each_beginning() -> None:
    run = noisy(1000, 4)
    curve = learning_curve(run)
    assert curve.x[-1] == 1000
    assert curve.y[-1] == all_metrics(run.spam, run.log_odds).one_minus_roca_percent
    middle = int(curve.x[60])
    assert curve.y[60] == all_metrics(run.spam[:middle], run.log_odds[:middle]).one_minus_roca_percent
    assert 100 < len(curve.x) <= 120


def test_error_curve_counts_a_window() -> None:
    # Of 40 messages the window is 20; the last 10 are wrong.
    run = made_run([True] * 40, [1.0] * 30 + [-1.0] * 10)
    curve = error_curve(run, 0.5)
    assert curve.x.tolist() == list(range(20, 41))
    assert curve.y.tolist() == [0.0] * 11 + [5.0 * wrong for wrong in range(1, 11)]
    assert error_curve(run, 0.8).y.tolist() == [100.0] * 21


def test_roc_curve_by_hand() -> None:
    # Scores from the top: spam 3; ham and spam tied at 2; ham 1.
    curve = roc_curve(made_run([True, False, True, False], [3.0, 2.0, 2.0, 1.0]))
    assert curve.x.tolist() == [0.0, 0.0, 50.0, 100.0]
    assert curve.y.tolist() == [100.0, 50.0, 0.0, 0.0]
    run = noisy(500, 5)
    curve = roc_curve(run)
    area = float(np.sum(np.diff(curve.x) * (curve.y[1:] + curve.y[:-1]) / 2.0)) / 100.0
    assert area == pytest.approx(all_metrics(run.spam, run.log_odds).one_minus_roca_percent, rel=1e-9)


def test_reliability_bins_by_hand() -> None:
    # p = 1/4 is in bin 3 (0.2 to 0.267); p = 3/4 in bin 11; 1 in the last one, which holds it.
    run = made_run([False, True, True, False, True], [-np.log(3.0)] * 2 + [np.log(3.0)] * 2 + [800.0])
    bins = reliability_bins(run)
    assert bins.counts.tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 1]
    assert bins.predicted[[3, 11, 14]].tolist() == pytest.approx([0.25, 0.75, 1.0])
    assert bins.observed[[3, 11, 14]].tolist() == [0.5, 0.5, 1.0]
    # Wilson: (1/2 + z^2/4 +- z sqrt(1/8 + z^2/16)) / (1 + z^2/2) = 0.0945 and 0.9055 for one of two.
    assert bins.low[3] == pytest.approx(0.0945, abs=1e-4)
    assert bins.high[3] == pytest.approx(0.9055, abs=1e-4)
    assert bins.high[14] == 1.0
    drawn = noisy(3000, 6)
    table = reliability_bins(drawn)
    error = np.nansum(table.counts * np.abs(table.predicted - table.observed)) / 3000
    assert error == pytest.approx(all_metrics(drawn.spam, drawn.log_odds).calibration_error, rel=1e-9)
