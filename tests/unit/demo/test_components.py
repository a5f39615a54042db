"""The parts of the demo by themselves: pace, answers, scores, screen, picture."""

from __future__ import annotations

import io
import math
import tomllib
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import numpy as np
import pytest
from rich.console import Console

from stream_bayes.config import Settings, TopicSettings, load_settings
from stream_bayes.demo import screen
from stream_bayes.demo.accuracy import PredictionScores
from stream_bayes.demo.display import LineDisplay, LiveDisplay, line, open_display
from stream_bayes.demo.feeder import WARM_UP_MAILS, Feeder
from stream_bayes.demo.figures import Crash
from stream_bayes.demo.mailbox import mailbox, spans
from stream_bayes.demo.output_follower import DemoFollower
from stream_bayes.demo.picture import learning_picture
from stream_bayes.demo.screen import bar, sparkline
from stream_bayes.demo.simulated_labeller import SHOWN, SimulatedLabeller
from stream_bayes.demo.summary import commands, sentence, summary
from stream_bayes.demo.workspace import Workspace
from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.eventlog.base import Log
from stream_bayes.eventlog.memory import MemoryLog
from stream_bayes.events import Label, LabelOutcome, LabelRequest, Prediction, encode
from stream_bayes.records import Source
from tests.support.demo_processes import BINS, FIGURES


def predict(log: Log, ids: list[str], probabilities: list[float]) -> None:
    """Write predictions as a worker does."""
    for offset, (id_, spam) in enumerate(zip(ids, probabilities, strict=True)):
        prediction = Prediction(
            id=id_,
            probabilities={"spam": spam, "ham": 1.0 - spam},
            variance=spam * (1.0 - spam),
            epistemic_variance=0.0,
            source=Source("emails", 0, offset),
            model_version=0,
        )
        log.append("predictions", encode(prediction))
    log.commit({})


def test_scores_are_those_of_all_predictions_and_of_the_last() -> None:
    random = Random(3)
    ids = [f"m{place}" for place in range(50)]
    truth = {id_: random.choice(["ham", "spam"]) for id_ in ids[1:]}
    result = [random.random() for _ in ids]
    log = MemoryLog()
    predict(log, ids, result)
    watch = DemoFollower(log, TopicSettings(), truth)
    watch.read()
    spam = np.array([truth[id_] == "spam" for id_ in ids[1:]])
    log_odds = np.log(result[1:]) - np.log1p(-np.array(result[1:]))
    assert watch.scores.area() == pytest.approx(one_minus_roca_percent(spam, log_odds))
    assert watch.scores.area(20) == pytest.approx(one_minus_roca_percent(spam[-20:], log_odds[-20:]))
    assert (watch.processed, watch.scores.distinct) == (50, 50)
    bins = watch.scores.calibration()
    assert sum(each.mails for each in bins) == 49
    assert sum(each.observed * each.mails for each in bins) == pytest.approx(spam.sum())


def test_scores_of_nothing_and_of_certainty() -> None:
    scores = PredictionScores({"a": "spam", "b": "ham"})
    assert math.isnan(scores.area())
    assert scores.calibration() == []
    log = MemoryLog()
    predict(log, ["a", "b", "a"], [1.0, 0.0, 1.0])
    scores.add(log.read("predictions", 0, 0, 9))
    assert (scores.area(), scores.predictions, scores.distinct) == (0.0, 3, 2)


def test_the_postman_keeps_his_pace() -> None:
    mails = list(mailbox(1, 200))
    log = MemoryLog()
    feeder = Feeder(log, "emails", mails, seconds=10.0)
    feeder.send_warm_up()
    sent = []
    for now in (100.0, 101.0, 105.0, 109.5, 200.0):
        feeder.send_due(now, predicted=0)
        sent.append(feeder.sent)
    assert sent == [WARM_UP_MAILS, WARM_UP_MAILS + 20, WARM_UP_MAILS + 100, 200, 200]
    assert feeder.done
    records = log.read("emails", 0, 0, 300)
    assert [(record.key, record.value) for record in records] == [(mail.id.encode(), mail.raw) for mail in mails]


