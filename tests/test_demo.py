from __future__ import annotations

import io
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from stream_bayes.cli import main
from stream_bayes.demo import drawing, screens, waiting
from stream_bayes.demo.coin import coin_frames
from stream_bayes.demo.findings import Finding, final_frames, findings, generators
from stream_bayes.demo.line import line_frames
from stream_bayes.demo.show import Frame, Part, parts, show
from stream_bayes.demo.weather import DAYS, QUESTION, YES, Day, weather_frames
from stream_bayes.learners.naive_bayes import CategoricalNB

SEED = 5


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """What `demo --json` prints."""
    printed, arguments = io.StringIO(), sys.argv
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", printed)
        patch.setattr(sys, "argv", ["stream-bayes", "demo", "--json", "--seed", str(SEED)])
        with pytest.raises(SystemExit) as ending:
            main()
    assert sys.argv is arguments
    assert ending.value.code == 0
    found = json.loads(printed.getvalue())
    assert isinstance(found, dict)
    return found


def test_the_coin_is_the_posterior_of_its_tosses(figures: dict[str, Any]) -> None:
    generator, _ = generators(SEED)
    bias = generator.beta(1, 1)
    tosses = generator.random(200) < bias
    posterior = stats.beta(1 + tosses.sum(), 1 + (~tosses).sum())
    coin = figures["coin"]
    assert (coin["true_bias"], coin["tosses"], coin["heads"]) == (bias, 200, tosses.sum())
    assert coin["posterior"] == {"successes": 1 + tosses.sum(), "failures": 1 + (~tosses).sum()}
    assert coin["mean"] == pytest.approx(posterior.mean(), rel=1e-12)
    assert coin["interval"] == pytest.approx(posterior.interval(0.95), rel=1e-9)
    assert coin["ignorance"] == pytest.approx(posterior.var(), rel=1e-9)
    assert coin["noise"] + coin["ignorance"] == pytest.approx(posterior.mean() * (1 - posterior.mean()), rel=1e-12)


def test_the_coins_losses_are_those_of_predictions_made_before_the_toss(figures: dict[str, Any]) -> None:
    generator, _ = generators(SEED)
    bias = generator.beta(1, 1)
    tosses = generator.random(200) < bias
    said = (1 + np.concatenate([[0], np.cumsum(tosses)[:-1]])) / (2 + np.arange(200))
    assert figures["coin"]["log_loss"] == pytest.approx(-np.log(np.where(tosses, said, 1 - said)).mean(), rel=1e-12)
    best = -np.log(np.where(tosses, bias, 1 - bias)).mean()
    assert figures["coin"]["best_log_loss"] == pytest.approx(best, rel=1e-12)


def by_hand(days: Iterable[Day], weather: dict[str, str | bool]) -> Fraction:
    """P(yes) by naive Bayes with one pseudo-count for each class and each value seen (and the one asked about)."""
    known = list(days)

    def joint(play: str) -> Fraction:
        same = [day for day in known if day.play == play]
        score = Fraction(1 + len(same), 2 + len(known))
        for name, value in weather.items():
            values = {getattr(day, name) for day in known} | {value}
            score *= Fraction(1 + sum(getattr(day, name) == value for day in same), len(values) + len(same))
        return score

    return joint("yes") / (joint("yes") + joint("no"))


def test_the_weather_is_the_textbook_table_by_hand(figures: dict[str, Any]) -> None:
    weather = figures["weather"]
    assert (
        weather["question"]
        == QUESTION
        == {"outlook": "sunny", "temperature": "cool", "humidity": "high", "windy": True}
    )
    assert weather["answer"]["mean"] == pytest.approx(float(by_hand(DAYS, QUESTION)), rel=1e-12)
    assert weather["said"] == pytest.approx([float(by_hand(DAYS[:n], day.weather)) for n, day in enumerate(DAYS)])
    assert sum(day.play == YES for day in DAYS) == 9
    counts = {"sunny": 2, "overcast": 4, "rainy": 3}
    assert weather["outlook_given_yes"] == {
        value: {
            "mean": pytest.approx((1 + n) / 12, rel=1e-12),
            "interval": pytest.approx(stats.beta(1 + n, 11 - n).interval(0.95), rel=1e-9),
        }
        for value, n in counts.items()
    }


