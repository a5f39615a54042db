"""`stream-bayes evaluate --strategies`: table, page, picture, and what fails on the way."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from stream_bayes.evaluation import sweep
from stream_bayes.evaluation.feedback import STRATEGIES, FeedbackRegime
from stream_bayes.evaluation.filters import FilterScores
from stream_bayes.evaluation.formatting import format_number
from tests.support.active_passes import area
from tests.support.commands import on_a_terminal
from tests.support.mail_filters import RIVER, SMALL, Command, RiverFilter, generated_mails, write

pytestmark = pytest.mark.usefixtures("one_core")


class Overfed(RiverFilter):
    """Cannot stand many labels at once."""

    name = "overfed"
    learned = 0

    def test_then_train(self, features: Any, labels: Sequence[str | None]) -> FilterScores:
        new = sum(label is not None for label in labels)
        self.learned += new
        if new > 1 and 30 <= self.learned < 100:
            message = "enough"
            raise RuntimeError(message)
        return super().test_then_train(features, labels)


OVERFED = "tests.unit.cli.test_evaluate_strategies:Overfed"


@pytest.mark.slow
def test_strategies_in_a_table_and_a_picture(evaluate: Command, corpus: Path, tmp_path: Path) -> None:
    options = ("--strategies", "margin,first", "--budgets", "20,60,300", "--repeat", "2", "--report", tmp_path / "here")
    code, output, errors = evaluate(corpus, "--filter", RIVER, *options)
    assert (code, errors) == (0, "")
    assert output.startswith("generated: 300 messages\n")
    areas, labels, *compared = (line.split()[1:] for line in output.splitlines() if line.startswith("  first"))
    assert areas == [format_number(area(FeedbackRegime(f"first:{budget}"))) for budget in (20, 60)]
    assert labels == ["20", "60"]
    assert [cells[0].rstrip("*~") for cells in compared] == areas, "a table of comparisons for each budget"
    assert f"all labels: {format_number(area(FeedbackRegime()))}" in output
    assert "note: left out, since the stream has no more than 300 messages: 300" in output
    page = tmp_path / "here" / "labels.html"
    assert output.endswith(f"report: {page}\npicture: {page.with_suffix('.svg')}\n")
    text = page.read_text()
    tree = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert len(list(tree.iter("circle"))) == 6
    assert "prefers-color-scheme:dark" in text
    assert not re.search(r"<script|<link|<img|<iframe|https?:|url\(|@import|\son\w+=", text)


def test_all_strategies_as_json(evaluate: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "few.jsonl.gz", generated_mails(60))
    options = ("--strategies", "all", "--budgets", "10", "--repeat", "1", "--report", tmp_path, "--json")
    found = json.loads(evaluate(path, "--filter", SMALL, *options)[1])
    assert [cell["strategy"] for cell in found["cells"]] == list(STRATEGIES)
    assert all(cell["passes"] == 1 and cell["runs"][0]["labels"] <= 10 for cell in found["cells"])
    assert found["all_labels"]["labels"] == 60


def test_the_picture_has_a_folder_of_its_own(
    evaluate: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = evaluate(corpus, "--filter", RIVER, "--strategies", "first", "--budgets", "20", "--limit", "100")[1]
    assert output.endswith("report: label-report/labels.html\npicture: label-report/labels.svg\n")
    assert {path.name for path in (tmp_path / "label-report").iterdir()} == {"labels.html", "labels.svg"}


def test_a_long_run_of_one_class_is_noted_unless_the_stream_is_shuffled(evaluate: Command, tmp_path: Path) -> None:
    mails = sorted(generated_mails(200), key=lambda mail: str(mail.label))
    path = write(tmp_path / "sorted.jsonl.gz", mails)
    options = ("--filter", RIVER, "--strategies", "first", "--budgets", "20", "--repeat", "1", "--report", tmp_path)
    warning = "messages with a label are all ham: "
    found = json.loads(evaluate(path, *options, "--json")[1])
    assert [warning in note for note in found["notes"]].count(True) == 1
    found = json.loads(evaluate(path, *options, "--shuffle", "1", "--json")[1])
    assert not any(warning in note for note in found["notes"])


def test_one_class_only_has_no_area(evaluate: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "one.jsonl.gz", [mail._replace(label="ham") for mail in generated_mails(40)])
    options = ("--strategies", "first", "--budgets", "20", "--report", tmp_path)
    code, output, _ = evaluate(path, "--filter", RIVER, *options)
    assert code == 0
    assert re.search(r"^  first +–$", output, re.MULTILINE)
    for name in ("labels.html", "labels.svg"):
        assert "There is no (1-ROCA)% above 0 to show." in (tmp_path / name).read_text()


PICTURE = "{http://www.w3.org/2000/svg}"


@pytest.mark.slow
def test_the_picture_is_a_file_of_its_own(evaluate: Command, corpus: Path, tmp_path: Path) -> None:
    options = ("--strategies", "margin,first", "--budgets", "20,60", "--repeat", "2", "--report", tmp_path, "--json")
    found = json.loads(evaluate(corpus, "--filter", RIVER, *options)[1])
    picture = tmp_path / "labels.svg"
    assert (found["report"], found["picture"]) == (str(tmp_path / "labels.html"), str(picture))
    text = picture.read_text()
    tree = ElementTree.fromstring(text)
    assert tree.tag == f"{PICTURE}svg"
    assert len(list(tree.iter(f"{PICTURE}circle"))) == 6
    result = {each.text for each in tree.iter(f"{PICTURE}text")}
    assert {"margin", "first", "random-paced", "(1-ROCA)% against labels", "20", "60"} <= result
    assert any("generated: 300 messages" in (each or "") for each in result)
    assert "prefers-color-scheme:dark" in text
    outside = text.replace("http://www.w3.org/2000/svg", "", 1)
    assert not re.search(r"<script|<image|href|https?:|url\(|@import|var\(|\son\w+=", outside)


def test_one_pass_that_fails_does_not_take_the_others_with_it(evaluate: Command, corpus: Path, tmp_path: Path) -> None:
    options = ("--strategies", "first", "--budgets", "20,60,200", "--report", tmp_path, "--seed", "4")
    code, output, errors = evaluate(corpus, "--filter", OVERFED, *options)
    assert code == 2
    own = f"{OVERFED}, active:60, first, seed 4"
    assert errors == f"stream-bayes: 1 of 19 passes failed, the first of them {own}: enough\n"
    assert [line.split()[1:] for line in output.splitlines() if line.startswith("  first")][1] == ["20", "-", "200"]
    assert f"note: failed and left out: {own}: enough" in output
    assert "failed and left out" in (tmp_path / "labels.html").read_text()
    found = json.loads(evaluate(corpus, "--filter", OVERFED, *options, "--json")[1])
    assert found["failed"] == [{"pass": own, "reason": "enough"}]


def test_when_all_passes_fail_nothing_is_shown(evaluate: Command, corpus: Path) -> None:
    options = ("--feedback", "active:60", "--strategy", "first", "--repeat", "3")
    code, output, errors = evaluate(corpus, "--filter", OVERFED, *options)
    assert (code, output) == (2, "")
    assert "1 of 1 passes failed, the first of them" in errors


@pytest.mark.long
def test_failures_on_several_cores(
    evaluate: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "available_cores", lambda: 2)
    options = ("--strategies", "first", "--budgets", "20,60", "--report", tmp_path)
    code, output, errors = evaluate(corpus, "--filter", OVERFED, *options)
    assert code == 2
    assert "1 of 13 passes failed" in errors
    assert f"note: failed and left out: {OVERFED}, active:60, first, seed 1: enough" in output


def test_labels_that_never_come_get_a_note(evaluate: Command, corpus: Path, tmp_path: Path) -> None:
    options = ("--strategies", "first", "--budgets", "20,60", "--delay", "270", "--report", tmp_path)
    output = evaluate(corpus, "--filter", RIVER, *options)[1]
    assert "note: up to 32 labels of a pass had not come by the end of the stream" in output
    one = evaluate(corpus, "--filter", RIVER, "--feedback", "active:60", "--strategy", "first", "--delay", "270")[1]
    assert "note: 30 labels had not come by the end of the stream" in one


@pytest.mark.parametrize("seed", [2**53, 10**42, 2**60])
def test_seeds_that_are_too_large_are_refused(evaluate: Command, corpus: Path, seed: int) -> None:
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--feedback", "active:9", "--seed", str(seed))
    assert (code, output) == (2, "")
    assert "Invalid value for '--seed'" in errors
    assert "9007199254740991" in errors


def test_the_seed_of_partial_feedback_is_used(evaluate: Command, corpus: Path) -> None:
    options = ("--filter", RIVER, "--feedback", "partial:0.3", "--json")
    usual, again, other = (
        json.loads(evaluate(corpus, *options, *seed)[1])["one_minus_roca_percent"]
        for seed in ((), ("--seed", "1"), ("--seed", "9007199254740991"))
    )
    assert usual == again != other


@pytest.mark.long
def test_ctrl_c_ends_with_the_passes_that_are_done(tmp_path: Path) -> None:
    mails = generated_mails(300)
    many = [mails[place % 300]._replace(id=str(place)) for place in range(3000)]
    path = write(tmp_path / "long.jsonl.gz", many)
    options = ("--filter", RIVER, "--strategies", "random", "--budgets", "50", "--repeat", "400", "--report", tmp_path)
    code, shown, output = on_a_terminal("evaluate", path, *options, errors=True, stop_at=b" 1/801")
    assert code == 130
    assert b"Traceback" not in shown
    assert shown.splitlines()[-1].endswith(b"stream-bayes: stopped")
    assert re.search(rb"note: stopped: figures are those of \d+ of 801 passes", output)