def test_without_a_pace_the_postman_waits_for_the_worker() -> None:
    feeder = Feeder(MemoryLog(), "emails", list(mailbox(1, 200)), seconds=None)
    feeder.send_warm_up()
    for answered in (0, 0, 50):
        feeder.send_due(1.0, answered)
    assert feeder.sent == 50 + WARM_UP_MAILS


def test_the_labeller_answers_after_a_while_with_the_truth() -> None:
    log = MemoryLog()
    topics = ("label-requests", "labels")
    labeller = SimulatedLabeller(log, topics, {"a": "spam", "b": "ham"}, answer_seconds=1.0)
    for offset, id_ in enumerate("abc"):
        source = Source("emails", 0, offset)
        request = LabelRequest(id=id_, score=1.0, strategy="s", variance=0.24, source=source, subject="Hello")
        log.append("label-requests", encode(request))
    moment = datetime.fromtimestamp(0.0, UTC)
    ended = LabelOutcome(id="old", outcome="expired", open=False, source=Source("emails", 0, 9), at=moment)
    log.append("label-requests", encode(ended))
    log.commit({})
    labeller.answer_due(10.0)
    assert (labeller.requested, labeller.answered, labeller.idle) == (3, 0, False)
    labeller.answer_due(10.4)
    assert labeller.answered == 0
    labeller.answer_due(11.6)
    assert (labeller.answered, labeller.idle) == (2, True), "the third has no known label"
    labels = [Label.model_validate_json(record.value) for record in log.read("labels", 0, 0, 9)]
    assert {(each.id, each.label, each.source) for each in labels} == {
        ("a", "spam", Source("emails", 0, 0)),
        ("b", "ham", Source("emails", 0, 1)),
    }
    assert sorted(answered.answer for answered in labeller.newest) == ["ham", "spam"]


def test_the_newest_answers_are_shown_before_open_requests() -> None:
    log = MemoryLog()
    ids = [f"m{place}" for place in range(20)]
    labeller = SimulatedLabeller(log, ("label-requests", "labels"), dict.fromkeys(ids, "spam"), answer_seconds=1.0)
    for moment, id_ in enumerate(ids):
        source = Source("emails", 0, moment)
        request = LabelRequest(id=id_, score=1.0, strategy="s", variance=0.24, source=source, subject=id_)
        log.append("label-requests", encode(request))
        log.commit({})
        labeller.answer_due(0.1 * moment)
        shown = [answered.answer for answered in labeller.newest]
        assert shown == ["spam"] * min(labeller.answered, SHOWN) + [""] * (
            min(labeller.requested, SHOWN) - min(labeller.answered, SHOWN)
        )
        if not labeller.answered:
            assert labeller.newest[0].subject == id_
    assert not labeller.idle
    assert labeller.answered > SHOWN


def test_the_settings_of_a_place_are_settings(tmp_path: Path) -> None:
    place = Workspace(tmp_path / 'a "b"')
    place.write_settings(budget=7)
    settings = load_settings(place.settings, {}, {}).settings
    assert (settings.log, settings.labels.budget) == (place.url, 7)
    assert settings.checkpoint.folder == place.checkpoints
    assert Settings.model_validate(tomllib.loads(place.settings.read_text()), strict=False) == settings
    with pytest.raises(ParameterError, match="is there already"):
        Workspace(tmp_path / 'a "b"')