def test_the_table_without_pseudo_counts_gives_the_textbooks_answer() -> None:
    learner = CategoricalNB(prior_count=0.0, class_prior_count=0.0)
    for day in DAYS:
        learner.learn_one(day.weather, day.play)
    assert learner.predict_proba_one(QUESTION)["yes"] == pytest.approx(0.0053 / (0.0053 + 0.0206), abs=5e-4)
    assert learner.predict_proba_one({"outlook": "rainy"})["yes"] == pytest.approx(3 / 5)


def test_the_weathers_score_is_that_of_the_learners_own_answers(figures: dict[str, Any]) -> None:
    learner, right, loss = CategoricalNB(classes=("yes", "no")), 0, 0.0
    for day in DAYS:
        right += learner.predict_one(day.weather) == day.play
        loss -= math.log(learner.predict_proba_one(day.weather)[day.play])
        learner.learn_one(day.weather, day.play)
    assert figures["weather"]["right"] == right
    assert figures["weather"]["log_loss"] == pytest.approx(loss / 14, rel=1e-12)


def test_the_interval_of_yes_is_about_yes_also_where_no_is_more_probable() -> None:
    for frame in weather_frames():
        low, high = frame.answer.interval
        assert 0.0 < low < frame.answer.mean < high < 1.0


def test_the_line_is_ridge_regression_on_all_points(figures: dict[str, Any]) -> None:
    *_, last = line_frames(generators(SEED)[1])
    x, y = np.array(last.points).T
    design = np.column_stack([np.ones(60), x])
    covariance = np.linalg.inv(2.0 * np.eye(2) + design.T @ design / 0.04)
    mean = covariance @ design.T @ y / 0.04
    for place, (weight, truth) in enumerate(zip(figures["line"]["weights"], (-0.3, 0.5), strict=True)):
        reach = 1.959963984540054 * math.sqrt(covariance[place, place])
        assert weight["truth"] == truth
        assert weight["mean"] == pytest.approx(mean[place], rel=1e-9)
        assert weight["interval"] == pytest.approx([mean[place] - reach, mean[place] + reach], rel=1e-9)
    assert figures["line"]["entropy"] == pytest.approx(stats.multivariate_normal(mean, covariance).entropy(), rel=1e-9)
    forecast, row = figures["line"]["forecast"], np.array([1.0, 0.5])
    assert forecast["mean"] == pytest.approx(row @ mean, rel=1e-9)
    assert forecast["noise"] == pytest.approx(0.04)
    assert forecast["ignorance"] == pytest.approx(row @ covariance @ row, rel=1e-9)


def test_the_points_are_the_line_plus_its_noise() -> None:
    *_, last = line_frames(np.random.default_rng(0), points=1000)
    x, y = np.array(last.points).T
    rest = y + 0.3 - 0.5 * x
    assert (abs(x) <= 1.0).all()
    assert rest.mean() == pytest.approx(0.0, abs=4 * 0.2 / math.sqrt(1000))
    assert rest.std() == pytest.approx(0.2, rel=0.1)
    assert last.held / 1000 == pytest.approx(0.95, abs=0.03)


def test_every_point_lowers_the_entropy() -> None:
    *_, last = line_frames(np.random.default_rng(1))
    assert len(last.entropies) == 61
    assert all(later < earlier for earlier, later in pairwise(last.entropies))


def test_the_coins_interval_holds_the_truth_as_often_as_it_says() -> None:
    # The bias is drawn from the prior, so the number of hits is Binomial(400, 0.95): 361 or more, but once in 10 000.
    hits = 0
    for seed in range(400):
        *_, last = coin_frames(np.random.default_rng(seed), tosses=10)
        hits += last.interval[0] <= last.true_bias <= last.interval[1]
    assert 361 <= hits <= 396


def test_findings_say_whether_the_interval_holds_the_truth() -> None:
    assert Finding("", 0.5, 0.4, (0.3, 0.6)).holds is True
    assert Finding("", 0.7, 0.4, (0.3, 0.6)).holds is False
    assert Finding("", None, 0.4, (0.3, 0.6)).holds is None
    names = [finding.name for finding in findings(final_frames(SEED))]
    assert names == ["coin: P(heads)", "weather: P(yes)", "line: intercept", "line: slope", "line: at x = 0.5"]


