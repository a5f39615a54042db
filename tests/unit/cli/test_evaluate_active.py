"""`stream-bayes evaluate --feedback active:BUDGET`, `--repeat` and `--strategies`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from stream_bayes.active.audit import AuditEstimate
from stream_bayes.evaluation.active_learning import RequestCounts
from stream_bayes.evaluation.feedback import DEFAULT_STRATEGY, FeedbackRegime
from stream_bayes.evaluation.metrics import one_minus_roca_percent, summarise
from stream_bayes.evaluation.protocol import run as run_filter
from stream_bayes.evaluation.stream import Stream
from stream_bayes.evaluation.tables import pass_table
from tests.support.active_passes import area
from tests.support.mail_filters import RIVER, SMALL, Command, RiverFilter, generated_mails, write
from tests.support.pass_results import made_run

pytestmark = pytest.mark.usefixtures("one_core")


def test_json_has_the_outcomes_of_the_requests(evaluate: Command, corpus: Path) -> None:
    options = ("--filter", RIVER, "--feedback", "active:60", "--strategy", "margin", "--delay", "5", "--json")
    code, output, errors = evaluate(corpus, *options)
    assert (code, errors) == (0, "")
    found = json.loads(output)
    done = run_filter(
        RiverFilter, Stream("generated", generated_mails(300)), feedback=FeedbackRegime("active:60", "margin", "5")
    )
    assert found["feedback"] == "active:60, margin, labels 5 late"
    assert found["labels_used"] == done.learned.sum() <= 60
    assert done.requests is not None
    audit = None if done.requests.audit is None else done.requests.audit._asdict()
    assert found["requests"] == {**done.requests.counts, "accuracy": done.accuracy, "audit": audit}
    assert found["one_minus_roca_percent"] == pytest.approx(one_minus_roca_percent(done.spam, done.log_odds))


def test_the_summary_has_labels_used(evaluate: Command, corpus: Path) -> None:
    code, output, errors = evaluate(corpus, "--filter", SMALL, "--feedback", "active:60")
    assert (code, errors) == (0, "")
    assert f"feedback active:60, {DEFAULT_STRATEGY}, " in output
    for line in (r"requested +\d+", r"audited +\d+", r"suppressed +\d+", r"accuracy % +\d+\.\d\d"):
        assert re.search(rf"^  {line}$", output, re.MULTILINE)


def test_the_summary_has_the_estimate_of_the_audit_beside_the_accuracy() -> None:
    estimate = AuditEstimate(0.95, 0.81, 0.9876, 40, 31.5)
    done = made_run(
        [True] * 30 + [False] * 10, [2.0] * 39 + [-2.0], requests=RequestCounts({"requested": 90}, estimate, False)
    )
    shown = pass_table(done, summarise(done.spam, done.log_odds, replicates=2), per_member=False)
    assert re.search(r"^  requested +90\n  audited +0\n  answered +0\n  suppressed +0\n", shown, re.MULTILINE)
    assert re.search(r"^  accuracy % +77\.50$", shown, re.MULTILINE)
    assert re.search(r"^  estimated by the audit +95\.00   81\.00 to 98\.76, of 40 answers$", shown, re.MULTILINE)
    silent = made_run([True, False], [1.0, -1.0], requests=RequestCounts({"requested": 2}, None, False))
    assert "no audited answer came" in pass_table(silent, summarise(silent.spam, silent.log_odds), per_member=False)


def test_a_filter_that_states_no_doubt_gets_a_note(evaluate: Command, corpus: Path) -> None:
    note = "note: river states no uncertainty of its probabilities"
    for strategy in ("epistemic", "entropy"):
        output = evaluate(corpus, "--filter", RIVER, "--feedback", "active:30", "--strategy", strategy)[1]
        assert (note in output) == (strategy == "epistemic")


def test_mailboxes_in_turn(evaluate: Command, tmp_path: Path) -> None:
    mails = [mail._replace(id=f"{'abc'[place // 50]}/{place}") for place, mail in enumerate(generated_mails(120))]
    turns = [
        mails[place] for row in range(50) for place in (row, row + 50, row + 100) if place < 120 and row + 100 < 150
    ]
    ids = [mail.id for mail in Stream("", mails, interleave=True)]
    assert ids == [mail.id for mail in turns]
    path = write(tmp_path / "boxes.jsonl.gz", mails)
    found = json.loads(evaluate(path, "--filter", RIVER, "--interleave", "--json")[1])
    done = run_filter(RiverFilter, Stream("", turns))
    assert found["corpus"] == "boxes, interleaved"
    assert found["one_minus_roca_percent"] == one_minus_roca_percent(done.spam, done.log_odds)


def test_repeated_with_other_seeds(evaluate: Command, corpus: Path) -> None:
    options = ("--filter", RIVER, "--feedback", "active:40", "--strategy", "random", "--repeat", "3", "--seed", "7")
    found = json.loads(evaluate(corpus, *options, "--json")[1])
    areas = [area(FeedbackRegime("active:40", "random", None, seed)) for seed in (7, 8, 9)]
    (cell,) = found["cells"]
    assert sorted(one["one_minus_roca_percent"] for one in cell["runs"]) == sorted(areas)
    assert cell["mean"] == pytest.approx(np.mean(areas))
    assert cell["deviation"] == pytest.approx(np.std(areas, ddof=1))
    assert (cell["least"], cell["greatest"], cell["passes"]) == (min(areas), max(areas), 3)
    assert (found["all_labels"], found["report"]) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--feedback", "active:0"), "needs a number of labels, at least 1"),
        (("--feedback", "active:x"), "needs a number of labels, at least 1"),
        (("--feedback", "active:9", "--strategy", "marginn"), "did you mean 'margin'?"),
        (("--feedback", "active:9", "--delay", "later"), "delay must be a number of messages, or a duration"),
        (("--feedback", "active:9", "--delay", "1d"), "none of the first 100 mails has a date"),
        (("--strategy", "margin"), "a strategy and a delay go with feedback active:BUDGET"),
        (("--strategies", "all", "--feedback", "active:9"), "leave --feedback and --strategy away"),
        (("--strategies", "all", "--strategy", "margin"), "leave --feedback and --strategy away"),
        (("--strategies", "margin,nothing"), "there is no strategy 'nothing'"),
        (("--strategies", "all", "--budgets", "10,0"), "budgets must be numbers of labels, at least 1"),
        (("--strategies", "all", "--budgets", "many"), "budgets must be numbers of labels, at least 1"),
        (("--strategies", "all", "--budgets", "300,999"), "the stream has 300 messages: name smaller budgets than 300"),
        (("--strategies", "all", "--delay", "soon"), "delay must be a number of messages, or a duration"),
        (("--strategies", "all", "--compare"), "--compare is for one pass"),
        (("--feedback", "active:9", "--repeat", "2", "--per-member"), "--per-member is for one pass"),
        (("--seed", "7"), "--seed goes with --strategies or --feedback active:BUDGET or partial:FRACTION"),
        (("--seed", "7", "--feedback", "delayed:3"), "--seed goes with --strategies"),
        (("--feedback", "active:9", "--seed", str(2**53 - 2), "--repeat", "3"), "together must stay below"),
        (("--budgets", "10"), "--budgets goes with --strategies"),
        (("--repeat", "2"), "--repeat goes with --feedback active:BUDGET or --strategies"),
        (("--interleave", "--shuffle", "1"), "interleave or shuffle, not both"),
    ],
)
def test_impossible_arguments_get_one_line(
    evaluate: Command, corpus: Path, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    folder = tmp_path / "report"
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--report", folder, *arguments)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("stream-bayes: ")
    assert problem in errors


def test_a_corpus_shorter_than_the_budget(evaluate: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "few.jsonl.gz", generated_mails(12))
    found = json.loads(evaluate(path, "--filter", RIVER, "--feedback", "active:5000", "--json")[1])
    assert (found["messages"], 1 <= found["labels_used"] <= 12) == (12, True)


@pytest.mark.parametrize("options", [("--feedback", "active:5"), ("--strategies", "all")])
def test_an_empty_corpus(evaluate: Command, tmp_path: Path, options: tuple[str, ...]) -> None:
    path = write(tmp_path / "none.jsonl.gz", [])
    code, output, errors = evaluate(path, "--filter", RIVER, "--report", tmp_path, *options)
    assert (code, output) == (2, "")
    assert errors.endswith("the file is empty\n")