def drawn(content: object, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=24, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(content)
    return captured.get().rstrip("\n").split("\n")


@pytest.mark.parametrize("phase", ["starting", "compiling", "running"])
@pytest.mark.parametrize("crash", [None, Crash(2400), Crash(1_234_567, 1_234_567)])
def test_every_screen_has_the_same_size(phase: str, crash: Crash | None) -> None:
    for seconds in (1.0, 50.0):
        rows = drawn(screen.page(FIGURES._replace(phase=phase, crash=crash, seconds=seconds)))
        assert len(rows) == screen.HEIGHT - 1
        assert {len(row) for row in rows} == {screen.WIDTH}
        assert {row[-1] for row in rows} == set("╮│╯")


def test_the_screen_shows_the_events() -> None:
    text = " ".join(" ".join(drawn(screen.page(FIGURES))).replace("│", "").split())
    for part in ("3,000 of 6,000", "lag 10", "4.32", "0.988", "requested 120", "left 380", "1,234", "fold 12.3"):
        assert part in text
    assert "killed with SIGKILL at mail 2,400; restarted; 512 events replayed" in text
    for phase, result in screen.WAITING.items():
        rows = drawn(screen.page(FIGURES._replace(phase=phase, seconds=50.0)))
        assert result.split(":")[0].removesuffix(" ...") in " ".join(rows)


def test_a_terminal_too_small_or_too_simple_gets_lines() -> None:
    for width, height, kind in ((100, 40, LiveDisplay), (60, 40, LineDisplay), (100, 20, LineDisplay)):
        console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
        assert isinstance(open_display(console, quiet=False), kind)
    assert isinstance(open_display(Console(file=io.StringIO()), quiet=False), LineDisplay)


def test_quiet_mode_reports_only_long_operations() -> None:
    console = Console(file=io.StringIO(), width=200)
    with open_display(console, quiet=True) as stage:
        for phase in ("starting", "compiling", "compiling"):
            stage.show(FIGURES._replace(phase=phase, seconds=50.0))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == f"{screen.COMPILING}\n"


def test_lines_come_every_few_seconds_and_tell_each_event_once() -> None:
    console = Console(file=io.StringIO(), width=200)
    with open_display(console, quiet=False) as stage:
        for seconds in (0.0, 1.0, 2.0, 6.0, 7.0):
            stage.show(FIGURES._replace(flow_seconds=seconds))
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue().splitlines()
    moments = [FIGURES._replace(flow_seconds=seconds) for seconds in (0.0, 6.0)]
    assert printed == [f"worker {FIGURES.crash.sentence}", *map(line, moments)]  # type: ignore[union-attr]


def test_the_summary_says_whether_each_mail_has_one_prediction(tmp_path: Path) -> None:
    place = Workspace(tmp_path)
    progress = FIGURES.progress._replace(predicted=6000, distinct=6000)
    whole = FIGURES._replace(progress=progress)
    assert sentence(whole) == (
        "The worker was killed with SIGKILL at mail 2,400; restarted; 512 events replayed from the journal; "
        "every mail has exactly one prediction."
    )
    assert "a bug" in sentence(FIGURES)
    assert "this" not in sentence(whole._replace(crash=None))
    rows = drawn(summary(whole, place))
    assert max(map(len, rows)) <= 80
    result = commands(whole, place, "stream-bayes")
    assert f"stream-bayes inspect {place.checkpoints}\n" in result
    assert "dead-letters" not in result
    some = whole._replace(progress=progress._replace(dead_letters=1))
    assert f"dead-letters list --config {place.settings}\n" in commands(some, place, "stream-bayes")
    assert sum(each.mails for each in BINS) == sum(each["mails"] for each in whole.as_dict()["calibration"])


@pytest.mark.parametrize("mails", [0, 1, 50, 3000])
def test_the_picture_is_a_picture(mails: int) -> None:
    generator = np.random.default_rng(1)
    spam = generator.random(mails) < 0.5
    picture = learning_picture(spam, generator.normal(size=mails) + 3.0 * spam, spans(mails), Crash(mails // 2))
    root = ET.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "SIGKILL" in picture
    assert len(root.findall(".//{*}path")) == (2 if mails > 1 else 0)


def test_drawings_of_nothing_and_of_equals() -> None:
    assert sparkline([], 5) == ""
    assert sparkline([2.0, 2.0], 5) == "██"
    assert bar(7.0, 3) == "━━━"