def test_one_seed_gives_one_run_and_another_gives_another() -> None:
    assert final_frames(1) == final_frames(1)
    assert final_frames(1).coin.true_bias != final_frames(2).coin.true_bias
    assert final_frames(1).line.points[0] != final_frames(2).line.points[0]


def every_screen() -> Iterator[tuple[Part[Any], Frame, str]]:
    every_part: tuple[Part[Any], ...] = parts(SEED)
    for part in every_part:
        for frame in part.frames:
            console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True, color_system=None)
            pace = screens.Pace(frame.step, frame.total, part.events, 12.3)
            with console.capture() as drawn:
                console.print(screens.page(part.title, part.screen(frame), part.notice, pace))
            yield part, frame, drawn.get()


def test_every_screen_of_a_part_has_the_same_size_and_fits_80_columns_and_24_rows() -> None:
    sizes: dict[str, set[int]] = {}
    for part, _, drawn in every_screen():
        rows = drawn.rstrip("\n").split("\n")
        panel = [row for row in rows if row[:1] in "╭│╰"]
        assert {len(row) for row in panel} == {screens.WIDTH}
        assert {row[-1] for row in panel} == set("╮│╯")
        assert "…" not in drawn
        sizes.setdefault(part.title, set()).add(len(rows))
    assert all(len(heights) == 1 and max(heights) <= screens.HEIGHT for heights in sizes.values()), sizes


def plain_output(seed: int) -> str:
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as printed:
        show(console, seed, fast=False)
    return printed.get()


def test_plain_output_is_narrow_and_has_no_control_characters() -> None:
    for line in plain_output(SEED).split("\n"):
        assert len(line) <= 80
        assert line.isprintable()


def test_plain_output_shows_milestones_and_the_findings() -> None:
    output = plain_output(SEED)
    assert [output.count(f"{event} ") for event in ("  toss", "  day", "  point")] == [5, 5, 5]
    last = final_frames(SEED)
    for finding in findings(last):
        assert f"  {finding.name}  " in output
        assert f" {finding.mean:.4f} " in output
    assert "make test" in output
    assert "make bench" in output
    assert "examples/coin.py" in output


def test_the_python_at_the_end_works(capsys: pytest.CaptureFixture[str]) -> None:
    output = plain_output(SEED)
    session = output[output.index("In Python") :].splitlines()[1:]
    exec("\n".join(line.strip() for line in session), {})
    mean, low, high = (
        float(number) for number in capsys.readouterr().out.translate(str.maketrans("(),", "   ")).split()
    )
    assert mean == pytest.approx(8 / 12)
    assert (low, high) == pytest.approx(stats.beta(8, 4).interval(0.95))


def test_an_interval_keeps_to_its_scale() -> None:
    assert drawing.interval_on((0, 1), 5, (-3, 7), 0.5) == "├─●─┤"
    assert drawing.interval_on((0, 1), 5, (0.41, 0.59), 0.5, truth=0.5) == "··◆··"
    assert drawing.interval_on((0, 1), 5, (0.1, 0.5), 0.3, truth=2) == "├●┤·▲"


def test_columns_and_sparklines_of_nothing_and_of_equals() -> None:
    assert drawing.columns([], 2) == ["", ""]
    assert drawing.columns([0.0, 0.0], 1) == ["  "]
    assert drawing.columns([1.0, 1.0], 2) == ["██", "██"]
    assert drawing.sparkline([2.0, 2.0], 5) == "██"


def test_kernels_count_what_they_compile() -> None:
    miss = SimpleNamespace(kernel=SimpleNamespace(stats=SimpleNamespace(cache_misses=Counter({"one signature": 1}))))
    before = waiting.compiled_kernels()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "stream_bayes.kernels.invented", cast("ModuleType", miss))
        assert waiting.compiled_kernels() == before + 1


def test_compiling_is_announced_only_when_it_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    for misses, said in ((0, ""), (1, f"{waiting.COMPILING}\n")):
        monkeypatch.setattr(waiting, "compiled_kernels", lambda misses=misses: misses)
        console = Console(file=io.StringIO(), width=120)
        waiting_room = waiting.Waiting(console, sys.exit)
        with waiting_room:
            waiting_room._watcher.join(0.2)
        assert isinstance(console.file, io.StringIO)
        assert console.file.getvalue() == said
